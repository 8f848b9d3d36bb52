"""Gradients of reading, writing and choosing by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.undo import Table
from graphio.ops.array import distinct_values, index
from graphio.ops.array import surface as array
from graphio.ops.array.index import scatter_sum
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, operation, scalar
from graphio.ops.base.primitive import binary, cast, compare, last, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.math.reduce_prod_gradients import Factors, shares
from graphio.ops.math.reduction import cumulative_product

Gradients = Sequence[Any]
#: the gathers whose gradient names each row once
_ONCE: Attachment[Table[Operation, bool]] = attachments.table("gathers_of_rows_once")

not_differentiable("EyeLike", "Unique")
not_differentiable("IndexRange", domain="graphio")

# ---- gathers ----


def _along_axis(x: Tensor, indices: Tensor, dy: Tensor, axis: int) -> Tensor:
    """dy (pre, indices, post) summed into a tensor of x's shape (pre, n, post)."""
    rows = _size_of(x, axis)
    if axis == 0:
        return _shaped(scatter_sum(indices, dy, rows), x)
    k, spread = indices.shape.ndims, x.shape.ndims
    assert k is not None and spread is not None
    rank = spread - 1 + k
    order = [*range(axis, axis + k), *range(axis), *range(axis + k, rank)]
    summed = scatter_sum(indices, primitive.transpose(dy, order), rows)
    back = [*range(1, axis + 1), 0, *range(axis + 1, rank - k + 1)]
    return _shaped(primitive.transpose(summed, back), x)


def _shaped(gradient: Tensor, x: Tensor) -> Tensor:
    """gradient, with what is known of x's shape."""
    gradient.set_shape(x.shape)
    return gradient


def _size_of(x: Tensor, axis: int) -> Tensor:
    dims = dims_of(x)
    known = None if dims is None else dims[axis]
    if known is not None:
        return constant(np.asarray(known, np.int64))
    part = primitive.slice_axes(primitive.shape_of(x), [axis], [axis + 1], [0])
    return primitive.squeeze(part, [0])


def _counted_from_the_front(indices: Tensor, size: Tensor) -> Tensor:
    known = constant_value(indices)
    if known is not None and np.all(known >= 0):
        return indices
    positions = cast(indices, dtypes.int64)
    negative = compare("Less", positions, constant(np.asarray(0, np.int64)))
    return select(negative, binary("Add", positions, size), positions)


@gradient("Gather")
def _gather_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy summed into the slices that were read: for tf.gather along axis 0 as IndexedSlices."""
    x, indices = op.inputs
    axis = int(op.attrs.get("axis", 0))
    if axis < 0 and x.shape.ndims is not None:
        axis += x.shape.ndims
    if op.type == "GatherV2" and axis == 0:
        flat = array.reshape(indices, [-1])
        values = array.reshape(dy, _row_sizes(x, flat))
        slices = IndexedSlices(values, flat, array.shape(x))
        return [each_row_once(slices) if op in _ONCE.of(op.graph) else slices, None]
    if indices.shape.ndims is None or x.shape.ndims is None:
        return [primitive.moved_back(op, dy), None]
    positions = _counted_from_the_front(indices, _size_of(x, axis))
    return [_along_axis(x, positions, dy, axis), None]


def with_each_row_once(rows: Tensor) -> None:
    """The gradient of rows that embedding_lookup gave will name each row once."""
    read = rows.op if rows.op.op == "Gather" else rows.op.operands[0].op
    _ONCE.of(read.graph)[read] = True


def each_row_once(slices: IndexedSlices) -> IndexedSlices:
    """The slices with those of one row summed, in the order in which the rows come first."""
    rows, positions = distinct_values.unique(slices.indices)
    values = index.unsorted_segment_sum(slices.values, positions, array.shape(rows)[0])
    return IndexedSlices(values, rows, slices.dense_shape)


def _row_sizes(x: Tensor, flat: Tensor) -> Tensor:
    """The shape of as many rows of x as flat has numbers; a reshape cannot infer how many from
    rows that have no elements."""
    rest = primitive.slice_axes(primitive.shape_of(x), [1], [last], [0])
    dims = dims_of(x)
    filled = dims is not None and all(dims[1:])
    many = primitive.int_vector([-1]) if filled else primitive.shape_of(flat)
    return primitive.concat([many, rest], 0)


@gradient("ScatterSum", domain="graphio")
def _scatter_sum_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The row of dy that each value went to."""
    indices, values, _ = op.inputs
    return [None, _shaped(primitive.gather(dy, indices, 0, tf_type="ResourceGather"), values), None]


