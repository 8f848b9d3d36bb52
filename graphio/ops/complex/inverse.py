"""Inverse trigonometric and hyperbolic functions, and powers, of complex numbers.

Cuts are where numpy has them, and the sign of a zero tells their sides apart (Kahan, 1987).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex.arithmetic import multiplied
from graphio.ops.complex.elementary import composition, exp, log, over_i, sqrt, times_i
from graphio.ops.complex.parts import Parts, given, joined, parts_of
from graphio.ops.complex.slopes import analytic
from graphio.ops.math import arithmetic, elementwise

__all__ = ["ROWS"]

#: integer exponents from 1 up to this one are multiplications
_MULTIPLIED = 3


def _of(x: Tensor, number: float) -> Tensor:
    return scalar(number, x.dtype)


# ---- inverse functions ----


def _roots(z: Parts) -> tuple[Parts, Parts]:
    """The roots of 1 - z and 1 + z."""
    one = _of(z.re, 1)
    return (
        sqrt(Parts(binary("Sub", one, z.re), unary("Neg", z.im))),
        sqrt(Parts(binary("Add", one, z.re), z.im)),
    )


def _across(x: Parts, y: Parts) -> Tensor:
    """The imaginary part of conj(x) y."""
    return binary("Sub", binary("Mul", x.re, y.im), binary("Mul", x.im, y.re))


def _along(x: Parts, y: Parts) -> Tensor:
    """The real part of x y."""
    return binary("Sub", binary("Mul", x.re, y.re), binary("Mul", x.im, y.im))


def _acos(z: Parts) -> Parts:
    less, more = _roots(z)
    angle = arithmetic.atan2(less.re, more.re)
    return Parts(binary("Add", angle, angle), elementwise.asinh(_across(more, less)))


def _asin(z: Parts) -> Parts:
    less, more = _roots(z)
    return Parts(arithmetic.atan2(z.re, _along(less, more)), elementwise.asinh(_across(less, more)))


def _acosh(z: Parts) -> Parts:
    one = _of(z.re, 1)
    less = sqrt(Parts(binary("Sub", z.re, one), z.im))
    more = sqrt(Parts(binary("Add", z.re, one), z.im))
    angle = arithmetic.atan2(less.im, more.re)
    along = binary("Add", binary("Mul", less.re, more.re), binary("Mul", less.im, more.im))
    return Parts(elementwise.asinh(along), binary("Add", angle, angle))


def _atanh(z: Parts) -> Parts:
    """log1p(4 a / ((1 - a)^2 + b^2)) / 4 with a = |re|, and half the angle."""
    one, two = _of(z.re, 1), _of(z.re, 2)
    a = unary("Abs", z.re)
    less, square = binary("Sub", one, a), binary("Mul", z.im, z.im)
    below = binary("Add", binary("Mul", less, less), square)
    grown = elementwise.log1p(binary("Div", binary("Mul", a, _of(a, 4)), below))
    size = binary("Mul", grown, _of(a, 0.25))
    re = select(elementwise.has_minus(z.re), unary("Neg", size), size)
    flat = binary("Sub", binary("Mul", less, binary("Add", one, a)), square)
    angle = arithmetic.atan2(binary("Mul", z.im, two), flat)
    return Parts(re, binary("Mul", angle, _of(a, 0.5)))


def _asinh(z: Parts) -> Parts:
    return over_i(_asin(times_i(z)))


def _atan(z: Parts) -> Parts:
    return over_i(_atanh(times_i(z)))


# ---- powers ----


def _pow(request: Request, name: str) -> Tensor:
    """By logarithms in double, whose errors the exponential grows; small integer exponents, which
    only the run knows, by multiplication."""
    x, y = parts_of(given(request, 0)), parts_of(given(request, 1))
    kind = x.re.dtype
    wide = (Parts(*(primitive.cast(part, dtypes.float64) for part in z)) for z in (x, y))
    made = Parts(*(primitive.cast(part, kind) for part in _power(*wide)))
    power = x
    for exponent in range(1, _MULTIPLIED + 1):
        same = compare("And", *_equal_to(y, exponent))
        made = Parts(*(select(same, p, q) for p, q in zip(power, made, strict=True)))
        power = multiplied(power, x) if exponent < _MULTIPLIED else power
    return joined(made.re, made.im, name, request.dims)


def _equal_to(z: Parts, number: float) -> tuple[Tensor, Tensor]:
    return compare("Equal", z.re, _of(z.re, number)), compare("Equal", z.im, _of(z.im, 0))


def _power(x: Parts, y: Parts) -> Parts:
    """exp(y log x); of 0 it is 1 for the exponent 0, and 0 for those with a real part above 0."""
    zero, one, none = (_of(x.re, v) for v in (0, 1, np.nan))
    nought = _is_zero(x)
    safe = Parts(select(nought, one, x.re), x.im)
    made = exp(multiplied(y, log(safe)))
    unit = _is_zero(y)
    rising = compare("Greater", y.re, zero)
    of_zero = select(unit, one, select(rising, zero, none))
    rest = select(compare("Or", unit, rising), zero, none)
    return Parts(select(nought, of_zero, made.re), select(nought, rest, made.im))


def _is_zero(z: Parts) -> Tensor:
    return compare("And", *_equal_to(z, 0))


def _slopes_of_pow(x: Tensor, y: Tensor, power: Tensor) -> list[Tensor]:
    """y x^(y - 1), 0 where y is 0, and x^y log(x), 0 where x is 0."""
    zero, one = scalar(0, x.dtype), scalar(1, x.dtype)
    lower = binary("Pow", x, binary("Sub", y, one))
    along = select(compare("Equal", y, zero), zero, binary("Mul", y, lower))
    nought = compare("Equal", x, zero)
    logarithm = select(nought, zero, _call("Log", select(nought, one, x)))
    return [along, binary("Mul", power, logarithm)]


# ---- derivatives, on complex tensors ----


def _call(op: str, z: Tensor) -> Tensor:
    return node(op, [z], z.dtype, dims_of(z))


def _inverse_root(z: Tensor, sign: float, shift: float) -> Tensor:
    """1 / sqrt(shift + sign z^2)."""
    square = binary("Mul", binary("Mul", z, z), scalar(sign, z.dtype))
    return _call("Reciprocal", _call("Sqrt", binary("Add", square, scalar(shift, z.dtype))))


def _inverse(z: Tensor, sign: float) -> Tensor:
    """1 / (1 + sign z^2)."""
    square = binary("Mul", binary("Mul", z, z), scalar(sign, z.dtype))
    return _call("Reciprocal", binary("Add", square, scalar(1, z.dtype)))


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    ("", "Asin"): composition(_asin, lambda z, y: [_inverse_root(z, -1, 1)]),
    ("", "Acos"): composition(_acos, lambda z, y: [unary("Neg", _inverse_root(z, -1, 1))]),
    ("", "Atan"): composition(_atan, lambda z, y: [_inverse(z, 1)]),
    ("", "Asinh"): composition(_asinh, lambda z, y: [_inverse_root(z, 1, 1)]),
    ("", "Acosh"): composition(_acosh, lambda z, y: [_call("Reciprocal", _call("Sinh", y))]),
    ("", "Atanh"): composition(_atanh, lambda z, y: [_inverse(z, -1)]),
    ("", "Pow"): analytic(_pow, _slopes_of_pow),
}
