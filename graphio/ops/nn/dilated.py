"""tf.nn.with_space_to_batch: an operation with gaps between the elements of its window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import arranging, shaping
from graphio.ops.array import surface as array
from graphio.support import api_guard

__all__ = ["with_space_to_batch"]

_WHAT = "with_space_to_batch"


@api_guard.operator
def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, int, str], Any],
    filter_shape: Any = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Any:
    """The result of an operation whose window has a rate: batches of every rate-th element.

    Args:
        input: tensor of more than max(spatial_dims) axes.
        dilation_rate: vector of integers of 1 or more, of known length n.
        padding: SAME or VALID. Where a rate is above 1, op always gets VALID.
        op: from (tensor, n, padding) to a tensor; where all rates are known as 1, it is called with
            the input.
        filter_shape: with SAME padding: integers, of which the first n are the window's sizes.
        spatial_dims: increasing axes of 1 or more; None: the n after the batch, or after the
            channels.
        data_format: where it begins with "NC", the channels come second.

    Raises:
        ValueError: padding is neither, or another argument does not fit.

    Example:
        >>> def pooled(x, axes, padding):
        ...     return tf.nn.pool(x, [2] * axes, "MAX", padding)
        >>> tf.nn.with_space_to_batch(tf.ones([1, 8, 1]), [3], "VALID", pooled).shape.as_list()
        [1, 5, 1]
    """
    x = convert_to_tensor(input, name="input")
    rate = convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
    if rate.shape.ndims != 1:
        raise ValueError(f"rate must be rank 1; {_WHAT}: dilation_rate has shape {rate.shape}")
    count = rate.shape[0].value
    if count is None:
        raise ValueError(f"rate must have known shape; {_WHAT}: dilation_rate has {rate.shape}")
    axes = _axes(x, count, spatial_dims, (data_format or "").startswith("NC"))
    known = constant_value(rate)
    if known is not None and np.any(known < 1):
        raise ValueError(f"dilation_rate must be positive; {_WHAT}: it is {known.tolist()}")
    if known is not None and np.all(known == 1):
        return op(x, count, padding)
    base = _paddings(padding, filter_shape, rate, count)
    paddings, crops = shaping.required_space_to_batch_paddings(_sizes(x, axes), rate, base)
    block = _spread(rate, axes, 1)
    cut = arranging.space_to_batch_nd(x, block, _spread(paddings, axes, 0))
    return arranging.batch_to_space_nd(op(cut, count, "VALID"), block, _spread(crops, axes, 0))


def _axes(x: Tensor, count: int, given: Sequence[int] | None, second: bool) -> list[int]:
    first = 2 if second else 1
    axes = list(range(first, count + first) if given is None else given)
    if axes != sorted({int(axis) for axis in axes}) or min(axes, default=1) < 1:
        raise ValueError(
            "spatial_dims must be a monotonically increasing sequence of positive integers; "
            f"{_WHAT}: spatial_dims is {axes}"
        )
    if len(axes) != count:
        raise ValueError(
            f"{_WHAT}: dilation_rate has {count} elements and spatial_dims {len(axes)}, expected "
            "as many"
        )
    least = axes[-1] + (0 if second else 1)
    if x.shape.ndims is not None and x.shape.ndims < least:
        raise ValueError(
            f"input tensor must have rank {least} at least; {_WHAT}: input has shape {x.shape}"
        )
    return axes


def _sizes(x: Tensor, axes: list[int]) -> Any:
    """The sizes of axes: a list where all are known."""
    dims = None if x.shape.ndims is None else [x.shape[axis].value for axis in axes]
    if dims is not None and None not in dims:
        return dims
    shape: Any = array.shape(x)
    return array.stack([shape[axis] for axis in axes])


def _paddings(padding: str, filter_shape: Any, rate: Tensor, count: int) -> Any:
    """The zeros before and after each axis, (count, 2)."""
    if padding == "VALID":
        return np.zeros([count, 2], np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}; {_WHAT} has SAME and VALID")
    if filter_shape is None:
        raise ValueError(f"filter_shape must be specified for SAME padding; {_WHAT} got None")
    window: Any = convert_to_tensor(filter_shape, dtypes.int32, name="filter_shape")[:count]
    extra = (window - 1) * rate
    return array.stack([extra // 2, extra - extra // 2], 1)


def _spread(rows: Tensor, axes: list[int], fill: int) -> Any:
    """Rows for all axes after the first: those of `axes`, for the others the filling."""
    known = constant_value(rows)
    source: Any = rows if known is None else known
    other = np.full([2] * (rows.shape.ndims == 2), fill, np.int32)
    parts = [source[axes.index(axis)] if axis in axes else other for axis in range(1, axes[-1] + 1)]
    return array.stack(parts) if known is None else np.stack(parts)
