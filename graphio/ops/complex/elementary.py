"""Exponentials, logarithms, roots, trigonometric and hyperbolic functions of complex numbers.

Functions get the parts and give the parts; ROWS makes compositions of them.
"""

from __future__ import annotations

from collections.abc import Callable

from graphio.framework.graph import Tensor
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex.arithmetic import divided
from graphio.ops.complex.parts import Parts, given, joined, parts_of
from graphio.ops.complex.polar import scaled_size
from graphio.ops.complex.slopes import Slope, analytic
from graphio.ops.math import arithmetic, elementwise

__all__ = ["ROWS", "composition", "exp", "log", "over_i", "sqrt", "times_i"]

Function = Callable[[Parts], Parts]


def composition(function: Function, slope: Slope) -> Callable[[Request, str], Tensor]:
    """The composition of a function of parts, with its derivative."""

    def build(request: Request, name: str) -> Tensor:
        made = function(parts_of(given(request, 0)))
        return joined(made.re, made.im, name, request.dims)

    return analytic(build, slope)


def _of(x: Tensor, number: float) -> Tensor:
    return scalar(number, x.dtype)


def _times(small: Tensor, large: Tensor) -> Tensor:
    """A multiplication in which 0 times infinity is 0."""
    none = compare("Equal", small, _of(small, 0))
    return select(none, small, binary("Mul", small, large))


# ---- exponentials and logarithms ----


def exp(z: Parts) -> Parts:
    """e to the power of z."""
    size = unary("Exp", z.re)
    return Parts(binary("Mul", size, unary("Cos", z.im)), _times(unary("Sin", z.im), size))


def _expm1(z: Parts) -> Parts:
    """exp(z) - 1: its real part is expm1(re) cos(im) - 2 sin(im / 2)^2."""
    half = unary("Sin", binary("Mul", z.im, _of(z.im, 0.5)))
    less = binary("Mul", binary("Mul", half, half), _of(half, 2))
    size = binary("Mul", elementwise.expm1(z.re), unary("Cos", z.im))
    return Parts(binary("Sub", size, less), _times(unary("Sin", z.im), unary("Exp", z.re)))


def log(z: Parts) -> Parts:
    """The natural logarithm, its imaginary part in [-pi, pi]; near |z| = 1 its real part is
    log1p(|z|^2 - 1) / 2."""
    a, b = (unary("Abs", part) for part in z)
    large, small = binary("Max", a, b), binary("Min", a, b)
    one, half = _of(a, 1), _of(a, 0.5)
    more = binary(
        "Add",
        binary("Mul", binary("Sub", large, one), binary("Add", large, one)),
        binary("Mul", small, small),
    )
    near = compare("Less", unary("Abs", more), half)
    close = binary("Mul", elementwise.log1p(select(near, more, _of(a, 0))), half)
    root, back = scaled_size(z)
    far = binary("Add", unary("Log", root), unary("Log", back))
    return Parts(select(near, close, far), arithmetic.atan2(z.im, z.re))


def _log1p(z: Parts) -> Parts:
    """log(1 + z); near 0 its real part is log1p(re (2 + re) + im^2) / 2."""
    one, half = _of(z.re, 1), _of(z.re, 0.5)
    more = binary(
        "Add",
        binary("Mul", z.re, binary("Add", z.re, _of(z.re, 2))),
        binary("Mul", z.im, z.im),
    )
    near = compare("Less", unary("Abs", more), half)
    close = binary("Mul", elementwise.log1p(select(near, more, _of(z.re, 0))), half)
    far = log(Parts(binary("Add", z.re, one), z.im))
    return Parts(select(near, close, far.re), far.im)


def sqrt(z: Parts) -> Parts:
    """The root with a real part of 0 or more; of negative numbers it has the sign of the zero of
    their imaginary part."""
    zero, one, half = (_of(z.re, v) for v in (0, 1, 0.5))
    root, back = scaled_size(z)
    a = binary("Div", unary("Abs", z.re), back)  # back is an even power of two
    long = unary("Sqrt", binary("Mul", binary("Add", a, root), half))
    long = binary("Mul", long, unary("Sqrt", back))
    none = compare("Equal", long, zero)
    short = binary("Div", z.im, select(none, one, binary("Add", long, long)))
    right = compare("GreaterOrEqual", z.re, zero)
    signed = select(elementwise.has_minus(z.im), unary("Neg", long), long)
    re, im = select(right, long, unary("Abs", short)), select(right, short, signed)
    endless = compare("Equal", unary("Abs", z.im), _of(z.im, float("inf")))
    return Parts(select(endless, unary("Abs", z.im), re), select(endless, z.im, im))


