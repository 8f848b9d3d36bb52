"""Sizes of the tensors and variables of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphio.framework.graph import Graph
from graphio.support import api_guard

__all__ = ["analyze_ops", "analyze_vars", "tensor_description"]


@api_guard.unguarded
def tensor_description(var: Any) -> str:
    """The dtype and shape of a tensor or variable: (float32 3x4)."""
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape())})"


@api_guard.unguarded
def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """The number of elements of all tensors of known shape.

    Args:
        print_info: whether to print a line for each operation.
    """
    lines = []
    total = 0
    for op in graph.get_operations():
        size = sum(output.get_shape().num_elements() or 0 for output in op.outputs)
        shapes = [tensor_description(y) for y in op.outputs if y.get_shape()]
        lines.append(f"{op.name} \t-> {', '.join(shapes)} [{size}]")
        total += size
    if print_info:
        _print("Operations: name -> (type shapes) [size]", lines)
    return total


@api_guard.unguarded
def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """The number of elements of variables, and of bytes.

    Args:
        print_info: whether to print a line for each variable and the sums.
    """
    lines = []
    elements = size = 0
    for var in variables:
        number = var.get_shape().num_elements() or 0
        part = number * var.dtype.size
        lines.append(f"{var.name} {tensor_description(var)} [{number}, bytes: {part}]")
        elements, size = elements + number, size + part
    if print_info:
        sums = [f"Total size of variables: {elements}", f"Total bytes of variables: {size}"]
        _print("Variables: name (type shape) [size]", lines + sums)
    return elements, size


def _print(title: str, lines: list[str]) -> None:
    print("---------", title, "---------", *lines, sep="\n")
