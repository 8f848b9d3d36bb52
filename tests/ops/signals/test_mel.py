"""Mel bands and cepstral coefficients of tf.signal, against formulas in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from engines import BOTH
from gradient_check import away, check
from signal_runs import Array, fed, value

import graphio as tf


def weights(bands: int, bins: int, rate: float, low: float, high: float) -> Array:
    """Triangles between the frequencies that divide the mel scale evenly."""

    def mel(hertz: object) -> Array:
        return np.asarray(1127 * np.log1p(np.asarray(hertz) / 700))

    edges = np.linspace(mel(low), mel(high), bands + 2)
    at = mel(np.linspace(0, rate / 2, bins))
    found = np.stack(
        [np.interp(at, edges[i : i + 3], [0, 1, 0], left=0, right=0) for i in range(bands)], 1
    )
    found[0] = 0
    return found


@BOTH
@pytest.mark.parametrize(
    "arguments",
    [(20, 129, 8000, 125.0, 3800.0), (80, 1025, 24000.0, 80.0, 12000.0), (3, 1, 10, 0, 5)],
)
def test_bands_are_triangles_over_the_mel_scale(
    engine: str, arguments: tuple[int, int, float, float, float]
) -> None:
    expected = weights(*arguments)
    wide = value(engine, lambda: tf.signal.linear_to_mel_weight_matrix(*arguments, tf.float64))
    np.testing.assert_allclose(wide, expected, rtol=0, atol=1e-12)
    single = value(engine, lambda: tf.signal.linear_to_mel_weight_matrix(*arguments))
    np.testing.assert_allclose(single, expected, rtol=0, atol=6e-8)
    bands, bins, rate, low, high = arguments
    found = fed(
        engine, lambda n, r: tf.signal.linear_to_mel_weight_matrix(bands, n, r, low, high),
        np.int32(bins), np.float32(rate),
    )  # fmt: skip
    np.testing.assert_array_equal(found, single)


@BOTH
def test_coefficients_are_a_scaled_cosine_transform(engine: str) -> None:
    x = np.random.RandomState(0).randn(2, 3, 40)
    expected = scipy.fft.dct(x) / np.sqrt(80)
    for found in (
        value(engine, tf.signal.mfccs_from_log_mel_spectrograms, x),
        fed(engine, tf.signal.mfccs_from_log_mel_spectrograms, x),
        fed(engine, tf.signal.mfccs_from_log_mel_spectrograms, x, rank=False),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_coefficients_have_a_gradient() -> None:
    check(lambda x: tf.signal.mfccs_from_log_mel_spectrograms(x) ** 2, [away(2, 6)])


def test_arguments_are_checked() -> None:
    matrix = tf.signal.linear_to_mel_weight_matrix
    for build, words in (
        (lambda: matrix(num_mel_bins=0), "num_mel_bins is 0, expected at least 1"),
        (lambda: matrix(sample_rate=0.0), "sample_rate is 0.0, expected more than 0"),
        (lambda: matrix(lower_edge_hertz=-1), "lower_edge_hertz is -1.0, expected 0 or more"),
        (lambda: matrix(lower_edge_hertz=100, upper_edge_hertz=10), "expected less than 10.0"),
        (lambda: matrix(upper_edge_hertz=1000, sample_rate=800), "at most 400.0, half the rate"),
        (lambda: matrix(dtype=tf.int32), "dtype is int32, expected a floating one"),
        (
            lambda: tf.signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 0])),
            "the last axis is empty",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            build()
