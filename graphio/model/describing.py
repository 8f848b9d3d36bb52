"""Description of a model's contents as plain data: for the command line, notebooks and scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from graphio.schema import dtypes, functions, tensors
from graphio.schema.model_pb2 import (
    AttributeValue,
    Graph,
    Model,
    Node,
    Shape,
    Signature,
    Tensor,
    Type,
)

__all__ = ["describe", "shape_of", "structure_lines", "tensors_of", "type_text"]

Facts = dict[str, Any]
Array = np.ndarray[Any, Any]


def describe(model: Model) -> Facts:
    """Facts of a model.

    Args:
        model: what graphio.schema.container reads of a file.

    Returns:
        Plain dicts and lists: producer, opsets, nodes, depth (of subgraphs), operators (name to
        count, those inside of branches and loops included), functions, parameters (count and bytes
        of variables that are not slots, how many trainable), variables, resources, constants,
        signatures, rewrites, metadata.
    """
    nodes = [node for graph in functions.all_graphs(model.graph) for node in graph.node]
    return {
        "producer": model.producer,
        "opsets": {row.domain or "ai.onnx": row.version for row in model.opset},
        "nodes": len(nodes),
        "depth": _depth(model.graph),
        "operators": dict(Counter(_operator(node) for node in nodes).most_common()),
        "functions": [f"{f.domain}.{f.name}" for f in model.function],
        "parameters": _parameters(model),
        "variables": [_variable(v, model) for v in model.variable],
        "resources": [{"name": r.name, "kind": r.WhichOneof("kind")} for r in model.resource],
        "constants": [_constant(name, tensor) for name, tensor, _ in _constants(model)],
        "signatures": [_signature(s) for s in model.signature],
        "rewrites": [
            {"name": r.name, "approximate": r.approximate, "detail": r.detail}
            for r in model.rewrite
        ],
        "metadata": {pair.key: pair.value for pair in model.metadata},
    }


def structure_lines(model: Model) -> list[str]:
    """A model's signatures and nodes as text, a line each: what a comparison shows."""
    lines = []
    for signature in describe(model)["signatures"]:
        for way in ("inputs", "outputs"):
            for row in signature[way]:
                text = f"{row['name']}: {row['type']}{row['shape']} ({row['value']})"
                lines.append(f"signature {signature['name']} {way[:-1]} {text}")
        lines.append(f"signature {signature['name']} runs {signature['targets']}")
    for graph in functions.all_graphs(model.graph):
        for node in graph.node:
            attrs = "".join(f" {a.key}={_value_text(a.value)}" for a in node.attr)
            lines.append(f"{_operator(node)} {node.name}({', '.join(node.input)}){attrs}")
    return lines


def _value_text(value: AttributeValue) -> str:
    """An attribute's value in short; graphs and tensors have separate lines or values."""
    kind = value.WhichOneof("value")
    if kind in ("g", "graphs", "t", "tensor", None):
        return f"<{kind}>"
    return str(getattr(value, kind)).replace("\n", " ").strip()


def shape_of(shape: Shape) -> list[int | str | None]:
    """Sizes, names of sizes that are the same wherever the name is, None where nothing is known."""
    return [
        dim.size if dim.HasField("size") else dim.symbol if dim.HasField("symbol") else None
        for dim in shape.dim
    ]


def type_text(kind: Type) -> tuple[str, list[int | str | None] | None]:
    """A type's name, "sequence of float32", and the shape of its tensors."""
    which = kind.WhichOneof("kind")
    if which in ("sequence", "optional"):
        inner, shape = type_text(getattr(kind, which))
        return f"{which} of {inner}", shape
    tensor = kind.tensor
    return dtypes.name(tensor.dtype), shape_of(tensor.shape) if tensor.HasField("shape") else None


def _operator(node: Node) -> str:
    return f"{node.domain}.{node.op}" if node.domain else node.op


def _depth(graph: Graph) -> int:
    deepest, level = 0, [graph]
    while level := [inner for g in level for node in g.node for inner in functions.subgraphs(node)]:
        deepest += 1
    return deepest


def _variable(variable: Any, model: Model) -> Facts:
    return {
        "name": variable.name,
        "dtype": dtypes.name(variable.dtype),
        "shape": shape_of(variable.shape) if variable.HasField("shape") else None,
        "trainable": variable.trainable,
        "slot_of": variable.slot_of,
        "bytes": model.tensor[variable.value].nbytes if variable.HasField("value") else None,
    }


def _parameters(model: Model) -> Facts:
    """The numbers of variables that are not slots."""
    held = [v for v in model.variable if v.HasField("value") and not v.slot_of]
    values = [model.tensor[v.value] for v in held]
    return {
        "count": sum(prod(t.dims) for t in values),
        "bytes": sum(t.nbytes for t in values),
        "trainable": sum(prod(model.tensor[v.value].dims) for v in held if v.trainable),
    }


def _constants(model: Model) -> Iterator[tuple[str, Tensor, int | None]]:
    """Of each Constant node its name, its tensor, and which of the file's it is."""
    for graph in functions.all_graphs(model.graph):
        for node in graph.node:
            for attribute in node.attr if node.op == "Constant" else ():
                kind = attribute.value.WhichOneof("value")
                if kind == "tensor":
                    number = attribute.value.tensor
                    yield node.name, model.tensor[number], number
                elif kind == "t":
                    yield node.name, attribute.value.t, None


def _bytes(tensor: Tensor) -> int:
    return tensor.nbytes if tensor.stored else len(tensor.data)


def _constant(name: str, tensor: Tensor) -> Facts:
    return {
        "name": name,
        "dtype": dtypes.name(tensor.dtype),
        "shape": list(tensor.dims),
        "bytes": _bytes(tensor),
    }


def tensors_of(model: Model, arrays: Sequence[Array]) -> dict[str, Array]:
    """Values of variables, and of the constants that have dimensions, by name.

    Args:
        model, arrays: what graphio.schema.container reads of a file.
    """
    found = {v.name: arrays[v.value] for v in model.variable if v.HasField("value")}
    for name, tensor, number in _constants(model):
        if tensor.dims:
            found[name] = tensors.to_array(tensor) if number is None else arrays[number]
    return found


def _signature(signature: Signature) -> Facts:
    return {
        "name": signature.name,
        "inputs": [_binding(b) for b in signature.input],
        "outputs": [_binding(b) for b in signature.output],
        "targets": list(signature.target),
        "method": signature.method,
        "doc": signature.doc,
    }


def _binding(binding: Signature.Binding) -> Facts:
    name, shape = type_text(binding.type)
    return {"name": binding.key, "type": name, "shape": shape, "value": binding.value}
