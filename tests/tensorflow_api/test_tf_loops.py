"""Loops, branches, gradients and what programs ask of variables and operations, as TensorFlow."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio import nest

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def run(target: str, fetches: Any) -> Any:
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches)


# ---- no gradient through a loop ----

WITHOUT_BACK_PROP: dict[str, Callable[[Any], Any]] = {
    "while_loop": lambda x: tf.while_loop(
        lambda i, v: i < 2, lambda i, v: (i + 1, v * v), [tf.constant(0), x], back_prop=False
    )[1],
    "a TensorArray": lambda x: tf.while_loop(
        lambda i, a: i < 2,
        lambda i, a: (i + 1, a.write(i, x * x)),
        [tf.constant(0), tf.TensorArray(tf.float32, 2)],
        back_prop=False,
    )[1].stack(),
    "map_fn": lambda x: tf.map_fn(lambda v: v * x, tf.ones([2]), back_prop=False),
    "scan": lambda x: tf.scan(lambda a, v: a * v * x, tf.ones([2]), back_prop=False),
    "foldl": lambda x: tf.foldl(lambda a, v: a * v * x, tf.ones([2]), back_prop=False),
    "foldr": lambda x: tf.foldr(lambda a, v: a * v * x, tf.ones([2]), back_prop=False),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("kind", WITHOUT_BACK_PROP)
def test_back_prop_of_false_keeps_gradients_out_of_a_loop(target: str, kind: str) -> None:
    x = tf.constant(3.0)
    y = WITHOUT_BACK_PROP[kind](x)
    assert tf.gradients(y, x) == [None]
    assert run(target, tf.gradients(tf.reduce_sum(y) + 5.0 * x, x)) == [5.0]


# ---- structures ----

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")

OF_TWO_TYPES: dict[str, tuple[Any, Any]] = {
    "a list and a tuple": ([1, 2], (1, 2)),
    "a tuple and a named one": ((1, 2), Pair(1, 2)),
    "named tuples of other names": (Pair(1, 2), Other(1, 2)),
    "inside": ({"k": [1, 2]}, {"k": (1, 2)}),
}


@pytest.mark.parametrize("kind", OF_TWO_TYPES)
def test_branches_and_results_have_sequences_of_one_type(kind: str) -> None:
    one, two = OF_TWO_TYPES[kind]
    with pytest.raises(TypeError, match="different types"):
        tf.cond(tf.constant(True), lambda: one, lambda: two)
    dtypes = nest.map_structure(lambda _: tf.int32, one)
    with pytest.raises(TypeError, match="map_fn: fn returned another structure"):
        tf.map_fn(lambda x: nest.map_structure(lambda _: x, two), tf.constant([1]), dtype=dtypes)


def test_mappings_and_named_tuples_of_one_name_are_of_one_type() -> None:
    nest.assert_same_structure({"k": 1}, collections.OrderedDict(k=2))
    nest.assert_same_structure(Pair(1, 2), collections.namedtuple("Pair", "a b")(3, 4))
    nest.assert_same_structure([1], (2,), check_types=False)
    with pytest.raises(ValueError, match="differ in length"):
        nest.assert_same_structure([1], [1, 2])


@TARGETS
def test_slices_of_branches_have_indices_of_int64_where_they_differ(target: str) -> None:
    rows = tf.constant([10.0])
    slices = lambda dtype: tf.IndexedSlices(rows, tf.constant([0], dtype))  # noqa: E731
    mixed = tf.cond(tf.constant(True), lambda: slices(tf.int32), lambda: slices(tf.int64))
    alike = tf.cond(tf.constant(True), lambda: slices(tf.int32), lambda: slices(tf.int32))
    assert (mixed.indices.dtype, alike.indices.dtype) == (tf.int64, tf.int32)
    assert run(target, [mixed.values, mixed.indices]) == [[10.0], [0]]


# ---- gradients ----


@TARGETS
def test_the_gradient_of_a_list_of_whole_rows_is_slices(target: str) -> None:
    x, at = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[1], [0], [1]])
    (rows,) = tf.gradients(tf.gather_nd(x, at), x)
    (elements,) = tf.gradients(tf.gather_nd(x, tf.constant([[1, 0]])), x)
    assert isinstance(rows, tf.IndexedSlices)
    found = run(target, [tf.convert_to_tensor(rows), rows.indices, elements])
    np.testing.assert_array_equal(found[0], [[1, 1], [2, 2]])
    np.testing.assert_array_equal(found[1], [1, 0, 1])
    np.testing.assert_array_equal(found[2], [[0, 0], [1, 0]])


@TARGETS
def test_an_integer_has_a_gradient_by_itself_alone(target: str) -> None:
    n, x = tf.constant([3, 4]), tf.constant(1.0)
    assert tf.gradients(tf.identity(n), n) == [None]
    assert tf.gradients(tf.cast(n, tf.float32) * x, n) == [None]
    found = run(target, [*tf.gradients(n, n), *tf.gradients([n, n], n, [[5, 6], [1, 1]])])
    np.testing.assert_array_equal(found, [[1, 1], [6, 7]])


@TARGETS
def test_slices_of_another_dense_shape_update_their_rows(target: str) -> None:
    v = tf.Variable([1.0, 2.0])
    slices = tf.IndexedSlices(tf.constant([0.1]), tf.constant([1]), tf.constant([1]))
    update = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(slices, v)])
    momentum = tf.Variable([1.0, 2.0])
    other = tf.train.MomentumOptimizer(1.0, 0.9).apply_gradients([(slices, momentum)])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        session.run([update, other])
        np.testing.assert_allclose(session.run([v, momentum]), [[1, 1.9], [1, 1.9]])


# ---- arguments and refusals ----


@TARGETS
def test_a_call_without_results_is_an_operation_if_it_may_have_effects(target: str) -> None:
    seen: list[int] = []
    effect = tf.py_func(lambda x: seen.append(int(x)), [tf.constant(7)], [])
    assert isinstance(effect, tf.Operation)
    assert run(target, effect) is None
    assert seen == [7]
    assert tf.py_func(lambda x: None, [tf.constant(1)], [], stateful=False) == []


@TARGETS
def test_stitching_refuses_negative_indices(target: str) -> None:
    fed = tf.placeholder(tf.int32, [None])
    for indices in ([[-1], [2]], [fed, [2]]):
        stitched = tf.dynamic_stitch(indices, [[9.0], [3.0]])
        with (
            tf.Session(target) as session,
            pytest.raises(tf.errors.InvalidArgumentError, match="an index is negative"),
        ):
            session.run(stitched, {fed: [-1]})
    with tf.Session(target) as session:
        np.testing.assert_array_equal(session.run(stitched, {fed: [1]}), [0, 9, 3])


@pytest.mark.parametrize("given", [[0.5], np.ones(2), "0.5"])
def test_the_probability_of_dropout_is_one_number(given: Any) -> None:
    with pytest.raises(ValueError, match="keep_prob must be a floating point number"):
        tf.nn.dropout(tf.ones([2]), given)
    with pytest.raises(ValueError, match="rate must be a floating point number"):
        tf.nn.dropout(tf.ones([2]), rate=given)


def test_logits_and_labels_of_other_shapes_are_refused_whatever_their_dtype() -> None:
    loss = tf.nn.sigmoid_cross_entropy_with_logits
    with pytest.raises(ValueError, match="must have the same shape"):
        loss(logits=[[2, 1]], labels=[1, 2, 3])
    with pytest.raises(TypeError, match="expected a floating dtype"):
        loss(logits=[2, 1], labels=[1, 2])


@TARGETS
def test_labels_of_metrics_may_be_sparse(target: str) -> None:
    scores = tf.constant([[0.1, 0.9, 0.0], [0.2, 0.3, 0.5]])
    value = tf.SparseTensorValue([[0, 0], [1, 0], [1, 1]], [1, 0, 2], [2, 2])
    dense = tf.constant([[1, -1], [0, 2]])
    updates = [
        metric(labels, scores, 1)[1]
        for metric in (tf.metrics.recall_at_k, tf.metrics.precision_at_k)
        for labels in (value, tf.SparseTensor.from_value(value), dense)
    ]
    np.testing.assert_allclose(run(target, updates), [2 / 3, 2 / 3, 2 / 4, 1, 1, 1])


# ---- attributes of variables and operations ----


@TARGETS
def test_the_check_that_variables_are_initialized_is_a_tensor(target: str) -> None:
    v, w = tf.Variable(1.0), tf.Variable([[1.0]])
    check, one = tf.assert_variables_initialized([v, w]), tf.assert_variables_initialized([w])
    with tf.Session(target) as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(check)
        session.run(w.initializer)
        assert session.run([check.op, one]) == [None, 2]
        assert session.run(check).tolist() == [0, 2]


def test_a_part_of_a_variable_has_a_spec() -> None:
    info = tf.Variable.SaveSliceInfo("whole", [4, 3], [2, 0], [2, 3])
    assert info.spec == "4 3 2,2:0,3"


def test_an_operation_has_the_definition_of_its_type() -> None:
    assert tf.constant(1).op.op_def.name == "Const"


def test_an_assignment_is_on_the_device_of_its_variable() -> None:
    with tf.device("/job:ps"):
        v = tf.Variable(1.0, name="v")
    with tf.device("/job:worker/task:7"):
        made = [v.assign(3.0), v.assign_add(1.0), tf.assign_sub(v, 2.0)]
    assert {a.device for a in made} == {"/job:ps"}
    assert {tuple(a.op.colocation_groups()) for a in made} == {(b"loc:@v",)}
    assert v.op.colocation_groups() == [b"loc:@v"]


@TARGETS
def test_an_assignment_runs_where_its_variable_is(target: str) -> None:
    v = tf.Variable(1.0)
    with tf.device("/cpu:0"):
        value = tf.constant(3.0)
    with tf.device("/job:worker/task:7"):
        assigned = v.assign(value)
    assert run(target, assigned) == 3.0
