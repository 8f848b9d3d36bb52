"""Gradients of ONNX's operators on images, and AffineGrid in simpler ones."""

from __future__ import annotations

from graphio.framework import dtypes, registered
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, operation, scalar
from graphio.ops.base.primitive import reshape, shape_of, transpose
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.sampling import grid_sample, roi_align, size, sized, text


def _input(op: Operation, i: int) -> Tensor:
    x: Tensor | None = op.inputs[i]
    assert x is not None
    return x


not_differentiable("ImageDecoder")


@gradient("Resize")
def _resize(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x = _input(op, 0)
    inputs = [shape_of(x), dy, *op.inputs[1:]]
    dx = node("ResizeGrad", inputs, dy.dtype, dims_of(x), domain="graphio", **op.attrs)
    return [dx, *([None] * (len(op.inputs) - 1))]


@gradient("ResizeGrad", "graphio")
def _resize_grad(op: Operation, ddx: Tensor) -> list[Tensor | None]:
    attrs = {**op.attrs}
    if "extrapolation_value" in attrs:
        attrs["extrapolation_value"] = 0.0
    ddy = node("Resize", [ddx, *op.inputs[2:]], ddx.dtype, dims_of(_input(op, 1)), **attrs)
    return [None, ddy, *([None] * (len(op.inputs) - 2))]


@gradient("SpaceToDepth")
def _space_to_depth(op: Operation, dy: Tensor) -> list[Tensor | None]:
    return [node("DepthToSpace", [dy], dy.dtype, dims_of(_input(op, 0)), **op.attrs)]


@gradient("DepthToSpace")
def _depth_to_space(op: Operation, dy: Tensor) -> list[Tensor | None]:
    dims, block = dims_of(_input(op, 0)), int(op.attrs["blocksize"])
    deep = node("SpaceToDepth", [dy], dy.dtype, dims, blocksize=block)  # (n, block^2 * d, h, w)
    if text(op.attrs, "mode", "DCR") == "DCR":
        return [deep]
    # SpaceToDepth has a mode only since opset 28.
    n, d, h, w = size(dy, 0), size(dy, 1), size(deep, 2), size(deep, 3)
    transposed = transpose(sized(deep, n, block * block, d, h, w), [0, 2, 1, 3, 4])
    return [reshape(transposed, shape_of(_input(op, 0)), dims)]


@gradient("GridSample")
def _grid_sample(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, grid = _input(op, 0), _input(op, 1)
    types = [(x.dtype, dims_of(x)), (grid.dtype, dims_of(grid))]
    made = operation("GridSampleGrad", [x, grid, dy], types, domain="graphio", attrs=op.attrs)
    return list(made.outputs)


@gradient("RoiAlign")
def _roi_align(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, inputs = _input(op, 0), [*op.inputs, dy]
    dx = node("RoiAlignGrad", inputs, dy.dtype, dims_of(x), domain="graphio", **op.attrs)
    return [dx, None, None]


@gradient("GridSampleGrad", "graphio")
def _grid_sample_grad(
    op: Operation, ddx: Tensor | None, ddgrid: Tensor | None
) -> list[Tensor | None]:
    def parts(x: Tensor, grid: Tensor, dy: Tensor) -> list[Tensor | None]:
        return registered.gradients([grid_sample(x, grid, op.attrs)], [x, grid], [dy], [])

    return by_parts(op, [ddx, ddgrid], parts)


@gradient("RoiAlignGrad", "graphio")
def _roi_align_grad(op: Operation, ddx: Tensor) -> list[Tensor | None]:
    def parts(x: Tensor, rois: Tensor, batch: Tensor, dy: Tensor) -> list[Tensor | None]:
        return registered.gradients([roi_align(x, rois, batch, op.attrs)], [x], [dy], [])

    return [None, None, None, by_parts(op, [ddx], parts)[3]]


def affine_grid(theta: Tensor, size: Tensor, rank: int, align_corners: bool) -> Tensor:
    """The coordinates from which an affine map takes the pixels of an image, as ONNX's AffineGrid.

    Args:
        theta: (N, rank, rank + 1), floating.
        size: int64 vector (N, C, *spatial), the image to be.
        rank: 2 or 3 spatial axes.
        align_corners: whether -1 and 1 are the centres of the outermost pixels or their borders.

    Returns:
        (N, *spatial, rank) of theta's dtype: theta multiplied by (coordinates, 1), the
        last spatial axis first.
    """
    wide = dtypes.float64 if theta.dtype == dtypes.float64 else dtypes.float32
    columns = primitive.transpose(primitive.cast(theta, wide), [0, 2, 1])

    def column(k: int) -> Tensor:
        row = primitive.slice_axes(columns, [k], [k + 1], [1])
        return primitive.unsqueeze(row, range(1, rank))

    total: Tensor | None = None
    for k in range(rank):
        axis = rank - 1 - k
        at = primitive.unsqueeze(_coordinates(size, axis, wide, align_corners), range(1, k + 2))
        term = primitive.binary("Mul", column(k), at)
        total = term if total is None else primitive.binary("Add", total, term)
    assert total is not None
    return primitive.cast(primitive.binary("Add", total, column(rank)), theta.dtype)


def _coordinates(size: Tensor, axis: int, dtype: DType, align_corners: bool) -> Tensor:
    """Of the pixels along a spatial axis, between -1 and 1."""

    def number(value: float) -> Tensor:
        return scalar(value, dtype)

    whole = primitive.slice_axes(size, [2 + axis], [3 + axis], [0])
    count = primitive.squeeze(whole, [0])
    known = constant_value(count)
    zero, one = scalar(0, size.dtype), scalar(1, size.dtype)
    length = None if known is None else max(int(known), 0)
    pixels = primitive.cast(node("Range", [zero, count, one], size.dtype, (length,)), dtype)
    steps, start = primitive.cast(count, dtype), number(-1)
    if align_corners:
        steps = primitive.binary("Max", primitive.binary("Sub", steps, number(1)), number(1))
    step = primitive.binary("Div", number(2), steps)
    if not align_corners:
        start = primitive.binary("Add", start, primitive.binary("Div", step, number(2)))
    return primitive.binary("Add", start, primitive.binary("Mul", pixels, step))