@gradient("GatherND")
def _gather_nd_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy added at the coordinates that were read; of a list of complete rows as IndexedSlices."""
    x, indices = op.inputs
    if int(op.attrs.get("batch_dims", 0)):
        return [primitive.moved_back(op, dy), None]
    coordinates = dims_of(indices)
    rows = coordinates is not None and len(coordinates) == 2 and coordinates[1] == 1
    if op.type in ("GatherNd", "ResourceGatherNd") and rows:
        return [IndexedSlices(dy, primitive.squeeze(indices, [1]), array.shape(x)), None]
    positions = _Positions("ScatterND", {})
    return [positions.scatter(primitive.fill_like(x, 0), indices, dy, "add"), None]


@gradient("GatherElements")
def _gather_elements_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy added where the elements came from."""
    x, indices = op.inputs
    positions = _Positions("ScatterElements", op.attrs)
    return [positions.scatter(primitive.fill_like(x, 0), indices, dy, "add"), None]


@gradient("TopK")
def _top_k_gradient(op: Operation, dy: Tensor | None, _: Tensor | None = None) -> Gradients:
    """dy where the values came from."""
    x = op.inputs[0]
    if dy is None:
        return [None, None]
    positions = _Positions("ScatterElements", {"axis": op.attrs.get("axis", -1)})
    return [positions.scatter(primitive.fill_like(x, 0), op.outputs[1], dy, "add"), None]


# ---- scatters ----


class _Positions:
    """The positions of a ScatterND or ScatterElements: reading and writing there."""

    def __init__(self, op: str, attrs: Any) -> None:
        self.op = op
        self.attrs: dict[str, Any] = (
            {} if op == "ScatterND" else {"axis": int(attrs.get("axis", 0))}
        )

    def scatter(self, data: Tensor, indices: Tensor, updates: Tensor, reduction: str) -> Tensor:
        """data with updates put in."""
        attrs = dict(self.attrs)
        version = None
        if reduction != "none":
            attrs["reduction"] = reduction
            version = 18 if reduction in ("max", "min") else 16
        inputs = [data, indices, updates]
        return node(self.op, inputs, data.dtype, dims_of(data), version=version, **attrs)

    def gather(self, data: Tensor, indices: Tensor, like: Tensor) -> Tensor:
        """The elements at the positions, in the shape of `like`, the updates."""
        op = self.op.replace("Scatter", "Gather")
        return node(op, [data, indices], data.dtype, dims_of(like), **self.attrs)


