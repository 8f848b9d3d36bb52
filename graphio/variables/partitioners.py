"""Partitioners: into how many parts get_variable cuts a variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.support import api_guard
from graphio.variables.variable_scope import partitioned_as_scope, variable_scope
from graphio.variables.variables import Variable

__all__ = [
    "create_partitioned_variables",
    "fixed_size_partitioner",
    "min_max_variable_partitioner",
    "variable_axis_size_partitioner",
]

Partitioner = Callable[..., list[int]]


@api_guard.guarded
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts one axis into so many parts."""

    def partition(shape: Any, **unused: Any) -> list[int]:
        parts = [1] * (as_shape(shape).ndims or 0)
        size = as_shape(shape).as_list()[axis]
        parts[axis] = num_shards if size is None else min(num_shards, size)
        return parts

    return partition


@api_guard.guarded
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """A partitioner that cuts one axis so that no part has more bytes than a limit.

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


@api_guard.guarded
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


@api_guard.guarded
def create_partitioned_variables(
    shape: Any,
    slicing: Sequence[int],
    initializer: Any,
    dtype: Any = dtypes.float32,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Variable]:
    """The parts of a variable that is cut up along one axis.

    Args:
        shape: of the complete variable, fully known and with at least one axis.
        slicing: how many parts each axis is cut into; one may be above 1.
        initializer: a tensor or array of the complete value, or an initializer, which is called for
            each part.
        dtype: of the variables, unless the initializer is a tensor.
        trainable: whether optimizers change them.
        collections: names of collections to join; None: the global variables.
        name: a variable scope of which the parts are part_0 and so on; None:
            "PartitionedVariable", made unique.
        reuse: as variable_scope's.

    Raises:
        ValueError: slicing does not fit the shape, or the variables exist and are not reused.
    """
    sizes = [size or 0 for size in as_shape(shape).as_list()]
    if len(sizes) != len(slicing):
        raise ValueError(
            f"shape is {sizes} and slicing {list(slicing)}, expected a number of parts for each "
            "axis"
        )
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        return list(
            partitioned_as_scope(
                shape=sizes, dtype=dtype, initializer=initializer, trainable=trainable,
                collections=collections, partitioner=lambda **unused: list(slicing),
            )
        )  # fmt: skip


def _bytes(shape: TensorShape, dtype: Any, string: int) -> int:
    kind = dtypes.as_dtype(dtype)
    return (shape.num_elements() or 0) * (string if kind == dtypes.string else kind.size)
