"""Graphs and operations as text: one line a node, bodies indented under their If or Loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphio.framework import registered
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.tensor_shape import text as shape_text
from graphio.framework.variable import variables_of

_ELEMENTS = 6  # longer arrays are shown by their type


def graph_text(graph: Graph, last: int | None = None) -> str:
    """A line a node with name, operator, inputs, attributes, dtype[shape] and source line; then
    how much there is.

    Args:
        graph: a graph or a body.
        last: so many nodes, from the end; None: all.
    """
    lines = list(_lines(graph, "", last))
    if graph.outer is None and graph.operations:
        lines += _summary(graph)
    return "\n".join(lines)


@registered.operation_text.register
def operation_text(operation: Operation) -> str:
    """The string of print(operation): a field a line, as TensorFlow's node_def has them."""
    lines = [f'name: "{operation.name}"', f'op: "{operation.type}"']
    lines += [f'input: "{"" if t is None else _value(t)}"' for t in operation.operands]
    lines += [f'input: "^{c.name}"' for c in operation.awaited]
    lines += [f'device: "{operation.device}"'] if operation.device else []
    lines += [f"attr: {k} = {_attribute(v)}" for k, v in operation.attrs.items()]
    lines += [f"output: {t.name} {_type(t)}" for t in operation.outputs]
    lines += [f"made in: {operation.source}"] if operation.source.file else []
    return "\n".join(lines) + "\n"


def _summary(graph: Graph) -> list[str]:
    fed = [op for op in graph.operations if op.op.startswith("Placeholder")]
    variables = list(variables_of(graph).values())
    trainable = [v for v in variables if v.trainable]
    inner = sum(_count(body) for op in graph.operations for body in op.bodies())
    within = f" and {inner} in loops and branches" if inner else ""
    lines = [f"# {len(graph.operations)} operations{within}"]
    if fed:
        inputs = ", ".join(f"{op.name} {_type(op.outputs[0])}" for op in fed[:_ELEMENTS])
        more = f" and {len(fed) - _ELEMENTS} more" if len(fed) > _ELEMENTS else ""
        lines.append(f"# inputs: {inputs}{more}")
    if variables:
        sizes = [v.shape.num_elements() for v in trainable]
        unknown = " and some of unknown size" if None in sizes else ""
        numbers = sum(size for size in sizes if size is not None)
        lines.append(
            f"# variables: {len(variables)}; trainable: {len(trainable)} with {numbers:,} "
            f"numbers{unknown}"
        )
    return lines


def _count(body: Graph) -> int:
    inner = sum(_count(b) for op in body.operations for b in op.bodies())
    return len(body.operations) + inner


def _lines(graph: Graph, indent: str, last: int | None = None) -> Iterator[str]:
    for tensor in graph.inputs:
        yield f"{indent}{tensor.op.name} = input: {_type(tensor)}"
    hidden = 0 if last is None else max(0, len(graph.operations) - last)
    if hidden:
        yield f"... {hidden} operations before these; tf.debug.listing(graph) shows all"
    for operation in graph.operations[hidden:]:
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
    inputs = ["-" if t is None else _value(t) for t in operation.operands]
    inputs.extend(f"{k}={_attribute(v)}" for k, v in operation.attrs.items() if not _is_noise(k, v))
    inputs.extend(f"^{c.name}" for c in operation.awaited)
    types = ", ".join(_type(t) for t in operation.outputs)
    line = f"{operation.name} = {operation.type}({', '.join(inputs)})"
    line += f": {types}" if types else ""
    line += f" on {operation.device}" if operation.device else ""
    return f"{line}  # {operation.source}" if operation.source.file else line


def _is_noise(key: str, value: Any) -> bool:
    """Bodies have separate lines; dtype and shape are at the end of the line."""
    return isinstance(value, Graph) or key in ("dtype", "shape")


def _value(tensor: Tensor) -> str:
    return tensor.op.name if tensor.value_index == 0 else tensor.name


def _type(tensor: Tensor) -> str:
    return f"{tensor.dtype.name}{_shape(tensor.shape)}"


def _shape(shape: TensorShape) -> str:
    return "[...]" if shape.ndims is None else shape_text(shape)


def _attribute(value: Any) -> str:
    if isinstance(value, np.ndarray):
        short = 0 < value.size <= _ELEMENTS or value.shape == (0,)
        return str(value.tolist()) if short else f"{value.dtype}{list(value.shape)}"
    if isinstance(value, DType):
        return value.name
    if isinstance(value, Graph):
        return f"a graph of {_count(value)} operations"
    return repr(value)


registered.graph_text.register(graph_text)
