"""Dtypes and arguments that TensorFlow's kernels take, in both engines."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from engines import BOTH

import graphio as tf


def run(engine: str, fetches: Any, feed: Any = None) -> Any:
    engines.module(engine)
    with tf.Session(engine) as session:
        return session.run(fetches, feed)


@BOTH
@pytest.mark.parametrize("training", [True, False])
def test_fused_batch_norm_of_halves_keeps_its_statistics_in_float32(
    engine: str, training: bool
) -> None:
    x = np.random.RandomState(0).rand(2, 3, 3, 4).astype(np.float16)
    scale = np.array([1, 2, 3, 4], np.float32)
    with tf.Graph().as_default():
        more = () if training else (tf.zeros([4]), tf.ones([4]))
        made = tf.nn.fused_batch_norm(x, scale, scale, *more, is_training=training)
        wide = tf.nn.fused_batch_norm(
            x.astype(np.float32), scale, scale, *more, is_training=training
        )
        y, mean, variance = run(engine, made)
        expected = run(engine, wide)
    assert (y.dtype, mean.dtype, variance.dtype) == (np.float16, np.float32, np.float32)
    np.testing.assert_array_equal(y, expected[0].astype(np.float16))
    np.testing.assert_array_equal([mean, variance], expected[1:])


@BOTH
def test_fused_batch_norm_of_volumes_is_that_of_their_images(engine: str) -> None:
    x = np.random.RandomState(0).rand(2, 3, 2, 4, 5).astype(np.float32)
    last, scale = np.moveaxis(x, 1, -1), np.arange(1, 4, dtype=np.float32)
    with tf.Graph().as_default():
        first = tf.nn.fused_batch_norm(x, scale, scale, data_format="NCDHW")
        volumes = tf.nn.fused_batch_norm(last, scale, scale, data_format="NDHWC")
        images = tf.nn.fused_batch_norm(last.reshape(4, 4, 5, 3), scale, scale)
        found, same, expected = run(engine, [first, volumes, images])
        with pytest.raises(ValueError, match="rank 5"):
            tf.nn.fused_batch_norm(x[0], scale, scale, data_format="NDHWC")
    np.testing.assert_array_equal(same[0].reshape(4, 4, 5, 3), expected[0])
    np.testing.assert_array_equal(np.moveaxis(found[0], 1, -1), same[0])
    for one, other in zip((*found[1:], *same[1:]), expected[1:] * 2, strict=True):
        np.testing.assert_array_equal(one, other)


@BOTH
def test_moments_of_halves_are_those_of_floats_rounded_once(engine: str) -> None:
    x = (np.random.RandomState(0).rand(3, 400) + 1).astype(np.float16)
    weights = np.linspace(0, 1, 400)
    with tf.Graph().as_default():
        for moments in (
            lambda t: list(tf.nn.moments(t, [1])),
            lambda t: list(tf.nn.weighted_moments(t, [1], weights)),
        ):
            halves, floats = run(engine, [moments(x), moments(x.astype(np.float32))])
            for half, exact in zip(halves, floats, strict=True):
                assert half.dtype == np.float16
                np.testing.assert_array_equal(half, exact.astype(np.float16))


@BOTH
def test_batch_normalization_casts_what_the_statistics_give_to_its_input(engine: str) -> None:
    with tf.Graph().as_default():
        x = tf.constant([[1.0, 3.0]], tf.float16)
        one = tf.ones([2])
        y = run(engine, tf.nn.batch_normalization(x, one, one, one, one, 0.0))
    assert y.dtype == np.float16 and y.tolist() == [[1.0, 3.0]]


@BOTH
def test_transposed_convolution_of_integers(engine: str) -> None:
    with tf.Graph().as_default():
        x, w = tf.ones([1, 2, 2, 1], tf.int32), 3 * tf.ones([2, 2, 1, 1], tf.int32)
        y = run(engine, tf.nn.conv2d_transpose(x, w, [1, 2, 2, 1], [1, 1, 1, 1]))
    assert y.dtype == np.int32 and y.ravel().tolist() == [3, 6, 6, 12]


@BOTH
def test_a_stride_in_the_batch_is_an_error_of_the_run(engine: str) -> None:
    with tf.Graph().as_default():
        y = tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 1]), [2, 1, 1, 1], "SAME")
        assert y.shape.as_list() == [1, 4, 4, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="batch and channels must be 1"):
            run(engine, y)


@BOTH
@pytest.mark.parametrize("blank", [0, 1, -1, None])
def test_the_blank_of_greedy_decoding_is_the_class_asked_for(
    engine: str, blank: int | None
) -> None:
    best = [0, 1, 1, 2, 0, 2]
    with tf.Graph().as_default():
        (found,), _ = tf.nn.ctc_greedy_decoder(
            np.eye(3, dtype=np.float32)[best][:, None], [6], blank_index=blank
        )
        values = run(engine, found).values.tolist()
        with pytest.raises(ValueError, match="expected -3 to 2"):
            tf.nn.ctc_greedy_decoder(tf.ones([2, 1, 3]), [2], blank_index=3)
    assert values == [c for c in [0, 1, 2, 0, 2] if c != (2 if blank in (None, -1) else blank)]


@BOTH
def test_a_pattern_may_be_a_tensor(engine: str) -> None:
    with tf.Graph().as_default():
        pattern = tf.placeholder(tf.string, [])
        matched = tf.strings.regex_full_match(["abc", "1"], pattern)
        assert run(engine, matched, {pattern: "[a-z]+"}).tolist() == [True, False]
        assert run(engine, matched, {pattern: "[0-9]"}).tolist() == [False, True]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no regular expression"):
            run(engine, matched, {pattern: "A["})


@BOTH
def test_a_sparse_product_takes_bfloat16_beside_float32(engine: str) -> None:
    with tf.Graph().as_default():
        a, b = tf.fill([2, 2], 3.0), tf.cast(tf.fill([2, 2], 2.0), tf.bfloat16)
        assert run(engine, tf.matmul(a, b, b_is_sparse=True)).tolist() == [[12.0] * 2] * 2
        with pytest.raises(TypeError):
            tf.matmul(a, b)


def test_a_rate_below_one_frame_a_second_is_written_as_one() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert b"RIFF" in session.run(tf.summary.audio("a", tf.ones([1, 3, 1]), 0.2, 3))


def test_shapes_of_the_last_axes_and_none_are_asserted() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.zeros([1, 2, 3, 4]), tf.placeholder(tf.float32)
        check = tf.debugging.assert_shapes([(x, (..., "N", 4)), (y, ("*", "N")), (x, None)])
        session.run(check, {y: np.zeros((5, 3))})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(check, {y: np.zeros((5, 4))})
        with pytest.raises(ValueError, match="must be 5"):
            tf.debugging.assert_shapes([(x, (..., 5, 4))])
