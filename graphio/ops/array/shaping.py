"""Static knowledge of shapes and values: promises, checks, coordinates, bits."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape, as_shape
from graphio.ops.array import surface as array
from graphio.ops.array.order import check_bins
from graphio.ops.base import primitive
from graphio.ops.base.emit import is_symbolic, operation, scope
from graphio.ops.base.shapes import broadcast, dims_of
from graphio.ops.checks import assertion
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import cumprod
from graphio.support import api_guard

__all__ = [
    "broadcast_dynamic_shape",
    "broadcast_static_shape",
    "dimension_at_index",
    "dimension_value",
    "ensure_shape",
    "guarantee_const",
    "histogram_fixed_width_bins",
    "parallel_stack",
    "required_space_to_batch_paddings",
    "unravel_index",
    "where_v2",
]

Array = np.ndarray[Any, Any]


@api_guard.operator
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """x, whose shape is checked now as far as it is known, and else by the run.

    Args:
        x: tensor.
        shape: a shape; None in it is any size.
        name: of the operation.

    Returns:
        x with the static shape that both say together.

    Raises:
        ValueError: x is known to have another shape.
        InvalidArgumentError: of the run, x has another shape.
    """
    with scope(name, "EnsureShape") as at:
        tensor = convert_to_tensor(x, name="input")
        requested = as_shape(shape)
        if not tensor.shape.is_compatible_with(requested):
            raise ValueError(
                f"Shapes must be compatible: {tensor.shape} and {requested} for {at[:-1]}"
            )
        dims = dims_of(tensor.shape.merge_with(requested))
        if requested.ndims is None:
            return primitive.unary("Identity", tensor, at)
        sizes = [-1 if d is None else d for d in requested.as_list()]
        made = operation(
            "EnsureShape", [tensor], [(tensor.dtype, dims)], name=at, domain="graphio",
            attrs={"dims": sizes},
        )  # fmt: skip
        return made.outputs[0]


@gradient("EnsureShape", domain="graphio")
def _ensure_shape_gradient(op: Operation, dy: Tensor) -> Sequence[Tensor | None]:
    return [dy]


@api_guard.operator
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape of an elementwise operation on two static shapes.

    Raises:
        ValueError: they do not broadcast.
    """
    one, two = as_shape(shape_x), as_shape(shape_y)
    return TensorShape(broadcast(dims_of(one), dims_of(two), "broadcast_static_shape"))


@api_guard.operator
def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """The shape of an elementwise operation on tensors of two shapes.

    Args:
        shape_x: integer vector.
        shape_y: integer vector of the same dtype.

    Returns:
        An integer vector.

    Raises:
        InvalidArgumentError: two sizes differ and neither is 1; where only the run knows them, of
            the run.
    """
    with scope(None, "BroadcastArgs") as at:
        one, two = convert_to_tensor(shape_x), convert_to_tensor(shape_y)
        length = elementwise.maximum(array.size(one), array.size(two))
        long = [array.pad(t, [[length - array.size(t), 0]], constant_values=1) for t in (one, two)]
        fits = comparison.logical_or(
            comparison.equal(long[0], long[1]),
            comparison.logical_or(comparison.equal(long[0], 1), comparison.equal(long[1], 1)),
        )
        words = "Incompatible shapes: two sizes differ and neither is 1, in"
        long[0] = assertion.holding(long[0], reduction.reduce_all(fits), words)
        # An axis of 1 takes the other's size, which may be 0.
        return array.where(comparison.equal(long[0], 1), long[1], long[0], name=at)


@api_guard.operator
def dimension_value(dimension: Any) -> int | None:
    """The size of a Dimension as an integer or None; other values stay."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


@api_guard.operator
def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """One size of a shape; an unknown one if the rank is unknown."""
    return Dimension(None) if shape.ndims is None else shape[index]


@api_guard.operator
def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Its input: a promise that the value never changes, which nothing here needs."""
    with scope(name, "GuaranteeConst") as at:
        return primitive.unary("Identity", convert_to_tensor(input, name="input"), at)


@api_guard.operator
def parallel_stack(values: Sequence[Any], name: str = "parallel_stack") -> Tensor:
    """Tensors along a new first axis, as stack.

    Raises:
        ValueError: the shape of the first is not known.
    """
    first = convert_to_tensor(values[0])
    if not first.shape.is_fully_defined():
        raise ValueError(f"parallel_stack: the shape of '{first.name}' must be known")
    return array.stack(values, name=name)


