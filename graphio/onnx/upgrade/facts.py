"""Known facts of a model's values before its upgrade: types, shapes, small constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import onnx
import onnx.defs
import onnx.shape_inference
from onnx import numpy_helper

from graphio.onnx.guards import unbearable

__all__ = ["MAIN", "Facts", "Path", "subgraphs"]

#: the path of a graph: (index of the node, attribute, index in it) from the outermost inwards
Path = tuple[tuple[int, str, int], ...]

MAIN: Path = ()

_SMALL = 1024  # tensors with more elements are left out: types need none of them


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, int, onnx.GraphProto]]:
    """The graphs among a node's attributes: attribute, index, graph."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, 0, attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            for i, graph in enumerate(attribute.graphs):
                yield attribute.name, i, graph


class Facts:
    """Types and constants of a graph and of its subgraphs, computed at first use."""

    def __init__(self, model: onnx.ModelProto | None) -> None:
        self._model = model
        self._graphs: dict[Path, _Values] | None = None

    def element_type(self, path: Path, name: str) -> int:
        """Number of the element type; 0 where it is unknown."""
        found = self._type(path, name)
        return found.tensor_type.elem_type if found is not None else 0

    def dims(self, path: Path, name: str) -> list[int | None] | None:
        """Sizes, None where one is unknown; None where even the rank is."""
        found = self._type(path, name)
        if found is None or not found.tensor_type.HasField("shape"):
            return None
        dims = found.tensor_type.shape.dim
        return [d.dim_value if d.HasField("dim_value") else None for d in dims]

    def constant(self, path: Path, name: str) -> np.ndarray | None:
        """A small constant's value; None where the value is none, large or can be overridden."""
        for values in self._scopes(path):
            if name in values.constants:
                return numpy_helper.to_array(values.constants[name])
        return None

    def _type(self, path: Path, name: str) -> onnx.TypeProto | None:
        for values in self._scopes(path):
            if name in values.types:
                found = values.types[name]
                return found if found.HasField("tensor_type") else None
        return None

    def _scopes(self, path: Path) -> Iterator[_Values]:
        """Of the graph itself, then of those around it."""
        if self._graphs is None:
            self._graphs = {} if self._model is None else dict(_walk(_inferred(self._model)))
        for depth in range(len(path), -1, -1):
            if path[:depth] in self._graphs:
                yield self._graphs[path[:depth]]


class _Values:
    """Types and constants that one graph defines itself."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.types = {
            v.name: v.type
            for v in (*graph.input, *graph.value_info, *graph.output)
            if v.HasField("type")
        }
        self.constants = {}
        fed = {v.name for v in graph.input}
        for tensor in graph.initializer:
            self.types[tensor.name] = onnx.helper.make_tensor_type_proto(
                tensor.data_type, list(tensor.dims)
            )
            if tensor.name not in fed and _whole(tensor):
                self.constants[tensor.name] = tensor
        self.constants.update(_constants(graph.node))
        self._carry_on(graph.node)

    def _carry_on(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """After a failed inference: an output has its first input's element type if the standard
        gives both one type variable."""
        for node in nodes:
            known = node.domain in ("", "ai.onnx") and node.input and node.input[0] in self.types
            if not known or not node.output or node.output[0] in self.types:
                continue
            if onnx.defs.has(node.op_type):
                schema = onnx.defs.get_schema(node.op_type)
                given = self.types[node.input[0]]
                pair = [*schema.outputs[:1], *schema.inputs[:1]]
                one = len(pair) == 2 and pair[0].type_str == pair[1].type_str
                if one and given.HasField("tensor_type"):
                    made = onnx.helper.make_tensor_type_proto(given.tensor_type.elem_type, None)
                    self.types[node.output[0]] = made


def _constants(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, onnx.TensorProto]]:
    for node in nodes:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx") and node.output:
            for attribute in node.attribute:
                if attribute.name == "value" and _whole(attribute.t):
                    yield node.output[0], attribute.t


def _walk(graph: onnx.GraphProto, path: Path = MAIN) -> Iterator[tuple[Path, _Values]]:
    yield path, _Values(graph)
    for i, node in enumerate(graph.node):
        for attribute, position, inner in subgraphs(node):
            yield from _walk(inner, (*path, (i, attribute, position)))


def _inferred(model: onnx.ModelProto) -> onnx.GraphProto:
    """The graph with the types that the standard's inference finds; its large tensors are empty."""
    light = onnx.ModelProto(ir_version=max(model.ir_version, 3))
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    _lighten(model.graph, light.graph)
    try:
        return onnx.shape_inference.infer_shapes(light, data_prop=True).graph
    except (
        onnx.shape_inference.InferenceError,
        onnx.checker.ValidationError,
        RuntimeError,
        ValueError,
    ):
        return light.graph  # the declared types alone: what is unknown costs a few nodes more


def _lighten(graph: onnx.GraphProto, into: onnx.GraphProto) -> None:
    into.name = graph.name
    into.input.extend(graph.input)
    into.output.extend(graph.output)
    into.value_info.extend(graph.value_info)
    for tensor in graph.initializer:
        _lighten_tensor(tensor, into.initializer.add())
    for node in graph.node:
        if unbearable(node, None):
            continue  # of what it makes nothing is known
        made = into.node.add(name=node.name, op_type=node.op_type, domain=node.domain)
        made.input.extend(node.input)
        made.output.extend(node.output)
        if node.op_type == "EyeLike" and node.domain in ("", "ai.onnx"):
            _like_eye(node, made)
            continue
        for attribute in node.attribute:
            _lighten_attribute(attribute, made.attribute.add())


def _like_eye(node: onnx.NodeProto, into: onnx.NodeProto) -> None:
    """A Cast or Identity: of the same type and shape. onnx's inference of EyeLike itself ends the
    process where the type of its input is not known."""
    kinds = [a.i for a in node.attribute if a.name == "dtype"]
    into.op_type = "Cast" if kinds else "Identity"
    into.attribute.extend(onnx.helper.make_attribute("to", kind) for kind in kinds[:1])


def _lighten_attribute(attribute: onnx.AttributeProto, into: onnx.AttributeProto) -> None:
    if attribute.type == onnx.AttributeProto.GRAPH:
        into.name, into.type = attribute.name, attribute.type
        _lighten(attribute.g, into.g)
    elif attribute.type == onnx.AttributeProto.TENSOR:
        into.name, into.type = attribute.name, attribute.type
        _lighten_tensor(attribute.t, into.t)
    else:
        into.CopyFrom(attribute)


def _lighten_tensor(tensor: onnx.TensorProto, into: onnx.TensorProto) -> None:
    if math.prod(tensor.dims) <= _SMALL:
        into.CopyFrom(tensor)
    else:
        into.name, into.data_type = tensor.name, tensor.data_type
        into.dims.extend(tensor.dims)


def _whole(tensor: onnx.TensorProto) -> bool:
    """Its data are in the model itself."""
    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    return math.prod(tensor.dims) <= _SMALL and not external
