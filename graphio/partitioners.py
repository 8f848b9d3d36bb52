"""Partitioners: how TensorFlow would cut a variable up; graphio keeps it whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio import dtypes
from graphio.tensor_shape import TensorShape, as_shape

__all__ = [
    "fixed_size_partitioner",
    "min_max_variable_partitioner",
    "variable_axis_size_partitioner",
]

Partitioner = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts one axis into so many parts."""

    def partition(shape: Any, **unused: Any) -> list[int]:
        parts = [1] * (as_shape(shape).ndims or 0)
        size = as_shape(shape).as_list()[axis]
        parts[axis] = num_shards if size is None else min(num_shards, size)
        return parts

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """A partitioner that cuts one axis so that no part has more bytes than told.

    Raises:
        ValueError: max_shard_bytes or max_shards is below 1.
    """
    if max_shard_bytes < 1 or (max_shards is not None and max_shards < 1):
        raise ValueError("max_shard_bytes and max_shards must be at least 1")

    def partition(shape: Any, dtype: Any) -> list[int]:
        dims = as_shape(shape)
        row = _bytes(dims, dtype, bytes_per_string_element) / max(1, dims.as_list()[axis] or 1)
        most = max(1, math.floor(max_shard_bytes / max(row, 1)))
        shards = math.ceil((dims.as_list()[axis] or 1) / most)
        parts = [1] * (dims.ndims or 0)
        parts[axis] = shards if max_shards is None else min(shards, max_shards)
        return parts

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner that cuts one axis into parts of at least so many bytes."""

    def partition(shape: Any, dtype: Any) -> list[int]:
        dims = as_shape(shape)
        whole = _bytes(dims, dtype, bytes_per_string_element)
        parts = [1] * (dims.ndims or 0)
        parts[axis] = max(
            1, min(max_partitions, dims.as_list()[axis] or 1, int(whole // min_slice_size))
        )
        return parts

    return partition


def _bytes(shape: TensorShape, dtype: Any, string: int) -> int:
    kind = dtypes.as_dtype(dtype)
    return (shape.num_elements() or 0) * (string if kind == dtypes.string else kind.size)
