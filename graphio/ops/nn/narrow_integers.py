"""Integers that kernels for floating numbers compute exactly."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import as_array
from graphio.ops.base.emit import is_symbolic

__all__ = ["is_narrow"]


def is_narrow(value: Any) -> bool:
    """Whether the elements are integers that float64 holds exactly: kernels pool floats."""
    if isinstance(value, (list, tuple)) and value:  # perhaps of tensors
        if is_symbolic(value[0]) or isinstance(value[0], (list, tuple)):
            return is_narrow(value[0])
    if not hasattr(value, "dtype"):
        if is_symbolic(value):
            return False
        value = as_array(value, None)
    found = dtypes.as_dtype(value.dtype).base_dtype
    return found.is_integer and found.size <= 4 and found != dtypes.uint32
