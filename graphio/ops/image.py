"""Gradients of ONNX's operators on images."""

from __future__ import annotations

from graphio.gradient_registry import gradient, not_differentiable
from graphio.graph import Operation, Tensor
from graphio.ops.emit import node, operation
from graphio.ops.primitive import shape_of
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


not_differentiable("GridSampleGrad", "RoiAlignGrad", domain="graphio")
