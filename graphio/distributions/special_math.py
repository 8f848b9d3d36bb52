"""The normal and the Laplace distribution function, and their inverses and logarithms.

The normal quantile is Wichura's algorithm AS 241 (1988), to 16 digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.math import elementwise
from graphio.ops.math.error_function import erfc

__all__ = ["erfinv", "log_cdf_laplace", "log_ndtr", "ndtr", "ndtri"]

#: dtype -> the number below which the logarithm is a series
_LOWER = {dtypes.float32: -10.0, dtypes.float64: -20.0}
#: terms of the series of the logarithm at most
_MOST_TERMS = 30

#: numerators and denominators of the quantile, of the lowest power first: by q^2 near the middle,
#: by r = sqrt(-log(p)) in the tails, below and above _FAR
_MIDDLE = (
    (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
     45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
    (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
     21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
)  # fmt: skip
_NEAR = (
    (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
     3.64784832476320460504, 1.27045825245236838258, 0.241780725177450611770,
     0.0227238449892691845833, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
     0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
_FAR = (
    (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
     0.296560571828504891230, 0.0265321895265761230930, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
     7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


def _floats(x: Any, name: str = "x") -> Tensor:
    found = convert_to_tensor(x, name=name)
    if found.dtype not in _LOWER:
        raise TypeError(f"{name}.dtype={found.dtype} is not handled: expected float32 or float64")
    return found


def ndtr(x: Any, name: str = "ndtr") -> Tensor:
    """The share of the standard normal distribution up to x.

    Args:
        x: tensor of float32 or float64.
        name: of the operations.

    Raises:
        TypeError: x has another dtype.
    """
    with scopes.name_scope(name, values=[x]):
        return _ndtr(_floats(x))


def _ndtr(x: Tensor) -> Tensor:
    half = math.sqrt(0.5)
    w = x * half
    z = elementwise.abs(w)
    tail = erfc(z)
    outside = where_v2(w > 0.0, 2.0 - tail, tail)
    return 0.5 * where_v2(z < half, 1.0 + elementwise.erf(w), outside)


def log_ndtr(x: Any, series_order: int = 3, name: str = "log_ndtr") -> Tensor:
    """The logarithm of ndtr, also where that is 0.

    Args:
        x: tensor of float32 or float64.
        series_order: terms of the series that serves far below 0: at most 30.
        name: of the operations.

    Raises:
        TypeError: series_order is not an int, or x has another dtype.
        ValueError: series_order is negative or above 30.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if series_order < 0:
        raise ValueError("series_order must be non-negative.")
    if series_order > _MOST_TERMS:
        raise ValueError(f"series_order must be <= {_MOST_TERMS}.")
    with scopes.name_scope(name, values=[x]):
        x = _floats(x)
        low = _LOWER[x.dtype]
        # bounded, so that gradients of the branches that are not taken stay finite
        above = elementwise.log1p(-_ndtr(-elementwise.maximum(x, 0.0)))
        middle = elementwise.log(_ndtr(elementwise.maximum(x, low)))
        below = _log_tail(elementwise.minimum(x, low), series_order)
        return where_v2(x > 0.0, above, where_v2(x > low, middle, below))


def _log_tail(x: Tensor, order: int) -> Tensor:
    """The logarithm by the asymptotic series of Mills' ratio, for x far below 0."""
    square = x * x
    total, term = array.ones_like(x), array.ones_like(x)
    for n in range(1, order + 1):
        term = term * (1.0 - 2.0 * n) / square
        total = total + term
    scale = -0.5 * square - elementwise.log(-x) - 0.5 * math.log(2.0 * math.pi)
    return scale + elementwise.log(total)


def ndtri(p: Any, name: str = "ndtri") -> Tensor:
    """The inverse of ndtr: -inf for 0 and below, inf for 1 and above.

    Args:
        p: probabilities of float32 or float64.
        name: of the operations.

    Raises:
        TypeError: p has another dtype.
    """
    with scopes.name_scope(name, values=[p]):
        given = _floats(p, "p")
        q = given - 0.5
        middle = elementwise.abs(q) <= 0.425
        # in each branch a number of its range stands for others, so that gradients stay finite
        central = where_v2(middle, q, array.zeros_like(q))
        by_square = central * _ratio(0.180625 - central * central, _MIDDLE)
        tail = elementwise.minimum(given, 1.0 - given)
        inside = tail > 0.0
        outer = (elementwise.abs(q) > 0.425) & inside
        share = where_v2(outer, tail, array.zeros_like(tail) + 0.01)
        r = elementwise.sqrt(-elementwise.log(share))
        by_root = where_v2(r <= 5.0, _ratio(r - 1.6, _NEAR), _ratio(r - 5.0, _FAR))
        found = where_v2(middle, by_square, elementwise.sign(q) * by_root)
        endless = elementwise.sign(q) * np.inf
        return where_v2(inside | elementwise.is_nan(given), found, endless)


def _ratio(x: Tensor, parts: Sequence[Sequence[float]]) -> Tensor:
    top, bottom = (_polynomial(x, factors) for factors in parts)
    return top / bottom


def _polynomial(x: Tensor, factors: Sequence[float]) -> Tensor:
    total = array.zeros_like(x) + factors[-1]
    for factor in reversed(factors[:-1]):
        total = total * x + factor
    return total


def erfinv(x: Any, name: str = "erfinv") -> Tensor:
    """The inverse of erf.

    Args:
        x: tensor of float32 or float64, from -1 to 1.
        name: of the operations.

    Raises:
        TypeError: x has another dtype.
    """
    with scopes.name_scope(name, values=[x]):
        return ndtri((_floats(x) + 1.0) / 2.0) / math.sqrt(2.0)


def log_cdf_laplace(x: Any, name: str = "log_cdf_laplace") -> Tensor:
    """The logarithm of the share of the standard Laplace distribution up to x.

    Args:
        x: tensor of float32 or float64.
        name: of the operations.

    Raises:
        TypeError: x has another dtype.
    """
    with scopes.name_scope(name, values=[x]):
        x = _floats(x)
        upper = elementwise.log1p(-0.5 * elementwise.exp(-elementwise.abs(x)))
        return where_v2(x < 0.0, x - math.log(2.0), upper)
