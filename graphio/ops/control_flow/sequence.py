"""Gradients of sequences and optional values.

The gradient of a sequence is a sequence of the same length, that of an optional value is the
gradient of what it holds. Neither passes through a loop or branch: autodiff.gradients says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import node, operation
from graphio.ops.base.primitive import last, reduce_sum, shape_of, slice_axes
from graphio.ops.base.shapes import Dims, dims_of

__all__ = ["add"]

not_differentiable("SequenceEmpty", "SequenceLength", "OptionalHasElement")


def add(parts: Sequence[Tensor]) -> Tensor:
    """The sum of sequences, element by element."""
    total = parts[0]
    for part in parts[1:]:
        total = _each(lambda a, b: node("Add", [a, b], a.dtype, dims_of(a)), total, part)
    return total


def _number(value: int) -> Tensor:
    return constant(np.asarray(value, np.int64))


def _item(sequence: Tensor, position: Tensor | int, like: Tensor | None = None) -> Tensor:
    """An element, which has the static shape of `like`."""
    assert sequence.dtype.inside is not None
    at = _number(position) if isinstance(position, int) else position
    dims = dims_of(sequence if like is None else like)
    return node("SequenceAt", [sequence, at], sequence.dtype.inside, dims)


def _inserted(sequence: Tensor, item: Tensor, position: Tensor | None = None) -> Tensor:
    return node("SequenceInsert", [sequence, item, *_given(position)], sequence.dtype, None)


def _erased(sequence: Tensor, position: Tensor | None = None) -> Tensor:
    return node("SequenceErase", [sequence, *_given(position)], sequence.dtype, dims_of(sequence))


def _given(position: Tensor | None) -> list[Tensor]:
    return [] if position is None else [position]


def _each(
    function: Callable[..., Tensor], *sequences: Tensor, dtype: DType | None = None
) -> Tensor:
    """The sequence of what a function makes of the elements of sequences of equal lengths."""
    kind = sequences[0].dtype if dtype is None else dtypes.holder("sequence", dtype)
    outer, shape = scopes.get_default_graph(), TensorShape(None)
    body = Graph(outer=outer)
    with body.as_body(), scopes.name_scope("each"):
        position = body.add_input(dtypes.int64, TensorShape([]), "position")
        go = body.add_input(dtypes.bool, TensorShape([]), "go")
        before = body.add_input(kind, shape, "before")
        made = function(*[_item(s, position) for s in sequences])
        body.outputs.extend([go, _inserted(before, made)])
    count = node("SequenceLength", [sequences[0]], dtypes.int64, ())
    assert kind.inside is not None
    empty = operation("SequenceEmpty", [], [(kind, None)], attrs={"dtype": kind.inside}).outputs[0]
    return outer.add_operation(
        "Loop", [count, None, empty], [(kind, shape)], {"body": body}
    ).outputs[0]


def _from_front(position: Tensor | None, sequence: Tensor) -> Tensor | None:
    """A position that counts from the front; None stays None."""
    if position is None:
        return None
    wide = node("Cast", [position], dtypes.int64, dims_of(position), to=dtypes.int64)
    count = node("SequenceLength", [sequence], dtypes.int64, ())
    negative = node("Less", [wide, _number(0)], dtypes.bool, dims_of(wide))
    shifted = node("Add", [wide, count], dtypes.int64, dims_of(wide))
    return node("Where", [negative, shifted, wide], dtypes.int64, dims_of(wide))


def _second(op: Operation, i: int = 1) -> Tensor | None:
    return op.inputs[i] if len(op.inputs) > i else None


def _zeros(x: Tensor) -> Tensor:
    value = np.zeros(1, x.dtype.as_numpy_dtype)
    return node("ConstantOfShape", [shape_of(x)], x.dtype, dims_of(x), value=value)


def _still(sequence: Tensor) -> Tensor:
    """The sequence, whose numbers do not count."""
    return node("StopGradient", [sequence], sequence.dtype, dims_of(sequence), domain="graphio")


@gradient("SequenceConstruct")
def _construct(op: Operation, dy: Tensor) -> list[Tensor | None]:
    return [_item(dy, i, like=x) for i, x in enumerate(op.inputs)]


@gradient("SequenceInsert")
def _insert(op: Operation, dy: Tensor) -> list[Tensor | None]:
    at = _from_front(_second(op, 2), op.inputs[0])
    item = _item(dy, -1 if at is None else at, like=op.inputs[1])
    return [_erased(dy, at), item, None][: len(op.inputs)]


@gradient("SequenceErase")
def _erase(op: Operation, dy: Tensor) -> list[Tensor | None]:
    whole = op.inputs[0]
    at = _from_front(_second(op), whole)
    gone = _zeros(_item(_still(whole), -1 if at is None else at))
    return [_inserted(dy, gone, at), None][: len(op.inputs)]


@gradient("SequenceAt")
def _at(op: Operation, dy: Tensor) -> list[Tensor | None]:
    whole = op.inputs[0]
    at = _from_front(op.inputs[1], whole)
    zeros = _still(_each(_zeros, whole))
    return [_inserted(_erased(zeros, at), dy, at), None]


def _any_size(dims: Dims, axis: int) -> Dims:
    if dims is None or not -len(dims) <= axis < len(dims):
        return None
    return tuple(None if i == axis % len(dims) else d for i, d in enumerate(dims))


@gradient("ConcatFromSequence")
def _concat(op: Operation, dy: Tensor) -> list[Tensor | None]:
    whole, axis = op.inputs[0], int(op.attrs.get("axis", 0))
    dims = dims_of(whole)
    if op.attrs.get("new_axis", 0):
        cut = node("SplitToSequence", [dy], whole.dtype, dims, axis=axis, keepdims=0)
        return [cut]

    def size(x: Tensor) -> Tensor:
        where = constant(np.asarray([axis], np.int64))
        return node("Gather", [shape_of(x), where], dtypes.int64, (1,))

    sizes = _each(size, whole, dtype=dtypes.int64)
    joined = node("ConcatFromSequence", [sizes], dtypes.int64, (None,), axis=0)
    return [node("SplitToSequence", [dy, joined], whole.dtype, _any_size(dims, axis), axis=axis)]


@gradient("SplitToSequence")
def _split(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, axis = op.inputs[0], int(op.attrs.get("axis", 0))
    dims = dims_of(x)
    if axis < 0:
        if dims is None:
            raise LookupError(f"SplitToSequence '{op.name}': the rank of its input is not known")
        axis += len(dims)
    # One piece more, without elements or cut off again: of an empty tensor there is no other.
    more, new = slice_axes(x, [0], [0], [axis]), 0
    if _second(op) is None and not op.attrs.get("keepdims", 1):
        more, new = reduce_sum(more, [axis], keepdims=False), 1
    whole = _inserted(dy, more, _number(0))
    dx = node("ConcatFromSequence", [whole], x.dtype, None, axis=axis, new_axis=new)
    if new:
        dx = slice_axes(dx, [1], [last], [axis])
    dx.set_shape(x.shape)
    return [dx, None][: len(op.inputs)]


@gradient("Optional")
@gradient("OptionalGetElement")
def _optional(op: Operation, dy: Tensor) -> list[Tensor | None]:
    return [dy for _ in op.inputs]
