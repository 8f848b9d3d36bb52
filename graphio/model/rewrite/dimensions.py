"""Finds unknown dimensions that are the same: a batch keeps its size from layer to layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.model.rewrite.work import Work, attributes
from graphio.schema import fused
from graphio.schema.nodes import PlainNode, ValueType

__all__ = ["Dimensions"]

Dims = tuple[Any, ...]
_MOST_AXES = 64  # of a shape that is looked at
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


#: operators that give the sizes that a vector holds, all of them in their order
_SAME_SIZES = frozenset(("Identity", "Cast", "Unsqueeze", "Squeeze", "Reshape"))
#: operators whose results may be sizes
_HOLDING = _SAME_SIZES | {"Shape", "Gather", "Slice", "Concat"}


class ElementCount(NamedTuple):
    """A size that is a number times some that are not known."""

    factor: int
    symbols: tuple[Any, ...]


class Dimensions:
    """Dimensions of the values of a graph: a size, or something that is equal wherever the size
    surely is."""

    def __init__(self, work: Work, declared: bool = False) -> None:
        """
        Args:
            work: the graph.
            declared: whether sizes of inputs are the same where they are declared by one symbol,
                which no engine compares.
        """
        self._work = work
        self._symbols = _symbols(work, declared)
        self._known: dict[str, Dims | None] = {}
        self._sizes: dict[str, Dims] = {}  # that vectors hold, which become shapes
        for node in work.ordered():
            for k, (value, kind) in enumerate(zip(node.values(), node.form.types, strict=True)):
                self._known[value] = kind.shape if kind.fixed else self._find(node, k, value, kind)
            if node.op in _HOLDING and not node.domain:
                sizes = self._sizes_of(node)
                if sizes is not None:
                    self._sizes[node.name] = sizes

    def of(self, value: str) -> Dims | None:
        """The dimensions of a value, None if not even the rank is known."""
        if value not in self._known:
            kind = self._work.type_of(value)
            shape = None if kind is None else self._shape(kind)
            self._known[value] = _own(shape, value, None)
        return self._known[value]

    def _shape(self, kind: ValueType) -> Dims | None:
        """The static dimensions of a type, without symbols of which nothing is sure."""
        if kind.shape is None or not kind.symbolic:
            return kind.shape
        return tuple(
            d if d.__class__ is not str or d in self._symbols else None for d in kind.shape
        )

    def _find(self, node: PlainNode, output: int, value: str, kind: ValueType) -> Dims | None:
        shape = self._shape(kind)
        if shape is None or None not in shape:
            return shape
        if value in self._work.shared.fed:
            return _own(shape, value, None)
        return _own(shape, value, self._rule(node, output))

    def _rule(self, node: PlainNode, output: int) -> Dims | None:
        """The dimensions of an output by the rule of its operator; None where it has no rule."""
        inputs = [self.of(v) if v else None for v in node.input]
        if node.op == "SparseSoftmaxCrossEntropy" or node.op == "SoftmaxCrossEntropy":
            return inputs[0] if output or inputs[0] is None else inputs[0][:1]
        if not inputs or (output and node.op != "Split"):
            return None
        if node.op in _MATMULS:
            return _matmul(node, inputs[0], inputs[1] if len(inputs) > 1 else None)
        if inputs[0] is not None and not node.domain and node.op in _MOVING:
            return _MOVING[node.op](self, node, inputs[0])
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
        return None

    def _held(self, value: str) -> Dims | None:
        """The sizes that a vector or a number holds."""
        array = self._work.constant(value)
        if array is None:
            return self._sizes.get(value)
        few = array.dtype.kind in "iu" and array.ndim < 2 and array.size <= _MOST_AXES
        return tuple(int(n) for n in array.reshape(-1)) if few else None

    def _sizes_of(self, node: PlainNode) -> Dims | None:
        """The sizes that a node's result holds."""
        if node.op == "Shape":
            attrs = attributes(node)
            dims = self.of(node.input[0])
            return None if dims is None else dims[attrs.get("start", 0) : attrs.get("end")]
        if not node.input[0]:
            return None
        parts = [self._held(v) if v else None for v in node.input]
        if node.op == "Concat":
            known = [part for part in parts if part is not None]
            return sum(known, ()) if len(known) == len(parts) else None
        if parts[0] is None or node.op in _SAME_SIZES:
            return parts[0]
        numbers = [self._work.constant(v) if v else None for v in node.input[1:]]
        return _taken(node.op, parts[0], numbers)

    def _reshaped(self, node: PlainNode, x: Dims) -> Dims | None:
        target = self._held(node.input[1])
        if target is None:
            return None
        keeps = not attributes(node).get("allowzero", 0)  # a 0 stands for the input's size
        whole, symbols = _factors(x)
        made: list[Any] = []
        for axis, size in enumerate(target):
            if size == 0 and keeps:
                made.append(x[axis] if axis < len(x) else None)
            else:
                made.append(
                    size if isinstance(size, int) or _factors([size])[1] <= symbols else None
                )
        if -1 in made and None not in made:
            hole = made.index(-1)
            made[hole] = _divided(whole, symbols, [*made[:hole], *made[hole + 1 :]])
        return tuple(None if size == -1 else size for size in made)

    def _transposed(self, node: PlainNode, x: Dims) -> Dims | None:
        perm = attributes(node).get("perm", range(len(x))[::-1])
        return tuple(x[axis] for axis in perm) if sorted(perm) == [*range(len(x))] else None

    def _split(self, node: PlainNode, x: Dims) -> Dims | None:
        axis = attributes(node).get("axis", 0) % max(len(x), 1)
        return (*x[:axis], None, *x[axis + 1 :])

    def _gathered(self, node: PlainNode, x: Dims) -> Dims | None:
        positions, axis = self.of(node.input[1]), attributes(node).get("axis", 0) % max(len(x), 1)
        return None if positions is None else (*x[:axis], *positions, *x[axis + 1 :])

    def _squeezed(self, node: PlainNode, x: Dims) -> Dims | None:
        axes = self._work.constant(node.input[1]) if len(node.input) > 1 else None
        if axes is None:
            return None
        gone = {int(a) % max(len(x), 1) for a in axes.reshape(-1)}
        return tuple(size for axis, size in enumerate(x) if axis not in gone)

    def _shape_held(self, value: str) -> Dims | None:
        maker = self._work.of(value)
        whole = maker is not None and not maker.domain and maker.op == "Shape" and not maker.attr
        return self.of(maker.input[0]) if whole and maker is not None else None

    def _with_ones(self, node: PlainNode, dims: list[Any]) -> Dims | None:
        axes = self._work.constant(node.input[1]) if len(node.input) > 1 else None
        if axes is None:
            return None
        rank = len(dims) + axes.size
        for axis in sorted(int(a) % rank for a in axes.reshape(-1)):
            dims.insert(axis, 1)
        return tuple(dims)

    def _window(self, node: PlainNode, x: Dims) -> Dims:
        """The batch stays, and where windows overlap everywhere the image, too."""
        attrs = attributes(node)
        strides = attrs.get("strides")
        same = attrs.get("auto_pad") == "SAME_UPPER" and strides and set(strides) == {1}
        return (x[0], *(x[1:-1] if same and "2D" in node.op else [None] * (len(x) - 2)), None)


