"""Operations on floats of a node, as the profiler of TensorFlow 1.15 counts them.

A node whose shapes are not all known counts 0, as a type without a rule does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

__all__ = ["float_operations"]

#: the rule of a type: from the operation, the shapes of its inputs and that of its output
Rule = Callable[[Any, list[tuple[int, ...]], tuple[int, ...]], int]


def _of_input(each: int) -> Rule:
    return lambda op, inputs, output: each * prod(inputs[0])


def _of_output(each: int) -> Rule:
    return lambda op, inputs, output: each * prod(output)


def _reduced(finish: int) -> Rule:
    """An operation for each element, but for the first of each result, and `finish` for these."""
    return lambda op, inputs, output: prod(inputs[0]) + prod(output) * (finish - 1)


def _matmul(op: Any, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
    return 2 * prod(output) * inputs[0][-1]


def _convolution(op: Any, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
    """Filters (height, width, inputs, outputs)."""
    return 2 * prod(output) * prod(inputs[1][:-1])


def _convolution_3d(op: Any, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
    """Filters (outputs, inputs, depth, height, width)."""
    return 2 * prod(output) * prod(inputs[1][1:])


def _depthwise(op: Any, inputs: list[tuple[int, ...]], output: tuple[int, ...]) -> int:
    return 2 * prod(output) * prod(inputs[1][:2])


def _backward(image: tuple[int, ...], kernel: tuple[int, ...], op: Any) -> int:
    return 2 * prod(image) * prod(kernel) // (image[-1] * prod(_attribute(op, "strides")))


def _area(op: Any) -> int:
    """The elements of a pooling window."""
    return prod(_attribute(op, "kernel_shape"))


def _attribute(op: Any, name: str) -> list[int]:
    return list(op.get_attr(name))


#: type -> rule
RULES: dict[str, Rule] = {
    **dict.fromkeys(("Reciprocal", "Square", "Log", "Neg", "BiasAdd"), _of_input(1)),
    **dict.fromkeys(("AssignAdd", "AssignSub"), _of_input(1)),
    "Rsqrt": _of_input(2),
    "Softmax": _of_input(5),
    **dict.fromkeys(
        (
            "Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "GreaterEqual",
            "Greater", "LessEqual", "Less", "Equal", "NotEqual",
        ),
        _of_output(1),
    ),
    "SquaredDifference": _of_output(1),  # its Sub is a node, too
    "RsqrtGrad": _of_output(4),
    "Mean": _reduced(1),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduced(0)),
    "AddN": lambda op, inputs, output: prod(inputs[0]) * (len(inputs) - 1),
    "MatMul": _matmul,
    "BatchMatMul": _matmul,
    "BatchMatMulV2": _matmul,
    "Conv2D": _convolution,
    "Conv3D": _convolution_3d,
    "DepthwiseConv2dNative": _depthwise,
    "Dilation2D": _depthwise,
    "Conv2DGradInput": lambda op, inputs, output: _backward(output, inputs[1], op),
    "Conv2DGradFilter": lambda op, inputs, output: _backward(inputs[0], output, op),
    "MaxPool": lambda op, inputs, output: _area(op) * prod(output),
    "AvgPool": lambda op, inputs, output: _area(op) * prod(output),
}  # fmt: skip


def float_operations(op: Any) -> int:
    """The operations on floats of an operation of a graph."""
    rule = RULES.get(op.type)
    if rule is None or not op.outputs:
        return 0
    shapes = [value.shape for value in (*op.inputs, op.outputs[0])]
    if not all(shape.is_fully_defined() for shape in shapes):
        return 0
    *inputs, output = (tuple(shape.as_list()) for shape in shapes)
    return int(rule(op, inputs, output))
