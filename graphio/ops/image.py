"""Gradients of ONNX's operators on images."""

from __future__ import annotations

from graphio.gradient_registry import gradient
from graphio.graph import Operation, Tensor
from graphio.ops.emit import node, operation
from graphio.ops.primitive import shape_of
from graphio.ops.recompute import by_parts
from graphio.ops.sampling import grid_sample, roi_align
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


def _inverse(name: str) -> object:
    def backward(op: Operation, dy: Tensor) -> list[Tensor | None]:
        return [node(name, [dy], dy.dtype, dims_of(_input(op, 0)), **op.attrs)]

    return backward


gradient("DepthToSpace")(_inverse("SpaceToDepth"))  # type: ignore[arg-type]
gradient("SpaceToDepth")(_inverse("DepthToSpace"))  # type: ignore[arg-type]


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
