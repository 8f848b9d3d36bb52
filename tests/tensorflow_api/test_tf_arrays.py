"""Bits, blocks, paddings and parts of arrays as TensorFlow takes and refuses them; both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from value_cases import TARGETS, Table, check, gives

import graphio as tf

INVALID = tf.errors.InvalidArgumentError
CASES: Table = {}
BOTH = pytest.mark.parametrize("target", TARGETS)


@gives(CASES, np.array([1.5, -2.0]).view(np.int16).reshape(2, 4))
def bits_of_a_larger_dtype_are_cut() -> Any:
    return tf.bitcast(np.array([1.5, -2.0]), tf.int16)


@gives(CASES, np.arange(8, dtype=np.int8).reshape(2, 4).view(np.float32)[:, 0])
def bits_of_smaller_dtypes_are_put_together() -> Any:
    x = tf.placeholder(tf.int8)
    return tf.bitcast(x, tf.float32), {x: np.arange(8).reshape(2, 4)}


@gives(CASES, [np.finfo(np.float32).max, -np.finfo(np.float32).max])
def infinities_become_the_largest_numbers() -> Any:
    return tf.saturate_cast(tf.constant([np.inf, -np.inf]), tf.float64)


@gives(CASES, 65280.0)
def the_largest_number_is_one_of_both_dtypes() -> Any:
    return tf.cast(tf.saturate_cast(tf.constant(1e6, tf.bfloat16), tf.float16), tf.float32)


@gives(CASES, [[True, True, True], [True, True, False], [True, True, True]])
def beside_diagonals_of_bools_stands_a_bool() -> Any:
    return tf.matrix_diag([True, False], k=1, padding_value=1)


@gives(CASES, [[0, 1], [4, 5]])
def the_number_of_batch_axes_is_a_tensor() -> Any:
    batches = tf.constant([1])
    return tf.gather_nd(np.arange(8).reshape(2, 2, 2), [[0], [0]], batch_dims=batches)


@gives(CASES, [b"a", "é".encode(), b"\xff"])
def strings_stand_beside_bytes_that_are_none() -> Any:
    return tf.constant(["a", "é", b"\xff"])


@gives(CASES, [2**31, 2])
def shapes_of_large_sizes_are_tensors_of_int64() -> Any:
    return tf.convert_to_tensor(tf.TensorShape([2**31, 2]))


@gives(CASES, [[1, 3], [2, 4]])
def a_transposed_matrix_is_conjugated() -> Any:
    return tf.matrix_transpose([[1, 2], [3, 4]], conjugate=True)


@gives(CASES, [2.0])
def sizes_that_numpy_has_computed_are_cut_to_integers() -> Any:
    two = np.array([2.9])
    x = tf.tile(tf.zeros(two) + tf.fill(two, 1.0) + tf.broadcast_to(1.0, two), two / 2)
    return tf.reshape(tf.reduce_mean(tf.image.resize_images(tf.ones([1, 1, 1]), two[[0, 0]] * 2)
                                     + tf.reduce_mean(x) - 1.0), np.array([1.0]))  # fmt: skip


@gives(CASES, [[0.0, 1.0], [1.0, 0.0]])
def classes_are_an_array_of_floats() -> Any:
    return tf.one_hot(np.array([1.0, 0.5]), np.float64(2.0))


@pytest.mark.parametrize("name", CASES)
@BOTH
def test_values_are_tensorflow_s(name: str, target: str) -> None:
    check(CASES, name, target)


def test_static_shapes_are_known_as_far_as_the_arguments_say() -> None:
    with tf.Graph().as_default():
        x, n = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        square, lines = tf.zeros([4, 4]), tf.placeholder(tf.float32, [None, 20])
        assert tf.pad(x, [[2, 2], [2, 2]]).shape.as_list() == [None, None]
        assert tf.pad(square, n).shape.as_list() == [None, None]
        assert tf.pad(square, [[1, 2], n]).shape.as_list() == [7, None]
        assert tf.pad(square, [[n, 0], tf.constant([1, 1])]).shape.as_list() == [None, 6]
        assert tf.pad(lines, [[0, n], [0, 0]]).shape.as_list() == [None, 20]
        assert tf.pad(x, n).shape.ndims is None
        assert tf.concat([x, square], n).shape.ndims == 2
        assert tf.space_to_batch(x, n, 2).shape.ndims == 4
        assert tf.bitcast(square, tf.int8).shape.as_list() == [4, 4, 4]
        blocks = tf.batch_to_space_nd(tf.placeholder(tf.float32, [18, None, None, 2]), [2, 3], n)
        assert blocks.shape.as_list() == [3, None, None, 2]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "bits that do not make one": (
        lambda: tf.bitcast(np.zeros([1, 2], np.int8), tf.int32), ValueError, "the size 4",
    ),
    "sizes in a list of floats": (lambda: tf.reshape([1], [1.0]), TypeError, "integers"),
    "sizes in a tensor of floats": (lambda: tf.fill(tf.constant([1.0]), 1), TypeError, "int32"),
    "a box's image in a list of floats": (
        lambda: tf.image.crop_and_resize(np.ones([1, 1, 1, 1]), np.ones([1, 4]), [0.0], [1, 1]),
        TypeError, "integer",
    ),
    "more elements than int64 counts": (
        lambda: tf.image.crop_and_resize(
            np.ones([1, 1, 1, 1]), np.ones([9, 4]), np.zeros(9), [2**31 - 1, 2**30]
        ),
        INVALID, "more than int64 counts",
    ),
    "bits of a bool": (lambda: tf.bitcast([True], tf.int8), TypeError, "no bits"),
    "bits of a pair": (
        lambda: tf.bitcast(np.zeros([2], np.complex128), tf.int8), ValueError, "16 bytes",
    ),
    "two dtypes of one_hot": (lambda: tf.one_hot([0], 3, 1, 0.5), TypeError, "different types"),
    "scalars along an open axis": (
        lambda: tf.concat([tf.constant(7)] * 2, tf.placeholder(tf.int32)), ValueError, "scalars",
    ),
    "an axis that is not an integer": (
        lambda: tf.concat(1, tf.Variable([1.0])), ValueError, "integer scalar",
    ),
    "one axis twice": (
        lambda: tf.reverse_sequence([[1, 2]], [2], seq_axis=0), INVALID, "different axes",
    ),
    "more tiles than can be counted": (
        lambda: tf.tile([[[1]]], [10**8] * 3), INVALID, "more elements than an int64 counts",
    ),
    "a matrix larger than can be counted": (
        lambda: tf.matrix_diag([1.0], k=10**12), INVALID, "more elements than an int64 counts",
    ),
    "coordinates of a scalar": (
        lambda: tf.scatter_nd_update(tf.Variable(1.0), [[0]], [0.5]), INVALID, "more than the rank",
    ),
    "columns out of order": (
        lambda: tf.decode_csv(["1,2"], [[0], [0]], select_cols=[1, 0]),
        ValueError, "strictly increasing",
    ),
    "a matrix as a column's default": (
        lambda: tf.decode_csv(["1"], [[[0]]]), ValueError, "rank 1",
    ),
    "a drawn text": (
        lambda: tf.orthogonal_initializer(dtype=tf.string), ValueError, "floating dtype",
    ),
    "a varying integer": (
        lambda: tf.variance_scaling_initializer(dtype=tf.int32), ValueError, "floating dtype",
    ),
    "slices of an axis from the end": (
        lambda: tf.gradients(
            tf.gather(tf.concat([x := tf.placeholder(tf.float32), tf.identity(x)], -1), [0]), x
        ),
        ValueError, "rank of its first value",
    ),
    "another number of parts than sizes": (
        lambda: tf.split([1, 2, 3], tf.constant([1, 2]), num=3), ValueError, "num is 3",
    ),
    "parts of an unknown number": (
        lambda: tf.split([1, 2], tf.placeholder(tf.int32, [None])), ValueError, "argument `num`",
    ),
    "a list of tensors of two dtypes": (
        lambda: tf.convert_to_tensor([tf.constant(1), tf.constant(1.0)]), TypeError, "cast them",
    ),
    "a range of one end": (
        lambda: tf.histogram_fixed_width([1.0], 1.0), ValueError, "vector of 2 elements",
    ),
    "parts of other ranks along an open axis": (
        lambda: tf.concat([tf.zeros([1]), tf.zeros([1, 1])], tf.placeholder(tf.int32)),
        ValueError, "Ranks of all tensors must match",
    ),
    "the shape of a float": (
        lambda: tf.convert_to_tensor(tf.TensorShape([1]), tf.float32), TypeError, "TensorShape",
    ),
    "a shape too large for int32": (
        lambda: tf.convert_to_tensor(tf.TensorShape([2**31]), tf.int32), ValueError, "too large",
    ),
    "more than there is to mirror": (
        lambda: tf.pad([1, 2], [[3, 0]], "SYMMETRIC"), INVALID, "no greater than",
    ),
    "more than there is to reflect": (
        lambda: tf.pad([1, 2], [[2, 0]], "REFLECT"), INVALID, "less than",
    ),
    "a slice from before the beginning": (
        lambda: tf.slice([1, 2], [-1], [1]), INVALID, r"begin\[0\] to be 0 or more",
    ),
    "a slice beyond the end": (lambda: tf.slice([1, 2], [1], [2]), INVALID, r"begin \+ size <= 2"),
    "strings as numbers": (
        lambda: tf.cast(["1"], tf.int32), tf.errors.UnimplementedError, "strings.to_number",
    ),
    "numbers as strings": (
        lambda: tf.cast([1], tf.string), tf.errors.UnimplementedError, "as_string",
    ),
    "blocks of no size": (
        lambda: tf.space_to_batch_nd(tf.placeholder(tf.float32), [0], [[0, 0]]),
        ValueError, "must be positive",
    ),
    "blocks of an unknown number": (
        lambda: tf.space_to_batch_nd(
            tf.zeros([1, 2]), tf.placeholder(tf.int32), tf.placeholder(tf.int32)
        ),
        ValueError, "length of block_shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_tensorflow_refuses_is_refused_with_its_class(name: str) -> None:
    build, kind, words = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(kind, match=words) as caught:
        build()
    assert type(caught.value) is kind


@BOTH
def test_bits_of_a_fed_axis_of_another_size_are_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.int8)
        with pytest.raises(INVALID):
            session.run(tf.bitcast(x, tf.int16), {x: [[1, 2, 3]]})


@BOTH
def test_shapes_of_the_run_that_do_not_fit_are_refused(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
        both = tf.broadcast_dynamic_shape(x, y)
        assert session.run(both, {x: [2, 1, 0], y: [3, 1]}).tolist() == [2, 3, 0]
        with pytest.raises(INVALID, match="two sizes differ"):
            session.run(both, {x: [2, 3], y: [2]})


@BOTH
@pytest.mark.parametrize("ends", [[[2, 0], [1, 3]], [[0, 0], [0, 1]]])
def test_mirrored_borders_of_the_run(target: str, ends: list[list[int]]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with tf.Graph().as_default(), tf.Session(target) as session:
        fed, open_ = tf.placeholder(tf.float64), tf.placeholder(tf.int32, [2, 2])
        y = tf.pad(fed, open_, "SYMMETRIC")
        known = tf.pad(fed, ends, "SYMMETRIC")
        gradients = [tf.gradients(t * t, fed)[0] for t in (y, known)]
        found, same, *slopes = session.run([y, known, *gradients], {fed: x, open_: ends})
        np.testing.assert_array_equal(found, np.pad(x, ends, "symmetric"))
        np.testing.assert_array_equal(same, found)
        np.testing.assert_array_equal(*slopes)
        for wrong in ([[3, 0], [0, 0]], [[0, -1], [0, 0]]):
            with pytest.raises(INVALID, match="addings must be"):
                session.run(y, {fed: x, open_: wrong})


@BOTH
def test_diagonals_of_a_rank_that_is_fed(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.int32)
        square, part = tf.diag(x), tf.diag_part(x)
        for value in (np.arange(3), np.arange(4).reshape(2, 2)):
            made = session.run(square, {x: value})
            assert made.shape == value.shape * 2 and made.sum() == value.sum()
            np.testing.assert_array_equal(session.run(part, {x: made}), value)
        for fetch, wrong in ((square, 1), (part, 1), (part, [1, 2]), (part, np.ones([2, 3]))):
            with pytest.raises(INVALID):
                session.run(fetch, {x: wrong})


@BOTH
def test_windows_of_images_of_a_rank_that_is_fed(target: str) -> None:
    value = np.arange(9.0).reshape(1, 3, 3, 1)
    window = [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32)
        pair = tf.extract_image_patches(x, *window), tf.extract_image_patches(value, *window)
        np.testing.assert_array_equal(*session.run(pair, {x: value}))


BLOCKS = st.tuples(st.integers(1, 3), st.integers(1, 3))
SIZES = st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 2))


@BOTH
@given(blocks=BLOCKS, sizes=SIZES, border=st.integers(0, 2), tail=st.integers(0, 2))
@settings(max_examples=10, deadline=None, derandomize=True)
def test_blocks_of_the_run_are_those_that_are_known(
    target: str, blocks: tuple[int, int], sizes: tuple[int, int, int], border: int, tail: int
) -> None:
    """The gradient, too, and back again."""
    n, height, width = sizes[0], sizes[1] * blocks[0] + border, sizes[2] * blocks[1]
    x = np.random.RandomState(0).rand(n, height, width, *[2] * tail).astype(np.float32)
    ends = [[0, -border % blocks[0]], [0, 0]]
    with tf.Graph().as_default(), tf.Session(target) as session:
        fed, block, paddings = (tf.placeholder(d) for d in (tf.float32, tf.int32, tf.int64))
        block.set_shape([2])
        open_ = tf.space_to_batch_nd(fed, block, paddings)
        back = tf.batch_to_space_nd(open_, block, paddings)
        known = tf.space_to_batch_nd(tf.constant(x), list(blocks), ends)
        weights = tf.random.stateless_uniform(known.shape, [1, 2])
        gradients = tf.gradients(open_ * weights, fed) + tf.gradients(known * weights, known)
        feed = {fed: x, block: blocks, paddings: ends}
        found, again, expected, dx, _ = session.run([open_, back, known, *gradients], feed)
        dy = session.run(tf.batch_to_space_nd(weights, list(blocks), ends))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again, x)
    np.testing.assert_array_equal(dx, dy)


@BOTH
@pytest.mark.parametrize(
    ("shape", "block", "crops", "words"),
    [
        ((3, 1, 1), [2, 1], [[0, 0], [0, 0]], "not a multiple"),
        ((4, 2, 2), [2, 2], [[3, 2], [0, 0]], "more than there is"),
        ((4, 2, 2), [2, 0], [[0, 0], [0, 0]], "must be positive"),
        ((4, 2, 2), [2, 2], [[0, -1], [0, 0]], "cannot be negative"),
        ((4, 2), [2, 2], [[0, 0], [0, 0]], "out of range|Gather"),
    ],
)
def test_batches_of_the_run_that_make_no_blocks_are_refused(
    target: str, shape: tuple[int, ...], block: list[int], crops: Any, words: str
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, blocks, ends = (tf.placeholder(d) for d in (tf.float32, tf.int32, tf.int32))
        blocks.set_shape([2])
        made = tf.batch_to_space_nd(x, blocks, ends)
        with pytest.raises(INVALID, match=words):
            session.run(made, {x: np.zeros(shape), blocks: block, ends: crops})
