"""Sizes and shapes: of nothing, by masks, of bounds, and those that cannot be."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_cases import TARGETS, Table, check, gives

import graphio as tf

CASES: Table = {}
X = np.array([[1, 5], [7, 2]], np.int32)

# ---- Dimensions among numbers ----


@gives(CASES, [2, 6, 1])
def dimensions_are_stacked_with_numbers() -> Any:
    shape = tf.zeros([2, 3]).get_shape()
    return tf.stack([shape[0], shape[1] * 2, 1])


@gives(CASES, np.zeros([2, 6]))
def dimensions_are_amounts_to_pad() -> Any:
    x = tf.zeros([2, 3])
    return tf.pad(x, [[0, 0], [1, x.get_shape()[0]]])


@gives(CASES, [[[1, 5]], [[7, 2]]])
def a_dimension_is_a_number_of_parts() -> Any:
    x = tf.constant(X)
    return tf.split(x, x.get_shape()[0])


# ---- nothing ----


@gives(CASES, np.zeros([0, 2, 3]))
def beside_no_rows_the_other_sizes_follow_from_each_other() -> Any:
    return tf.reshape(np.zeros([0, 6], np.float32), [0, -1, 3])


@gives(CASES, [[1, 0], [0, 0], [2, 0], [0, 3]])
def rows_of_nothing_are_chosen() -> Any:
    rows = tf.zeros([2, 0])
    chosen = [tf.boolean_mask(rows, mask) for mask in ([True, False], [False, False], [True, True])]
    return [
        tf.shape(part) for part in (*chosen, tf.boolean_mask(tf.zeros([0, 3]), np.zeros(0, bool)))
    ]


@gives(CASES, [2, 0])
def rows_of_as_many_as_are_fed_are_chosen() -> Any:
    x, mask = tf.placeholder(tf.float32, [None, None, None]), tf.placeholder(tf.bool, [None, None])
    fed = {x: np.zeros([2, 2, 0]), mask: [[True, False], [False, True]]}
    return tf.shape(tf.boolean_mask(x, mask)), fed


@gives(CASES, [[1, 0], [1, 0]])
def rows_of_nothing_are_parted() -> Any:
    return [tf.shape(part) for part in tf.dynamic_partition(tf.zeros([2, 0]), [0, 1], 2)]


@gives(CASES, [0, 0, 2])
def a_whole_tensor_goes_to_one_part() -> Any:
    parts = tf.dynamic_partition(tf.constant([1.0, 2.0]), 2, 3)
    return [tf.size(part) for part in parts]


@gives(CASES, np.zeros([0], np.int32))
def no_numbers_are_drawn_between_equal_bounds() -> Any:
    return tf.random_uniform([0], 0, 0, tf.int32)


@gives(CASES, b"")
def nothing_joined_is_an_empty_text() -> Any:
    return tf.strings.join([])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=4),
    st.integers(0, 3),
    st.sampled_from(TARGETS),
)
def test_a_size_left_open_is_found_beside_any_others(
    sizes: list[int], position: int, target: str
) -> None:
    position %= len(sizes)
    if 0 in sizes and not sizes[position]:
        sizes[position] = 1  # it cannot be inferred which 0 it was
    expected = [-1 if i == position else size for i, size in enumerate(sizes)]
    with tf.Graph().as_default(), tf.Session(target) as session:
        y = tf.reshape(np.zeros(sizes, np.float32), expected)
        assert y.shape == sizes and session.run(y).shape == tuple(sizes)


@gives(CASES, np.zeros([0]))
def one_value_fills_no_elements() -> Any:
    return tf.constant(1.0, shape=[0])


@gives(CASES, [[[[1, 0], [0, 0]], [[0, 5], [0, 0]]], [[[0, 0], [7, 0]], [[0, 0], [0, 2]]]])
def the_diagonal_of_a_matrix_is_that_of_twice_its_axes() -> Any:
    return tf.diag(X)


@gives(CASES, [2, 4])
def sizes_of_a_sparse_value_are_those_of_the_whole() -> Any:
    value = tf.SparseTensorValue([[0, 1], [1, 0]], [42, 24], [2, 2])
    return [tf.rank(value), tf.size(value)]


# ---- masks and lists ----


@gives(CASES, [5, 7])
def a_mask_is_an_index() -> Any:
    x = tf.constant(X)
    return x[x > 2]


@gives(CASES, [[7, 2]])
def an_array_of_bools_chooses_rows() -> Any:
    return tf.constant(X)[np.array([False, True])]


@gives(CASES, [[0.0, 1.0], [0.0, 1.0]])
def tensors_in_a_list_are_cast_to_the_dtype_of_the_list() -> Any:
    part = tf.constant([0.0, 1.0])
    return tf.convert_to_tensor([part, part], tf.float64)


@gives(CASES, 3)
def tensors_are_added_as_they_come() -> Any:
    return tf.add_n(tf.constant(i) for i in (1, 2))


@gives(CASES, 2.5)
def a_number_is_divided_in_the_dtype_of_the_tensor() -> Any:
    return tf.divide(5, tf.constant(2.0))


@gives(CASES, [1.0, 2.0])
def an_incoming_gradient_of_one_element_is_that_of_a_scalar() -> Any:
    x = tf.constant([1.0, 2.0])
    return tf.gradients(tf.nn.l2_loss(x), x, tf.constant([1.0]))[0]


@gives(CASES, [1, 2, 3])
def a_bound_that_is_not_known_is_none() -> Any:
    size = tf.Dimension(None)
    return tf.constant([1, 2, 3])[size:size:size]


@gives(CASES, [8])
def whole_lines_are_numbers() -> Any:
    path = os.path.join(tempfile.mkdtemp(), "numbers.txt")
    with open(path, "w") as file:
        file.write("7\n8\n")
    index = tf.lookup.TextFileIndex
    lines = tf.lookup.TextFileInitializer(
        path, tf.int64, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    )
    table = tf.lookup.StaticHashTable(lines, -1)
    with tf.control_dependencies([tf.tables_initializer()]):
        return table.lookup(tf.constant([8], tf.int64)) + 7


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_tensorflow_s(name: str, target: str) -> None:
    check(CASES, name, target)


def test_more_is_known_of_shapes() -> None:
    words, more = (tf.SparseTensor([[0, 0]], ["a"], [n, 1]) for n in (1, 3))
    assert tf.edit_distance(words, more).shape == [3]
    np.testing.assert_array_equal(tf.get_static_value(tf.fill([3], 7)), [7, 7, 7])
    assert np.all(tf.get_static_value(tf.fill([1000], 7)) == 7)
    assert tf.sequence_mask(tf.constant([0, 1, 4])).shape == [3, 4]
    assert tf.tile(tf.placeholder(tf.float32), [2, 2, 2]).shape.ndims == 3
    assert tf.constant(1, name=b"bytes").op.name == "bytes"
    for shape in (tf.TensorShape([2, None]), tf.TensorShape(None)):
        assert repr(tf.TensorShape(shape.as_proto())) == repr(shape)


# ---- ranks that only the run knows ----

SQUARE = np.array([[4, 1], [1, 3]], np.float64)
COLUMN = np.array([[1], [2]], np.float64)
#: a builder, and what it is given
OF_MATRICES: dict[str, tuple[Any, list[Any]]] = {
    "matrix_diag": (tf.matrix_diag, [SQUARE[0]]),
    "matrix_diag_part": (tf.matrix_diag_part, [SQUARE]),
    "matrix_set_diag": (tf.matrix_set_diag, [SQUARE, SQUARE[0]]),
    "matrix_band_part": (lambda x: tf.matrix_band_part(x, -1, 0), [SQUARE]),
    "matrix_determinant": (tf.matrix_determinant, [SQUARE]),
    "matrix_inverse": (tf.matrix_inverse, [SQUARE]),
    "cholesky": (tf.cholesky, [SQUARE]),
    "matrix_solve": (tf.matrix_solve, [SQUARE, COLUMN]),
    "matrix_triangular_solve": (tf.matrix_triangular_solve, [SQUARE, COLUMN]),
    "cholesky_solve": (tf.cholesky_solve, [SQUARE, COLUMN]),
    "eigenvalues": (lambda x: tf.self_adjoint_eig(x)[0], [SQUARE]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices_of_a_rank_that_is_fed_give_what_those_of_a_known_one_give(
    name: str, target: str
) -> None:
    build, values = OF_MATRICES[name]
    with tf.Graph().as_default(), tf.Session(target) as session:
        free = [tf.placeholder(tf.float64) for _ in values]
        result = build(*free)
        gradients = tf.gradients(result, free[0])[0]
        for lead in ((), (1,), (2, 3), (0,)):
            given = [np.broadcast_to(v, (*lead, *v.shape)) for v in values]
            known = [tf.constant(v) for v in given]
            fixed = build(*known)
            expected = session.run([fixed, tf.gradients(fixed, known[0])[0]])
            found = session.run([result, gradients], dict(zip(free, given, strict=True)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other)
                assert one.shape == other.shape


# ---- refusals ----

INVALID = tf.errors.InvalidArgumentError
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "fill": (lambda: tf.fill([2, -1], 0), ValueError, "Fill dimensions must be >= 0"),
    "axes in a matrix": (
        lambda: tf.reduce_sum(X, np.array([[0], [1]])), ValueError, "at most rank 1",
    ),
    "an axis twice": (lambda: tf.reduce_sum(X, [0, -2]), INVALID, "names an axis twice"),
    "crops": (
        lambda: tf.batch_to_space_nd(tf.zeros([4, 1, 1, 1]), [2, 2], [[0, 3], [0, 0]]),
        ValueError, "take more than the 2 elements",
    ),
    "updates": (
        lambda: tf.scatter_nd(tf.zeros([3, 2, 1], tf.int32), tf.zeros([2, 2, 2]), [2, 2]),
        ValueError, "must be equal, but are 3 and 2",
    ),
    "rows of updates": (
        lambda: tf.scatter_nd([[0]], tf.zeros([1, 3]), [4, 2]), ValueError, "are 3 and 2",
    ),
    "into nothing": (
        lambda: tf.scatter_nd([[0]], [1], [0]), ValueError, "specified for empty output",
    ),
    "bounds": (
        lambda: tf.random_uniform([3], [1, 2], 3, tf.int32), ValueError, "minval must be a scalar",
    ),
    "on and off": (
        lambda: tf.one_hot([0], 2, tf.constant(1.0), tf.constant(0)), TypeError, "different types",
    ),
    "substr": (lambda: tf.substr("abc", [1, 2], 1), ValueError, "Shapes must be equal rank"),
    "delimiters": (lambda: tf.string_split(["a"], ["|"]), ValueError, "expected one string"),
    "softmax": (lambda: tf.nn.softmax(X * 1.0, 2), INVALID, "out of range"),
    "roll": (lambda: tf.roll(X, 1, 2), INVALID, "out of range"),
    "roll by a matrix": (lambda: tf.roll(X, [[1]], 0), INVALID, "a scalar or a vector"),
    "cumsum": (lambda: tf.cumsum(X, -3), INVALID, "out of range"),
    "a norm of matrices": (lambda: tf.norm(X * 1.0, "fro"), ValueError, "a norm of matrices"),
    "an axis of a norm twice": (
        lambda: tf.norm(X * 1.0, axis=[0, 0]), ValueError, "2 unique integers",
    ),
    "bins": (
        lambda: tf.histogram_fixed_width([1.0], [0.0, 1.0], 0), INVALID, "nbins should be > 0",
    ),
    "a range of bins": (
        lambda: tf.histogram_fixed_width_bins([1.0], [1.0, 1.0]), INVALID, "should ascend",
    ),
    "a short key": (
        lambda: tf.strings.to_hash_bucket_strong(["a"], 9, [1]), INVALID, "Key must have 2",
    ),
    "negative columns": (
        lambda: tf.decode_csv(["1,2"], [[0]], select_cols=[-1]), ValueError, "numbers >= 0",
    ),
    "columns of an array": (
        lambda: tf.decode_csv(["1,2"], np.zeros(2)), TypeError, "expected a list",
    ),
    "strings from a distribution": (
        lambda: tf.random_normal_initializer(dtype=tf.string), ValueError, "expected a floating",
    ),
    "not a Scaffold": (
        lambda: tf.train.Scaffold(copy_from_scaffold=1), TypeError, "expected a Scaffold",
    ),
    "dropout": (lambda: tf.nn.dropout(X, 0.5), ValueError, "expected a floating dtype"),
    "an ellipsis that is summed": (
        lambda: tf.einsum("...ij,jk->ik", np.ones([2, 2, 3]), np.ones([3, 4])),
        ValueError, "has no ellipsis",
    ),
    "weights of another rank": (
        lambda: tf.losses.mean_pairwise_squared_error(np.ones([2, 3]), np.ones([2, 3]), [1.0, 2.0]),
        ValueError, "can not be broadcast",
    ),
    "a size next to one of 0": (
        lambda: tf.sparse_reshape(tf.sparse_placeholder(tf.float32), [0, -1]),
        INVALID, "cannot infer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_tensorflow_refuses_is_refused_with_its_class(name: str) -> None:
    build, kind, words = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(kind, match=words) as caught:
        build()
    assert type(caught.value) is kind


@pytest.mark.parametrize("target", TARGETS)
def test_the_step_of_a_range_is_fed(target: str) -> None:
    value = np.arange(10.0).reshape(2, 5)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, step = tf.constant(value), tf.placeholder(tf.int32, [])
        parts = [x[:, ::step], x[:, 3:0:step]]
        gradient = tf.gradients(parts[0] * parts[0], x)[0]
        for number in (1, 2, -1, -2):
            on = np.zeros([2, 5])
            on[:, ::number] = 1
            found = session.run([*parts, gradient], {step: number})
            np.testing.assert_array_equal(found[0], value[:, ::number])
            np.testing.assert_array_equal(found[1], value[:, 3:0:number])
            np.testing.assert_array_equal(found[2], 2 * value * on)


@pytest.mark.parametrize("target", TARGETS)
def test_shapes_that_cannot_be_are_refused_by_the_run(target: str) -> None:
    nothing = tf.SparseTensorValue(np.zeros([0, 2], np.int64), np.zeros(0, np.float32), [4, 0])
    with tf.Graph().as_default(), tf.Session(target) as session:
        sparse, shape = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.int64, [2])
        again = tf.sparse_reshape(sparse, shape).dense_shape
        fed = {sparse: nothing}
        np.testing.assert_array_equal(session.run(again, {**fed, shape: [7, -1]}), [7, 0])
        with pytest.raises(INVALID, match="cannot infer"):
            session.run(again, {**fed, shape: [0, -1]})
        dims = tf.placeholder(tf.int32, [2])
        position = tf.unravel_index(5, dims)
        np.testing.assert_array_equal(session.run(position, {dims: [1 << 15, 3]}), [1, 2])
        with pytest.raises(INVALID, match="more than int32 counts"):
            session.run(position, {dims: [1 << 16, 1 << 15]})


@pytest.mark.parametrize("target", TARGETS)
def test_base64_of_other_letters_is_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        with pytest.raises(INVALID, match="Invalid character found in base64"):
            session.run(tf.decode_base64(b"ab+d"))


@pytest.mark.parametrize(
    "build",
    [tf.zeros, tf.ones, lambda s: tf.reshape([1, 2], s), lambda s: tf.tile([[1]], s),
     lambda s: tf.broadcast_to([[1]], s), lambda s: tf.scatter_nd([[0]], [[1, 2]], s)],
)  # fmt: skip
def test_a_shape_of_unknown_sizes_is_no_tensor(build: Any) -> None:
    with pytest.raises(ValueError, match="partially known"):
        build(tf.TensorShape([None, 2]))


def test_none_is_no_axis_of_a_list() -> None:
    for build in (tf.nn.softmax, tf.expand_dims, tf.squeeze, tf.sort):
        with pytest.raises(TypeError, match="expected an integer"):
            build(tf.ones([1, 2]), axis=[0, None])


def test_a_mask_compares_lengths_in_the_dtype_of_maxlen() -> None:
    """Floats are cut to integers, and small integers do not bound maxlen; without it, floats are
    compared as they are."""
    masks = [tf.sequence_mask([0.0, 1.5], 2), tf.sequence_mask([0.0, 1.5], dtype=None)]
    assert [m.shape.as_list() for m in masks] == [[2, 2], [2, 2]]
    small = tf.sequence_mask(tf.constant([3], tf.int8), 300)
    for target in ("runtime", "cinfer"):
        cut, whole, wide = tf.Session(target).run([*masks, small])
        assert cut.tolist() == [[False, False], [True, False]]
        assert whole.tolist() == [[False, False], [True, True]]
        assert wide.shape == (1, 300) and wide.sum() == 3


def test_tensors_are_distinguished_from_what_can_become_one() -> None:
    tensors = [tf.constant(1), tf.Variable(1), tf.SparseTensor([[0]], [1], [2])]
    assert [tf.is_tensor(x) for x in [*tensors, 1, [1], np.ones(1), None]] == [True] * 3 + [
        False
    ] * 4


def test_a_size_of_a_sparse_placeholder_may_be_open() -> None:
    assert tf.sparse_placeholder(tf.float32, [-1, 2]).get_shape().as_list() == [None, 2]


def test_one_text_is_split_as_a_vector_of_one() -> None:
    found = tf.Session().run(tf.strings.split("a b", sep=" "))
    assert found.values.tolist() == [b"a", b"b"] and found.dense_shape.tolist() == [1, 2]


def test_the_rows_of_an_array_are_added() -> None:
    for target in ("runtime", "cinfer"):
        assert tf.Session(target).run(tf.add_n(np.array([[1, 2], [3, 4]]))).tolist() == [4, 6]


def test_strings_are_no_numbers_to_be_cast() -> None:
    for cast in (tf.cast, tf.saturate_cast):
        with pytest.raises(tf.errors.UnimplementedError, match="to_number"):
            cast("1", tf.int32)


def test_an_unknown_dimension_is_neither_a_size_nor_a_number_of_parts() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3])
        with pytest.raises(ValueError, match="None values not supported"):
            tf.stack([x.get_shape()[0], 3])
        with pytest.raises(ValueError, match="unknown Dimension to a number of parts"):
            tf.split(x, x.get_shape()[0])
