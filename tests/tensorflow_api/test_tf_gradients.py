"""Results of tf.gradients where the answer is a choice: ties, corners, None; in both engines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


#: a function, where, and its gradients there
CORNERS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    "maximum gives ties to the first": (
        tf.maximum, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1, 1, 0], [0, 0, 1]],
    ),
    "minimum, too": (tf.minimum, [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [[1, 0, 1], [0, 1, 0]]),
    "maximum(x, 0) at 0": (lambda x: tf.maximum(x, 0), [[0.0]], [[1]]),
    "maximum(0, x) at 0": (lambda x: tf.maximum(tf.zeros(1), x), [[0.0]], [[0]]),
    "relu at 0": (tf.nn.relu, [[0.0]], [[0]]),
    "reduce_max shares": (tf.reduce_max, [[2.0, 2.0, 1.0]], [[0.5, 0.5, 0]]),
    "reduce_min shares": (tf.reduce_min, [[2.0, 1.0, 1.0]], [[0, 0.5, 0.5]]),
    "abs at 0": (tf.abs, [[0.0]], [[0]]),
    "sqrt at 0": (tf.sqrt, [[0.0]], [[np.inf]]),
    "log at 0": (tf.log, [[0.0]], [[np.inf]]),
    "power by its exponent": (
        tf.pow, [[-2.0, 0.0, 2.0], [2.0, 2.0, 2.0]], [[-4, 0, 4], [0, 0, 4 * math.log(2)]],
    ),
    "clip conducts at its bounds": (
        lambda x: tf.clip_by_value(x, 1.0, 2.0), [[0.0, 1.0, 2.0, 3.0]], [[0, 1, 1, 0]],
    ),
    "reduce_prod with one 0": (tf.reduce_prod, [[0.0, 2.0, 3.0]], [[6, 0, 0]]),
    "reduce_prod with two": (tf.reduce_prod, [[0.0, 0.0, 3.0]], [[0, 0, 0]]),
    "norm at 0": (tf.norm, [[0.0, 0.0]], [[np.nan, np.nan]]),
    "sign": (tf.sign, [[1.0, -1.0]], [[0, 0]]),
    "mod": (lambda x: tf.mod(x, 2.0), [[1.0, 3.0]], [[1, 1]]),
    "there and back by float64": (
        lambda x: tf.cast(tf.cast(x, tf.float64) * 2, tf.float32), [[1.0]], [[2]],
    ),
    "broadcasting is summed back": (
        tf.multiply, [[[1.0, 2.0]], [[1.0], [3.0]]], [[[4, 4]], [[3], [3]]],
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", CORNERS)
def test_corners(target: str, case: str) -> None:
    function, values, wants = CORNERS[case]
    for opened in (False, True):
        xs = [tf.placeholder(tf.float32, None if opened else np.shape(v)) for v in values]
        slopes = tf.gradients(function(*xs), xs)
        with tf.Session(target) as session:
            found = session.run(slopes, dict(zip(xs, values, strict=True)))
        for value, want in zip(found, wants, strict=True):
            np.testing.assert_allclose(value, want, rtol=1e-5)


NO_PATH: dict[str, Callable[[Any], Any]] = {
    "argmax": lambda x: tf.cast(tf.argmax(x, 0), tf.float32),
    "shape": lambda x: tf.cast(tf.shape(x), tf.float32),
    "a comparison": lambda x: tf.cast(x < 1.0, tf.float32),
    "floor": tf.floor,
    "round": tf.round,
    "floordiv": lambda x: x // 2.0,
    "a cast to int": lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32),
    "an assignment": lambda x: tf.Variable([1.0, 2.0]).assign(x),
    "stop_gradient": tf.stop_gradient,
    "something else": lambda x: tf.constant(1.0),
}


@pytest.mark.parametrize("case", NO_PATH)
def test_where_no_path_leads_the_gradient_is_none(case: str) -> None:
    x = tf.constant([1.0, 2.0])
    assert tf.gradients(NO_PATH[case](x), x) == [None]


def test_an_operation_without_gradient_is_an_error_on_the_way() -> None:
    x = tf.constant([1.0, 1.0])
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'Unique' \(op type"):
        tf.gradients(tf.unique(x).y, x)
    assert tf.gradients(tf.stop_gradient(tf.unique(x).y), x) == [None]


@TARGETS
def test_several_ys_are_summed_and_stops_cut(target: str) -> None:
    x = tf.constant([1.0, 2.0])
    y = x * x
    z = y * x
    expected_values = {
        "ys": ([x * 2, x * 3], [x], {}, [[5, 5]]),
        "itself": (x, [x], {}, [[1, 1]]),
        "both": (z, [y, x], {}, [[1, 2], [3, 12]]),
        "stopped": (z, [x], {"stop_gradients": [y]}, [[1, 4]]),
        "stopped at one": (z, [x], {"stop_gradients": y}, [[1, 4]]),
        "arriving": (x * 2, [x], {"grad_ys": [tf.constant([3.0, 4.0])]}, [[6, 8]]),
        "one arriving": ([x * 2, x], [x], {"grad_ys": [None, tf.constant([3.0, 4.0])]}, [[5, 6]]),
    }  # fmt: skip
    with tf.Session(target) as session:
        for ys, xs, options, want in expected_values.values():
            found = session.run(tf.gradients(ys, xs, **options))
            assert [v.tolist() for v in found] == want
    with pytest.raises(ValueError, match="grad_ys"):
        tf.gradients(x, x, grad_ys=[x, x])


@TARGETS
def test_gathered_rows_have_indexed_slices(target: str) -> None:
    table = tf.constant([[1.0], [2.0], [3.0]])
    once = tf.gradients(tf.gather(table, [0, 0, 2]), table)[0]
    twice = tf.gradients(tf.gather(table, [0]) + tf.gather(table, [1]), table)[0]
    total = tf.reduce_sum(tf.gather(table, [0])) + tf.reduce_sum(table)
    dense = tf.gradients(total, table)[0]
    assert isinstance(once, tf.IndexedSlices) and isinstance(twice, tf.IndexedSlices)
    assert isinstance(dense, tf.Tensor)
    assert isinstance(tf.gradients(tf.gather(table, [0], axis=1), table)[0], tf.Tensor)
    with tf.Session(target) as session:
        assert session.run(once).indices.tolist() == [0, 0, 2]
        assert session.run(tf.convert_to_tensor(once)).tolist() == [[2], [0], [1]]
        assert session.run(dense).tolist() == [[2], [1], [1]]


@TARGETS
def test_rows_gathered_in_branches_have_indexed_slices(target: str) -> None:
    """Unless a branch reads the entire table; a branch that does not read it gives no rows."""
    table, x = tf.Variable(tf.ones([4, 2])), tf.placeholder(tf.float32, [3, 1])
    yes, scale = tf.placeholder(tf.bool, []), tf.constant(2.0)
    one = lambda: tf.reduce_sum(tf.gather(table, [1, 2])) + tf.reduce_sum(tf.gather(x, [2]) * scale)  # noqa: E731
    two = lambda: tf.reduce_sum(tf.gather(x, [0])) + scale  # noqa: E731
    rows, of_x, of_scale = tf.gradients(tf.cond(yes, one, two), [table, x, scale])
    whole = tf.gradients(tf.cond(yes, one, lambda: tf.reduce_sum(table)), table)[0]
    assert isinstance(rows, tf.IndexedSlices) and isinstance(of_x, tf.IndexedSlices)
    assert isinstance(whole, tf.Tensor)
    with tf.Session(target) as session:
        session.run(table.initializer)
        found, of_x_there, there = session.run(
            [rows, of_x, of_scale], {yes: True, x: [[1], [2], [3]]}
        )
        assert found.indices.tolist() == [1, 2] and found.values.tolist() == [[1, 1], [1, 1]]
        assert of_x_there.indices.tolist() == [2] and of_x_there.values.tolist() == [[2]]
        none, of_x_there, here = session.run(
            [rows, of_x, of_scale], {yes: False, x: [[1], [2], [3]]}
        )
        assert none.values.shape == (0, 2) and of_x_there.indices.tolist() == [0]
        assert (there, here) == (3, 1)
        dense = session.run(whole, {yes: True, x: [[1], [2], [3]]})
        assert dense.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]


@TARGETS
def test_rows_gathered_in_loops_have_indexed_slices(target: str) -> None:
    """Where every iteration gathers as many, also none; the sum of the rows is the gradient."""
    table, w = tf.Variable(tf.ones([5, 2])), tf.constant(2.0)
    ids = tf.placeholder(tf.int32, [None, 2])
    looked_up = lambda row: tf.reduce_sum(tf.nn.embedding_lookup(table, row))  # noqa: E731
    step = lambda i, c: (i + 1, c * w + looked_up(ids[i]))  # noqa: E731
    loops = {
        "while_loop": tf.while_loop(lambda i, _: i < tf.shape(ids)[0], step, [0, 0.0])[1],
        "scan": tf.scan(lambda c, row: c * w + looked_up(row), ids, 0.0)[-1],
        "map_fn": tf.map_fn(lambda row: w * looked_up(row), ids, tf.float32),
    }
    found = {what: tf.gradients(y, [table, w]) for what, y in loops.items()}
    again = tf.gradients(found["while_loop"][0].values, w)[0]
    with tf.Session(target) as session:
        session.run(table.initializer)
        feeds = {ids: [[0, 1], [1, 2], [4, 4]]}
        for what, (rows, of_w) in found.items():
            assert isinstance(rows, tf.IndexedSlices), what
            value, dense, number = session.run([rows, tf.convert_to_tensor(rows), of_w], feeds)
            weights = [2, 2, 2] if what == "map_fn" else [4, 2, 1]
            expected = np.zeros((5, 2))
            np.add.at(expected, feeds[ids], np.asarray(weights)[:, None, None])
            assert len(value.indices) == 6 and dense.tolist() == expected.tolist()
            assert number == (12 if what == "map_fn" else 20)
        assert session.run(again, feeds) == 2 * 2 * (2 * 2 + 1)
        assert session.run(found["while_loop"][0], {ids: np.zeros((0, 2))}).values.shape == (0, 2)


@TARGETS
def test_a_read_in_order_conducts_to_the_variable(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        read = v.read_value()
    by_variable, by_read = tf.gradients(tf.reduce_sum(read**2 + 3 * v), [v, read])
    with tf.Session(target) as session:
        session.run(v.initializer)
        of_variable, of_read = session.run([by_variable, by_read])
    assert of_read.tolist() == [4, 6]
    assert of_variable.tolist() == [7, 9]
    assert tf.gradients(v.assign([1.0, 1.0]) * 2, [v]) == [None]


IN_BODIES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "cond": (lambda v: tf.cond(tf.constant(True), lambda: v.read_value() ** 2, lambda: v), [2, 4]),
    "while_loop": (
        lambda v: tf.while_loop(
            lambda i, w: i < 3, lambda i, w: (i + 1, w * v.read_value()), [0, tf.ones([2])]
        )[1], [3, 12],
    ),
    "scan": (lambda v: tf.scan(lambda a, x: a * v.read_value() + x, tf.ones([3, 2]))[-1], [3, 5]),
    "initialized_value": (lambda v: v.initialized_value() ** 2, [2, 4]),
    "a cond in a loop": (
        lambda v: tf.while_loop(
            lambda i, w: i < 2,
            lambda i, w: (i + 1, tf.cond(i > 0, lambda: w * v.read_value(), lambda: w + v)),
            [0, tf.ones([2])],
        )[1], [3, 5],
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", IN_BODIES)
def test_a_read_in_a_branch_or_loop_conducts_to_the_variable(target: str, case: str) -> None:
    build, want = IN_BODIES[case]
    v = tf.Variable([1.0, 2.0])
    (found,) = tf.gradients(build(v), [v])
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(found).tolist() == want


@TARGETS
def test_only_a_gather_of_ones_own_has_indexed_slices(target: str) -> None:
    x = tf.constant([[1.0], [2.0], [3.0]])
    moved = {
        "mask": (tf.boolean_mask(x, [True, False, True]), [[1], [0], [1]]),
        "part": (tf.dynamic_partition(x, [0, 1, 0], 2)[1], [[0], [1], [0]]),
        "roll": (tf.roll(x, 1, 0) * [[1.0], [2.0], [3.0]], [[2], [3], [1]]),
    }
    with tf.Session(target) as session:
        for y, want in moved.values():
            (gradient,) = tf.gradients(y, x)
            assert isinstance(gradient, tf.Tensor)
            assert session.run(gradient).tolist() == want


@TARGETS
@pytest.mark.parametrize("equation", ["...ij,...jk->...ik", "bij,bjk->bik"])
def test_derivatives_of_an_einsum_are_those_of_known_sizes(target: str, equation: str) -> None:
    values = [np.arange(12.0).reshape(2, 2, 3), np.arange(6.0).reshape(1, 3, 2)]
    if equation[0] == "b":  # equal letters have equal sizes where they are known
        known = [tf.constant(values[0]), tf.constant(np.repeat(values[1], 2, 0))]
    else:
        known = [tf.constant(v) for v in values]
    unknown = [tf.placeholder(tf.float64, [None] * 3) for _ in values]
    found = []
    with tf.Session(target) as session:
        for a, b in (known, unknown):
            da, db = tf.gradients(tf.reduce_sum(tf.einsum(equation, a, b) ** 2), [a, b])
            (second,) = tf.gradients(tf.reduce_sum(da * da), [b])
            feeds = dict(zip(unknown, values, strict=True))
            found.append(session.run([da, db, second], feeds))
    for expected, got, value in zip(*found, [values[0], values[1], values[1]], strict=True):
        assert got.shape == value.shape
        np.testing.assert_allclose(
            got, expected.sum(0, keepdims=True) if len(value) == 1 else expected
        )


def test_an_einsum_of_an_unknown_size_and_1_has_an_unknown_one() -> None:
    a, b = (tf.placeholder(tf.float32, [n, 3]) for n in (None, 1))
    assert tf.einsum("ij,ij->ij", a, b).shape.as_list() == [None, 3]


#: ways to multiply all elements of a vector
MATMULS: dict[str, Callable[[Any], Any]] = {
    "reduce_prod": tf.reduce_prod,
    "axis after axis": lambda x: tf.reduce_prod(tf.reshape(x, [2, 1, 2]), [-1, 0, 1]),
    "an axis of an unknown rank": lambda x: tf.reduce_prod(tf.placeholder_with_default(x, None), 0),
    "all of an unknown rank": lambda x: tf.reduce_prod(
        tf.placeholder_with_default(tf.reshape(x, [2, 2]), None)
    ),
    "axes that the run knows": lambda x: tf.reduce_prod(
        tf.reshape(x, [2, 2]), tf.placeholder_with_default(tf.constant([1, 0]), [None])
    ),
    "segment_prod": lambda x: tf.segment_prod(x, [0] * 4)[0],
    "unsorted_segment_prod": lambda x: tf.unsorted_segment_prod(x, [1] * 4, 2)[1],
}


@TARGETS
@pytest.mark.parametrize("case", MATMULS)
@pytest.mark.parametrize("zeros", range(5))
def test_second_derivatives_of_a_product_reduction_are_right_where_factors_are_zero(
    target: str, case: str, zeros: int
) -> None:
    value = np.array([2.0, 3.0, -5.0, 7.0])
    value[:zeros] = 0
    x = tf.placeholder(tf.float64, [4])
    y = MATMULS[case](x)
    with tf.Session(target) as session:
        first, second = session.run([tf.gradients(y, x)[0], tf.hessians(y, x)[0]], {x: value})
    others = np.where(np.eye(4), 1, value)
    np.testing.assert_allclose(first, np.prod(others, 1))
    pairs = np.prod(np.where(np.eye(4), 1, others[:, None, :]), 2)
    np.testing.assert_allclose(second, np.where(np.eye(4), 0, pairs))


@TARGETS
@pytest.mark.parametrize("value", [[2.0, 3.0, -5.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
def test_third_derivatives_of_reduce_prod_are_right_where_factors_are_zero(
    target: str, value: list[float]
) -> None:
    x = tf.placeholder(tf.float64, [3])
    y = tf.reduce_prod(x)
    for i in range(3):
        y = tf.gradients(y, x)[0][i]
    with tf.Session(target) as session:
        np.testing.assert_allclose(session.run(y, {x: value}), 1)


@TARGETS
def test_a_reshaped_tensor_takes_a_gradient_of_another_shape_as_in_tensorflow(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        dy = tf.reshape(tf.range(6.0), [1, 6, 1])
        ys = [tf.reshape(x * 2.0, [6, 1]), tf.expand_dims(x * 2.0, 0)]
        ys.append(tf.squeeze(tf.expand_dims(x, 0)) * 1.0)
        gradients = [tf.gradients(y, x, [dy])[0] for y in ys[:2]]
        with tf.Session(target) as sess:
            for found in sess.run(gradients):
                np.testing.assert_array_equal(found, 2.0 * np.arange(6.0).reshape(3, 2))
        with pytest.raises(ValueError, match="expected \\(3, 2\\)"):
            tf.gradients(ys[2], x, [dy])
