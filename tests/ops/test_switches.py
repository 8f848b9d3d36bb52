"""switch and merge of tensorflow.python.ops.control_flow_ops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from graphio.python.ops import control_flow_ops

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def selected(x: Any, function: Callable[[Any, int], Any], number: Any, count: int) -> Any:
    """function of x and a number below count, as programs that distort pictures choose it."""
    return control_flow_ops.merge(
        [
            function(control_flow_ops.switch(x, tf.equal(number, case))[1], case)
            for case in range(count)
        ]
    )


@TARGETS
@pytest.mark.parametrize("count", [4, 9])
def test_merge_gives_the_value_of_the_switches_that_lead_to_it(target: str, count: int) -> None:
    x, number = tf.placeholder(tf.float32, [2, None]), tf.placeholder(tf.int32, [])
    w = tf.Variable(3.0)
    ways: list[Callable[[Any], Any]] = [
        lambda v: v * w,
        tf.square,
        lambda v: tf.cond(tf.reduce_sum(v) > 0, lambda: v + 1, lambda: v - 1),
        lambda v: tf.reverse(v, [1]),
    ]
    merged = selected(x, lambda v, case: ways[case % 4](v), number, count)
    assert merged.output.name == "Merge:0" and merged.output.shape.as_list() == [2, None]
    dx, dw = tf.gradients(merged.output, [x, w])
    expected = [X * 3, X * X, X + 1, X[:, ::-1]]
    slopes = [X * 0 + 3, 2 * X, X * 0 + 1, X * 0 + 1]
    with tf.Session(target=target) as sess:
        sess.run(tf.global_variables_initializer())
        for case in range(count):
            feeds = {x: X, number: case}
            output, index, slope, of_w = sess.run([*merged, dx, dw], feeds)
            np.testing.assert_array_equal(output, expected[case % 4])
            assert index == case and index.dtype == np.int32
            np.testing.assert_array_equal(slope, slopes[case % 4])
            assert of_w == (X.sum() if case % 4 == 0 else 0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="chose none of the inputs"):
            sess.run(merged.output, {x: X, number: count})


@TARGETS
def test_only_the_chosen_branch_runs_and_what_it_awaits_runs_always(target: str) -> None:
    number = tf.placeholder(tf.int32, [])
    inside = [tf.Variable(0.0) for _ in range(2)]
    awaited = tf.Variable(0.0)
    step = tf.assign_add(awaited, 1.0)

    def counted(v: Any, case: int) -> Any:
        with tf.control_dependencies([step]):
            return tf.assign_add(inside[case], v)

    output = selected(tf.constant(1.0), counted, number, 2).output
    with tf.Session(target=target) as sess:
        sess.run(tf.global_variables_initializer())
        assert [sess.run(output, {number: n}) for n in (0, 0, 1)] == [1, 2, 1]
        assert sess.run(inside) == [2, 1] and sess.run(awaited) == 3


@TARGETS
def test_a_value_drawn_before_the_switches_is_one_value(target: str) -> None:
    number = tf.placeholder(tf.int32, [])
    first = selected(tf.random_uniform([3]), lambda v, case: v + case, number, 2).output
    drawn = first + tf.random_uniform([3])
    second = selected(drawn, lambda v, case: v * (case + 1), number, 2).output
    with tf.Session(target=target) as sess:
        for n in range(2):
            values = sess.run([drawn, second], {number: n})
            np.testing.assert_array_equal(values[0] * (n + 1), values[1])


@TARGETS
def test_a_switch_below_another_leads_to_merges_of_both_kinds(target: str) -> None:
    x, positive = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    no, yes = control_flow_ops.switch(x, positive)
    small, large = control_flow_ops.switch(yes, tf.reduce_sum(yes) > 100)
    inner = control_flow_ops.merge([small * 10, large * 20]).output
    outer = control_flow_ops.merge([-no, inner])
    flat = control_flow_ops.merge([-no, small * 10, large * 20])
    with tf.Session(target=target) as sess:
        for truth, scale, factor, index in ((False, 1, -1, 0), (True, 1, 10, 1), (True, 99, 20, 2)):
            values = sess.run([*outer, *flat], {x: X * scale, positive: truth})
            np.testing.assert_array_equal(values[0], X * scale * factor)
            np.testing.assert_array_equal(values[2], X * scale * factor)
            assert values[1] == min(index, 1) and values[3] == index
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run(inner, {x: X, positive: False})


@TARGETS
def test_an_output_that_the_run_did_not_take_cannot_be_read(target: str) -> None:
    x, pred = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.bool, [])
    no, yes = control_flow_ops.switch(x, pred)
    with tf.Session(target=target) as sess:
        np.testing.assert_array_equal(sess.run(yes, {x: X, pred: True}), X)
        np.testing.assert_array_equal(sess.run(no, {x: X, pred: False}), X)
        for tensor in (no, tf.square(no)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="other output of its switch"):
                sess.run(tensor, {x: X, pred: True})


@TARGETS
def test_a_data_set_chooses_by_switches(target: str) -> None:
    def element(n: Any) -> Any:
        scaled = lambda v, case: v * 10 + case  # noqa: E731
        return selected(tf.cast(n, tf.float32), scaled, tf.cast(n % 3, tf.int32), 3).output

    following = tf.data.make_one_shot_iterator(tf.data.Dataset.range(4).map(element)).get_next()
    with tf.Session(target=target) as sess:
        assert [sess.run(following) for _ in range(4)] == [0, 11, 22, 30]


@TARGETS
def test_a_sparse_tensor_goes_through_switches(target: str) -> None:
    pred = tf.placeholder(tf.bool, [])
    sparse = tf.SparseTensor([[0], [2]], [2.0, 3.0], [4])
    no, yes = control_flow_ops.switch(sparse, pred)
    merged = control_flow_ops.merge([no, tf.sparse_retain(yes, [False, True])]).output
    with tf.Session(target=target) as sess:
        assert sess.run(merged, {pred: False}).values.tolist() == [2, 3]
        assert sess.run(merged, {pred: True}).indices.tolist() == [[2]]


def test_switch_and_merge_refuse_what_tensorflow_refuses() -> None:
    x = tf.constant([1.0])
    with pytest.raises(TypeError, match="switch: pred is int32, expected bool"):
        control_flow_ops.switch(x, 1)
    with pytest.raises(ValueError, match=r"switch: pred has shape \(1,\), expected \(\)"):
        control_flow_ops.switch(x, [True])
    for inputs in ([], [x, None]):
        with pytest.raises(ValueError, match="expected tensors, at least one, and no None"):
            control_flow_ops.merge(inputs)
    with pytest.raises(TypeError, match="expected equal ones"):
        control_flow_ops.merge([x, tf.constant(1)])
    assert [op.op for op in tf.get_default_graph().get_operations()].count("Assert") == 0
