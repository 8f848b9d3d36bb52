"""Which unknown dimensions are the same: a batch keeps its size from layer to layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from graphio.rewrite.work import Work, attributes, values_of
from graphio.schema import fused
from graphio.schema.model_pb2 import Node

__all__ = ["Dimensions"]

Dims = tuple[Any, ...]
#: operators whose first output has the shape of their first input
_LIKE_FIRST = frozenset(
    [op.op for op in fused.OPS.values() if op.arity == 1]
    + ["Identity", "Cast", "Softmax", "LogSoftmax", "LayerNormalization", "Dropout", "Not"]
    + ["StopGradient", "CheckNumerics", "BatchNormalization", "MaxPool2DGrad", "RMSNormalization"]
)
_BROADCASTING = frozenset(
    [op.op for op in fused.OPS.values() if op.arity == 2]
    + ["FusedElementwise", "Where", "Sum", "Mean", "Equal", "Less", "Greater", "And", "Or"]
)
_WINDOWS = frozenset(
    ("Conv2D", "FusedConv2D", "MaxPool2D", "AveragePool2D", "Conv", "FusedConv", "MaxPool")
)
#: operators that give the shape that their input of this number holds
_SHAPE_INPUT = {"Conv2DGradInput": 0, "ConvGradInput": 0, "AveragePool2DGrad": 0, "SumToShape": 1}


class Dimensions:
    """Dimensions of the values of a graph: a size, or something that is equal wherever the size
    surely is."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._symbols = _sure_symbols(work)
        self._known: dict[str, Dims | None] = {}
        for node in work.ordered():
            for k, value in enumerate(values_of(node)):
                self._known[value] = self._find(node, k, value)

    def of(self, value: str) -> Dims | None:
        """The dimensions of a value, None if not even the rank is known."""
        if value not in self._known:
            self._known[value] = _own(self._shape(value), value, None)
        return self._known[value]

    def _shape(self, value: str) -> Dims | None:
        """The static dimensions of a value, without symbols of which nothing is sure."""
        shape = self._work.shape(value)
        if shape is None:
            return None
        return tuple(d if d.__class__ is not str or d in self._symbols else None for d in shape)

    def _find(self, node: Node, output: int, value: str) -> Dims | None:
        shape = self._shape(value)
        if shape is None or None not in shape or value in self._work.shared.fed:
            return _own(shape, value, None)
        return _own(shape, value, self._rule(node, output))

    def _rule(self, node: Node, output: int) -> Dims | None:
        """What an operator says of its output's dimensions; None where it says nothing."""
        inputs = [self.of(v) if v else None for v in node.input]
        if node.op == "SparseSoftmaxCrossEntropy" or node.op == "SoftmaxCrossEntropy":
            return inputs[0] if output or inputs[0] is None else inputs[0][:1]
        if output or not inputs:
            return None
        if node.op in _LIKE_FIRST:
            return inputs[0]
        if node.op in _BROADCASTING:
            return _broadcast(inputs)
        if node.op in _SHAPE_INPUT:
            return self._shape_held(node.input[_SHAPE_INPUT[node.op]])
        if node.op == "Expand" and inputs[0] is not None and set(inputs[0]) <= {1}:
            return self._shape_held(node.input[1])
        if node.op == "Unsqueeze" and inputs[0] is not None:
            return self._with_ones(node, list(inputs[0]))
        if node.op in _WINDOWS and inputs[0]:
            return self._window(node, inputs[0])
        return _product(node, inputs[0], inputs[1] if len(inputs) > 1 else None)

    def _shape_held(self, value: str) -> Dims | None:
        maker = self._work.of(value)
        whole = maker is not None and not maker.domain and maker.op == "Shape" and not maker.attr
        return self.of(maker.input[0]) if whole and maker is not None else None

    def _with_ones(self, node: Node, dims: list[Any]) -> Dims | None:
        axes = self._work.constant(node.input[1]) if len(node.input) > 1 else None
        if axes is None:
            return None
        rank = len(dims) + axes.size
        for axis in sorted(int(a) % rank for a in axes.reshape(-1)):
            dims.insert(axis, 1)
        return tuple(dims)

    def _window(self, node: Node, x: Dims) -> Dims:
        """The batch stays, and where windows overlap everywhere the image, too."""
        attrs = attributes(node)
        strides = attrs.get("strides")
        same = attrs.get("auto_pad") == "SAME_UPPER" and strides and set(strides) == {1}
        return (x[0], *(x[1:-1] if same and "2D" in node.op else [None] * (len(x) - 2)), None)


def _sure_symbols(work: Work) -> frozenset[str]:
    """Symbols that one dimension of what comes from outside has: no engine compares the sizes of
    those that share one."""
    shapes = [work.shared.shape_of(value) for value in work.shared.given]
    count = Counter(size for shape in shapes for size in shape if isinstance(size, str))
    return frozenset(symbol for symbol, times in count.items() if times == 1)


def _own(shape: Dims | None, value: str, rule: Dims | None) -> Dims | None:
    """Static dimensions, those of a rule where they are unknown, else ones of the value's own."""
    if shape is None:
        return None
    if rule is None or len(rule) != len(shape):
        rule = (None,) * len(shape)
    pairs = enumerate(zip(shape, rule, strict=True))
    return tuple(
        size if size is not None else ruled if ruled is not None else (value, axis)
        for axis, (size, ruled) in pairs
    )


def _broadcast(inputs: Sequence[Dims | None]) -> Dims | None:
    if any(dims is None for dims in inputs):
        return None
    known = [dims for dims in inputs if dims is not None]
    made: list[Any] = []
    for axis in range(-max(map(len, known)), 0):
        sizes = {dims[axis] for dims in known if len(dims) >= -axis} - {1}
        made.append(1 if not sizes else sizes.pop() if len(sizes) == 1 else None)
    return tuple(made)


def _product(node: Node, a: Dims | None, b: Dims | None) -> Dims | None:
    """Rows of the first operand, columns of the second."""
    if a is None or b is None or len(b) != 2 or len(a) < 2:
        return None
    if node.op in ("MatMul", "FusedMatMul"):
        return (*a[:-1], b[1])
    if node.op in ("Gemm", "FusedGemm"):
        attrs = attributes(node)
        return (a[1 if attrs.get("transA") else 0], b[0 if attrs.get("transB") else 1])
    return None
