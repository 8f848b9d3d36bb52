"""tf.bitcast: the bits of a tensor read as another dtype, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import describe, node, scope
from graphio.ops.base.primitive import cast
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion
from graphio.ops.math import comparison
from graphio.support import api_guard

__all__ = ["bitcast"]

#: unsigned integers by their size, in whose bits numbers are cut and put together
_WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


@api_guard.operator
def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """The bits of a tensor read as another dtype.

    Args:
        input: tensor of numbers.
        type: a dtype; of a smaller one there is a new last axis, of a larger one the last axis
            goes, whose size must be how many make one. The lowest bits come first.
        name: of the operation.

    Raises:
        ValueError: the last axis has another size, or the widths differ and one is that of
            complex128; where only the run knows the size, an InvalidArgumentError of the run.
        TypeError: a dtype is none of numbers.
    """
    requested = dtypes.as_dtype(type).base_dtype
    with scope(name, "Bitcast") as at:
        x = convert_to_tensor(input, name="input")
        for dtype in (x.dtype, requested):
            if dtype in (dtypes.bool, dtypes.string) and x.dtype != requested:
                raise TypeError(f"Bitcast: {dtype.name} has no bits of a number")
        if x.dtype.size == requested.size:
            return _read_as(x, requested, dims_of(x), at)
        what = (
            f"Cannot bitcast from {x.dtype.name} to {requested.name} for {describe(at, 'Bitcast')}"
        )
        if not {x.dtype.size, requested.size} <= set(_WORDS):
            raise ValueError(f"{what}: a width of 16 bytes goes with no other one")
        return (_cut if x.dtype.size > requested.size else _put_together)(x, requested, what, at)


def _read_as(x: Tensor, dtype: DType, dims: Dims, name: str | None = None) -> Tensor:
    return node("BitCast", [x], dtype, dims, name=name, tf_type="Bitcast", to=dtype)


def _shifts(small: DType, factor: int) -> Tensor:
    """The shifts of the parts of a larger number, from its lowest bit."""
    return constant(np.arange(factor, dtype=np.uint64) * np.uint64(8 * small.size))


def _cut(x: Tensor, requested: DType, _: str, name: str) -> Tensor:
    """Smaller parts, in a new last axis."""
    factor, dims = x.dtype.size // requested.size, dims_of(x)
    bits = cast(_read_as(x, _WORDS[x.dtype.size], dims), dtypes.uint64)
    column = primitive.unsqueeze(bits, [-1])
    result = None if dims is None else (*dims, factor)
    moved = node("BitShift", [column, _shifts(requested, factor)], dtypes.uint64, result,
                 direction="RIGHT")  # fmt: skip
    mask = constant(np.asarray(256**requested.size - 1, np.uint64))
    parts = cast(node("BitwiseAnd", [moved, mask], dtypes.uint64, result), _WORDS[requested.size])
    return _read_as(parts, requested, result, name)


def _put_together(x: Tensor, requested: DType, what: str, name: str) -> Tensor:
    """The last axis, whose elements make one."""
    factor, dims = requested.size // x.dtype.size, dims_of(x)
    if dims is not None and (not dims or dims[-1] not in (None, factor)):
        raise ValueError(f"{what}: the last axis must have the size {factor}, got {list(dims)}")
    if dims is None or dims[-1] is None:
        size = primitive.slice_axes(primitive.shape_of(x), [-1], [primitive.last], [0])
        holds = primitive.squeeze(comparison.equal(size, factor), [0])
        x = assertion.once(x, holds, f"{what}: the last axis must have the size {factor}:")
    bits = cast(_read_as(x, _WORDS[x.dtype.size], dims), dtypes.uint64)
    moved = node("BitShift", [bits, _shifts(x.dtype, factor)], dtypes.uint64, dims,
                 direction="LEFT")  # fmt: skip
    result = None if dims is None else dims[:-1]
    axes = primitive.int_vector([-1])
    sums = node("ReduceSum", [moved, axes], dtypes.uint64, result, keepdims=0)
    return _read_as(cast(sums, _WORDS[requested.size]), requested, result, name)