# ---- trigonometric and hyperbolic functions ----


def times_i(z: Parts) -> Parts:
    """i z."""
    return Parts(unary("Neg", z.im), z.re)


def over_i(z: Parts) -> Parts:
    """-i z."""
    return Parts(z.im, unary("Neg", z.re))


def _sinh(z: Parts) -> Parts:
    re = binary("Mul", elementwise.sinh(z.re), unary("Cos", z.im))
    return Parts(re, _times(unary("Sin", z.im), elementwise.cosh(z.re)))


def _cosh(z: Parts) -> Parts:
    re = binary("Mul", elementwise.cosh(z.re), unary("Cos", z.im))
    return Parts(re, _times(unary("Sin", z.im), elementwise.sinh(z.re)))


def _tanh(z: Parts) -> Parts:
    """By tan(im) and sinh(re) (Kahan, 1987); far from the imaginary axis the real part is 1."""
    far = compare("Greater", unary("Abs", z.re), _of(z.re, 18))
    sine, cosine = unary("Sin", z.im), unary("Cos", z.im)
    t, s = binary("Div", sine, cosine), elementwise.sinh(select(far, _of(z.re, 0), z.re))
    one = _of(z.re, 1)
    beta, square = binary("Add", one, binary("Mul", t, t)), binary("Mul", s, s)
    below = binary("Add", one, binary("Mul", beta, square))
    above = binary("Mul", binary("Mul", beta, unary("Sqrt", binary("Add", one, square))), s)
    falling = unary("Exp", binary("Mul", unary("Abs", z.re), _of(z.re, -2)))
    rest = binary("Mul", binary("Mul", sine, cosine), binary("Mul", falling, _of(z.re, 4)))
    return Parts(
        select(far, unary("Sign", z.re), binary("Div", above, below)),
        select(far, rest, binary("Div", t, below)),
    )


def _sigmoid(z: Parts) -> Parts:
    """1 / (1 + exp(-z)), by the exponential that does not overflow."""
    right = compare("GreaterOrEqual", z.re, _of(z.re, 0))
    small = exp(Parts(unary("Neg", unary("Abs", z.re)), select(right, unary("Neg", z.im), z.im)))
    one, zero = _of(z.re, 1), _of(z.re, 0)
    above = Parts(select(right, one, small.re), select(right, zero, small.im))
    return divided(above, Parts(binary("Add", small.re, one), small.im))


def _rotated(function: Function) -> Function:
    """f(i z) / i."""
    return lambda z: over_i(function(times_i(z)))


# ---- derivatives, on complex tensors ----


def _number(like: Tensor, value: float) -> Tensor:
    return scalar(value, like.dtype)


def _call(op: str, z: Tensor) -> Tensor:
    return node(op, [z], z.dtype, dims_of(z))


def _one_less_square(y: Tensor) -> Tensor:
    return binary("Sub", _number(y, 1), binary("Mul", y, y))


def _of_tan(y: Tensor) -> Tensor:
    return binary("Add", _number(y, 1), binary("Mul", y, y))


def _of_sigmoid(y: Tensor) -> Tensor:
    return binary("Mul", y, binary("Sub", _number(y, 1), y))


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    ("", op): composition(function, slope)
    for op, function, slope in (
        ("Exp", exp, lambda z, y: [y]),
        ("Expm1", _expm1, lambda z, y: [binary("Add", y, _number(y, 1))]),
        ("Log", log, lambda z, y: [_call("Reciprocal", z)]),
        ("Log1p", _log1p, lambda z, y: [_call("Reciprocal", binary("Add", z, _number(z, 1)))]),
        ("Sqrt", sqrt, lambda z, y: [binary("Div", _number(y, 0.5), y)]),
        ("Sin", _rotated(_sinh), lambda z, y: [_call("Cos", z)]),
        ("Cos", lambda z: _cosh(times_i(z)), lambda z, y: [unary("Neg", _call("Sin", z))]),
        ("Tan", _rotated(_tanh), lambda z, y: [_of_tan(y)]),
        ("Sinh", _sinh, lambda z, y: [_call("Cosh", z)]),
        ("Cosh", _cosh, lambda z, y: [_call("Sinh", z)]),
        ("Tanh", _tanh, lambda z, y: [_one_less_square(y)]),
        ("Sigmoid", _sigmoid, lambda z, y: [_of_sigmoid(y)]),
    )
}
