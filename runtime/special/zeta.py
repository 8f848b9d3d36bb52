"""Hurwitz' zeta function and the derivatives of digamma: the twin of `cinfer/src/math/zeta.c`."""

from __future__ import annotations

import numpy as np

from graphio.runtime.special.exact import Array, apart, power
from graphio.runtime.special.gamma_parts import digamma

#: (2k)! / B(2k), k from 1
_BERNOULLI = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1307674368000.0 / 691.0, 74724249600.0,
    -10670622842880000.0 / 3617.0, 5109094217170944000.0 / 43867.0,
    -802857662698291200000.0 / 174611.0, 14101100039391805440000.0 / 77683.0,
    -1693824136731743669452800000.0 / 236364091.0,
)  # fmt: skip
_SUMMED = 12


def zeta(x: Array, q: Array) -> Array:
    """The sum of (q + k)^-x over k from 0."""
    whole = np.floor(q) == q
    even = np.floor(0.5 * x) == 0.5 * x
    low = (x > 1.0) & (q <= 0.0)
    return apart(
        [
            (x == 1.0, lambda x, q: np.full_like(x, np.inf)),
            ((x > 1.0) & (q > 0.0), _positive),
            (low & whole & even, lambda x, q: np.full_like(x, np.inf)),
            (low & ~whole & (np.floor(x) == x), _mirrored),
        ],
        x,
        q,
    )


def _positive(x: Array, q: Array) -> Array:
    """By Euler and Maclaurin after some terms; q > 0."""
    total = np.zeros_like(x)
    for k in range(_SUMMED):
        total = total + _inverse_power(q + float(k), x)
    end = q + float(_SUMMED)
    last = _inverse_power(end, x)
    some = (last > 0.0) & (x < np.inf)
    x, end = np.where(some, x, 2.0), np.where(some, end, 12.0)
    last = np.where(some, last, 0.0)
    tail = last * end / (x - 1.0) + 0.5 * last
    factor, part = x, last / end
    for k, divisor in enumerate(_BERNOULLI, 1):
        tail = tail + factor * part / divisor
        factor = factor * (x + (2.0 * k - 1.0)) * (x + 2.0 * k)
        part = part / end / end
    return total + tail


def _inverse_power(q: Array, x: Array) -> Array:
    finite = (x < np.inf) & (q < np.inf)
    found = power(np.where(finite, q, 1.0), -np.where(finite, x, 1.0))
    edge = np.where(q < 1.0, np.inf, np.where(q > 1.0, 0.0, 1.0))
    return np.where(finite, found, edge)


def _mirrored(x: Array, q: Array) -> Array:
    """q < 0: the terms before 0, whose signs x decides, and those after it."""
    before = np.floor(-q)
    part = -q - before
    gone = _positive(x, part) - np.where(np.isinf(x), 0.0, _positive(x, 1.0 - q))
    odd = np.floor(0.5 * x) != 0.5 * x
    return np.where(odd, -gone, gone) + _positive(x, 1.0 - part)


def polygamma(n: Array, x: Array) -> Array:
    """The derivative n of digamma."""
    whole = (n > 0.0) & (np.floor(n) == n)
    return apart([(n == 0.0, lambda n, x: digamma(x)), (whole, _derivative)], n, x)


def _derivative(n: Array, x: Array) -> Array:
    factorial = np.ones_like(n)
    for k in range(2, 171):
        factorial = np.where(n >= k, factorial * float(k), factorial)
    factorial = np.where(n > 170.0, np.inf, factorial)
    value = factorial * zeta(n + 1.0, x)
    even = np.floor(0.5 * n) == 0.5 * n
    return np.where(even & (n < np.inf), -value, value)
