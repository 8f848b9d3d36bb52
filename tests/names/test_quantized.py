"""Quantized tensors: what the recorded scenes of TensorFlow don't have."""

from __future__ import annotations

import engines
import numpy as np
import pytest

import graphio as tf

X = np.float32([-3.0, -0.2, 0.0, 0.004, 0.3, 0.5, 0.999, 1.7, 2.0])


@engines.BOTH
@pytest.mark.parametrize("top", [0.3, 1.0, 6.0])
def test_relu_x_limits_steps_to_those_of_its_ends(engine: str, top: float) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        steps, low, high = tf.quantize(X, -1.0, 2.0, tf.quint8, "MIN_FIRST")
        made = tf.nn.quantized_relu_x(steps, top, low, high)
        before, (after, first, last) = session.run([steps, made])
    assert (after.dtype, first, last) == (np.uint8, -1.0, 2.0)
    scale = 256 / (3 * (256 / 255))
    ends = [np.clip(np.round(end * scale) - np.round(-scale), 0, 255) for end in (0, top)]
    np.testing.assert_array_equal(after, np.clip(before, *ends))


@engines.BOTH
def test_steps_give_their_numbers_back(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        for kind, error in ((tf.quint8, 5 / 255), (tf.qint8, 5 / 255), (tf.qint16, 5 / 65535)):
            for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
                made = tf.quantization.quantize(X + 3, 0.0, 5.0, kind, mode)
                back = tf.quantization.dequantize(made.output, *made[1:], mode)
                allowed = error * (2 if mode == "SCALED" else 1)
                np.testing.assert_allclose(session.run(back), X + 3, atol=0.51 * allowed)


@engines.BOTH
def test_the_ends_of_32_bits_do_not_overflow(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        steps = session.run(tf.quantize(X, -2.0, 2.0, tf.qint32, "SCALED").output)
    assert steps.dtype == np.int32
    assert (steps[0], steps[-1]) == (-(2**31), 2147483520)


@engines.BOTH
def test_a_convolution_of_steps_is_that_of_their_numbers(engine: str) -> None:
    x = np.random.RandomState(1).uniform(-1, 2, (1, 5, 5, 2)).astype(np.float32)
    w = np.random.RandomState(2).uniform(-1, 1, (3, 3, 2, 4)).astype(np.float32)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        a = tf.quantize(x, -1.0, 2.0, tf.quint8, "MIN_FIRST")
        b = tf.quantize(w, -1.0, 1.0, tf.qint8, "MIN_FIRST")
        made = tf.nn.quantized_conv2d(a[0], b[0], *a[1:], *b[1:], [1, 1, 1, 1], "SAME")
        back = tf.dequantize(made.output, made.min_output, made.max_output, "SCALED")
        found, exact = session.run([back, tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")])
    np.testing.assert_allclose(found, exact, atol=0.1)


@engines.BOTH
def test_a_range_that_ends_before_its_start_is_refused_by_the_run(engine: str) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        steps = tf.quantize(X, 1.0, 0.5, tf.quint8).output
        with pytest.raises(tf.errors.InvalidArgumentError, match="must be larger than"):
            session.run(steps)


def test_what_is_not_quantized_is_refused() -> None:
    with tf.Graph().as_default():
        steps, low, high = tf.quantize(X, -1.0, 2.0, tf.quint8)
        image = tf.zeros([1, 3, 3, 1], tf.uint8)
        window = ([1, 2, 2, 1], [1, 1, 1, 1], "SAME")
        for error, match, call in (
            (TypeError, "dtype is float32", lambda: tf.quantize(X, 0, 1, tf.float32)),
            (ValueError, "mode is 'MIN'", lambda: tf.quantize(X, 0, 1, tf.qint8, "MIN")),
            (ValueError, "only supported for mode 'SCALED'",
             lambda: tf.quantize(X, 0, 1, tf.qint8, round_mode="HALF_TO_EVEN")),
            (TypeError, "input is float32", lambda: tf.dequantize(X, 0, 1)),
            (ValueError, "mode is 'NONE'", lambda: tf.dequantize(steps, 0, 1, "NONE")),
            (ValueError, "2 values, 1 input_mins",
             lambda: tf.quantized_concat(0, [steps, steps], [low], [high])),
            (TypeError, "out_type is qint8",
             lambda: tf.nn.quantized_conv2d(image, image, 0, 1, 0, 1, [1] * 4, "SAME", tf.qint8)),
            (NotImplementedError, "dilations is",
             lambda: tf.nn.quantized_conv2d(
                 image, image, 0, 1, 0, 1, [1] * 4, "SAME", dilations=[1, 2, 2, 1])),
            (TypeError, "input is float32",
             lambda: tf.nn.quantized_max_pool(tf.zeros([1, 3, 3, 1]), 0, 1, *window)),
            (ValueError, "num_bits is 63",
             lambda: tf.quantization.quantize_and_dequantize(X, 0, 1, num_bits=63)),
            (ValueError, "round_mode is 'UP'",
             lambda: tf.quantization.quantize_and_dequantize(X, 0, 1, round_mode="UP")),
        ):  # fmt: skip
            with pytest.raises(error, match=match):
                call()
