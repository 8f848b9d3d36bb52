"""A graph as text: one line a node, bodies indented under their If or Loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphio.dtypes import DType
from graphio.graph import Graph, Operation, Tensor
from graphio.tensor_shape import TensorShape
from graphio.tensor_shape import text as shape_text

_ELEMENTS = 6  # longer arrays are shown by their type


def graph_text(graph: Graph) -> str:
    """What print(graph) shows: name, operator, inputs, attributes, dtype[shape], source line."""
    return "\n".join(_lines(graph, ""))


def _lines(graph: Graph, indent: str) -> Iterator[str]:
    for tensor in graph.inputs:
        yield f"{indent}{tensor.op.name} = input: {_type(tensor)}"
    for operation in graph.operations:
        yield indent + _line(operation)
        for key, value in operation.attrs.items():
            if isinstance(value, Graph):
                yield f"{indent}  {key}:"
                yield from _lines(value, indent + "    ")
    if graph.outer is not None:
        yield f"{indent}return {', '.join(_value(t) for t in graph.outputs)}"
        if graph.targets:
            yield f"{indent}run {', '.join(op.name for op in graph.targets)}"


def _line(operation: Operation) -> str:
    inputs = ["-" if t is None else _value(t) for t in operation.inputs]
    inputs.extend(f"{k}={_attribute(v)}" for k, v in operation.attrs.items() if not _is_noise(k, v))
    inputs.extend(f"^{c.name}" for c in operation.control_inputs)
    types = ", ".join(_type(t) for t in operation.outputs)
    line = f"{operation.name} = {operation.type}({', '.join(inputs)})"
    line += f": {types}" if types else ""
    line += f" on {operation.device}" if operation.device else ""
    return f"{line}  # {operation.source}" if operation.source.file else line


def _is_noise(key: str, value: Any) -> bool:
    """Bodies have lines of their own; dtype and shape stand at the end of the line."""
    return isinstance(value, Graph) or key in ("dtype", "shape")


def _value(tensor: Tensor) -> str:
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype.name}{_shape(tensor.shape)}"


def _shape(shape: TensorShape) -> str:
    return "[...]" if shape.ndims is None else shape_text(shape)


def _attribute(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return (
            str(value.tolist()) if value.size <= _ELEMENTS else f"{value.dtype}{list(value.shape)}"
        )
    if isinstance(value, DType):
        return value.name
    return repr(value)
