"""Numbers rounded to the steps that an integer type would have, and the gradients of that.

The range is nudged so that 0 is one of the steps (Jacob et al. 2018); the gradient passes within
it and counts for its ends outside of it.
"""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = [
    "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient",
]


def _nudged(low: Tensor, high: Tensor, lowest: int, highest: int) -> tuple[Tensor, Tensor, Tensor]:
    """The range moved so that 0 is a step, and the size of a step."""
    step = (high - low) / float(highest - lowest)
    zero = float(lowest) - low / step
    rounded = elementwise.floor(zero + 0.5)
    rounded = elementwise.clip_by_value(rounded, float(lowest), float(highest))
    return (float(lowest) - rounded) * step, (float(highest) - rounded) * step, step


def _levels(num_bits: int, narrow_range: bool) -> tuple[int, int]:
    if not 2 <= num_bits <= 16:
        raise ValueError(f"num_bits must be between 2 and 16, inclusive, got {num_bits}")
    return (1 if narrow_range else 0), 2**num_bits - 1


def _quantized(
    inputs: Any, low: Any, high: Any, num_bits: int, narrow_range: bool, at: str
) -> Tensor:
    x = convert_to_tensor(inputs, dtypes.float32, name="inputs")
    ends = [convert_to_tensor(v, dtypes.float32) for v in (low, high)]
    bottom, top, step = _nudged(ends[0], ends[1], *_levels(num_bits, narrow_range))
    bottom, top, step = (array.stop_gradient(t) for t in (bottom, top, step))
    within = elementwise.minimum(elementwise.maximum(x, bottom), top)
    value = elementwise.floor((within - bottom) / step + 0.5) * step + bottom
    # Has the value 0; it carries the gradient to x, or to the end that x exceeds.
    below, above = comparison.less(x, bottom), comparison.greater(x, top)
    carrier = array.where(below, _spread(ends[0], x), array.where(above, _spread(ends[1], x), x))
    return elementwise.add(
        array.stop_gradient(value), carrier - array.stop_gradient(carrier), name=at
    )


def _spread(end: Tensor, like: Tensor) -> Tensor:
    return end + array.zeros_like(like)


@api_guard.operator
def fake_quant_with_min_max_args(
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """inputs rounded to 2^num_bits steps from min to max.

    Args:
        inputs: float32 tensor.
        min: of the range, below max.
        max: of the range.
        num_bits: 2 to 16.
        narrow_range: True leaves the lowest step out.
        name: of the operation.

    Raises:
        ValueError: min is not below max, or num_bits is out of range.
    """
    if min >= max:
        raise ValueError(f"min has to be smaller than max, was: {min} >= {max}")
    with scope(name, "FakeQuantWithMinMaxArgs") as at:
        return _quantized(inputs, float(min), float(max), num_bits, narrow_range, at)


@api_guard.operator
def fake_quant_with_min_max_vars(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """As fake_quant_with_min_max_args, with a range of scalar tensors that can be learned."""
    with scope(name, "FakeQuantWithMinMaxVars") as at:
        return _quantized(inputs, min, max, num_bits, narrow_range, at)


@api_guard.operator
def fake_quant_with_min_max_vars_per_channel(
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """As fake_quant_with_min_max_vars, with a range (d) for each index along the last axis."""
    with scope(name, "FakeQuantWithMinMaxVarsPerChannel") as at:
        return _quantized(inputs, min, max, num_bits, narrow_range, at)


@api_guard.operator
def fake_quant_with_min_max_args_gradient(
    gradients: Any,
    inputs: Any,
    min: float = -6,
    max: float = 6,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> Tensor:
    """The gradient by inputs: gradients where these are within the range, else 0."""
    found = fake_quant_with_min_max_vars_gradient(
        gradients, inputs, float(min), float(max), num_bits, narrow_range, name
    )
    return found[0]


@api_guard.operator
def fake_quant_with_min_max_vars_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients by inputs, min and max."""
    return _gradients(gradients, inputs, min, max, num_bits, narrow_range, name, None)


@api_guard.operator
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: Any,
    inputs: Any,
    min: Any,
    max: Any,
    num_bits: int = 8,
    narrow_range: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients by inputs, min and max, with a range for each index along the last axis."""
    rank = convert_to_tensor(inputs).shape.ndims
    if rank is None:
        raise ValueError("the rank of inputs must be known")
    axes = list(range(rank - 1))
    return _gradients(gradients, inputs, min, max, num_bits, narrow_range, name, axes)


def _gradients(
    gradients: Any, inputs: Any, low: Any, high: Any, num_bits: int, narrow_range: bool,
    name: str | None, axes: list[int] | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    with scope(name, "FakeQuantWithMinMaxVarsGradient"):
        x = convert_to_tensor(inputs, dtypes.float32, name="inputs")
        dy = convert_to_tensor(gradients, dtypes.float32, name="gradients")
        ends = [convert_to_tensor(v, dtypes.float32) for v in (low, high)]
        bottom, top, _ = _nudged(ends[0], ends[1], *_levels(num_bits, narrow_range))
        below, above = comparison.less(x, bottom), comparison.greater(x, top)
        none = array.zeros_like(dy)
        inside = comparison.logical_not(comparison.logical_or(below, above))
        sums = [reduction.reduce_sum(array.where(t, dy, none), axes) for t in (below, above)]
        return array.where(inside, dy, none), sums[0], sums[1]
