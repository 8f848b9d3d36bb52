"""The incomplete gamma and beta functions, regularized, computed in float64.

Series and continued fractions as the Digital Library of Mathematical Functions has them (8.7.1,
8.9.2, 8.17.22); these are evaluated by Lentz's method until no element changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.base.emit import FLOATING, require, scope
from graphio.ops.base.primitive import unbroadcast
from graphio.ops.control_flow.loops import kernel_loop
from graphio.ops.math import comparison, elementwise, gamma_slopes, reduction
from graphio.ops.math.arithmetic import xlogy
from graphio.ops.math.special import lgamma

__all__ = ["betainc", "igamma", "igammac"]

#: fractions end at a change below this, which is above that of rounding
_EPSILON = 3e-15
#: stands for a denominator of 0
_TINY = 1e-300
_LEAST_DENSITY = 1e-290
#: steps at most; those that are needed grow with the root of the parameters
_STEPS = 100_000.0


def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The share of the gamma distribution of shape a, and inverse scale 1, that is below x.

    Args:
        a: floating tensor, above 0; elsewhere the result is nan.
        x: tensor of a's dtype, not negative; elsewhere the result is nan. Broadcasts with a.
        name: of the operation.

    Returns:
        A tensor with gradients by both.
    """
    return _gamma_share(a, x, name, "Igamma", upper=False)


def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """1 - igamma(a, x), without its cancellation."""
    return _gamma_share(a, x, name, "Igammac", upper=True)


def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The share of the beta distribution of a and b that is below x.

    Args:
        a: floating tensor, above 0; elsewhere the result is nan.
        b: tensor of a's dtype, above 0; broadcasts with a.
        x: tensor of a's dtype, from 0 to 1; broadcasts with both.
        name: of the operation.

    Returns:
        A tensor. It has a gradient by x, and none by a and b.
    """
    with scope(name, "Betainc") as at:
        first = convert_to_tensor(a, name="a")
        require(first, FLOATING, "Betainc", "a")
        given = [
            first,
            *(convert_to_tensor(v, first.dtype, name=n) for v, n in ((b, "b"), (x, "x"))),
        ]
        wide = _together(given)
        share = _beta_share(*wide)

        def slope(dy: Tensor) -> list[Tensor]:
            one, two, z = wide
            logarithm = xlogy(one - 1.0, z) + (two - 1.0) * elementwise.log1p(-z)
            return [dy * elementwise.exp(logarithm - _log_beta(one, two))]

        return _result(share, [given[2]], slope, at)


def _gamma_share(a: Any, x: Any, name: str | None, op: str, upper: bool) -> Tensor:
    with scope(name, op) as at:
        form = convert_to_tensor(a, name="a")
        require(form, FLOATING, op, "a")
        given = [form, convert_to_tensor(x, form.dtype, name="x")]
        wide = _together(given)
        below, above = _gamma_shares(*wide)

        def slope(dy: Tensor) -> list[Tensor]:
            shape, z = wide
            density = elementwise.exp(xlogy(shape - 1.0, z) - z - lgamma(shape))
            # where the density is next to 0, the slope's series may overflow
            there = density > _LEAST_DENSITY
            moved = where_v2(there, gamma_slopes.slope(shape, z), array.zeros_like(z))
            by_z = -dy * density if upper else dy * density
            return [-by_z * moved, by_z]

        return _result(above if upper else below, given, slope, at)


def _together(values: Sequence[Tensor]) -> list[Tensor]:
    """Tensors in float64, of their broadcast shape."""
    wide = [elementwise.cast(value, dtypes.float64) for value in values]
    nothing = sum((array.zeros_like(value) for value in wide[1:]), array.zeros_like(wide[0]))
    return [value + nothing for value in wide]


def _result(
    value: Tensor, inputs: list[Tensor], slope: Callable[[Tensor], list[Tensor]], at: str
) -> Tensor:
    """value in the dtype of inputs, with gradients by them."""
    dtype = inputs[0].dtype
    found = array.stop_gradient(elementwise.cast(value, dtype), name=at)

    def differentiate(arriving: Sequence[Any]) -> list[Tensor]:
        wide = slope(elementwise.cast(arriving[0], dtypes.float64))
        return [
            unbroadcast(elementwise.cast(part, dtype), each, found)
            for part, each in zip(wide, inputs, strict=True)
        ]

    REGIONS.of(found.graph)[found.op] = Region([found.op], inputs, [found], differentiate)
    return found


# ---- gamma ----


def _gamma_shares(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The shares below and above x."""
    inside = (a > 0.0) & (x > 0.0) & (x < np.inf) & (a < np.inf)
    one = array.ones_like(x)
    form, z = where_v2(inside, a, one), where_v2(inside, x, one)
    by_series = z < form + 1.0
    scale = elementwise.exp(form * elementwise.log(z) - z - lgamma(form + 1.0))
    # each method gets numbers of its range only: elsewhere it would not end
    series = scale * gamma_slopes.series(form, where_v2(by_series, z, one * 0.0))[0]
    fraction = scale * form * _gamma_fraction(form, where_v2(by_series, form + 1.0, z))
    below = where_v2(by_series, series, 1.0 - fraction)
    above = where_v2(by_series, 1.0 - series, fraction)
    wrong = (a <= 0.0) | (x < 0.0) | elementwise.is_nan(a) | elementwise.is_nan(x)
    start = where_v2(wrong, one + np.nan, where_v2(x > 0.0, one, one * 0.0))
    return where_v2(inside, below, start), where_v2(inside, above, 1.0 - start)


