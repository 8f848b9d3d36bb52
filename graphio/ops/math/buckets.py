"""The bucket of each number, between sorted boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["bucketize"]

_DTYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@api_guard.operator
def bucketize(input_tensor: Any, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """How many boundaries each number has reached: 0 below the first, their number at the last.

    Args:
        input_tensor: tensor of int32, int64, float32 or float64; nan has reached all.
        boundaries: sorted list of numbers, rounded to float32.
        name: of the operation.

    Returns:
        An int32 tensor of input_tensor's shape.

    Raises:
        TypeError: boundaries is not a list or tuple, or input_tensor of another dtype.
        ValueError: they are not sorted.
    """
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(
            f"Expected list for 'boundaries' argument to 'bucketize' Op, not {boundaries!r}."
        )
    bounds = np.asarray(boundaries, np.float32).astype(np.float64)
    if np.any(np.diff(bounds) < 0):
        raise ValueError(f"Expected sorted boundaries; bucketize got {list(boundaries)}")
    with scope(name, "Bucketize") as at:
        given = convert_to_tensor(input_tensor, name="input")
        if given.dtype not in _DTYPES:
            raise TypeError(
                f"Value passed to parameter 'input' has DataType {given.dtype.name}, expected one "
                f"of {', '.join(d.name for d in _DTYPES)}"
            )
        x = elementwise.cast(array.expand_dims(given, -1), dtypes.float64)
        reached = comparison.logical_not(comparison.less(x, constant(bounds)))
        return reduction.reduce_sum(elementwise.cast(reached, dtypes.int32), -1, name=at)
