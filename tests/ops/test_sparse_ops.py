"""tf.sparse against dense arithmetic of numpy, its gradients, and its refusals; both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_values import Sparse, dense_of, is_ordered, sparse

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
EXAMPLES = settings(max_examples=20, deadline=None, derandomize=True)
KNOWN = st.sampled_from(["shape", "rank", "nothing"])
Pairs = list[tuple[Any, Any]]


def holds(target: str, pairs: Callable[..., Pairs], *given_tensors: Sparse, known: str) -> None:
    """Runs the first of each pair in one session and compares it with the second.

    What is computed may be a tensor, or a SparseTensor, which must come in ascending order. Of the
    placeholders the shape is known, the rank alone, or nothing.
    """
    with tf.Graph().as_default(), tf.Session(target) as session:
        fed, holders = {}, []
        for value in given_tensors:
            shape = {"shape": value.shape, "rank": [None] * len(value.shape)}.get(known)
            holder = tf.sparse_placeholder(tf.float64, shape)
            holders.append(holder)
            fed[holder] = value.fed
        found, expected = zip(*pairs(*holders), strict=True)
        for value, expected_values in zip(session.run(list(found), fed), expected, strict=True):
            if isinstance(value, tf.SparseTensorValue):
                assert is_ordered(value)
                assert value.dense_shape.tolist() == list(np.shape(expected_values))
                value = dense_of(value)
            np.testing.assert_allclose(value, expected_values, atol=1e-12)
            assert np.shape(value) == np.shape(expected_values)


# ---- against numpy ----


@TARGETS
@given(x=sparse(), known=KNOWN)
@EXAMPLES
def test_one_sparse_tensor_is_arranged_and_made_dense(target: str, x: Sparse, known: str) -> None:
    dense, rank = x.dense(), len(x.shape)
    order = np.random.RandomState(len(x.positions)).permutation(rank).tolist()
    start, size = [n // 3 for n in x.shape], [2] * rank
    part = dense[tuple(slice(a, a + 2) for a in start)]

    def pairs(sp: Any) -> Pairs:
        ordered = tf.sparse.reorder(sp)
        cut = tf.sparse.slice(ordered, start, size)
        return [
            (ordered, dense),
            (tf.sparse.to_dense(ordered), dense),
            (tf.sparse.to_dense(ordered, default_value=9.0), np.where(x.stored(), dense, 9)),
            (tf.sparse.to_dense(sp, validate_indices=False), dense),
            (tf.sparse.transpose(sp), dense.T),
            (tf.sparse.transpose(sp, order), dense.transpose(order)),
            (tf.sparse.reshape(ordered, [-1]), dense.reshape(-1)),
            (tf.sparse.reshape(ordered, [1, -1, x.shape[-1]]), dense.reshape(1, -1, x.shape[-1])),
            (tf.sparse.expand_dims(ordered, 0), dense[None]),
            (tf.sparse.expand_dims(ordered), dense[..., None]),
            (cut, part),
            (tf.sparse.from_dense(tf.sparse.to_dense(ordered)), dense),
            (tf.sparse.retain(ordered, ordered.values > 0), np.maximum(dense, 0)),
            (tf.sparse.reset_shape(ordered, [n + 2 for n in x.shape]),
             np.pad(dense, [(0, 2)] * rank)),
        ]  # fmt: skip

    holds(target, pairs, x, known=known)


@TARGETS
@given(x=sparse(), known=KNOWN, data=st.data())
@EXAMPLES
def test_reductions_are_those_of_numpy(target: str, x: Sparse, known: str, data: Any) -> None:
    dense, rank = x.dense(), len(x.shape)
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True, min_size=1))
    lowest = np.where(x.stored(), dense, -np.inf)

    def top(axis: Any, keepdims: bool) -> np.ndarray:
        found = lowest.max(axis=axis, keepdims=keepdims)
        return np.where(np.isinf(found), 0, found)

    def pairs(sp: Any) -> Pairs:
        some = tuple(axes)
        negative = [a - rank for a in axes]
        return [
            (tf.sparse.reduce_sum(sp), dense.sum()),
            (tf.sparse.reduce_sum(sp, axes), dense.sum(some)),
            (tf.sparse.reduce_sum(sp, negative, keepdims=True), dense.sum(some, keepdims=True)),
            (tf.sparse.reduce_sum_sparse(sp, axes[0]), dense.sum(axes[0])),
            (tf.sparse.reduce_max(sp), top(None, False)),
            (tf.sparse.reduce_max(sp, axes, keepdims=True), top(some, True)),
            (tf.sparse.reduce_max_sparse(sp, axes, keepdims=True), top(some, True)),
        ]

    holds(target, pairs, x, known=known)


@TARGETS
@given(x=sparse(rank=2), known=KNOWN, transposed=st.booleans())
@EXAMPLES
def test_matmuls_with_a_matrix_are_those_of_numpy(
    target: str, x: Sparse, known: str, transposed: bool
) -> None:
    dense = x.dense().T if transposed else x.dense()
    other = np.arange(dense.shape[1] * 3.0).reshape(dense.shape[1], 3)

    def pairs(sp: Any) -> Pairs:
        multiplied = tf.sparse_tensor_dense_matmul
        return [
            (multiplied(sp, other, adjoint_a=transposed), dense @ other),
            (multiplied(sp, other.T, adjoint_a=transposed, adjoint_b=True), dense @ other),
        ]

    holds(target, pairs, x, known=known)


@TARGETS
@given(x=sparse(rank=2), y=sparse(rank=2), known=KNOWN)
@EXAMPLES
def test_two_sparse_tensors_are_combined_as_dense_ones(
    target: str, x: Sparse, y: Sparse, known: str
) -> None:
    y = Sparse(x.shape, y.positions % np.array(x.shape), y.values)
    y.positions, first = np.unique(y.positions, axis=0, return_index=True)
    y.values = y.values[first]
    a, b = x.dense(), y.dense()
    large = np.abs(a + b) >= 2

    def pairs(p: Any, q: Any) -> Pairs:
        p, q = tf.sparse.reorder(p), tf.sparse.reorder(q)
        return [
            (tf.sparse.add(p, q), a + b),
            (tf.sparse_add(p, q, thresh=2.0), np.where(large, a + b, 0)),
            (tf.sparse_add(p, b), a + b),
            (tf.sparse_add(a, q), a + b),
            (tf.sparse.maximum(p, q), np.maximum(a, b)),
            (tf.sparse.minimum(p, q), np.minimum(a, b)),
            (tf.sparse.concat(1, [p, q, p]), np.concatenate([a, b, a], 1)),
            (tf.sparse.concat(-2, [p, q]), np.concatenate([a, b], 0)),
            *zip(tf.sparse.split(sp_input=p, num_split=1, axis=0), [a], strict=True),
        ]

    holds(target, pairs, x, y, known=known)


@TARGETS
@given(x=sparse(rank=2), parts=st.integers(1, 4), axis=st.integers(0, 1))
@EXAMPLES
def test_the_first_parts_of_a_split_are_the_larger_ones(
    target: str, x: Sparse, parts: int, axis: int
) -> None:
    parts = min(parts, x.shape[axis])

    def pairs(sp: Any) -> Pairs:
        found = tf.sparse_split(sp_input=tf.sparse.reorder(sp), num_split=parts, axis=axis)
        return list(zip(found, np.array_split(x.dense(), parts, axis), strict=True))

    holds(target, pairs, x, known="nothing")


@TARGETS
@given(x=sparse(rank=2, ordered=True))
@EXAMPLES
def test_softmax_is_over_what_is_stored(target: str, x: Sparse) -> None:
    powers = np.where(x.stored(), np.exp(x.dense()), 0)
    sums = powers.sum(1, keepdims=True)
    expected = np.divide(powers, sums, out=np.zeros_like(powers), where=sums > 0)
    holds(target, lambda sp: [(tf.sparse.softmax(sp), expected)], x, known="nothing")


@TARGETS
@given(x=sparse(rank=2))
@EXAMPLES
def test_rows_without_elements_are_filled_in_order(target: str, x: Sparse) -> None:
    empty = ~x.stored().any(1)
    expected = x.dense()
    expected[empty, 0] = 7

    def pairs(sp: Any) -> Pairs:
        filled, rows = tf.sparse.fill_empty_rows(tf.sparse.reorder(sp), 7.0)
        return [(filled, expected), (rows, empty)]

    holds(target, pairs, x, known="nothing")


# ---- single cases ----


def run(target: str, build: Callable[[], Any], feeds: Any = None) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        return session.run(build())


@TARGETS
def test_repeated_positions_are_summed_by_a_matmul(target: str) -> None:
    def build() -> Any:
        sp = tf.SparseTensor([[1, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [2, 2])
        return tf.sparse.matmul(sp, tf.constant([[1.0, 2.0], [3.0, 4.0]]))

    np.testing.assert_array_equal(run(target, build), [[6, 8], [4, 8]])


@TARGETS
def test_sparse_to_dense_takes_positions_of_any_rank(target: str) -> None:
    def build() -> Any:
        return [
            tf.sparse_to_dense(2, [4], 5),
            tf.sparse_to_dense([1, 3], [4], [5, 6], -1),
            tf.sparse_to_dense([[0, 1], [1, 0]], [2, 2], 1.5),
            tf.sparse_to_dense([[0]], [2], [True], False),
            tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], ["a"], [2])),
            tf.sparse_tensor_to_dense(tf.SparseTensor([[1]], ["a"], [2]), "?"),
        ]

    found = [value.tolist() for value in run(target, build)]
    assert found == [
        [0, 0, 5, 0], [-1, 5, -1, 6], [[0, 1.5], [1.5, 0]], [True, False], [b"", b"a"],
        [b"?", b"a"],
    ]  # fmt: skip


@TARGETS
def test_concat_may_widen_the_other_axes(target: str) -> None:
    def build() -> Any:
        a = tf.SparseTensor([[0, 1]], [1.0], [1, 2])
        b = tf.SparseTensor([[2, 0]], [2.0], [3, 1])
        return tf.sparse_concat(1, [a, b], expand_nonconcat_dim=True)

    np.testing.assert_array_equal(dense_of(run(target, build)), [[0, 1, 0], [0, 0, 0], [0, 0, 2]])


@TARGETS
def test_reset_shape_finds_the_smallest_one(target: str) -> None:
    def build() -> Any:
        some = tf.SparseTensor([[0, 4], [2, 1]], [1, 2], [9, 9])
        none = tf.SparseTensor(np.zeros((0, 2), np.int64), np.zeros(0, np.float32), [9, 9])
        return tf.sparse_reset_shape(some), tf.sparse_reset_shape(none)

    some, none = run(target, build)
    assert some.dense_shape.tolist() == [3, 5] and none.dense_shape.tolist() == [0, 0]


@TARGETS
def test_ids_and_values_merge_into_rows(target: str) -> None:
    def build() -> Any:
        positions = [[0, 0], [1, 0], [1, 1]]
        ids = tf.SparseTensor(positions, [2, 3, 0], [2, 2])
        values = tf.SparseTensor(positions, [1.0, 2.0, 3.0], [2, 2])
        return tf.sparse_merge(ids, values, 4), tf.sparse_to_indicator(ids, 4)

    merged, indicator = run(target, build)
    assert is_ordered(merged)
    np.testing.assert_array_equal(dense_of(merged), [[0, 0, 1, 0], [3, 0, 0, 2]])
    np.testing.assert_array_equal(indicator, [[0, 0, 1, 0], [1, 0, 0, 1]])
    assert indicator.dtype == bool


@TARGETS
def test_eye_has_ones_on_the_diagonal(target: str) -> None:
    square, wide = run(target, lambda: (tf.sparse.eye(2), tf.sparse.eye(2, 3, tf.float64)))
    np.testing.assert_array_equal(dense_of(square), np.eye(2))
    np.testing.assert_array_equal(dense_of(wide), np.eye(2, 3))
    assert wide.values.dtype == np.float64


@TARGETS
def test_segments_choose_rows(target: str) -> None:
    data = np.arange(8.0).reshape(4, 2)

    def build() -> Any:
        arguments = (data, [0, 1, 3], [0, 0, 2])
        return [
            tf.sparse_segment_sum(*arguments),
            tf.sparse_segment_mean(*arguments),
            tf.sparse_segment_sqrt_n(*arguments, num_segments=4),
        ]

    sums, means, roots = run(target, build)
    np.testing.assert_allclose(sums, [[2, 4], [0, 0], [6, 7]])
    np.testing.assert_allclose(means, [[1, 2], [0, 0], [6, 7]])
    np.testing.assert_allclose(roots, [[2 / 2**0.5, 4 / 2**0.5], [0, 0], [6, 7], [0, 0]])


@TARGETS
@pytest.mark.parametrize(
    ("indices", "ids", "words"),
    [
        ([0, -1], [0, 1], "indices are out of range"),
        ([0, 4], [0, 1], "4"),
        ([0, 1], [1, 0], "segment ids are not increasing"),
        ([0, 1], [-1, 0], "segment ids must be >= 0"),
        ([0, 1], [0, 2], "segment ids must be < num_segments"),
    ],
)
@pytest.mark.parametrize("fed", [False, True])
def test_segments_out_of_range_are_refused_in_the_run(
    target: str, indices: list[int], ids: list[int], words: str, fed: bool
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        rows, segments = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
        given = (rows, segments) if fed else (indices, ids)
        total = tf.sparse_segment_sum(np.ones([4, 2]), *given, num_segments=2)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(total, {rows: indices, segments: ids} if fed else {})


def test_segments_of_nothing_and_of_a_scalar() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.sparse_segment_mean(np.ones([0, 4]), [], [])).shape == (0, 4)
        with pytest.raises(ValueError, match="at least rank 1"):
            tf.sparse_segment_sum(1.0, [0], [3])


@TARGETS
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_embeddings_of_sparse_ids_are_combined(target: str, combiner: str) -> None:
    table = np.arange(8.0).reshape(4, 2) + 1
    positions, ids, weights = [[0, 0], [0, 1], [1, 0]], [1, 3, 0], [2.0, 0.5, 3.0]

    def expected(factors: list[float]) -> np.ndarray:
        rows = []
        for row in range(2):
            chosen = [i for i, position in enumerate(positions) if position[0] == row]
            w = np.array([factors[i] for i in chosen])
            total = w @ table[[ids[i] for i in chosen]]
            divisor = {"sum": 1.0, "mean": w.sum(), "sqrtn": np.sqrt((w**2).sum())}[combiner]
            rows.append(total / divisor)
        return np.array(rows)

    def build() -> Any:
        sp_ids = tf.SparseTensor(positions, ids, [2, 2])
        sp_weights = tf.SparseTensor(positions, weights, [2, 2])
        lookup = tf.nn.embedding_lookup_sparse
        wider = tf.SparseTensor(positions, ids, [3, 2])
        return [
            lookup(table, sp_ids, None, combiner=combiner),
            lookup([table[::2], table[1::2]], sp_ids, sp_weights, combiner=combiner),
            tf.nn.safe_embedding_lookup_sparse([table], wider, None, combiner),
            tf.nn.safe_embedding_lookup_sparse([table], wider, None, combiner, default_id=2),
        ]

    plain, weighted, safe, filled = run(target, build)
    ones = expected([1.0, 1.0, 1.0])
    np.testing.assert_allclose(plain, ones)
    np.testing.assert_allclose(weighted, expected(weights), rtol=1e-6)
    np.testing.assert_allclose(safe, [*ones, [0, 0]])
    np.testing.assert_allclose(filled, [*ones, table[2]])


@TARGETS
def test_edit_distance_counts_changes(target: str) -> None:
    def build() -> Any:
        given = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [3, 0]], list("abxq"), [4, 2])
        truth = tf.SparseTensor([[0, 0], [0, 1], [0, 2], [1, 0], [2, 0]], list("acbxy"), [4, 3])
        return tf.edit_distance(given, truth), tf.edit_distance(given, truth, normalize=False)

    relative, absolute = run(target, build)
    np.testing.assert_allclose(relative, [1 / 3, 0, 1, np.inf], rtol=1e-6)
    np.testing.assert_array_equal(absolute, [1, 0, 1, 1])
    assert absolute.dtype == np.float32


def test_matrices_with_many_zeros_are_multiplied_as_any() -> None:
    a, b = np.eye(3, 2, dtype=np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    found = run("", lambda: tf.sparse_matmul(a, b, transpose_a=True, a_is_sparse=True))
    np.testing.assert_array_equal(found, a.T @ b)


# ---- gradients ----

POSITIONS, SHAPE = [[0, 1], [1, 0], [2, 1]], [3, 2]


def of_values(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """function of a SparseTensor as one of its values."""

    def build(values: Any) -> Any:
        found = function(tf.SparseTensor(POSITIONS, values, SHAPE))
        return found.values if isinstance(found, tf.SparseTensor) else found

    return build


@pytest.mark.parametrize(
    "function",
    [
        tf.sparse.to_dense,
        lambda sp: tf.sparse.matmul(sp, tf.constant(away(2, 2))),
        lambda sp: tf.sparse.matmul(sp, tf.constant(away(3, 2)), adjoint_a=True),
        lambda sp: sp * tf.constant(away(3, 2)),
        lambda sp: sp / tf.constant(away(2)),
        lambda sp: tf.sparse.add(sp, sp * 3.0),
        lambda sp: tf.sparse.add(sp, tf.constant(away(3, 2))),
        lambda sp: tf.sparse.reduce_sum(sp, 0),
        lambda sp: tf.sparse.reduce_max(sp, 0),
        lambda sp: tf.sparse.reduce_sum_sparse(sp, 1),
        lambda sp: tf.sparse.softmax(sp),
        lambda sp: tf.sparse.maximum(sp, tf.sparse.reorder(sp * -2.0)),
        tf.sparse.transpose,
        lambda sp: tf.sparse.reshape(sp, [2, 3]),
        lambda sp: tf.sparse.concat(0, [sp, sp]),
        lambda sp: tf.sparse.slice(sp, [1, 0], [2, 2]),
        lambda sp: tf.sparse.split(sp_input=sp, num_split=2, axis=1)[1],
        lambda sp: tf.sparse.fill_empty_rows(sp, tf.constant(2.0, tf.float64))[0],
        lambda sp: tf.sparse.retain(sp, [True, False, True]),
        lambda sp: tf.square(sp),
        lambda sp: tf.cond(tf.size(sp) > 0, lambda: sp * 2.0, lambda: sp),
        lambda sp: tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * x.values[0]), [0, sp]
        )[1],
    ],
)
def test_gradients_by_the_values_are_those_of_differences(function: Callable[[Any], Any]) -> None:
    check(of_values(function), [away(3)], second=False)


def test_gradients_by_the_dense_side_are_those_of_differences() -> None:
    def multiplied(values: Any, dense: Any) -> Any:
        return tf.sparse.matmul(tf.SparseTensor(POSITIONS, values, SHAPE), dense)

    def scaled(values: Any, dense: Any) -> Any:
        return (tf.SparseTensor(POSITIONS, values, SHAPE) / dense).values

    check(multiplied, [away(3), away(2, 4)])
    check(scaled, [away(3), away(1, 2)])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_gradients_of_embeddings_are_those_of_differences(combiner: str) -> None:
    def build(table: Any, weights: Any) -> Any:
        ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 3, 1], [2, 2])
        sp_weights = tf.SparseTensor(ids.indices, weights, [2, 2])
        return tf.nn.embedding_lookup_sparse(table, ids, sp_weights, combiner=combiner)

    check(build, [away(4, 2), np.array([1.0, 0.5, 2.0])], second=False)


def test_which_gradients_are_slices() -> None:
    with tf.Graph().as_default():
        table, dense = tf.ones([4, 2]), tf.ones([2, 3])
        ids = tf.SparseTensor([[0, 0]], [1], [1, 1])
        looked_up = tf.nn.embedding_lookup_sparse(table, ids, None)
        multiplied = tf.sparse.matmul(tf.SparseTensor([[0, 1]], [1.0], [1, 2]), dense)
        segments = tf.sparse_segment_sum(table, [0, 1], [0, 0])
        assert isinstance(tf.gradients(looked_up, table)[0], tf.IndexedSlices)
        assert isinstance(tf.gradients(multiplied, dense)[0], tf.Tensor)
        assert isinstance(tf.gradients(segments, table)[0], tf.Tensor)


@TARGETS
@pytest.mark.parametrize("max_norm", [None, 1.0])
@pytest.mark.parametrize("several", [False, True])
def test_the_slices_of_an_embedding_have_each_row_once(
    target: str, several: bool, max_norm: float | None
) -> None:
    values = np.arange(1.0, 9.0, dtype=np.float32).reshape(4, 2)

    def build() -> Any:
        table = [tf.constant(values[::2]), tf.constant(values[1::2])]
        params = table if several else [tf.constant(values)]
        ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1]], [3, 1, 3, 3], [2, 2])
        rows = tf.nn.embedding_lookup_sparse(params, ids, None, combiner="sum", max_norm=max_norm)
        repeated = tf.nn.embedding_lookup(params, ids.values, max_norm=max_norm)
        found = tf.gradients(rows, params)
        plain = tf.gradients(repeated, params)
        return [
            (g.indices, g.values, tf.convert_to_tensor(p))
            for g, p in zip(found, plain, strict=True)
        ]

    for part, (indices, slices, dense) in enumerate(run(target, build)):
        assert sorted(indices) == ([[], [0, 1]][part] if several else [1, 3])
        scattered = np.zeros_like(dense)
        scattered[indices] = slices
        np.testing.assert_allclose(scattered, dense, rtol=1e-6)


def test_weights_of_ids_are_of_the_dtype_of_the_table() -> None:
    lookup = tf.nn.safe_embedding_lookup_sparse
    with tf.Graph().as_default():
        ids = tf.SparseTensor([[0, 0]], [1], [1, 1])
        weights = tf.SparseTensor([[0, 0]], tf.constant([2.0]), [1, 1])
        for table in (tf.ones([4, 2], tf.float64), tf.Variable(np.ones([4, 2]))):
            with pytest.raises(ValueError, match="float64"):
                lookup([table], ids, weights)
        assert lookup(np.ones([4, 2]), ids, weights).dtype == tf.float32


@TARGETS
def test_a_sparse_linear_model_learns(target: str) -> None:
    rng = np.random.RandomState(0)
    dense = np.where(rng.rand(40, 6) < 0.3, rng.randn(40, 6), 0)
    truth = rng.randn(6, 1)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.sparse_placeholder(tf.float64, [None, 6])
        y = tf.placeholder(tf.float64, [None, 1])
        w = tf.Variable(np.zeros((6, 1)))
        loss = tf.reduce_mean(tf.square(tf.sparse.matmul(x, w) - y))
        step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        session.run(tf.global_variables_initializer())
        positions = np.argwhere(dense)
        fed = {x: (positions, dense[tuple(positions.T)], dense.shape), y: dense @ truth}
        for _ in range(200):
            session.run(step, fed)
        np.testing.assert_allclose(session.run(w), truth, atol=1e-3)


# ---- refusals of the run ----

BAD = [
    ([[0, 1], [0, 1]], r"indices\[1\] = \[0,1\] is repeated"),
    ([[1, 0], [0, 1]], r"indices\[1\] = \[0,1\] is out of order"),
    ([[0, 0], [2, 0]], r"indices\[1\] = \[2,0\] is out of bounds: need 0 <= index < \[2,2\]"),
    ([[0, -1], [1, 0]], r"indices\[0\] = \[0,-1\] is out of bounds"),
]


@TARGETS
@pytest.mark.parametrize(("positions", "words"), BAD)
def test_to_dense_refuses_positions(target: str, positions: Any, words: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sp = tf.sparse_placeholder(tf.float32)
        dense = tf.sparse_tensor_to_dense(sp)
        again = tf.sparse_to_dense(sp.indices, sp.dense_shape, sp.values)
        for fetch in (dense, again):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(fetch, {sp: (positions, [1.0, 2.0], [2, 2])})


@TARGETS
@pytest.mark.parametrize(
    "build",
    [
        lambda sp: tf.sparse_tensor_to_dense(sp, validate_indices=False),
        lambda sp: tf.sparse.matmul(sp, tf.ones([2, 2])),
        lambda sp: sp * tf.ones([2, 2]),
        tf.sparse.reorder,
        lambda sp: tf.sparse.add(sp, sp),
        lambda sp: tf.sparse.add(sp, tf.ones([2, 2])),
        lambda sp: tf.sparse.reduce_sum(sp, 0),
        lambda sp: tf.sparse.softmax(sp),
        lambda sp: tf.sparse.concat(0, [sp, sp]),
        lambda sp: tf.sparse.reshape(sp, [4]),
        lambda sp: tf.sparse.transpose(sp),
        lambda sp: tf.sparse.fill_empty_rows(sp, 0.0)[0],
    ],
)
def test_no_operation_takes_a_position_outside_the_shape(
    target: str, build: Callable[[Any], Any]
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sp = tf.sparse_placeholder(tf.float32, [2, 2])
        fetch = build(sp)
        for position in ([0, 2], [0, -1], [2, 0]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="is out of bounds"):
                session.run(fetch, {sp: ([position], [1.0], [2, 2])})


@TARGETS
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda p, q: tf.sparse.add(p, q), "shapes of the SparseTensors differ"),
        (lambda p, q: tf.sparse.maximum(p, q), "shapes of the SparseTensors differ"),
        (lambda p, q: tf.sparse.concat(0, [p, q]), "all dimensions but 0"),
        (lambda p, q: tf.sparse.reset_shape(p, q.dense_shape - 2), "smaller"),
        (lambda p, q: tf.sparse.reshape(p, q.dense_shape), "another number of dense values"),
        (lambda p, q: tf.sparse.add(p, tf.sparse.to_dense(q)), "sparse and the dense tensor"),
        (lambda p, q: tf.sparse.matmul(p, tf.sparse.to_dense(q)), "inner dimension"),
    ],
)
def test_shapes_that_do_not_fit_are_found_by_the_run(target: str, build: Any, words: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        p, q = (tf.sparse_placeholder(tf.float32, [None, None]) for _ in range(2))
        fetch = build(p, q)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(fetch, {p: ([[0, 0]], [1.0], [2, 2]), q: ([[0, 0]], [1.0], [3, 3])})


@TARGETS
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.sparse.add(ONE(), ONE([2, 3])), "differ"),
        (lambda: tf.sparse.maximum(ONE(), ONE([2, 3])), "differ"),
        (lambda: tf.sparse.add(ONE(), tf.ones([2, 3])), "differ"),
        (lambda: tf.sparse.concat(0, [ONE(), ONE([2, 3])]), "all dimensions but 0"),
    ],
)
def test_known_sizes_that_differ_are_errors_of_the_run(target: str, build: Any, words: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetch = build()
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(fetch)


def test_a_reshaped_and_a_joined_tensor_tell_what_is_known_of_them() -> None:
    with tf.Graph().as_default():
        fed, open_size = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.int64, [1])
        reshaped = tf.sparse.reshape(fed, [2, 3, 5])
        assert reshaped.indices.shape.as_list() == [None, 3]
        assert reshaped.dense_shape.shape.as_list() == [3]
        known = tf.sparse.reshape(ONE([2, 3, 4]), tf.concat([[2], open_size], 0))
        assert known.shape.as_list() == [2, 12]
        joined = tf.sparse.concat(0, [fed, tf.sparse_placeholder(tf.float32, [None, 3])])
        assert joined.indices.shape.as_list() == [None, 2]
        assert tf.sparse.concat(2000, [fed]) is fed
        several = tf.sparse.reshape(fed, [4, -1, -1])
        with tf.Session() as session, pytest.raises(INVALID, match="At most one dimension"):
            session.run(several, {fed: ([[0, 0]], [1.0], [4, 4])})
        with tf.Session() as session, pytest.raises(INVALID, match="another number"):
            session.run(known, {open_size: [11]})


@TARGETS
def test_an_axis_out_of_an_unknown_rank_is_found_by_the_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        sp = tf.sparse_placeholder(tf.float32)
        for axis in (2, -3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
                session.run(tf.sparse.reduce_sum(sp, axis), {sp: ([[0, 0]], [1.0], [2, 2])})


# ---- refusals of the builder ----

INVALID = tf.errors.InvalidArgumentError
ONE = lambda shape=(2, 2): tf.SparseTensor([[0] * len(shape)], [1.0], list(shape))  # noqa: E731


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: tf.sparse.add(ONE(), ONE([2])), ValueError, "differ"),
        (lambda: tf.sparse.add(ONE(), tf.cast(ONE(), tf.int32)), TypeError, "cast"),
        (lambda: tf.sparse.add(tf.ones([2]), tf.ones([2])), TypeError, "do you mean to use tf.add"),
        (lambda: tf.sparse.matmul(ONE(), tf.ones([3, 2])), ValueError, "inner dimension"),
        (lambda: tf.sparse.matmul(ONE([2]), tf.ones([2, 2])), ValueError, "rank 2"),
        (lambda: tf.sparse.matmul(tf.ones([2, 2]), tf.ones([2, 2])), TypeError, "SparseTensor"),
        (lambda: tf.sparse.matmul(ONE(), tf.ones([2, 2], tf.int32)), ValueError, "int32"),
        (lambda: tf.sparse.reshape(ONE(), [3]), ValueError, "Cannot reshape"),
        (lambda: tf.sparse.reshape(ONE(), [-1, -1]), ValueError, "At most one"),
        (lambda: tf.sparse.transpose(ONE(), [0, 0]), ValueError, "permutation"),
        (lambda: tf.sparse.slice(ONE(), [0], [1, 1]), ValueError, "SparseSlice: start"),
        (lambda: tf.sparse.slice(ONE(), [0, 0], [1, 1, 1]), ValueError, "SparseSlice: size"),
        (lambda: tf.sparse.concat(0, [ONE(), ONE([2])]), ValueError, "all dimensions but 0"),
        (lambda: tf.sparse.split(sp_input=ONE(), num_split=1, axis=[1, 2]), INVALID, "axis"),
        (lambda: tf.sparse.split(sp_input=ONE(), num_split=1, axis=2), INVALID, "SparseSplit"),
        (lambda: tf.sparse.reduce_max(ONE(), -3), INVALID, "SparseReduceMax"),
        (lambda: tf.sparse.maximum(ONE(), ONE([2])), INVALID, "differ"),
        (lambda: tf.sparse.concat(2, [ONE(), ONE()]), ValueError, "SparseConcat"),
        (lambda: tf.sparse.concat(0, ONE()), TypeError, "list"),
        (lambda: tf.sparse.split(ONE(), 2, 0), ValueError, "Keyword"),
        (lambda: tf.sparse.split(sp_input=ONE(), num_split=3, axis=0), ValueError, "num_split"),
        (lambda: tf.sparse.reduce_sum(ONE(), 2), ValueError, "SparseReduceSum"),
        (lambda: tf.sparse.reduce_sum(tf.ones([2])), TypeError, "SparseTensor"),
        (lambda: tf.sparse.softmax(ONE([2])), ValueError, "rank"),
        (lambda: tf.sparse.retain(ONE(), [True, False]), ValueError, "equal"),
        (lambda: tf.sparse.reset_shape(ONE(), [1, 2]), ValueError, "smaller"),
        (lambda: tf.sparse.to_dense(tf.ones([2])), TypeError, "SparseTensor"),
        (lambda: tf.sparse.to_dense(ONE(), default_value=[1.0]), ValueError, "scalar"),
        (lambda: tf.sparse_to_dense([[0, 0]], [2], [1]), ValueError, "coordinates"),
        (lambda: tf.sparse_to_dense([0, 1], [2], [1]), ValueError, "equal"),
        (lambda: tf.sparse_to_dense([0.5], [2], [1]), TypeError, "integer"),
        (lambda: tf.nn.embedding_lookup_sparse(tf.ones([2]), ONE(), None, combiner="max"),
         ValueError, "combiner"),
        (lambda: tf.nn.embedding_lookup_sparse(tf.ones([2]), [0], None), TypeError, "sp_ids"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_refused(build: Any, error: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        build()


# ---- out of the session ----


def test_sparse_computations_are_exported_to_onnx() -> None:
    onnx_runtime = pytest.importorskip("onnxruntime")
    import graphio.onnx as tfonnx

    x = Sparse([3, 4], [[0, 1], [1, 3], [2, 0]], [1.0, -2.0, 3.0])
    with tf.Graph().as_default(), tf.Session() as session:
        sp = tf.sparse_placeholder(tf.float64, [None, None])
        multiplied = tf.sparse.matmul(tf.sparse.add(sp, sp), tf.eye(4, dtype=tf.float64))
        sums = tf.sparse.reduce_sum(tf.sparse.reshape(tf.sparse.transpose(sp), [-1, 2]), 0)
        scaled = tf.sparse.to_dense(sp * 2.0)
        inputs = {"places": sp.indices, "values": sp.values, "shape": sp.dense_shape}
        outputs = {"product": multiplied, "sums": sums, "scaled": scaled}
        model = tfonnx.export(None, session, inputs, outputs)
        expected = session.run(outputs, {sp: x.fed})
    found = onnx_runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(list(outputs), dict(zip(inputs, x.fed, strict=True)))
    for value, name in zip(found, outputs, strict=True):
        np.testing.assert_allclose(value, expected[name])
    np.testing.assert_allclose(expected["product"], 2 * x.dense())


@TARGETS
def test_values_of_a_sparse_tensor_are_counted(target: str) -> None:
    dense = np.array([[0, 2, 2, 0], [3, 0, 1, 2]])
    weights = dense * 0.5
    with tf.Graph().as_default(), tf.Session(target) as session:
        numbers, parts = tf.sparse.from_dense(dense), tf.sparse.from_dense(weights)
        found = {
            "all": tf.bincount(numbers),
            "weighted": tf.bincount(numbers, parts),
            "rows": tf.bincount(numbers, axis=-1),
            "rows cut": tf.bincount(numbers, parts, maxlength=3, axis=-1),
            "rows seen": tf.bincount(numbers, axis=-1, binary_output=True),
        }
        values = {name: value.tolist() for name, value in session.run(found).items()}
    assert values == {
        "all": [0, 1, 3, 1],
        "weighted": [0, 0.5, 3, 1.5],
        "rows": [[0, 0, 2, 0], [0, 1, 1, 1]],
        "rows cut": [[0, 0, 2], [0, 0.5, 1]],
        "rows seen": [[0, 0, 1, 0], [0, 1, 1, 1]],
    }


def test_bincount_says_what_it_cannot_count() -> None:
    numbers = tf.sparse.from_dense([[1, 0]])
    for words, arguments in {
        "exclude each other": {"weights": [1], "binary_output": True},
        "expected None, 0 or -1": {"axis": 1},
        "expected a matrix": {"arr": np.zeros([1, 1, 1], np.int32), "axis": -1},
        "must be a SparseTensor": {"arr": numbers, "weights": [[1, 0]]},
    }.items():
        with pytest.raises(ValueError, match=words):
            tf.bincount(**{"arr": [1], **arguments})


@TARGETS
def test_a_negative_number_in_a_row_is_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        numbers = tf.placeholder(tf.int32, [None, 2])
        counts = tf.bincount(numbers, axis=-1)
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            session.run(counts, {numbers: [[0, 1], [1, -1]]})