_MATMULS = frozenset(("MatMul", "FusedMatMul", "Gemm", "FusedGemm"))
_MOVING = {
    "Reshape": Dimensions._reshaped,
    "Transpose": Dimensions._transposed,
    "Split": Dimensions._split,
    "Gather": Dimensions._gathered,
    "Squeeze": Dimensions._squeezed,
}


def _taken(op: str, sizes: Dims, numbers: Sequence[np.ndarray | None]) -> Dims | None:
    """The sizes that Gather or Slice selects by constant numbers."""
    lists = [None if n is None else [int(i) for i in n.reshape(-1)] for n in numbers]
    if op == "Gather":
        positions = lists[0]
        fits = positions is not None and all(-len(sizes) <= i < len(sizes) for i in positions)
        return tuple(sizes[i] for i in positions or ()) if fits else None
    starts, ends, _, steps = [*lists, None, None][:4]
    if not starts or not ends or (len(lists) > 3 and not steps):
        return None
    step = steps[0] if steps else 1
    return sizes[starts[0] : ends[0] : step] if step > 0 else None


def _factors(dims: Sequence[Any]) -> tuple[int, Counter[Any]]:
    """The integer factor and the symbols of a shape's number of elements."""
    factor, symbols = 1, Counter[Any]()
    for size in dims:
        if isinstance(size, ElementCount):
            factor *= size.factor
            symbols.update(size.symbols)
        elif isinstance(size, int):
            factor *= size
        else:
            symbols[size] += 1
    return factor, symbols


def _divided(factor: int, symbols: Counter[Any], others: Sequence[Any]) -> Any:
    """The size that is left for an axis next to others, None if it is not known."""
    below, used = _factors(others)
    if below < 1 or factor < 1 or factor % below or not used <= symbols:
        return None
    left = tuple(sorted((symbols - used).elements(), key=repr))
    if len(left) == 1 and factor == below:
        return left[0]
    return ElementCount(factor // below, left) if left else factor // below


def _symbols(work: Work, declared: bool) -> frozenset[str]:
    """Symbols of what comes from outside; unless declared ones count, those that one dimension
    has: no engine compares the sizes of those that share one."""
    shapes = [work.shared.shape_of(value) for value in work.shared.given]
    count = Counter(size for shape in shapes for size in shape if isinstance(size, str))
    return frozenset(symbol for symbol, times in count.items() if declared or times == 1)


def _own(shape: Dims | None, value: str, rule: Dims | None) -> Dims | None:
    """Static dimensions, those of a rule where they are unknown, else ones of the value's own."""
    if shape is None:
        return None
    if rule is None or len(rule) != len(shape):
        rule = (None,) * len(shape)
    made = list(shape)
    for axis, size in enumerate(shape):
        if size is None:
            made[axis] = (value, axis) if rule[axis] is None else rule[axis]
    return tuple(made)


def _broadcast(inputs: Sequence[Dims | None]) -> Dims | None:
    known = [dims for dims in inputs if dims is not None]
    if len(known) < len(inputs):
        return None
    made: list[Any] = []
    for axis in range(-max(map(len, known)), 0):
        sizes = {dims[axis] for dims in known if len(dims) >= -axis} - {1}
        made.append(1 if not sizes else sizes.pop() if len(sizes) == 1 else None)
    return tuple(made)


def _matmul(node: PlainNode, a: Dims | None, b: Dims | None) -> Dims | None:
    """Rows of the first operand, columns of the second."""
    if a is None or b is None or len(b) != 2 or len(a) < 2:
        return None
    if node.op in ("MatMul", "FusedMatMul"):
        return (*a[:-1], b[1])
    attrs = attributes(node)
    return (a[1 if attrs.get("transA") else 0], b[0 if attrs.get("transB") else 1])
