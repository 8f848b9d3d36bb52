"""tf.signal.dct, idct, mdct and inverse_mdct, against scipy's transforms and sums in numpy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from engines import BOTH
from gradient_check import away, check
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import fed, value

import graphio as tf

KINDS = [(1, None), *((t, n) for t in (2, 3, 4) for n in (None, "ortho"))]
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


@BOTH
@pytest.mark.parametrize(("kind", "norm"), KINDS)
@settings(max_examples=8, deadline=None)
@given(size=st.integers(2, 70), n=st.integers(2, 80))
def test_transforms_are_scipys(engine: str, kind: int, norm: str | None, size: int, n: int) -> None:
    x = np.random.RandomState(size).randn(2, size)
    found = value(engine, lambda x: tf.signal.dct(x, kind, n, norm=norm), x)
    np.testing.assert_allclose(found, scipy.fft.dct(x, kind, n, norm=norm), **CLOSE)
    single = value(engine, lambda x: tf.signal.dct(x, kind, norm=norm), x.astype(np.float32))
    expected = scipy.fft.dct(x.astype(np.float32).astype(float), kind, norm=norm)
    np.testing.assert_allclose(single, expected, rtol=0, atol=3e-6 * np.abs(expected).max())
    for rank in (True, False):
        found = fed(engine, lambda x: tf.signal.dct(x, kind, norm=norm), x, rank=rank)
        np.testing.assert_allclose(found, scipy.fft.dct(x, kind, norm=norm), **CLOSE)


@BOTH
@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_the_inverse_gives_the_numbers_back(engine: str, kind: int, norm: str | None) -> None:
    x = np.random.RandomState(0).randn(3, 11)
    scale = 1 if norm else 2 * (10 if kind == 1 else 11)
    found = value(
        engine, lambda x: tf.signal.idct(tf.signal.dct(x, kind, norm=norm), kind, norm=norm), x
    )
    np.testing.assert_allclose(found, scale * x, **CLOSE)


@pytest.mark.parametrize(("kind", "norm"), KINDS)
def test_transforms_have_gradients(kind: int, norm: str | None) -> None:
    check(lambda x: tf.signal.dct(x, kind, norm=norm) ** 2, [away(2, 5)])
    check(
        lambda x: tf.signal.dct(x, kind, 7, norm=norm), [away(2, 5)], shapes=lambda _: [None, None]
    )


@BOTH
@pytest.mark.parametrize("norm", [None, "ortho"])
def test_lapped_transforms_are_sums_of_cosines(engine: str, norm: str | None) -> None:
    x, half = np.random.RandomState(0).randn(2, 40), 4
    frames = np.stack([x[:, i : i + 2 * half] for i in range(0, 33, half)], 1) * np.sqrt(0.5)
    n, k = np.arange(2 * half), np.arange(half)[:, None]
    cosines = np.cos(np.pi / half * (n + 0.5 + half / 2) * (k + 0.5))
    expected = frames @ cosines.T * (np.sqrt(2 / half) if norm else 2)
    found = value(engine, lambda x: tf.signal.mdct(x, 8, None, norm=norm), x)
    np.testing.assert_allclose(found, expected, **CLOSE)


@BOTH
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize(
    "window", [None, tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window]
)
def test_a_lapped_transform_gives_the_signal_back(
    engine: str, norm: str | None, window: object
) -> None:
    x = np.random.RandomState(0).randn(2, 64)

    def there_and_back(x: tf.Tensor) -> tf.Tensor:
        return tf.signal.inverse_mdct(tf.signal.mdct(x, 16, window, norm=norm), window, norm)

    for found in (value(engine, there_and_back, x), fed(engine, there_and_back, x),
                  fed(engine, there_and_back, x, rank=False)):  # fmt: skip
        np.testing.assert_allclose(found[:, 8:-8], x[:, 8:-8], **CLOSE)


def test_lapped_transforms_have_gradients() -> None:
    check(lambda x: tf.signal.mdct(x, 8, pad_end=True), [away(2, 18)])
    check(tf.signal.inverse_mdct, [away(3, 4)])


def test_arguments_are_checked() -> None:
    x = tf.zeros([2, 8])
    for build, error, words in (
        (lambda: tf.signal.dct(x, 5), ValueError, "type is 5, expected 1, 2, 3 or 4"),
        (lambda: tf.signal.dct(x, n=-2), ValueError, "n is -2, expected at least 1"),
        (lambda: tf.signal.dct(x, 1, norm="ortho"), ValueError, "type 1 has no orthogonal form"),
        (lambda: tf.signal.dct(x[:, :1], 1), ValueError, "takes two elements or more"),
        (lambda: tf.signal.dct(x, norm="bad"), ValueError, "norm is 'bad'"),
        (lambda: tf.signal.dct(x, axis=0), NotImplementedError, "axis is 0, expected -1"),
        (lambda: tf.signal.idct(x, n=3), NotImplementedError, "n is 3, expected None"),
        (lambda: tf.signal.dct(tf.zeros([3], tf.int32)), ValueError, "int32, expected a floating"),
        (lambda: tf.signal.mdct(x, 6), ValueError, "frame_length is 6, expected a multiple of 4"),
        (lambda: tf.signal.inverse_mdct(x[0]), ValueError, "expected rank 2 or more"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            build()
