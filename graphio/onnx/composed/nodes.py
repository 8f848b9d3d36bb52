"""Operators of the domain graphio as compositions that are built like any graph, for the types and
shapes of one node, and replace it in the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphio import saved_model
from graphio.framework import dtypes
from graphio.framework.constants import constant, placeholder
from graphio.framework.graph import Graph, Tensor
from graphio.model.export import build_model
from graphio.onnx.attributes import message_value
from graphio.onnx.composed import images, random, windows
from graphio.schema.model_pb2 import Node
from graphio.support import errors

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
    "resize_grad",
    "roi_align_grad",
    "stateless_random_integer",
    "stateless_random_normal",
    "stateless_random_truncated_normal",
    "stateless_random_uniform",
]

_SMALL = 64  # elements of a constant that may decide what is composed
Compose = Callable[[Sequence[Any], Mapping[str, Any]], Sequence["Tensor | None"]]


def _composed(compose: Compose) -> Callable[[Emitter, Node, list[str], list[str]], None]:
    """The lowering of a node: the composition of its inputs and attributes."""

    def lower(emit: Emitter, source: Node, inputs: list[str], outputs: list[str]) -> None:
        attributes = {a.key: message_value(a.value) for a in source.attr}
        graph = Graph()
        with graph.as_default():
            given = [_input(emit, source, value, i) for i, value in enumerate(source.input)]
            try:
                found = compose(given, attributes)
            except errors.UnimplementedError as error:
                text = f"{source.op} '{source.name}': {error.message}"
                raise errors.UnimplementedError(message=text) from None
        fed = {f"x{i}": x for i, x in enumerate(given) if x is not None}
        made = {f"y{k}": y for k, y in enumerate(found) if y is not None}
        spec = saved_model.signature_spec(
            graph, "composed", ({k: x for k, x in fed.items() if x.op.op == "Placeholder"}, made)
        )
        message, arrays = build_model(graph, [spec], bodies=False)
        names = {f"x{i}": name for i, name in enumerate(inputs) if name}
        values = emit.splice(message, arrays, source.name, names)
        for k, output in enumerate(outputs):
            if f"y{k}" in values:
                emit.rename_last(values[f"y{k}"], output)
            else:  # nothing depends on this input
                shape = emit.add("Shape", [inputs[k]], f"{source.name}/shape{k}")
                zeros = emit.add("ConstantOfShape", [shape], f"{source.name}/zeros{k}")
                like = emit.add("CastLike", [zeros, inputs[k]], f"{source.name}/typed{k}")
                emit.rename_last(like, output)

    return lower


def _input(emit: Emitter, source: Node, value: str, i: int) -> Tensor | None:
    """A placeholder for an input, a constant for a small one; None for an absent one."""
    if not value:
        return None
    known = emit.known(value)
    if known is not None and known.size <= _SMALL:
        return constant(known, name=f"x{i}")
    dims = emit.dims(value)
    if dims is None:
        raise errors.UnimplementedError(
            message=f"{source.op} '{source.name}': its ONNX form needs the static rank of "
            f"'{value}'; give the placeholder a shape that says it"
        )
    made: Tensor = placeholder(dtypes.of_number(emit.types[value].tensor.dtype), dims, f"x{i}")
    return made


resize_grad = _composed(images.resize_grad)
grid_sample_grad = _composed(images.grid_sample_grad)
roi_align_grad = _composed(images.roi_align_grad)
average_pool_grad = _composed(windows.average_pool_grad)
average_pool_2d_grad = _composed(windows.average_pool_2d_grad)
conv_grad_input = _composed(windows.conv_grad_input)
conv_grad_weight = _composed(windows.conv_grad_weight)
conv_2d_grad_input = _composed(windows.conv_2d_grad_input)
conv_2d_grad_filter = _composed(windows.conv_2d_grad_filter)
stateless_random_uniform = _composed(random.uniform)
stateless_random_normal = _composed(random.normal)
stateless_random_truncated_normal = _composed(random.truncated_normal)
stateless_random_integer = _composed(random.integers)
