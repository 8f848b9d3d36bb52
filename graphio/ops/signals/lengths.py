"""Lengths that the graph knows, as integers, or that the run knows, as scalar tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import is_symbolic, node, whole
from graphio.ops.base.primitive import cast
from graphio.ops.math import elementwise

__all__ = [
    "Length",
    "as_number",
    "as_tensor",
    "counted",
    "fitted",
    "floating",
    "given",
    "largest",
    "of",
    "wide",
]

Length = int | Tensor


def of(x: Tensor, axis: int = -1) -> Length:
    """The size of an axis of a tensor of known rank."""
    known = x.shape[axis].value
    if known is not None:
        return int(known)
    assert x.shape.ndims is not None
    at = constant(np.asarray(axis % x.shape.ndims, np.int64))
    return primitive.gather(primitive.shape_of(x), at, 0)


def given(value: Any, op: str, parameter: str, minimum: int = 0) -> Length:
    """A length that the caller gives.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is not a scalar, or known to be less than `minimum`.
    """
    tensor = whole(value, op, parameter)
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"{op}: {parameter} has shape {tensor.shape}, expected a scalar")
    known = constant_value(tensor)
    if known is None:
        return primitive.of_rank(tensor, 0)
    if known < minimum:
        raise ValueError(f"{op}: {parameter} is {known}, expected at least {minimum}")
    return int(known)


def largest(x: Length, y: Length) -> Length:
    """The larger one of two lengths."""
    if isinstance(x, int) and isinstance(y, int):
        return max(x, y)
    return elementwise.maximum(as_tensor(x), as_tensor(y))


def as_tensor(length: Length) -> Tensor:
    """An int64 scalar."""
    return length if isinstance(length, Tensor) else constant(np.asarray(length, np.int64))


def as_number(length: Length, dtype: DType) -> Tensor:
    """A scalar of a floating dtype."""
    return cast(as_tensor(length), dtype)


def counted(length: Length, dtype: DType = dtypes.int64) -> Tensor:
    """0, 1, ... length - 1."""
    bounds = [as_tensor(0), as_tensor(length), as_tensor(1)]
    size = length if isinstance(length, int) else None
    return cast(node("Range", bounds, dtypes.int64, (size,)), dtype)


def wide(value: Any, name: str) -> Tensor:
    """A number as a float64 tensor; one of Python is not rounded to float32 before."""
    if is_symbolic(value):
        return elementwise.cast(value, dtypes.float64)
    return constant(np.asarray(value, np.float64), name=name)


def floating(value: Any, op: str, name: str) -> Tensor:
    """value as a tensor of a floating dtype."""
    x = convert_to_tensor(value, name=name)
    if not x.dtype.is_floating:
        raise ValueError(f"{op}: {name} has dtype {x.dtype.name}, expected a floating one; cast it")
    return x


def fitted(x: Tensor, n: Length) -> Tensor:
    """The first n elements of the last axis, with zeros where there are less."""
    missing = largest(0, n - of(x))
    kept = [[0, 0]] * (len(x.shape.as_list()) - 1)
    return array.pad(x, [*kept, [0, missing]])[..., :n]
