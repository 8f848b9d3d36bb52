"""Numbers among the arguments of the methods of datasets."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor import Tensor

__all__ = ["AUTOTUNE", "MAX_THREADS", "cycle_length", "number"]

AUTOTUNE = -1
#: of parallel calls and open datasets that AUTOTUNE chooses
MAX_THREADS = 16


def number(value: Any, what: str) -> Any:
    """An argument as an int, or as the scalar integer tensor that it is.

    Raises:
        TypeError: it is something else.
    """
    if hasattr(value, "_as_graph_element"):
        value = convert_to_tensor(value)
    if isinstance(value, Tensor):
        if not value.dtype.is_integer or value.shape.ndims not in (None, 0):
            raise TypeError(f"{what}: expected a scalar integer tensor, got {value!r}")
        return value
    array = np.asarray(value)
    if array.ndim or array.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected an integer, got {value!r} of {type(value).__name__}")
    return int(array)


def cycle_length(num_parallel_calls: Any) -> int:
    """The cycle length of an interleave that leaves it open, as TensorFlow chooses it."""
    processors = min(os.cpu_count() or 1, MAX_THREADS)
    if not isinstance(num_parallel_calls, int):
        return processors
    if num_parallel_calls == AUTOTUNE:
        return (processors + 2) // 3
    return min(num_parallel_calls, processors)