@gradient("ScatterND")
@gradient("ScatterElements")
def _scatter_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The gradients by data and updates, for each reduction.

    none: dy to data but for what was overwritten, dy at the positions to updates; where several
    updates go to one position, each gets dy there. add: dy to both. mul: dy times the product of
    the elements that are multiplied there, without its own. max, min: dy / n to each of the n that
    are equal to the result.
    """
    data, indices, updates = op.inputs
    positions = _Positions(op.op, op.attrs)
    word = op.attrs.get("reduction", "none")
    reduction = word.decode() if isinstance(word, bytes) else str(word)
    if reduction == "mul":
        return _scatter_mul(positions, data, indices, updates, dy)
    if reduction in ("max", "min"):
        return _scatter_extreme(positions, data, indices, updates, op.outputs[0], dy)
    to_updates = positions.gather(dy, indices, updates)
    if reduction == "none":
        dy = positions.scatter(dy, indices, primitive.fill_like(updates, 0), "none")
    return [dy, None, to_updates]


def _scatter_mul(
    positions: _Positions, data: Tensor, indices: Tensor, updates: Tensor, dy: Tensor
) -> Gradients:
    """The gradients of a scatter with reduction "mul"; those of complex numbers are conjugates."""
    if dy.dtype.is_complex:
        dy = primitive.unary("Conj", dy)
    here, there = Factors(data), Factors(updates)
    found = shares(
        dy,
        positions.scatter(here.nonzero, indices, there.nonzero, "mul"),
        positions.scatter(here.zeros, indices, there.zeros, "add"),
        positions.scatter(here.vanishing, indices, there.vanishing, "add"),
    )
    to_updates = there.owed([positions.gather(share, indices, updates) for share in found])
    to_data = here.owed(found)
    if dy.dtype.is_complex:
        to_data, to_updates = (primitive.unary("Conj", dx) for dx in (to_data, to_updates))
    return [to_data, None, to_updates]


def _scatter_extreme(
    positions: _Positions, data: Tensor, indices: Tensor, updates: Tensor, y: Tensor, dy: Tensor
) -> Gradients:
    zero = scalar(0, dy.dtype)
    here = compare("Equal", data, y)
    there = compare("Equal", updates, positions.gather(y, indices, updates))
    ties = positions.scatter(cast(here, dy.dtype), indices, cast(there, dy.dtype), "add")
    share = binary("Div", dy, ties)
    to_updates = select(there, positions.gather(share, indices, updates), zero)
    return [select(here, share, zero), None, to_updates]


@gradient("TensorScatter")
def _tensor_scatter_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy to the cache, zero where it was overwritten; dy at the written positions to update."""
    cache, update = op.inputs[:2]
    starts = op.inputs[2] if len(op.inputs) > 2 else None
    rest: list[Tensor | None] = [None] * (len(op.inputs) - 2)
    inputs = [dy, primitive.fill_like(update, 0), starts]
    kept = operation(
        op.op, inputs, [(dy.dtype, dims_of(cache))], version=op.version, attrs=op.attrs
    ).outputs[0]
    rank = cache.shape.ndims
    if rank is None:
        raise ValueError(f"the gradient of TensorScatter '{op.name}' needs the rank of its cache")
    axis = int(op.attrs.get("axis", -2)) % rank
    steps, zero, one = _size_of(update, axis), _int(0), _int(1)
    counts = node("Range", [zero, steps, one], dtypes.int64, (None,))
    positions = primitive.unsqueeze(counts, [i for i in range(rank) if i != axis])
    if starts is not None:
        positions = binary("Add", positions, primitive.unsqueeze(starts, range(1, rank)))
        # Only circular writing goes beyond the end.
        positions = node(
            "Mod", [positions, _size_of(cache, axis)], dtypes.int64, dims_of(positions)
        )
    spread = primitive.expand(positions, primitive.shape_of(update), dims_of(update))
    read = node("GatherElements", [dy, spread], dy.dtype, dims_of(update), axis=axis)
    return [kept, read, *rest]


def _int(value: int) -> Tensor:
    return constant(np.asarray(value, np.int64))


# ---- choices and orders ----


@gradient("Compress")
def _compress_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy where the condition held, zeros elsewhere."""
    return [primitive.moved_back(op, dy), None]


@gradient("ReverseSequence")
@gradient("Trilu")
def _same_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The operator is its own transpose."""
    inputs = [dy, *op.inputs[1:]]
    outputs = [(dy.dtype, dims_of(op.outputs[0]))]
    dx = operation(op.op, inputs, outputs, version=op.version, attrs=op.attrs).outputs[0]
    return [dx, *[None] * (len(op.inputs) - 1)]


@gradient("Flatten")
def _flatten_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy in x's shape."""
    x = op.inputs[0]
    return [primitive.reshape(dy, primitive.shape_of(x), dims_of(x))]


@gradient("CumProd")
def _cum_prod_gradient(op: Operation, dy: Tensor) -> Gradients:
    """Exact also where x is 0: no division. It takes n^2 numbers for every line of n.

    With the cumulative product y[i] = x[0] ... x[i], dx[k] is y[k - 1] times the sum over i >= k of
    dy[i] x[k + 1] ... x[i].
    """
    x, axis_input = op.inputs
    known, rank = constant_value(axis_input), x.shape.ndims
    if known is None or rank is None:
        raise ValueError(
            f"the gradient of CumProd '{op.name}' needs a constant axis and the rank of '{x.name}'"
        )
    axis = int(np.ravel(known)[0]) % rank
    reverse, exclusive = int(op.attrs.get("reverse", 0)), int(op.attrs.get("exclusive", 0))
    order = [*(i for i in range(rank) if i != axis), axis]
    line, flow = primitive.transpose(x, order), primitive.transpose(dy, order)
    before = cumulative_product(line, _int(-1), 1, reverse)
    size = _size_of(x, axis)
    square = primitive.concat([primitive.shape_of(line), primitive.unsqueeze(size, [0])], 0)
    after, reached = (1 - reverse) * 2 - 1, (exclusive if not reverse else -exclusive)
    rows = primitive.expand(primitive.unsqueeze(line, [rank - 1]), square, _square(line))
    ones = primitive.fill_like(rows, 1)
    factors = binary("Add", _half(rows, reverse, after), _half(ones, 1 - reverse, 0))
    between = cumulative_product(factors, _int(-1), exclusive, reverse)
    arriving = primitive.expand(primitive.unsqueeze(flow, [rank - 1]), square, _square(line))
    weights = binary("Mul", _half(arriving, reverse, reached), between)
    total = primitive.reduce_sum(weights, [rank], keepdims=False)
    back = [int(i) for i in np.argsort(order)]
    return [primitive.transpose(binary("Mul", before, total), back), None]


