"""The gamma function's family, and polynomials.

Lanczos' approximation (1964, g = 7, nine terms), computed in double whatever the dtype.
"""

from __future__ import annotations

import math as _math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import FLOATING, require, scope
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["digamma", "lbeta", "lgamma", "polyval"]

_SHIFT = 7.5
_TERMS = (
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
    -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
    1.5056327351493116e-7,
)  # fmt: skip


def _lanczos(z: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of the terms at z = x - 1, and the sum of their derivatives."""
    total, slope = z * 0.0 + _TERMS[0], z * 0.0
    for i, factor in enumerate(_TERMS[1:], 1):
        part = factor / (z + float(i))
        total, slope = total + part, slope - part / (z + float(i))
    return total, slope


def _reflected(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where x is below 1/2; x or, there, 1 - x; and there the part of x past a whole number."""
    low = comparison.less(x, 0.5)
    y = array.where(low, 1.0 - x, x)
    return low, y, x - elementwise.floor(x)


@api_guard.operator
def lgamma(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of |gamma(x)|; inf at 0 and the negative whole numbers.

    Args:
        x: floating tensor.
        name: of the operation.
    """
    with scope(name, "Lgamma") as at:
        given = convert_to_tensor(x, name="x")
        require(given, FLOATING, "Lgamma")
        wide = elementwise.cast(given, dtypes.float64)
        low, y, part = _reflected(wide)
        z = y - 1.0
        total, _ = _lanczos(z)
        shifted = z + _SHIFT
        value = (z + 0.5) * elementwise.log(shifted) - shifted + elementwise.log(total)
        value = value + 0.5 * _math.log(2 * _math.pi)
        # log(pi / |sin(pi x)|) - lgamma(1 - x); elsewhere the sine is 1, for the gradient's sake.
        sine = array.where(low, elementwise.sin(_math.pi * part), array.ones_like(part))
        mirrored = _math.log(_math.pi) - elementwise.log(sine) - value
        result = array.where(low, mirrored, value)
        endless = comparison.equal(elementwise.abs(wide), np.inf)
        result = array.where(endless, elementwise.abs(wide), result)
        return elementwise.cast(result, given.dtype, name=at)


@api_guard.operator
def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of lgamma; nan at 0 and the negative whole numbers.

    Args:
        x: floating tensor.
        name: of the operation.
    """
    with scope(name, "Digamma") as at:
        given = convert_to_tensor(x, name="x")
        require(given, FLOATING, "Digamma")
        low, y, part = _reflected(elementwise.cast(given, dtypes.float64))
        z = y - 1.0
        total, slope = _lanczos(z)
        shifted = z + _SHIFT
        value = elementwise.log(shifted) - 7.0 / shifted + slope / total
        safe = array.where(low, part, 0.25 * array.ones_like(part))
        mirrored = value - _math.pi / elementwise.tan(_math.pi * safe)
        result = array.where(low, mirrored, value)
        result = array.where(comparison.equal(y, np.inf) & ~low, y, result)
        pole = low & comparison.equal(part, 0.0)
        # a constant: the slope of y * nan would be nan everywhere
        result = array.where(pole, array.zeros_like(y) + np.nan, result)
        return elementwise.cast(result, given.dtype, name=at)


@api_guard.operator
def lbeta(x: Any, name: str | None = None) -> Tensor:
    """The logarithm of |beta(x)| along the last axis.

    Args:
        x: floating tensor of rank 1 or more.
        name: of the operation.
    """
    with scope(name, "lbeta") as at:
        given = convert_to_tensor(x, name="x")
        parts = reduction.reduce_sum(lgamma(given), -1)
        return elementwise.subtract(parts, lgamma(reduction.reduce_sum(given, -1)), name=at)


@api_guard.operator
def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """A polynomial at x, by Horner.

    Args:
        coeffs: a list of tensors that broadcast with x, of the highest power first.
        x: tensor.
        name: of the operations.

    Raises:
        ValueError: coeffs is not a list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type found {type(coeffs).__name__}.")
    with scope(name, "polyval"):
        at = convert_to_tensor(x, name="x")
        if not coeffs:
            return array.zeros_like(at)
        total = convert_to_tensor(coeffs[0], at.dtype, name="coeffs")
        for factor in coeffs[1:]:
            total = convert_to_tensor(factor, at.dtype, name="coeffs") + total * at
        return total
