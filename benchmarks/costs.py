"""What a node has to do at least: operations on floats, and bytes read and written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

Shape = tuple[int, ...]
Shapes = Sequence[Shape | None]  # None: it is not known, or absent


def _matmul(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return 2 * prod(output) * _of(inputs[0])[-1]


def _gemm(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return 2 * prod(output) * _of(inputs[0])[0 if attrs.get("transA") else 1]


def _conv(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    """Filters (outputs, inputs / groups, height, width)."""
    return 2 * prod(output) * prod(_of(inputs[1])[1:])


def _conv2d(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    """Filters (height, width, inputs / groups, outputs)."""
    return 2 * prod(output) * prod(_of(inputs[1])[:-1])


def _conv2d_grad_input(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return 2 * prod(_of(inputs[2])) * prod(_of(inputs[1])[:-1])


def _conv2d_grad_filter(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return 2 * prod(_of(inputs[2])) * prod(output[:-1])


def _recurrent(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    """Both products of each step and direction: W and R are (directions, gates, ...)."""
    steps, batch = _of(inputs[0])[:2]
    return 2 * steps * batch * (prod(_of(inputs[1])) + prod(_of(inputs[2])))


def _whole_input(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(_of(inputs[0]))


def _of(shape: Shape | None) -> Shape:
    if shape is None:
        raise LookupError
    return shape


#: operators that are more than one operation an element of the result
_OPERATIONS: Mapping[str, Callable[[Shapes, Shape, Mapping[str, Any]], int]] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "Conv2D": _conv2d,
    "Conv2DGradInput": _conv2d_grad_input,
    "Conv2DGradFilter": _conv2d_grad_filter,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    **dict.fromkeys(
        ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "GlobalAveragePool"),
        _whole_input,
    ),
}
#: operators that only look at memory in another way
_VIEWS = frozenset(("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "StopGradient"))
#: operators that read as much as they write of their first input
_PICK = frozenset(("Gather", "GatherND", "GatherElements", "Slice", "Split"))
#: operators that compute nothing
_MOVE = _VIEWS | _PICK | {"Transpose", "Concat", "Pad", "Expand", "Tile", "Cast", "Assign"}


def operations(op: str, inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int | None:
    """Operations on numbers, a multiply-add counting as two; None: a shape that it takes is not
    known. An elementwise function, however hard, counts as one for each step of a fused chain."""
    base = op.removeprefix("Fused")
    steps = len(attrs.get("ops", ())) * prod(output)
    if base == "Elementwise":
        return steps
    if base in _MOVE:
        return 0
    try:
        return steps + _OPERATIONS.get(base, lambda *_: prod(output))(inputs, output, attrs)
    except (LookupError, ValueError):
        return None


def traffic(op: str, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Bytes that have to be read and written, from the sizes of inputs and outputs."""
    if op in _VIEWS:
        return 0
    if op in _PICK:
        return 2 * sum(outputs) + sum(inputs[1:])
    return sum(inputs) + sum(outputs)