@api_guard.operator
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where the condition holds, else y; all three broadcast. Without x and y as where."""
    if x is None and y is None:
        return array.where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    with scope(name, "SelectV2") as at:
        chosen = convert_to_tensor(condition, dtypes.bool, name="condition")
        one = convert_to_tensor(x, y.dtype if is_symbolic(y) else None, name="t")
        two = convert_to_tensor(y, one.dtype, name="e")
        return primitive.select(chosen, one, two, at)


@api_guard.operator
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The coordinates of flat positions in a tensor of a shape.

    Args:
        indices: integer scalar or vector (n).
        dims: integer vector (k), the shape.
        name: of the operation.

    Returns:
        A tensor (k) or (k, n).

    Raises:
        ValueError: indices have another rank.
        InvalidArgumentError: of the run, the shape has more elements than the dtype has numbers.
    """
    with scope(name, "UnravelIndex") as at:
        flat = convert_to_tensor(indices, name="indices")
        sizes = _countable(convert_to_tensor(dims, flat.dtype, name="dims"))
        steps = _steps(sizes)
        if flat.shape.ndims == 1:
            sizes, steps = (array.expand_dims(t, 1) for t in (sizes, steps))
        elif flat.shape.ndims != 0:
            raise ValueError(
                f"unravel_index: indices have shape {flat.shape}, expected rank 0 or 1"
            )
        return elementwise.floormod(elementwise.floordiv(flat, steps), sizes, name=at)


def _countable(sizes: Tensor) -> Tensor:
    """A shape, once its number of elements is known to be one of its dtype."""
    limit = np.iinfo(sizes.dtype.as_numpy_dtype).max
    known = constant_value(sizes)
    if known is not None and prod(int(n) for n in known.ravel()) <= limit:
        return sizes
    # In double the number of elements cannot overflow; within rounding of 2^63 it is too large.
    count = reduction.reduce_prod(elementwise.cast(sizes, dtypes.float64))
    words = f"unravel_index: the elements of dims are more than {sizes.dtype.name} counts:"
    return assertion.once(sizes, comparison.less(count, float(limit) + 1.0), words)


def _steps(sizes: Tensor) -> Tensor:
    """The row-major stride of each axis, in elements."""
    return cumprod(sizes, exclusive=True, reverse=True)


@api_guard.operator
def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The number of the bin that each value is in; those outside are in the first or last.

    Args:
        values: floating tensor.
        value_range: (2), where the first bin starts and the last one ends.
        nbins: how many bins.
        dtype: int32 or int64.
        name: of the operation.
    """
    with scope(name, "histogram_fixed_width_bins") as at:
        check_bins(value_range, nbins)
        x = convert_to_tensor(values, name="values")
        borders = convert_to_tensor(value_range, x.dtype, name="value_range")
        count = elementwise.cast(nbins, x.dtype)
        scaled = elementwise.truediv(x - borders[0], borders[1] - borders[0])
        last = elementwise.cast(nbins, dtypes.int32) - 1
        position = elementwise.cast(elementwise.floor(count * scaled), dtypes.int32)
        return elementwise.cast(elementwise.clip_by_value(position, 0, last), dtype, name=at)


@api_guard.operator
def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Paddings and crops that let space_to_batch cut a tensor into complete blocks.

    Args:
        input_shape: integer vector (n), the sizes of the axes to cut.
        block_shape: integer vector (n).
        base_paddings: (n, 2), the minimum padding; None: 0.
        name: of the operations.

    Returns:
        (paddings, crops), each (n, 2).
    """
    with scope(name, "required_space_to_batch_paddings"):
        sizes = convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
        block = convert_to_tensor(block_shape, dtypes.int32, name="block_shape")
        if base_paddings is None:
            base = array.zeros([block.shape[0].value, 2], dtypes.int32)
        else:
            base = convert_to_tensor(base_paddings, dtypes.int32, name="base_paddings")
        known = _known_paddings(sizes, block, base)
        if known is not None:
            return known
        start, end = base[:, 0], base[:, 1]
        full = sizes + start + end
        extra = elementwise.floormod(block - elementwise.floormod(full, block), block)
        crops = array.stack([array.zeros_like(extra), extra], 1, name="crops")
        return array.stack([start, end + extra], 1, name="paddings"), crops


def _known_paddings(sizes: Tensor, block: Tensor, base: Tensor) -> tuple[Tensor, Tensor] | None:
    """The results of required_space_to_batch_paddings as constants, if its arguments are known."""
    size, step, least = (constant_value(t) for t in (sizes, block, base))
    if size is None or step is None or least is None or np.any(step < 1):
        return None  # the run says what is wrong with the block
    extra = -(size + least.sum(1)) % step
    found = (np.stack([least[:, 0], least[:, 1] + extra], 1), np.stack([0 * extra, extra], 1))
    paddings, crops = (constant(a, dtypes.int32, name=n)
                       for a, n in zip(found, ("paddings", "crops"), strict=True))  # fmt: skip
    return paddings, crops
