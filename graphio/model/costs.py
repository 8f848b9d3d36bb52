"""Minimum work of a node: operations on floats, and bytes read and written once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from graphio.schema import container

__all__ = ["NodeCost", "node_costs", "operations", "traffic"]

Array = np.ndarray[Any, Any]

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
    """Both MatMuls of each step and direction: W and R are (directions, gates, ...)."""
    steps, batch = _of(inputs[0])[:2]
    return 2 * steps * batch * (prod(_of(inputs[1])) + prod(_of(inputs[2])))


def _whole_input(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(_of(inputs[0]))


def _each(inputs: Shapes, output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output)


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
        return steps + _OPERATIONS.get(base, _each)(inputs, output, attrs)
    except (LookupError, ValueError):
        return None


def traffic(op: str, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Bytes that have to be read and written, from the sizes of inputs and outputs."""
    if op in _VIEWS:
        return 0
    if op in _PICK:
        return 2 * sum(outputs) + sum(inputs[1:])
    return sum(inputs) + sum(outputs)


@dataclass(frozen=True)
class NodeCost:
    """The minimum work of a node of a run.

    Attributes:
        name, op: of the node.
        operations: on numbers, a multiply-add counting as two; None where a shape is not known.
        moved: bytes read and written once.
    """

    name: str
    op: str
    operations: int | None
    moved: int


def node_costs(data: bytes, signature: str, inputs: Sequence[Array]) -> list[NodeCost]:
    """The costs of a run's nodes in their order; the Python runtime runs the model for its shapes.

    Args:
        data: bytes of a model file.
        signature: which is run.
        inputs: in the signature's order.

    Raises:
        As graphio.runtime.load and run.
    """
    from graphio.runtime.program import NodeInfo

    model, arrays = container.unpack(data)
    known = _values(data, signature, inputs)
    rows = []
    for node in model.graph.node:
        given = [known[v] for v in _outputs(node.name, len(node.output_type)) if v in known]
        if not given or node.op in _STORED:
            continue
        attrs = NodeInfo(node, arrays).attributes()
        taken = [known.get(value) for value in node.input]
        sizes = [size for pair in taken if pair for size in pair[1:]]
        moved = traffic(node.op, sizes, [size for _, size in given])
        shapes = [pair and pair[0] for pair in taken]
        rows.append(
            NodeCost(node.name, node.op, operations(node.op, shapes, given[0][0], attrs), moved)
        )
    return rows


#: nodes that give what is there already
_STORED = frozenset(("Constant", "Variable", "Placeholder"))


def _values(data: bytes, name: str, inputs: Sequence[Array]) -> dict[str, tuple[Shape, int]]:
    """Shape and bytes of each value of a run."""
    from graphio import runtime  # loads all kernels
    from graphio.runtime.program import NodeInfo

    model, arrays = container.unpack(data)
    found: dict[str, tuple[Shape, int]] = {}
    variables = {v.name: arrays[v.value] for v in model.variable if v.HasField("value")}
    for node in model.graph.node:
        if node.op == "Constant":
            array = NodeInfo(node, arrays).attributes().get("value")
        elif node.op == "Variable":
            array = variables.get(NodeInfo(node, arrays).attrs["variable"].decode())
        else:
            continue
        if isinstance(array, np.ndarray):
            found[node.name] = array.shape, array.nbytes
    signature = next(s for s in model.signature if s.name == name)
    for binding, array in zip(signature.input, inputs, strict=True):
        found[binding.value] = array.shape, array.nbytes
    times: list[Any] = []
    runtime.load(data).signature(name).run_watched(list(inputs), times, None)
    for time in times:
        for k, (dtype, shape) in enumerate(time.outputs):
            value = f"{time.name}:{k}" if k else time.name
            found[value] = shape, prod(shape) * dtype.itemsize
    return found


def _outputs(name: str, count: int) -> list[str]:
    return [name, *(f"{name}:{k}" for k in range(1, count))]