def _square(line: Tensor) -> Dims:
    """The dims of a matrix (n, n) in the place of each line."""
    dims = dims_of(line)
    return None if dims is None else (*dims, dims[-1])


def _half(x: Tensor, lower: int, diagonal: int) -> Tensor:
    """Of each matrix the part above (or below) a diagonal, that one included."""
    return node("Trilu", [x, _int(diagonal)], x.dtype, dims_of(x), upper=1 - lower)


# ---- slices ----


@gradient("Slice")
def _slice_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy at the positions that were read, zeros elsewhere."""
    x = op.inputs[0]
    rest = [None] * (len(op.inputs) - 1)
    bounds = _SliceBounds(op)
    if bounds.reverses:
        inputs = [dy, *op.inputs[1:]]
        return [node("Slice", inputs, dy.dtype, dims_of(x), version=op.version), *rest]
    if bounds.steps_are_one and bounds.axes is not None and x.shape.ndims is not None:
        zero = scalar(0, dy.dtype)
        padded = node("Pad", [dy, bounds.pads(x, dy), zero], dy.dtype, dims_of(x), mode="constant")
        return [padded, *rest]
    return [primitive.moved_back(op, dy), *rest]


class _SliceBounds:
    """The bounds of a Slice as far as they are known while the gradient is built."""

    def __init__(self, op: Operation) -> None:
        x, starts, ends, axes, steps = [*op.inputs, None, None][:5]
        self.starts_input = starts
        self.starts = _numbers(starts)
        ends_known, self.steps = _numbers(ends), _numbers(steps)
        rank = x.shape.ndims
        if axes is None:
            count = starts.shape.as_list()[0] if starts.shape.ndims == 1 else None
            self.axes = None if count is None else list(range(count))
        else:
            found = _numbers(axes)
            self.axes = None if found is None or rank is None else [a % rank for a in found]
        self.steps_are_one = steps is None or (
            self.steps is not None and all(s == 1 for s in self.steps)
        )
        self.reverses = (
            self.steps is not None
            and self.starts is not None
            and ends_known is not None
            and all(s == -1 for s in self.steps)
            and all(s == last for s in self.starts)
            and all(e < -last for e in ends_known)
        )

    def pads(self, x: Tensor, dy: Tensor) -> Tensor:
        """The number of elements before and after the part, axis by axis."""
        dims, part = dims_of(x), dims_of(dy)
        assert dims is not None and self.axes is not None
        if self.starts is not None and part is not None and None not in dims and None not in part:
            before = [0] * len(dims)
            for axis, start in zip(self.axes, self.starts, strict=True):
                size = dims[axis] or 0
                before[axis] = min(max(start + size if start < 0 else start, 0), size)
            after = [(n or 0) - (m or 0) - b for n, m, b in zip(dims, part, before, strict=True)]
            # An empty part may start beyond what is left.
            pairs = [(b + min(a, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
            return primitive.int_vector([p[0] for p in pairs] + [p[1] for p in pairs], "pads")
        sizes, taken = primitive.shape_of(x), primitive.shape_of(dy)
        given = cast(self.starts_input, dtypes.int64)
        zero = primitive.int_vector([0])
        positions = {axis: i for i, axis in enumerate(self.axes)}
        pieces = [
            primitive.slice_axes(given, [positions[i]], [positions[i] + 1], [0])
            if i in positions
            else zero
            for i in range(len(dims))
        ]
        starts = primitive.concat(pieces, 0)
        wrapped = select(compare("Less", starts, zero), binary("Add", starts, sizes), starts)
        free = binary("Sub", sizes, taken)
        before_each = binary("Max", binary("Min", wrapped, free), zero)
        return primitive.concat([before_each, binary("Sub", free, before_each)], 0)


def _numbers(tensor: Tensor | None) -> list[int] | None:
    known = None if tensor is None else constant_value(tensor)
    return None if known is None else [int(v) for v in np.ravel(known)]
