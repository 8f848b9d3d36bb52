"""Fourier transforms of tf.signal in one to three axes, against numpy's."""

from __future__ import annotations

from collections.abc import Callable
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
RANKS = {1: "", 2: "2d", 3: "3d"}
SIZES = st.integers(2, 80)


def complex_numbers(*shape: int) -> Array:
    rng = np.random.RandomState(sum(shape))
    return rng.randn(*shape) + 1j * rng.randn(*shape)


def function(name: str, rank: int) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(tf.signal, name + RANKS[rank])
    return found


@BOTH
@settings(max_examples=10, deadline=None)
@given(n=SIZES, cut=SIZES)
def test_any_length_is_transformed(engine: str, n: int, cut: int) -> None:
    z = complex_numbers(2, n)
    np.testing.assert_allclose(value(engine, tf.signal.fft, z), np.fft.fft(z), **CLOSE)
    np.testing.assert_allclose(value(engine, tf.signal.ifft, z), np.fft.ifft(z), **CLOSE)
    x = z.real
    found = value(engine, lambda x: tf.signal.rfft(x, [cut]), x)
    np.testing.assert_allclose(found, np.fft.rfft(x, cut), **CLOSE)
    found = value(engine, lambda z: tf.signal.irfft(z, [cut]), z)
    np.testing.assert_allclose(found, np.fft.irfft(z, cut), **CLOSE)


@BOTH
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("known", ["shape", "rank", "nothing"])
def test_one_to_three_axes_are_transformed(engine: str, rank: int, known: str) -> None:
    z = complex_numbers(2, 3, 5, 7)
    axes = tuple(range(-rank, 0))

    def run(build: Callable[..., Any], array: Array) -> Any:
        if known == "shape":
            return value(engine, build, array)
        return fed(engine, build, array, rank=known == "rank")

    for name, array, expected in (
        ("fft", z, np.fft.fftn(z, axes=axes)),
        ("ifft", z, np.fft.ifftn(z, axes=axes)),
        ("rfft", z.real, np.fft.rfftn(z.real, axes=axes)),
        ("irfft", z, np.fft.irfftn(z, axes=axes)),
    ):
        found = run(function(name, rank), array)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, **CLOSE)
        narrow = array.astype(np.complex64 if np.iscomplexobj(array) else np.float32)
        single = run(function(name, rank), narrow)
        assert single.dtype.itemsize * 2 == expected.dtype.itemsize
        scale = np.abs(expected).max()
        np.testing.assert_allclose(single, expected, rtol=0, atol=1e-6 * scale)
    for size in (4, 9):
        lengths = [size] * rank
        found = run(lambda x, n=lengths: function("rfft", rank)(x, n), z.real)
        np.testing.assert_allclose(found, np.fft.rfftn(z.real, lengths, axes), **CLOSE)
        found = run(lambda x, n=lengths: function("irfft", rank)(x, n), z)
        np.testing.assert_allclose(found, np.fft.irfftn(z, lengths, axes), **CLOSE)


@BOTH
def test_a_length_may_come_with_the_run(engine: str) -> None:
    x = complex_numbers(3, 10).real
    found = fed(engine, tf.signal.rfft, x, np.array([13], np.int32))
    np.testing.assert_allclose(found, np.fft.rfft(x, 13), **CLOSE)


@BOTH
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward", None])
def test_given_axes_and_norms_are_numpys(engine: str, norm: str | None) -> None:
    z = complex_numbers(3, 4, 5)
    for axes, lengths in (([0, 1], None), ([1], [6]), (None, [2, 7]), ([2, 0], [3, 3])):
        options: dict[str, Any] = {"axes": axes, "norm": norm}
        for name, array in (("fftn", z), ("ifftn", z), ("rfftn", z.real), ("irfftn", z)):
            build = getattr(tf.signal, name + "d")
            found = value(engine, lambda x, b=build, n=lengths, o=options: b(x, n, **o), array)
            at = axes or [-2, -1]
            expected = getattr(np.fft, name)(array, lengths, at, norm=norm)
            np.testing.assert_allclose(found, expected, **CLOSE)


