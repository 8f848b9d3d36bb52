"""One-node builders under plain names, for builders and gradients of other families.

They take tensors of the right dtype, check nothing and keep static shapes; TensorFlow's face
is in the families.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_shape, constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import describe, node, operation, scope
from graphio.ops.base.shapes import Dims, dims_of

__all__ = [
    "WRITTEN_OUT",
    "binary",
    "cast",
    "compare",
    "concat",
    "count",
    "expand",
    "fill_like",
    "gather",
    "int_vector",
    "last",
    "moved_back",
    "reduce_sum",
    "reshape",
    "reshape_to",
    "select",
    "shape_of",
    "slice_axes",
    "squeeze",
    "static_vector",
    "transpose",
    "unary",
    "unbroadcast",
    "unbroadcast_at_run_time",
    "unsqueeze",
]

#: numbers in a row that a graph holds as a constant; more are made when it runs
WRITTEN_OUT = 1 << 20

#: ends of a slice that runs to the border, forwards and backwards
last = np.iinfo(np.int64).max


def int_vector(values: Sequence[int], name: str = "Const") -> Tensor:
    """A constant int64 vector."""
    return constant(np.asarray(values, np.int64).reshape(-1), name=name)


def unary(op: str, x: Tensor, name: str | None = None) -> Tensor:
    """An elementwise operator that keeps dtype and shape."""
    return node(op, [x], x.dtype, dims_of(x), name=name)


def of_rank(x: Tensor, rank: int) -> Tensor:
    """x; one of unknown rank is taken to be of that rank, and else refused by its reader's run."""
    if x.shape.ndims is not None:
        return x
    return node("Identity", [x], x.dtype, (None,) * rank)


