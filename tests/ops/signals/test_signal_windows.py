"""Windows of tf.signal, against scipy's and numpy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal.windows as reference
from engines import BOTH
from gradient_check import check
from hypothesis import given, settings
from hypothesis import strategies as st
from signal_runs import fed, value

import graphio as tf

EXACT = {"rtol": 1e-14, "atol": 1e-15}
LENGTHS = st.integers(2, 70)


@BOTH
@settings(max_examples=8, deadline=None)
@given(length=LENGTHS)
def test_raised_cosines_are_scipys(engine: str, length: int) -> None:
    for window, expected in ((tf.signal.hann_window, reference.hann),
                             (tf.signal.hamming_window, reference.hamming)):  # fmt: skip
        symmetric = value(engine, lambda w=window: w(length, periodic=False, dtype=tf.float64))
        np.testing.assert_allclose(symmetric, expected(length), **EXACT)
        periodic = value(engine, lambda w=window: w(length, dtype=tf.float64))
        np.testing.assert_allclose(periodic, expected(length, sym=length % 2 == 1), **EXACT)


@BOTH
@settings(max_examples=8, deadline=None)
@given(length=LENGTHS, beta=st.floats(0, 700))
def test_kaiser_windows_are_scipys(engine: str, length: int, beta: float) -> None:
    found = value(engine, lambda: tf.signal.kaiser_window(length, beta, tf.float64))
    np.testing.assert_allclose(found, reference.kaiser(length, beta), rtol=1e-12, atol=1e-15)
    even = 2 * length
    found = value(engine, lambda: tf.signal.kaiser_bessel_derived_window(even, beta, tf.float64))
    expected = reference.kaiser_bessel_derived(even, beta)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@BOTH
@pytest.mark.parametrize("length", [4, 30, 256])
def test_windows_for_mdct_fulfil_princen_and_bradley(engine: str, length: int) -> None:
    for window in (tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window):
        found = value(engine, lambda w=window: w(length, dtype=tf.float64))
        first, second = np.split(found, 2)
        np.testing.assert_allclose(first**2 + second**2, 1, rtol=1e-14)
        np.testing.assert_allclose(found, found[::-1], rtol=0, atol=1e-15)


@BOTH
@pytest.mark.parametrize("length", [0, 1, 2, 3, 16])
def test_a_length_may_come_with_the_run(engine: str, length: int) -> None:
    for build in (tf.signal.hann_window, tf.signal.hamming_window, tf.signal.kaiser_window,
                  tf.signal.vorbis_window, tf.signal.kaiser_bessel_derived_window):  # fmt: skip
        known = value(engine, lambda b=build: b(length))
        found = fed(engine, build, np.int32(length))
        np.testing.assert_array_equal(found, known)
        assert found.shape == known.shape


@BOTH
def test_a_window_of_one_element_is_one(engine: str) -> None:
    for build in (tf.signal.hann_window, tf.signal.hamming_window, tf.signal.kaiser_window):
        assert value(engine, lambda b=build: b(1, dtype=tf.float16)) == [1]


def test_a_kaiser_window_has_a_gradient_by_beta() -> None:
    check(lambda beta: tf.signal.kaiser_window(9, beta, tf.float64), [np.array(3.7)])


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="dtype is int32, expected a floating one"):
        tf.signal.hann_window(3, dtype=tf.int32)
    with pytest.raises(ValueError, match="window_length is -1, expected at least 0"):
        tf.signal.vorbis_window(-1)
    with pytest.raises(ValueError, match=r"window_length has shape \(1,\), expected a scalar"):
        tf.signal.kaiser_window([3])
