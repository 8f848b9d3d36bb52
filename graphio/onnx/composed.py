"""Operators of the domain graphio as compositions that are built like any graph, for the types and
shapes of one node, and go into the model in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphio import dtypes, saved_model
from graphio.constants import placeholder
from graphio.export import build_model
from graphio.gradients import gradients
from graphio.graph import Graph, Tensor
from graphio.onnx import composed_windows
from graphio.onnx.attributes import message_value
from graphio.ops import sampling
from graphio.schema import errors
from graphio.schema.model_pb2 import Node

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = [
    "average_pool_2d_grad",
    "average_pool_grad",
    "conv_2d_grad_filter",
    "conv_2d_grad_input",
    "conv_grad_input",
    "conv_grad_weight",
    "grid_sample_grad",
    "roi_align_grad",
]

Compose = Callable[[Sequence[Tensor], Mapping[str, Any]], Sequence["Tensor | None"]]


def _composed(compose: Compose) -> Callable[[Emitter, Node, list[str], list[str]], None]:
    """What lowers a node: the composition of its inputs and attributes."""

    def lower(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
        attributes = {a.key: message_value(a.value) for a in node.attr}
        graph = Graph()
        with graph.as_default():
            given = [_input(emit, node, value, i) for i, value in enumerate(node.input)]
            found = compose(given, attributes)
        made = {f"y{k}": y for k, y in enumerate(found) if y is not None}
        spec = saved_model.signature_spec(
            graph, "composed", ({f"x{i}": x for i, x in enumerate(given)}, made)
        )
        message, arrays = build_model(graph, [spec], bodies=False)
        names = {f"x{i}": name for i, name in enumerate(inputs)}
        values = emit.splice(message, arrays, node.name, names)
        for k, output in enumerate(outputs):
            if f"y{k}" in values:
                emit.rename_last(values[f"y{k}"], output)
            else:  # nothing depends on this input
                shape = emit.add("Shape", [inputs[k]], f"{node.name}/shape{k}")
                zeros = emit.add("ConstantOfShape", [shape], f"{node.name}/zeros{k}")
                like = emit.add("CastLike", [zeros, inputs[k]], f"{node.name}/typed{k}")
                emit.rename_last(like, output)

    return lower


def _input(emit: Emitter, node: Node, value: str, i: int) -> Tensor:
    dims = emit.dims(value)
    if dims is None:
        raise errors.UnimplementedError(
            message=f"{node.op} '{node.name}': its ONNX form needs the static rank of '{value}'; "
            "give the placeholder a shape that says it"
        )
    made: Tensor = placeholder(dtypes.of_number(emit.types[value].tensor.dtype), dims, f"x{i}")
    return made


def _grid_sample(given: Sequence[Tensor], attrs: Mapping[str, Any]) -> Sequence[Tensor | None]:
    x, grid, dy = given
    return gradients([sampling.grid_sample(x, grid, attrs)], [x, grid], [dy])


def _roi_align(given: Sequence[Tensor], attrs: Mapping[str, Any]) -> Sequence[Tensor | None]:
    x, rois, batch, dy = given
    return gradients([sampling.roi_align(x, rois, batch, attrs)], [x], [dy])


grid_sample_grad = _composed(_grid_sample)
roi_align_grad = _composed(_roi_align)
average_pool_grad = _composed(composed_windows.average_pool_grad)
average_pool_2d_grad = _composed(composed_windows.average_pool_2d_grad)
conv_grad_input = _composed(composed_windows.conv_grad_input)
conv_grad_weight = _composed(composed_windows.conv_grad_weight)
conv_2d_grad_input = _composed(composed_windows.conv_2d_grad_input)
conv_2d_grad_filter = _composed(composed_windows.conv_2d_grad_filter)
