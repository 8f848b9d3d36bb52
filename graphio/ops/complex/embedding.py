"""Complex matrices as real ones of twice the size.

Each element a + bi becomes [[a, -b], [b, a]]: these multiply and have inverses as the complex
matrices do, and the transpose is the adjoint. Of the right operand of a multiplication the first
columns of these blocks suffice, a matrix of columns (a, b, a, b, ...).
"""

from __future__ import annotations

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex.parts import Parts
from graphio.ops.math import elementwise

__all__ = ["beside", "columns", "embedded", "pairs", "parted", "times_i", "unpaired", "zeros"]


_END = primitive.last


def columns(x: Parts) -> Tensor:
    """(..., 2 m, n): the real parts of rows before their imaginary parts."""
    return _merged(array.stack([x.re, x.im], -2), -3)


def embedded(x: Parts) -> Tensor:
    """(..., 2 m, 2 n): the real matrix of each complex one."""
    return beside(columns(x), columns(Parts(elementwise.negative(x.im), x.re)))


def beside(first: Tensor, second: Tensor) -> Tensor:
    """Matrices (..., m, n) as (..., m, 2 n), the columns in turn."""
    return _merged(array.stack([first, second], -1), -2)


def parted(x: Tensor) -> Parts:
    """The parts of a matrix of columns (..., 2 m, n)."""
    return Parts(x[..., 0::2, :], x[..., 1::2, :])


def pairs(x: Tensor) -> Tensor:
    """Vectors (..., 2 m) as (..., m, 2): an element's two parts in a row."""
    dims = dims_of(x)
    assert dims is not None
    known = None if dims[-1] is None else dims[-1] // 2
    sizes = primitive.shape_of(x)
    lead, size = (primitive.slice_axes(sizes, [i], [j], [0]) for i, j in ((0, -1), (-1, _END)))
    half = primitive.binary("Div", size, primitive.int_vector([2]))
    target = primitive.concat([lead, half, primitive.int_vector([2])], 0)
    return primitive.reshape_to(x, target, (*dims[:-1], known, 2))


def unpaired(x: Tensor) -> Tensor:
    """Pairs (..., m, 2) as (..., 2 m)."""
    return _merged(x, -2)


def times_i(x: Tensor) -> Tensor:
    """Pairs (..., m, 2) of i times their numbers."""
    return array.stack([elementwise.negative(x[..., 1]), x[..., 0]], -1)


def zeros(like: Tensor, rows: Tensor, count: Tensor, dtype: DType | None = None) -> Tensor:
    """Matrices (..., rows, count) of zeros, as many as there are in another tensor, whose dtype
    they have by default."""
    lead = primitive.slice_axes(primitive.shape_of(like), [0], [-2], [0])
    sizes = [primitive.unsqueeze(size, [0]) for size in (rows, count)]
    return array.zeros(primitive.concat([lead, *sizes], 0), dtype or like.dtype)


def _merged(x: Tensor, axis: int) -> Tensor:
    """x with the axis (negative) and the one after it as one."""
    dims = dims_of(x)
    assert dims is not None
    at = len(dims) + axis
    first, second = dims[at : at + 2]
    size = None if first is None or second is None else first * second
    merged = (*dims[:at], size, *dims[at + 2 :])
    if None not in merged:
        return primitive.reshape(x, [d for d in merged if d is not None])
    sizes = primitive.shape_of(x)
    before, both, after = (
        primitive.slice_axes(sizes, [start], [end], [0])
        for start, end in ((0, at), (at, at + 2), (at + 2, _END))
    )
    total = node("ReduceProd", [both], dtypes.int64, (1,), keepdims=1)
    return primitive.reshape_to(x, primitive.concat([before, total, after], 0), merged)
