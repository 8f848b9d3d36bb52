"""A graph as TensorBoard's Graphs tab reads it: nodes, the names of what they read, devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphio.framework.graph import Graph, Operation, Tensor
from graphio.protos.graph_def import export_graph_def
from graphio.schema import tensorflow_pb2

__all__ = ["graph_def_of"]


def graph_def_of(graph: Graph) -> tensorflow_pb2.GraphDef:
    """The graph as TensorFlow's message; nodes of bodies are next to the others, and a node that
    has bodies reads what they capture and give back."""
    made = export_graph_def(graph.root, add_shapes=True).tensorflow_message()
    made.ClearField("library")
    there = {node.name: node for node in made.node}
    for operation, inputs in _nodes(graph.root):
        node = there.get(operation.name)
        if node is None:
            node = made.node.add(name=operation.name, op=operation.type, device=operation.device)
            _describe(node, operation)
        elif not operation.bodies():
            continue
        node.ClearField("input")
        node.input.extend(_reference(t) for t in inputs)
        node.input.extend("^" + before.name for before in operation.awaited)
    return made


def _nodes(graph: Graph) -> Iterator[tuple[Operation, list[Tensor]]]:
    for argument in graph.inputs:
        yield argument.op, []
    for operation in graph.operations:
        for body in operation.bodies():
            yield from _nodes(body)
        results = [t for body in operation.bodies() for t in body.outputs]
        inputs = [t for t in (*operation.operands, *operation.captures, *results) if t is not None]
        yield operation, list(dict.fromkeys(inputs))


def _reference(tensor: Tensor) -> str:
    name = str(tensor.op.name)
    return name if tensor.value_index == 0 else f"{name}:{tensor.value_index}"


def _describe(node: Any, operation: Operation) -> None:
    """Dtypes and shapes, which TensorBoard writes on edges."""
    if operation.outputs:
        node.attr["T"].type = operation.outputs[0].dtype.as_datatype_enum
    shapes = node.attr["_output_shapes"].list.shape
    for tensor in operation.outputs:
        shape = shapes.add()
        if tensor.shape.ndims is None:
            shape.unknown_rank = True
            continue
        for size in tensor.shape.as_list():
            shape.dim.add(size=-1 if size is None else size)