def _gamma_fraction(a: Tensor, x: Tensor) -> Tensor:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))."""
    start = x + 1.0 - a

    def factors(n: Tensor) -> list[tuple[Tensor, Tensor]]:
        return [(n * (a - n), start + 2.0 * n)]

    return _lentz(array.zeros_like(x) + 1.0 / _TINY, 1.0 / _not_0(start), factors)


# ---- beta ----


def _beta_share(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
    one = array.ones_like(x)
    first, second = where_v2(inside, a, one), where_v2(inside, b, one)
    z = where_v2(inside, x, one * 0.5)
    # the fraction converges fast below the mean; above it, that of the other side does
    swapped = z > (first + 1.0) / (first + second + 2.0)
    p, q = where_v2(swapped, second, first), where_v2(swapped, first, second)
    low = where_v2(swapped, 1.0 - z, z)
    logarithm, other = elementwise.log(z), elementwise.log1p(-z)
    near, far = where_v2(swapped, other, logarithm), where_v2(swapped, logarithm, other)
    scale = elementwise.exp(p * near + q * far - _log_beta(p, q)) / p
    share = scale * _beta_fraction(p, q, low)
    found = where_v2(swapped, 1.0 - share, share)
    known = (a > 0.0) & (b > 0.0) & (comparison.equal(x, 0.0) | comparison.equal(x, 1.0))
    edge = where_v2(known, x, one + np.nan)
    return where_v2(inside, found, edge)


def _beta_fraction(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    def factors(n: Tensor) -> list[tuple[Tensor, Tensor]]:
        twice = a + 2.0 * n
        even = n * (b - n) * x / ((twice - 1.0) * twice)
        odd = -(a + n) * (a + b + n) * x / (twice * (twice + 1.0))
        return [(even, array.ones_like(x)), (odd, array.ones_like(x))]

    first = _not_0(1.0 - (a + b) * x / (a + 1.0))
    return _lentz(array.ones_like(x), 1.0 / first, factors)


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


# ---- continued fractions ----


def _lentz(
    c: Tensor, d: Tensor, factors: Callable[[Tensor], list[tuple[Tensor, Tensor]]]
) -> Tensor:
    """A continued fraction from its first value d; factors gives the numerators and denominators
    of step n."""

    def step(n: Tensor, c: Tensor, d: Tensor, total: Tensor, change: Tensor) -> list[Tensor]:
        before = total
        for top, bottom in factors(n):
            d = 1.0 / _not_0(bottom + top * d)
            c = _not_0(bottom + top / c)
            total = total * (c * d)
        return [n + 1.0, c, d, total, elementwise.abs(total - before)]

    def going(n: Tensor, c: Tensor, d: Tensor, total: Tensor, change: Tensor) -> Tensor:
        moving = reduction.reduce_any(change > _EPSILON * elementwise.abs(total))
        return moving & (n < _STEPS)

    first = [constant(np.float64(1.0)), c, d, d, elementwise.abs(d)]
    found: Tensor = kernel_loop(going, step, first)[3]
    return found


def _not_0(x: Tensor) -> Tensor:
    return where_v2(elementwise.abs(x) < _TINY, array.zeros_like(x) + _TINY, x)
