"""Multiplication, division, comparison and casts of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.complex.parts import Parts, given, joined, of_parts, parts_of
from graphio.ops.complex.slopes import analytic

__all__ = ["ROWS", "divided", "multiplied"]


# ---- multiplication ----


def _bilinear(request: Request, name: str) -> Tensor:
    """Of any operator that is linear in each of two complex inputs: (ac - bd) + (ad + bc)i."""
    x, y = given(request, 0), given(request, 1)

    def times(p: Tensor, q: Tensor) -> Tensor:
        return of_parts(request, [p, q, *request.inputs[2:]])

    a, b = parts_of(x)
    c, d = (a, b) if x is y else parts_of(y)
    re = binary("Sub", times(a, c), times(b, d))
    across = times(a, d)
    other = across if x is y and request.op == "Mul" else times(b, c)
    return joined(re, binary("Add", across, other), name, request.dims)


def multiplied(x: Parts, y: Parts) -> Parts:
    """x y."""
    re = binary("Sub", binary("Mul", x.re, y.re), binary("Mul", x.im, y.im))
    return Parts(re, binary("Add", binary("Mul", x.re, y.im), binary("Mul", x.im, y.re)))


# ---- division ----


def _quotient(request: Request, name: str) -> Tensor:
    quotient = divided(parts_of(given(request, 0)), parts_of(given(request, 1)))
    return joined(quotient.re, quotient.im, name, request.dims)


def _reciprocal(request: Request, name: str) -> Tensor:
    z = parts_of(given(request, 0))
    one = Parts(scalar(1, z.re.dtype), scalar(0, z.re.dtype))
    inverse = divided(one, z)
    return joined(inverse.re, inverse.im, name, request.dims)


def _slopes_of_quotient(x: Tensor, y: Tensor, quotient: Tensor) -> list[Tensor]:
    """1 / y, -(x / y) / y."""
    inverse = unary("Reciprocal", y)
    return [inverse, unary("Neg", binary("Mul", quotient, inverse))]


def _slope_of_reciprocal(x: Tensor, inverse: Tensor) -> list[Tensor]:
    """-1 / x^2."""
    return [unary("Neg", binary("Mul", inverse, inverse))]


def divided(x: Parts, y: Parts) -> Parts:
    """x / y as numpy divides: the smaller part of y over the larger one first, so that nothing
    overflows that need not (Smith, 1962)."""
    (a, b), (c, d) = x, y
    zero, one = scalar(0, c.dtype), scalar(1, c.dtype)
    flat = compare("GreaterOrEqual", unary("Abs", c), unary("Abs", d))
    larger, smaller = select(flat, c, d), select(flat, d, c)
    # 1 / 0 is to be infinite, not NaN.
    ratio = binary("Div", smaller, select(compare("Equal", larger, zero), one, larger))
    below = binary("Add", larger, binary("Mul", smaller, ratio))
    p, q = select(flat, a, b), select(flat, b, a)
    re = binary("Div", binary("Add", p, binary("Mul", q, ratio)), below)
    im = binary("Sub", q, binary("Mul", p, ratio))
    return Parts(re, binary("Div", select(flat, im, unary("Neg", im)), below))


# ---- comparisons and casts ----


def _equal(request: Request, name: str) -> Tensor:
    x, y = parts_of(given(request, 0)), parts_of(given(request, 1))
    return compare("And", compare("Equal", x.re, y.re), compare("Equal", x.im, y.im), name)


def _cast(request: Request, name: str) -> Tensor:
    """To a complex dtype with 0 for the imaginary part, from one the real part; to bool whether
    either part is not 0."""
    x, target = given(request, 0), request.dtype
    if not x.dtype.is_complex:
        re = primitive.cast(x, target.real_dtype)
        return joined(re, primitive.fill_like(re, 0), name, request.dims)
    re, im = parts_of(x)
    if target.is_complex:
        re, im = (primitive.cast(part, target.real_dtype) for part in (re, im))
        return joined(re, im, name, request.dims)
    if target == dtypes.bool:
        return compare("Or", primitive.cast(re, target), primitive.cast(im, target), name)
    if re.dtype.base_dtype == target:
        return node("Identity", [re], target, request.dims, name=name)
    return node("Cast", [re], target, request.dims, name=name, to=target, **_more(request))


def _more(request: Request) -> dict[str, Any]:
    return {key: value for key, value in request.attrs.items() if key != "to"}


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    **{("", op): _bilinear for op in ("Mul", "MatMul")},
    ("", "Div"): analytic(_quotient, _slopes_of_quotient),
    ("", "Reciprocal"): analytic(_reciprocal, _slope_of_reciprocal),
    ("", "Equal"): _equal,
    ("", "Cast"): _cast,
}
