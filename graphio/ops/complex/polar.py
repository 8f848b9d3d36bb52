"""Absolute values, directions and angles."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import reshaping
from graphio.ops.base import primitive
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import scalar, scope
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.complex.parts import Parts, given, joined, numbers, parts_of
from graphio.ops.math import arithmetic
from graphio.support import api_guard

__all__ = ["ROWS", "angle", "scaled_size", "size"]

#: where squares of a part would overflow, or be lost: (above, times), (below, times)
_SCALES = {
    dtypes.float32: ((2.0**62, 2.0**-66), (2.0**-60, 2.0**88)),
    dtypes.float64: ((2.0**510, 2.0**-514), (2.0**-500, 2.0**574)),
}


def scaled_size(z: Parts) -> tuple[Tensor, Tensor]:
    """|z| less a factor, and the factor, an even power of two: parts far from 1 are scaled, so that
    no square overflows or is lost. The gradient is z / |z|, and 0 at 0."""
    dtype = z.re.dtype.base_dtype
    (above, down), (below, up) = _SCALES[dtype]
    zero, one, endless = (scalar(v, dtype) for v in (0, 1, np.inf))
    high, wide = (unary("Abs", reshaping.stop_gradient(part)) for part in z)
    largest = binary("Max", high, wide)
    huge = compare("Greater", largest, scalar(above, dtype))
    tiny = compare("Less", largest, scalar(below, dtype))
    scale = select(huge, scalar(down, dtype), select(tiny, scalar(up, dtype), one))
    back = select(huge, scalar(1 / down, dtype), select(tiny, scalar(1 / up, dtype), one))
    re, im = (binary("Mul", part, scale) for part in z)
    square = binary("Add", binary("Mul", re, re), binary("Mul", im, im))
    none = compare("Equal", largest, zero)
    root = unary("Sqrt", select(none, one, square))
    # Also where the other part is NaN.
    infinite = compare("Or", compare("Equal", high, endless), compare("Equal", wide, endless))
    return select(none, zero, select(infinite, endless, root)), back


def size(z: Parts, name: str | None = None) -> Tensor:
    """|z|, without overflow on the way."""
    root, back = scaled_size(z)
    return binary("Mul", root, back, name)


def _abs(request: Request, name: str) -> Tensor:
    return size(parts_of(given(request, 0)), name)


def _sign(request: Request, name: str) -> Tensor:
    """z / |z|, and 0 at 0."""
    z = parts_of(given(request, 0))
    length = size(z)
    none = compare("Equal", length, scalar(0, length.dtype))
    safe = select(none, scalar(1, length.dtype), length)
    re, im = (binary("Div", part, safe) for part in z)
    return joined(re, im, name, request.dims)


@api_guard.operator
def angle(input: Any, name: str | None = None) -> Tensor:
    """The angle in the complex plane, in [-pi, pi]; of a real tensor pi below 0, else 0.

    Args:
        input: tensor of numbers.
        name: of the operation.

    Returns:
        A float32 tensor of complex64, float64 of complex128; else one of input's dtype.

    Raises:
        TypeError: input holds no numbers.
    """
    with scope(name, "Angle") as at:
        x = numbers(input, "angle")
        if x.dtype.is_complex:
            re, im = parts_of(x)
            return arithmetic.atan2(im, re, name=at)
        below = compare("Less", x, scalar(0, x.dtype))
        return select(below, scalar(_pi(x.dtype), x.dtype), primitive.fill_like(x, 0), at)


def _pi(dtype: DType) -> float:
    return int(_math.pi) if dtype.is_integer else _math.pi


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    ("", "Abs"): _abs,
    ("", "Sign"): _sign,
}