@BOTH
@settings(max_examples=6, deadline=None)
@given(shape=st.lists(st.integers(0, 6), min_size=1, max_size=3))
def test_shifts_are_numpys(engine: str, shape: list[int]) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, [-1]):
            build = getattr(tf.signal, name)
            expected = getattr(np.fft, name)(x, axes)
            for found in (value(engine, lambda x, b=build, a=axes: b(x, a), x),
                          fed(engine, lambda x, b=build, a=axes: b(x, a), x)):  # fmt: skip
                np.testing.assert_array_equal(found, expected)


@BOTH
def test_nothing_is_transformed_to_nothing(engine: str) -> None:
    for build, x in ((tf.signal.fft, np.zeros((3, 0), np.complex64)),
                     (tf.signal.rfft, np.zeros((3, 0), np.float32)),
                     (tf.signal.irfft, np.zeros((3, 1), np.complex64)),
                     (tf.signal.fft2d, np.zeros((0, 0, 0), np.complex64))):  # fmt: skip
        assert value(engine, build, x).shape == (*x.shape[:-1], 0)


@pytest.mark.parametrize("rank", RANKS)
def test_gradients_are_those_of_finite_differences(rank: int) -> None:
    shape = (2, 3, 4)

    def both(name: str) -> Callable[[Any, Any], Any]:
        def build(re: Any, im: Any) -> Any:
            found = function(name, rank)(tf.complex(re, im))
            return tf.stack([tf.real(found), tf.imag(found)])

        return build

    parts = [away(*shape), away(*shape, seed=3)]
    for name in ("fft", "ifft"):
        check(both(name), parts)
    for lengths in (None, [3] * rank, [6] * rank):

        def there(x: Any, n: Any = lengths) -> Any:
            found = function("rfft", rank)(x, n)
            return tf.stack([tf.real(found), tf.imag(found) ** 2])

        check(there, parts[:1])
        check(lambda re, im, n=lengths: function("irfft", rank)(tf.complex(re, im), n), parts)


def test_gradients_follow_tensorflows_convention() -> None:
    """The gradient of a real y by z is dy/dre + i dy/dim: of sum |fft(z)|^2 it is 2 n z."""
    z = complex_numbers(5)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(z)
        total = tf.reduce_sum(tf.abs(tf.signal.fft(x)) ** 2)
        np.testing.assert_allclose(session.run(tf.gradients(total, x)[0]), 10 * z, rtol=1e-12)


@BOTH
def test_views_that_undo_each_other_leave_the_numbers_alone(engine: str) -> None:
    z = complex_numbers(3, 8)
    found = value(engine, lambda z: tf.signal.ifft(tf.signal.fft(z)), z)
    np.testing.assert_allclose(found, z, **CLOSE)


def test_names_of_tensorflow_1_are_there() -> None:
    for name in tf.spectral.__all__:
        assert getattr(tf.spectral, name) is getattr(tf.signal, name)
    assert tf.fft is tf.signal.fft
    assert tf.ifft3d is tf.signal.ifft3d
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.fft([1.0, 2.0]).dtype == tf.complex64
        np.testing.assert_array_equal(session.run(tf.fft([1.0, 2.0])), [3, -1])


def test_arguments_are_checked() -> None:
    z, x = tf.zeros([3, 4], tf.complex64), tf.zeros([3, 4])
    for build, error, words in (
        (lambda: tf.signal.fft(x), TypeError, "float32, expected complex64 or complex128"),
        (lambda: tf.signal.rfft(z), TypeError, "complex64, expected float32 or float64"),
        (lambda: tf.signal.fft3d(z), ValueError, "Shape must be at least rank 3 but is rank 2"),
        (lambda: tf.signal.rfft(x, 4), ValueError, "must have rank 1"),
        (lambda: tf.signal.rfft(x, [4, 4]), ValueError, "Dimension must be 1 but is 2"),
        (lambda: tf.signal.rfft(x, [-1]), ValueError, "must be greater or equal to 0"),
        (lambda: tf.signal.fftnd(z, norm="half"), ValueError, "norm is 'half'"),
        (lambda: tf.signal.fftnd(z, axes=[1, 1]), ValueError, "one is there twice"),
        (lambda: tf.signal.fftshift(tf.placeholder(tf.int32)), ValueError, "rank of x is unknown"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            build()
