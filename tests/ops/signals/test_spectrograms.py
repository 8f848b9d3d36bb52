"""tf.signal.stft and inverse_stft, against frames and transforms in numpy."""

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

CLOSE = {"rtol": 1e-11, "atol": 1e-11}


def hann(n: int) -> Array:
    """TensorFlow's: periodic where n is even."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / max(1, n - n % 2))


def spectra(x: Array, length: int, step: int, n: int, window: Array) -> Array:
    begins = range(0, x.shape[-1] - length + 1, step)
    frames = [np.fft.rfft(x[..., b : b + length] * window, n) for b in begins]
    return np.stack(frames, -2) if frames else np.zeros((*x.shape[:-1], 0, n // 2 + 1), complex)


@BOTH
@settings(max_examples=8, deadline=None)
@given(samples=st.integers(1, 60), length=st.integers(2, 20), step=st.integers(1, 9))
def test_spectra_are_those_of_windowed_frames(
    engine: str, samples: int, length: int, step: int
) -> None:
    x = np.random.RandomState(samples).randn(2, samples)
    power = 1 << (length - 1).bit_length()
    expected = spectra(x, length, step, power, hann(length))
    for found in (
        value(engine, lambda x: tf.signal.stft(x, length, step), x),
        fed(engine, tf.signal.stft, x, np.int32(length), np.int32(step), rank=False),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, **CLOSE)
    found = value(engine, lambda x: tf.signal.stft(x, length, step, 21, None), x)
    np.testing.assert_allclose(found, spectra(x, length, step, 21, np.ones(length)), **CLOSE)


@BOTH
@pytest.mark.parametrize(("length", "step", "n"), [(16, 4, 16), (12, 5, 20), (9, 9, 9), (8, 3, 6)])
def test_the_inverse_gives_the_signal_back(engine: str, length: int, step: int, n: int) -> None:
    x = np.random.RandomState(0).randn(2, 100)

    def there_and_back(x: Any) -> Any:
        spectrum = tf.signal.stft(x, length, step, max(n, length))
        back = tf.signal.inverse_stft_window_fn(step)
        return tf.signal.inverse_stft(spectrum, length, step, max(n, length), back)

    for found in (value(engine, there_and_back, x), fed(engine, there_and_back, x, rank=False)):
        inside = slice(length, found.shape[1] - length)
        expected = x[:, inside].copy()
        if step == length:  # the window is 0 at its first element, where nothing is left
            expected[:, hann(length)[np.arange(inside.start, inside.stop) % length] == 0] = 0
        np.testing.assert_allclose(found[:, inside], expected, **CLOSE)


@BOTH
def test_a_window_for_the_inverse_has_a_gain_of_one(engine: str) -> None:
    for length, step in ((16, 4), (12, 5), (7, 7), (4, 6)):
        window = value(
            engine, lambda n=length, s=step: tf.signal.inverse_stft_window_fn(s)(n, tf.float64)
        )
        gains = [np.sum((window * hann(length))[i::step]) for i in range(step)]
        expected = [float(np.any(hann(length)[i::step])) for i in range(step)]
        np.testing.assert_allclose(gains, expected, **CLOSE)


def test_shapes_are_known_where_lengths_are() -> None:
    x = tf.placeholder(tf.float32, [None, 100])
    spectrum = tf.signal.stft(x, 20, 10)
    assert spectrum.shape.as_list() == [None, 9, 17]
    assert spectrum.dtype == tf.complex64
    assert tf.signal.inverse_stft(spectrum, 20, 10).shape.as_list() == [None, 100]


def test_spectrograms_have_gradients() -> None:
    def parts(x: Any) -> Any:
        found = tf.signal.stft(x, 6, 3, pad_end=True)
        return tf.stack([tf.real(found), tf.abs(found)])

    check(parts, [away(2, 14)])
    check(
        lambda re, im: tf.signal.inverse_stft(tf.complex(re, im), 6, 3),
        [away(3, 5), away(3, 5, seed=2)],
    )


def test_arguments_are_checked() -> None:
    x, z = tf.zeros([2, 40]), tf.zeros([2, 3, 9], tf.complex64)
    for build, error, words in (
        (lambda: tf.signal.stft(tf.zeros([8], tf.int32), 4, 2), ValueError, "int32, expected a fl"),
        (lambda: tf.signal.stft(x, 0, 2), ValueError, "frame_length is 0, expected at least 1"),
        (lambda: tf.signal.stft(x, 4, 0), ValueError, "frame_step is 0, expected at least 1"),
        (lambda: tf.signal.inverse_stft(x, 4, 2), TypeError, "float32, expected a complex one"),
        (lambda: tf.signal.inverse_stft(z[0, 0], 4, 2), ValueError, "expected rank 2 or more"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            build()
