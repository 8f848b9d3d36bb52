"""Hurwitz' zeta function, polygamma and modified Bessel functions, and the next number."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.primitive import compare, select, unbroadcast
from graphio.ops.math import elementwise
from graphio.ops.math.arithmetic import multiply_no_nan
from graphio.ops.math.special_nodes import broadcasting
from graphio.support import api_guard

__all__ = [
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "nextafter",
    "polygamma",
    "zeta",
]

Gradients = list["Tensor | None"]


@api_guard.operator
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Hurwitz' zeta function: the sum of (q + k)^-x over k = 0, 1, 2, ...

    Args:
        x: floating tensor; inf at 1, nan below.
        q: tensor of x's dtype; broadcasts with x. At 0 and the negative integers the result
            is inf for an even x, else nan; at other negative numbers nan unless x is an integer.
        name: of the operation.

    Returns:
        A tensor. It has a gradient by q, and none by x.

    Raises:
        TypeError: the dtypes differ or are not floating.
    """
    return broadcasting("Zeta", {"x": x, "q": q}, name)


@api_guard.operator
def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative number a of the digamma function.

    Args:
        a: floating tensor of integers from 0; elsewhere the result is nan.
        x: tensor of a's dtype; broadcasts with a.
        name: of the operation.

    Returns:
        A tensor. It has a gradient by x, and none by a.

    Raises:
        TypeError: the dtypes differ or are not floating.
    """
    return broadcasting("Polygamma", {"a": a, "x": x}, name)


@api_guard.operator
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 0; floating. nan at infinity, as in TensorFlow."""
    return broadcasting("BesselI0", {"x": x}, name)


@api_guard.operator
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """exp(-abs(x)) * bessel_i0(x), without overflow; floating."""
    return broadcasting("BesselI0e", {"x": x}, name)


@api_guard.operator
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function of order 1; floating. nan at infinity, as in TensorFlow."""
    return broadcasting("BesselI1", {"x": x}, name)


@api_guard.operator
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """exp(-abs(x)) * bessel_i1(x), without overflow; floating."""
    return broadcasting("BesselI1e", {"x": x}, name)


@api_guard.operator
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The number next to x1 on the way to x2; x2 where they are equal.

    Args:
        x1: tensor of float32 or float64.
        x2: tensor of x1's dtype; broadcasts with x1.
        name: of the operation.

    Returns:
        A tensor, whose gradient goes to x1.

    Raises:
        TypeError: another dtype, or two.
    """
    first = convert_to_tensor(x1, name="x1")
    if first.dtype.base_dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(
            "Value passed to parameter 'x1' of 'NextAfter' has DataType "
            f"{first.dtype.base_dtype.name}, expected float32 or float64; cast it"
        )
    return broadcasting("NextAfter", {"x1": first, "x2": x2}, name)


@gradient("Zeta", domain="graphio")
def _zeta_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy x zeta(x + 1, q) by q."""
    x, q = op.inputs
    slope = elementwise.negative(x) * zeta(x + 1.0, q)
    return [None, unbroadcast(multiply_no_nan(slope, dy), q, op.outputs[0])]


@gradient("Polygamma", domain="graphio")
def _polygamma_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy polygamma(a + 1, x) by x."""
    a, x = op.inputs
    return [None, unbroadcast(multiply_no_nan(polygamma(a + 1.0, x), dy), x, op.outputs[0])]


@gradient("BesselI0", domain="graphio")
def _i0_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy I1(x)."""
    return [multiply_no_nan(bessel_i1(op.inputs[0]), dy)]


@gradient("BesselI0e", domain="graphio")
def _i0e_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (I1e(x) - sign(x) I0e(x))."""
    x = op.inputs[0]
    return [multiply_no_nan(bessel_i1e(x) - elementwise.sign(x) * op.outputs[0], dy)]


@gradient("BesselI1", domain="graphio")
def _i1_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (I0(x) - I1(x) / x), and dy / 2 next to 0."""
    x = op.inputs[0]
    small, safe = _next_to_0(x)
    slope = bessel_i0(safe) - op.outputs[0] / safe
    return [multiply_no_nan(select(small, primitive.fill_like(x, 0.5), slope), dy)]


@gradient("BesselI1e", domain="graphio")
def _i1e_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (I0e(x) - I1e(x) (sign(x) + 1 / x)), and dy / 2 next to 0."""
    x = op.inputs[0]
    small, safe = _next_to_0(x)
    around = elementwise.sign(safe) + elementwise.reciprocal(safe)
    slope = bessel_i0e(safe) - op.outputs[0] * around
    return [multiply_no_nan(select(small, primitive.fill_like(x, 0.5), slope), dy)]


def _next_to_0(x: Tensor) -> tuple[Tensor, Tensor]:
    """Where |x| is at most the dtype's epsilon, and x with a number there by which to divide."""
    least = float(np.finfo(x.dtype.as_numpy_dtype).eps)
    limit = primitive.fill_like(x, least)
    small = compare("LessOrEqual", elementwise.abs(x), limit)
    return small, select(small, limit, x)


@gradient("NextAfter", domain="graphio")
def _next_after_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy by x1; 0 by x2."""
    x1, x2 = op.inputs
    return [unbroadcast(dy, x1, op.outputs[0]), primitive.fill_like(x2, 0)]
