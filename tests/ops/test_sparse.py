"""SparseTensor: what it is, feeds and fetches, Python's operators, control flow, refusals."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sparse_values import dense_of

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
INDICES, VALUES, SHAPE = [[0, 0], [1, 2]], [2.0, -5.0], [3, 4]
VALUE = tf.SparseTensorValue(INDICES, VALUES, SHAPE)
DENSE = np.array([[2.0, 0, 0, 0], [0, 0, -5, 0], [0, 0, 0, 0]])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def same(found: Any, expected: Any = VALUE) -> None:
    """Compares SparseTensorValues part by part."""
    assert isinstance(found, tf.SparseTensorValue)
    for part, expected_values in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, expected_values)


# ---- the Python object ----


def test_a_sparse_tensor_is_no_tensor_and_tells_of_its_parts() -> None:
    sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
    assert isinstance(sp, tf.SparseTensor) and not isinstance(sp, tf.Tensor)
    assert (sp.dtype, sp.indices.dtype, sp.dense_shape.dtype) == (tf.float32, tf.int64, tf.int64)
    assert sp.shape.as_list() == sp.get_shape().as_list() == [3, 4]
    assert sp.op is sp.values.op and sp.graph is tf.get_default_graph()
    assert str(sp) == (
        'SparseTensor(indices=Tensor("SparseTensor/indices:0", shape=(2, 2), dtype=int64), '
        'values=Tensor("SparseTensor/values:0", shape=(2,), dtype=float32), '
        'dense_shape=Tensor("SparseTensor/dense_shape:0", shape=(2,), dtype=int64))'
    )
    assert sp.values.op not in sp.consumers()
    reader = tf.identity(sp.values).op
    assert sp.consumers() == [reader]


def test_arrays_of_int32_become_int64() -> None:
    sp = tf.SparseTensor(np.array(INDICES, np.int32), [1, 2], np.array(SHAPE, np.int32))
    assert (sp.indices.dtype, sp.dense_shape.dtype, sp.dtype) == (tf.int64, tf.int64, tf.int32)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: tf.SparseTensor([[0, 0]], [1, 2], [3, 4]), ValueError, "1 rows .* 2 values"),
        (lambda: tf.SparseTensor([[0]], [1], [3, 4]), ValueError, "1 columns .* 2 sizes"),
        (lambda: tf.SparseTensor([0], [1], [3]), ValueError, "indices has shape"),
        (lambda: tf.SparseTensor([[0]], [[1]], [3]), ValueError, "values has shape"),
        (lambda: tf.SparseTensor([[0]], [1], 3), ValueError, "dense_shape has shape"),
        (lambda: tf.SparseTensor([[0.5]], [1], [3]), TypeError, "int64"),
        (lambda: tf.SparseTensor([[0]], [1], [None]), ValueError, "None"),
        (lambda: tf.SparseTensor.from_value([1]), TypeError, "SparseTensorValue"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    graph: tf.Graph, make: Callable[[], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make()
    assert graph.get_operations() == []


def test_int32_tensors_are_refused() -> None:
    with pytest.raises(ValueError, match="int64 for Tensor with dtype int32"):
        tf.SparseTensor(tf.constant([[0]]), [1], [3])


def test_a_value_becomes_a_sparse_tensor() -> None:
    sp = tf.SparseTensor.from_value(VALUE)
    assert tf.SparseTensor.from_value(sp) is sp
    assert sp.shape.as_list() == SHAPE


# ---- feeds and fetches ----


@TARGETS
def test_a_run_gives_a_value_in_any_structure(target: str) -> None:
    pair = namedtuple("pair", "first second")
    sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
    with tf.Session(target) as session:
        same(session.run(sp))
        same(sp.eval())
        found = session.run({"b": [sp], "a": pair(sp.values, sp)})
        same(found["b"][0])
        same(found["a"].second)
        assert type(found["a"]) is pair and found["a"].first.tolist() == VALUES


@TARGETS
@pytest.mark.parametrize(
    ("shape", "static"),
    [(None, "<unknown>"), ([3, 4], "(3, 4)"), ([None, 4], "(?, 4)"), ("tensor", "(3, 4)")],
)
def test_a_sparse_placeholder_is_fed_a_value_or_a_tuple(
    target: str, shape: Any, static: str
) -> None:
    given = tf.constant([3, 4], tf.int64) if shape == "tensor" else shape
    sp = tf.sparse_placeholder(tf.float32, given, "p")
    assert (sp.values.name, sp.indices.name) == ("p/values:0", "p/indices:0")
    assert str(sp.shape) == static
    with tf.Session(target) as session:
        for value in (VALUE, tuple(VALUE), (np.array(INDICES), np.array(VALUES), np.array(SHAPE))):
            same(session.run(sp, {sp: value}))
            assert session.run(sp.values, feed_dict={sp: value}).tolist() == VALUES


@TARGETS
def test_any_sparse_tensor_may_be_fed(target: str) -> None:
    sp = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
    total = tf.sparse_reduce_sum(sp)
    with tf.Session(target) as session:
        assert session.run(total) == 1
        other = (np.array([[1, 1]]), [7.0], [2, 2])
        assert session.run(total, {sp: other}) == 7


def test_feeds_of_other_kinds_are_refused() -> None:
    sp, of_any_shape = tf.sparse_placeholder(tf.float32, [3, 4]), tf.sparse_placeholder(tf.float32)
    with tf.Session() as session:
        with pytest.raises(ValueError, match="3 tensors"):
            session.run(of_any_shape, {of_any_shape: (INDICES, VALUES)})
        with pytest.raises(ValueError, match="3 tensors"):
            session.run(sp, {sp: (INDICES,)})
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run(sp, {sp: (INDICES, VALUES, [3, 4, 5])})
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            session.run(sp)


# ---- Python's operators ----


@TARGETS
def test_a_sparse_tensor_is_multiplied_and_divided_by_what_broadcasts(target: str) -> None:
    row, full = np.array([1.0, 2, 4, 8]), np.arange(1.0, 13).reshape(3, 4)
    sp = tf.sparse_placeholder(tf.float64)
    matmuls = [sp * 2.0, sp * row, sp * full, tf.constant(full) * sp, sp * full[:, :1]]
    quotients = [sp / 2.0, sp / row, sp / full]
    with tf.Session(target) as session:
        found = session.run([matmuls, quotients], {sp: VALUE})
    factors = [2.0, row, full, full, full[:, :1]]
    for value, factor in zip(found[0], factors, strict=True):
        np.testing.assert_allclose(dense_of(value), DENSE * factor)
    for value, factor in zip(found[1], factors, strict=False):
        np.testing.assert_allclose(dense_of(value), DENSE / factor)


def test_integers_divide_to_float64() -> None:
    sp = tf.SparseTensor([[0]], [3], [2]) / 2
    assert sp.dtype == tf.float64
    with tf.Session() as session:
        assert session.run(sp).values.tolist() == [1.5]


@pytest.mark.parametrize(
    "build",
    [
        lambda sp: sp + 1.0,
        lambda sp: sp + sp,
        lambda sp: tf.ones([3, 4]) + sp,
        lambda sp: sp - 1.0,
        lambda sp: -sp,
        lambda sp: 2.0 * sp,
        lambda sp: sp * sp,
        lambda sp: tf.ones([3, 4]) / sp,
        lambda sp: np.ones([3, 4]) * sp,
        lambda sp: bool(sp),
        lambda sp: tf.convert_to_tensor(sp),
        lambda sp: tf.stack([sp, sp]),
        lambda sp: tf.reduce_sum(sp),
        lambda sp: tf.matmul(sp, sp),
        lambda sp: tf.gradients(sp.values, sp),
        lambda sp: tf.gradients(sp, sp.values),
    ],
)
def test_what_is_not_defined_is_a_type_error(build: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        build(tf.SparseTensor(INDICES, VALUES, SHAPE))


@TARGETS
def test_only_the_dense_side_is_broadcast(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
        for other in (np.ones([3, 5]), np.ones([2, 3, 4]), np.ones([3])):
            multiplied = sp * other.astype(np.float32)
            with pytest.raises(tf.errors.InvalidArgumentError, match="dense to sparse only"):
                session.run(multiplied)


@TARGETS
def test_a_dense_side_that_is_larger_is_refused_by_the_run(target: str) -> None:
    sp = tf.sparse_placeholder(tf.float32)
    multiplied = sp * tf.ones([2, 3, 4])
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="dense to sparse only"):
            session.run(multiplied, {sp: VALUE})


@TARGETS
def test_elementwise_functions_take_the_values(target: str) -> None:
    sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
    found = [tf.abs(sp), tf.negative(sp), tf.square(sp), tf.cast(sp, tf.int32), tf.identity(sp)]
    expected = [[2, 5], [-2, 5], [4, 25], [2, -5], [2, -5]]
    sizes = [tf.shape(sp), tf.size(sp), tf.rank(sp), tf.shape(sp, out_type=tf.int64)]
    with tf.Session(target) as session:
        values, counted = session.run([found, sizes])
    for value, expected_values in zip(values, expected, strict=True):
        same(value, (INDICES, expected_values, SHAPE))
    assert found[3].dtype == tf.int32
    assert [np.asarray(c).tolist() for c in counted] == [[3, 4], 12, 2, [3, 4]]
    assert [c.dtype for c in counted] == [np.int32] * 3 + [np.int64]


# ---- control flow ----


@TARGETS
def test_sparse_tensors_go_through_cond_and_while_loop(target: str) -> None:
    sp = tf.sparse_placeholder(tf.float32, [3, 4])
    chosen = tf.cond(tf.reduce_sum(sp.values) > 0, lambda: sp, lambda: tf.negative(sp))
    assert isinstance(chosen, tf.SparseTensor)

    def grow(i: Any, x: Any) -> Any:
        return i + 1, tf.sparse_add(x, tf.SparseTensor([[2, 3]], [1.0], [3, 4]))

    rounds, grown = tf.while_loop(lambda i, x: i < 3, grow, [0, sp])
    with tf.Session(target) as session:
        same(session.run(chosen, {sp: VALUE}), (INDICES, [-2, 5], SHAPE))
        same(session.run(grown, {sp: VALUE}), ([*INDICES, [2, 3]], [2, -5, 3], SHAPE))
        assert session.run(rounds, {sp: VALUE}) == 3


def test_branches_that_differ_in_being_sparse_are_refused() -> None:
    sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
    with pytest.raises(ValueError, match="structure"):
        tf.cond(tf.constant(True), lambda: sp, lambda: sp.values)


@TARGETS
def test_operations_wait_for_a_sparse_tensor(target: str) -> None:
    v = tf.Variable(0.0)
    sp = tf.SparseTensor([[0]], tf.reshape(v.assign_add(1.0), [1]), [1])
    with tf.control_dependencies([sp]):
        after = v.read_value()
    grouped, (gated,) = tf.group(sp), tf.tuple([sp])
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(after) == 1
        assert session.run(grouped) is None
        assert session.run(gated).values.tolist() == [3]
    assert tf.global_variables() == [v]


def test_nest_takes_composites_apart_only_when_requested() -> None:
    sp = tf.SparseTensor(INDICES, VALUES, SHAPE)
    assert tf.nest.flatten([sp]) == [sp]
    parts = tf.nest.flatten([sp, 1], expand_composites=True)
    assert parts == [sp.indices, sp.values, sp.dense_shape, 1]
    packed, one = tf.nest.pack_sequence_as([sp, 1], parts, expand_composites=True)
    assert packed.values is sp.values and one == 1


# ---- IndexedSlices ----


@TARGETS
def test_indexed_slices_are_fetched_fed_and_made_dense(target: str) -> None:
    slices = tf.IndexedSlices(
        tf.constant([[1.0, 2], [3, 4]]), tf.constant([2, 2]), tf.constant([3, 2])
    )
    dense = tf.convert_to_tensor(slices)
    with tf.Session(target) as session:
        np.testing.assert_array_equal(session.run(dense), [[0, 0], [0, 0], [4, 6]])
        found = session.run(slices)
        assert isinstance(found, tf.IndexedSlicesValue) and found.indices.tolist() == [2, 2]
        fed = {slices: tf.IndexedSlicesValue(np.ones((2, 2)), [0, 1], [3, 2])}
        np.testing.assert_array_equal(session.run(dense, fed), [[1, 1], [1, 1], [0, 0]])
        scaled = tf.scalar_mul(2.0, slices)
        assert isinstance(scaled, tf.IndexedSlices)
        np.testing.assert_array_equal(session.run(scaled).values, [[2, 4], [6, 8]])
        np.testing.assert_array_equal(
            session.run(tf.multiply(slices, 2.0)), [[0, 0], [0, 0], [8, 12]]
        )


def test_indexed_slices_of_unknown_shape_do_not_become_dense() -> None:
    slices = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0]))
    with pytest.raises(ValueError, match="dense_shape"):
        tf.convert_to_tensor(slices)


@TARGETS
def test_a_norm_over_slices_counts_their_values(target: str) -> None:
    slices = tf.IndexedSlices(tf.constant([[3.0], [4.0]]), tf.constant([0, 1]), tf.constant([5, 1]))
    (clipped, dense), norm = tf.clip_by_global_norm([slices, tf.constant([12.0])], 1.3)
    assert isinstance(clipped, tf.IndexedSlices)
    with tf.Session(target) as session:
        assert session.run(norm) == 13
        np.testing.assert_allclose(session.run(clipped).values, [[0.3], [0.4]], rtol=1e-6)
        np.testing.assert_allclose(session.run(dense), [1.2], rtol=1e-6)


@TARGETS
def test_sparse_mask_leaves_slices_out(target: str) -> None:
    slices = tf.IndexedSlices(tf.constant([[1.0], [2], [3]]), tf.constant([5, 7, 5]))
    with tf.Session(target) as session:
        found = session.run(tf.sparse_mask(slices, [5]))
    assert found.indices.tolist() == [7] and found.values.tolist() == [[2]]
