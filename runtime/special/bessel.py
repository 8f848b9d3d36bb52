"""Modified Bessel functions of order 0 and 1: the twin of `cinfer/src/math/bessel.c`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphio.runtime.special.exact import Array, apart, exp
from graphio.runtime.special.gamma_parts import ROOT_2PI

#: up to here the power series, then the asymptotic one
_NEAR = 25.0
_MOST = 80
_FAR_TERMS = 30


def bessel_i0(x: Array) -> Array:
    """I0(x)."""
    return _of_size(x, lambda z: _series(z, 1.0), lambda z: _grown(z, _asymptotic(z, 0.0)))


def bessel_i0e(x: Array) -> Array:
    """exp(-|x|) I0(x)."""
    return _of_size(x, lambda z: exp(-z) * _series(z, 1.0), lambda z: _asymptotic(z, 0.0), 0.0)


def bessel_i1(x: Array) -> Array:
    """I1(x)."""
    return _signed(
        x,
        _of_size(x, lambda z: 0.5 * z * _series(z, 2.0), lambda z: _grown(z, _asymptotic(z, 4.0))),
    )


def bessel_i1e(x: Array) -> Array:
    """exp(-|x|) I1(x)."""
    return _signed(
        x,
        _of_size(
            x,
            lambda z: exp(-z) * (0.5 * z * _series(z, 2.0)),
            lambda z: _asymptotic(z, 4.0),
            0.0,
        ),
    )


def _of_size(
    x: Array,
    near: Callable[[Array], Array],
    far: Callable[[Array], Array],
    end: float = np.nan,
) -> Array:
    size = np.abs(x)
    found = apart([(size <= _NEAR, near), ((size > _NEAR) & (size < np.inf), far)], size)
    return np.where(size == np.inf, end, found)


def _signed(x: Array, value: Array) -> Array:
    return np.where(np.signbit(x), -value, value)


def _series(x: Array, more: float) -> Array:
    """The sum of (x x / 4)^k / (k! (k + more - 1)!)."""
    square = 0.25 * x * x
    term = np.ones_like(x)
    total = term
    for k in range(1, _MOST + 1):
        term = term * square / (k * (k + (more - 1.0)))
        total, before = total + term, total
        if np.array_equal(total, before):
            break
    return total


def _asymptotic(x: Array, mu: float) -> Array:
    eight = 8.0 * x
    term = np.ones_like(x)
    total = term
    for k in range(1, _FAR_TERMS + 1):
        odd = 2.0 * k - 1.0
        term = term * ((odd * odd - mu) / (k * eight))
        total = total + term
    return total / (ROOT_2PI * np.sqrt(x))


def _grown(x: Array, value: Array) -> Array:
    """exp(x) value, without an early overflow."""
    half = exp(0.5 * x)
    made: Array = half * (half * value)
    return made
