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


@api_guard.operator
def bucketize(input_tensor: Any, boundaries: Sequence[float], name: str | None = None) -> Tensor:
    """How many boundaries each number has reached: 0 below the first, their number at the last.

    Args:
        input_tensor: tensor of real numbers.
        boundaries: sorted list of numbers, rounded to float32.
        name: of the operation.

    Returns:
        An int32 tensor of input_tensor's shape.

    Raises:
        TypeError: boundaries is not a list or tuple.
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
        x = array.expand_dims(convert_to_tensor(input_tensor, name="input"), -1)
        reached = comparison.greater_equal(elementwise.cast(x, dtypes.float64), constant(bounds))
        return reduction.reduce_sum(elementwise.cast(reached, dtypes.int32), -1, name=at)
