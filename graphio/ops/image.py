"""Gradients of ONNX's operators on images."""

from __future__ import annotations

from graphio.gradient_registry import gradient
from graphio.graph import Operation, Tensor
from graphio.ops.emit import node, operation
from graphio.ops.primitive import reshape, shape_of, transpose
from graphio.ops.recompute import by_parts
from graphio.ops.sampling import grid_sample, roi_align, size, sized, text
from graphio.ops.shapes import dims_of


def _input(op: Operation, i: int) -> Tensor:
    x: Tensor | None = op.inputs[i]
    assert x is not None
    return x


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
    deep = node(
        "SpaceToDepth", [dy], dy.dtype, dims, blocksize=block
    )  # (n, block * block * d, ...)
    if text(op.attrs, "mode", "DCR") == "DCR":
        return [deep]
    # SpaceToDepth has a mode only since opset 28.
    n, d, h, w = size(dy, 0), size(dy, 1), size(deep, 2), size(deep, 3)
    turned = transpose(sized(deep, n, block * block, d, h, w), [0, 2, 1, 3, 4])
    return [reshape(turned, shape_of(_input(op, 0)), dims)]


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
        from graphio.gradients import gradients

        return gradients([grid_sample(x, grid, op.attrs)], [x, grid], [dy])

    return by_parts(op, [ddx, ddgrid], parts)


@gradient("RoiAlignGrad", "graphio")
def _roi_align_grad(op: Operation, ddx: Tensor) -> list[Tensor | None]:
    def parts(x: Tensor, rois: Tensor, batch: Tensor, dy: Tensor) -> list[Tensor | None]:
        from graphio.gradients import gradients

        return gradients([roi_align(x, rois, batch, op.attrs)], [x], [dy])

    return [None, None, None, by_parts(op, [ddx], parts)[3]]