def binary(op: str, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """A broadcasting operator that keeps the dtype."""
    dims = shapes.broadcast(dims_of(x), dims_of(y), describe(name or op, op))
    return node(op, [x, y], x.dtype, dims, name=name)


def compare(op: str, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """A broadcasting operator that gives bools."""
    dims = shapes.broadcast(dims_of(x), dims_of(y), describe(name or op, op))
    return node(op, [x, y], dtypes.bool, dims, name=name)


def select(condition: Tensor, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """x where condition holds, else y; all three broadcast."""
    what = describe(name or "Select", "Select")
    dims = shapes.broadcast(dims_of(x), dims_of(y), what)
    dims = shapes.broadcast(dims_of(condition), dims, what)
    return node("Where", [condition, x, y], x.dtype, dims, name=name, tf_type="Select")


def cast(x: Tensor, dtype: DType, name: str | None = None) -> Tensor:
    """x in another dtype; x itself if it has it already."""
    if x.dtype.base_dtype == dtype.base_dtype:
        return x
    return node("Cast", [x], dtype, dims_of(x), name=name, to=dtype.base_dtype)


def shape_of(x: Tensor) -> Tensor:
    """The shape as an int64 vector, a constant if it is known."""
    dims = dims_of(x)
    if dims is not None and None not in dims:
        return int_vector([d for d in dims if d is not None])
    return node("Shape", [x], dtypes.int64, (None if dims is None else len(dims),))


def count(x: Tensor, dtype: DType) -> Tensor:
    """The number of elements as a scalar of dtype."""
    known = shapes.num_elements(dims_of(x))
    if known is not None:
        return constant(np.asarray(known, dtype.base_dtype.as_numpy_dtype))
    return cast(node("Size", [x], dtypes.int64, ()), dtype)


def static_vector(x: Tensor) -> Dims:
    """A vector as a shape: its values, None for unknown ones and for -1."""
    found = constant_shape(x)
    return None if found is None else dims_of(found)


def reshape(x: Tensor, shape: Tensor | Sequence[int], dims: Dims = None) -> Tensor:
    """x in another shape; dims is the static shape where the caller knows more."""
    target = shape if isinstance(shape, Tensor) else int_vector(shape)
    if dims is None:
        dims = shapes.reshaped(dims_of(x), static_vector(target), describe("", "Reshape"))
    return reshape_to(x, target, dims)


def reshape_to(x: Tensor, target: Tensor, dims: Dims, name: str | None = None) -> Tensor:
    """The node of a reshape: 0 is a size, so the older form serves only where none can occur."""
    known = constant_value(target)
    if known is not None and 0 not in known:
        return node("Reshape", [x, target], x.dtype, dims, name=name)
    return node("Reshape", [x, target], x.dtype, dims, name=name, version=14, allowzero=1)


def expand(x: Tensor, shape: Tensor, dims: Dims = None) -> Tensor:
    """x broadcast to shape, which must be the result's."""
    requested = dims if dims is not None else static_vector(shape)
    if requested is not None and None not in requested and dims_of(x) == requested:
        return x
    return node("Expand", [x, shape], x.dtype, requested)


def reduce_sum(
    x: Tensor, axes: Sequence[int] | Tensor | None, keepdims: bool, dims: Dims = None
) -> Tensor:
    """The sum over axes; None means all of them. A tensor of axes needs dims."""
    if isinstance(axes, Tensor):
        inputs = [x, axes]
    else:
        dims = shapes.reduced(dims_of(x), axes, keepdims, describe("", "Sum"))
        inputs = [x] if axes is None else [x, int_vector(axes)]
    return node(
        "ReduceSum",
        inputs,
        x.dtype,
        dims,
        tf_type="Sum",
        keepdims=int(keepdims),
        noop_with_empty_axes=int(axes is not None),
    )


def unsqueeze(x: Tensor, axes: Sequence[int] | Tensor, name: str | None = None) -> Tensor:
    """x with axes of size 1 at the given indices, counted in the result."""
    dims: Dims = None
    if isinstance(axes, Tensor):
        known = constant_value(axes)
        positions = None if known is None else [int(v) for v in known]
    else:
        positions = list(axes)
    old = dims_of(x)
    if positions is not None and old is not None:
        rank = len(old) + len(positions)
        at = {p % rank for p in positions}
        rest = iter(old)
        dims = tuple(1 if i in at else next(rest) for i in range(rank))
    target = axes if isinstance(axes, Tensor) else int_vector(axes, "axes")
    return node("Unsqueeze", [x, target], x.dtype, dims, name=name, tf_type="ExpandDims")


def squeeze(x: Tensor, axes: Sequence[int], name: str | None = None) -> Tensor:
    """x without the axes given, which are of size 1."""
    dims = dims_of(x)
    if dims is not None:
        at = {a % len(dims) for a in axes}
        dims = tuple(d for i, d in enumerate(dims) if i not in at)
    return node("Squeeze", [x, int_vector(axes, "axes")], x.dtype, dims, name=name)


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """x with its axes in the order of perm."""
    dims = dims_of(x)
    if dims is not None:
        dims = tuple(dims[p] for p in perm)
    return node("Transpose", [x], x.dtype, dims, name=name, perm=[int(p) for p in perm])


def concat(parts: Sequence[Tensor], axis: int, name: str | None = None) -> Tensor:
    """The parts one after another along axis."""
    what = describe(name or "ConcatV2", "ConcatV2")
    dims = shapes.concatenated([dims_of(p) for p in parts], axis, what)
    if dims is not None:
        axis %= len(dims)
    return node("Concat", parts, parts[0].dtype, dims, name=name, tf_type="ConcatV2", axis=axis)


def slice_axes(
    x: Tensor,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int],
    steps: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """x[starts:ends:steps] along axes (0 or greater); bounds as ONNX's Slice takes them."""
    strides = list(steps or [1] * len(axes))
    dims = dims_of(x)
    if dims is not None:
        sizes = list(dims)
        for start, end, axis, step in zip(starts, ends, axes, strides, strict=True):
            stop = None if step < 0 and end < -last else end
            sizes[axis] = shapes.sliced(sizes[axis], start, stop, step)
        dims = tuple(sizes)
    inputs = [
        x,
        int_vector(starts, "starts"),
        int_vector(ends, "ends"),
        int_vector(axes, "axes"),
        int_vector(strides, "steps"),
    ]
    return node("Slice", inputs, x.dtype, dims, name=name, tf_type="StridedSlice")


def gather(
    x: Tensor, indices: Tensor, axis: int, name: str | None = None, tf_type: str = "Gather"
) -> Tensor:
    """x[..., indices, ...] with indices at axis (0 or greater). tf_type GatherV2 is for tf.gather
    alone: its gradient is IndexedSlices."""
    dims, at = dims_of(x), dims_of(indices)
    result: Dims = None
    if dims is not None and at is not None:
        result = (*dims[:axis], *at, *dims[axis + 1 :])
    return node("Gather", [x, indices], x.dtype, result, name=name, tf_type=tf_type, axis=axis)


def fill_like(x: Tensor, value: float, dtype: DType | None = None) -> Tensor:
    """A tensor of x's shape, all elements value."""
    requested = (dtype or x.dtype).base_dtype
    filling = np.asarray([value], dtype=requested.as_numpy_dtype)
    return node("ConstantOfShape", [shape_of(x)], requested, dims_of(x), value=filling)


def moved_back(op: Operation, dy: Tensor, others: Sequence[Tensor | None] | None = None) -> Tensor:
    """The gradient of any operator that only moves or copies elements of its first input:
    applied to the elements' numbers it says where each one came from. others: the inputs after
    the first, if not op's."""
    x = op.inputs[0]
    assert x is not None
    dims = dims_of(x)
    total = shapes.num_elements(dims)
    if total is not None and dims is not None:
        numbers = constant(np.arange(total).reshape([d or 0 for d in dims]))
        size = constant(np.asarray(total, np.int64))
    else:
        size = count(x, dtypes.int64)
        zero, one = (constant(np.asarray(v, np.int64)) for v in (0, 1))
        flat = node("Range", [zero, size, one], dtypes.int64, (None,))
        numbers = reshape(flat, shape_of(x), dims)
    moved = operation(
        op.op,
        [numbers, *(op.inputs[1:] if others is None else others)],
        [(dtypes.int64, dims_of(op.outputs[0]))],
        version=op.version,
        attrs=op.attrs,
    ).outputs[0]
    inputs = [reshape(moved, [-1]), reshape(dy, [-1]), size]
    summed = node("ScatterSum", inputs, dy.dtype, (total,), domain="graphio")
    return reshape(summed, shape_of(x), dims)


# ---- summing back what broadcasting spread ----


def unbroadcast(gradient: Tensor, operand: Tensor, *others: Tensor, fixed: int = 0) -> Tensor:
    """The gradient of a broadcast operand: summed over what broadcasting repeated.

    Args:
        gradient: of the result's shape.
        operand: the input it is for; the result has its shape.
        others: the other inputs of the operator. They determine whether an unknown size of the
            operand may have been 1 and spread.
        fixed: how many axes at the end never broadcast (2 for matrices).
    """
    wide, narrow = dims_of(gradient), dims_of(operand)
    if wide is None or narrow is None:
        return unbroadcast_at_run_time(gradient, operand)
    lead = len(wide) - len(narrow)
    axes = list(range(lead))
    for i, (m, n) in enumerate(zip(wide[lead:], narrow, strict=True), lead):
        if n == 1 and m != 1:
            axes.append(i)
        elif n is None and i < len(wide) - fixed and _spreads(others, operand, i - len(wide)):
            return unbroadcast_at_run_time(gradient, operand)
    if not axes:
        return gradient
    summed = reduce_sum(gradient, axes, keepdims=len(axes) > lead)
    if len(axes) > lead and lead:
        return squeeze(summed, list(range(lead)))
    return summed


def _spreads(others: Sequence[Tensor], operand: Tensor, axis: int) -> bool:
    """Whether an operand other than this one may be larger than 1 along axis (negative)."""
    shapes_of_others = [dims_of(o) for o in others if o is not operand]
    return any(d is None or (len(d) >= -axis and d[axis] != 1) for d in shapes_of_others)


def unbroadcast_at_run_time(gradient: Tensor, operand: Tensor) -> Tensor:
    """The same where only the run knows which axes were spread."""
    target = shape_of(operand)
    return node(
        "SumToShape",
        [gradient, target],
        gradient.dtype,
        dims_of(operand),
        domain="graphio",
        tf_type="Reshape",
    )


def all_of(x: Tensor, name: str | None = None) -> Tensor:
    """Whether all elements of a bool tensor hold: a scalar."""
    with scope(name, "All") as at:
        number = node(
            "ReduceProd", [cast(x, dtypes.int32)], dtypes.int32, (), keepdims=0,
            noop_with_empty_axes=0,
        )  # fmt: skip
        return node("Cast", [number], dtypes.bool, (), name=at, tf_type="All", to=dtypes.bool)


def rank_of(x: Tensor, name: str | None = None) -> Tensor:
    """The number of axes that only a run knows: an int32 scalar."""
    with scope(name, "Rank") as at:
        lengths = node("Shape", [x], dtypes.int64, (None,))
        full = node("Size", [lengths], dtypes.int64, ())
        return node("Cast", [full], dtypes.int32, (), name=at, tf_type="Rank", to=dtypes.int32)


registered.cast.register(cast)
