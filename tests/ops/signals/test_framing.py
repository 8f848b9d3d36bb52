"""tf.signal.frame and overlap_and_add, against loops in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import BOTH
from gradient_check import away, check
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import Array, fed, value

import graphio as tf

SIZES = st.integers(1, 9)


def framed(x: Array, length: int, step: int, fill: Any) -> Array:
    """Frames of the last axis, one by one."""
    n = x.shape[-1]
    frames = []
    for begin in range(0, n, step):
        part = x[..., begin : begin + length]
        missing = length - part.shape[-1]
        if missing and fill is None:
            break
        filler = np.full((*x.shape[:-1], missing), fill, x.dtype)
        frames.append(np.concatenate([part, filler], -1))
    return np.stack(frames, -2) if frames else np.zeros((*x.shape[:-1], 0, length), x.dtype)


def added(x: Array, step: int) -> Array:
    frames, length = x.shape[-2:]
    total = np.zeros((*x.shape[:-2], (frames - 1) * step + length), x.dtype)
    for i in range(frames):
        total[..., i * step : i * step + length] += x[..., i, :]
    return total


@BOTH
@settings(max_examples=8, deadline=None)
@given(n=st.integers(0, 30), length=SIZES, step=SIZES, fill=st.sampled_from([None, 5]))
def test_a_signal_comes_in_frames(
    engine: str, n: int, length: int, step: int, fill: int | None
) -> None:
    x = np.arange(2 * n, dtype=np.int32).reshape(2, n)
    options = {} if fill is None else {"pad_end": True, "pad_value": fill}
    expected = framed(x, length, step, fill)
    found = value(engine, lambda x: tf.signal.frame(x, length, step, **options), x)
    np.testing.assert_array_equal(found, expected)
    for rank in (True, False):
        found = fed(
            engine, lambda x, n, s: tf.signal.frame(x, n, s, **options), x, np.int32(length),
            np.int64(step), rank=rank,
        )  # fmt: skip
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


@BOTH
def test_frames_of_another_axis(engine: str) -> None:
    x = np.random.RandomState(1).randn(2, 7, 3)
    expected = np.moveaxis(framed(np.moveaxis(x, 1, -1), 3, 2, 0), 1, -1)
    for axis in (1, -2):
        found = value(engine, lambda x, a=axis: tf.signal.frame(x, 3, 2, True, axis=a), x)
        np.testing.assert_array_equal(found, expected)
    found = fed(engine, lambda x: tf.signal.frame(x, 3, 2, True, axis=-2), x, rank=False)
    np.testing.assert_array_equal(found, expected)


@BOTH
@settings(max_examples=8, deadline=None)
@given(frames=SIZES, length=SIZES, step=SIZES)
def test_frames_add_up(engine: str, frames: int, length: int, step: int) -> None:
    x = np.random.RandomState(frames).randint(-99, 99, (2, 3, frames, length))
    expected = added(x, step)
    found = value(engine, lambda x: tf.signal.overlap_and_add(x, step), x)
    np.testing.assert_array_equal(found, expected)
    for rank in (True, False):
        found = fed(engine, tf.signal.overlap_and_add, x, np.int32(step), rank=rank)
        np.testing.assert_array_equal(found, expected)


def test_static_shapes_are_known() -> None:
    x = tf.placeholder(tf.float32, [None, 5, 20])
    assert tf.signal.frame(x, 4, 3).shape.as_list() == [None, 5, 6, 4]
    assert tf.signal.frame(x, 4, 3, pad_end=True).shape.as_list() == [None, 5, 7, 4]
    assert tf.signal.frame(x, 4, 3, axis=0).shape.as_list() == [None, 4, 5, 20]
    assert tf.signal.overlap_and_add(x, 3).shape.as_list() == [None, 32]


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_gradients_are_those_of_finite_differences(step: int) -> None:
    check(lambda x: tf.signal.frame(x, 3, step, pad_end=True), [away(2, 8)])
    check(lambda x: tf.signal.frame(x, 3, step, axis=0) ** 2, [away(8, 2)])
    check(lambda x: tf.signal.overlap_and_add(x, step), [away(2, 4, 3)])
    check(
        lambda x: tf.signal.overlap_and_add(x, step), [away(2, 4, 3)], shapes=lambda _: [None] * 3
    )


def test_arguments_are_checked() -> None:
    x = tf.zeros([3, 4])
    for build, words in (
        (lambda: tf.signal.frame(x, [2], 1), r"frame_length has shape \(1,\), expected a scalar"),
        (lambda: tf.signal.frame(x, 2, 0), "frame_step is 0, expected at least 1"),
        (lambda: tf.signal.frame(x, 2, 1, True, [0.0]), "pad_value has shape"),
        (lambda: tf.signal.frame(x, 2, 1, axis=2), "axis"),
        (lambda: tf.signal.frame(tf.placeholder(tf.int32), 2, 1, axis=1), "count the axis from"),
        (lambda: tf.signal.overlap_and_add(x[0], 1), "expected rank 2 or more"),
        (lambda: tf.signal.overlap_and_add(x, 0), "frame_step is 0, expected at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            build()
