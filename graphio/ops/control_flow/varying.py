"""Finds values in the body of a Loop or Scan whose shape may differ between iterations.

Only those of open shape can. A loop variable's shape may change if it is resized on the way, or
if it enters the loop smaller than its shape invariant allows. Another value's may if numbers of
the iteration say how large it is, or which branch it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.dynamic_shapes import carried

__all__ = ["Varying"]

Readers = dict[Tensor, list[Operation]]

#: operators that give a size which their inputs do not have, and the first input that gives it
_SIZED = {"ConstantOfShape": 0, "Expand": 1, "Pad": 1, "Range": 0, "Slice": 1, "Tile": 1}
#: others, of which the size may be that of another input as well: the inputs that say a size
_CHOOSING = {
    "AffineGrid": (1,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "Conv2DGradInput": (0,),
    "ConvGradInput": (0,),
    "MaxUnpool": (2,),
    "OneHot": (1,),
    "RandomInteger": (0,),
    "RandomNormal": (0,),
    "RandomTruncatedNormal": (0,),
    "RandomUniform": (0,),
    "Resize": (1, 2, 3),
    "ScatterSum": (2,),
    "Split": (1,),
    "StatelessRandomInteger": (0,),
    "StatelessRandomNormal": (0,),
    "StatelessRandomTruncatedNormal": (0,),
    "StatelessRandomUniform": (0,),
    "TopK": (1,),
}
#: operators that keep the elements, in a shape that an input says
_SHAPED = {"Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,)}
#: operators whose result has as many elements as an input has with a certain value
_COUNTING = {"Compress": (1,), "NonZero": (0,), "Unique": (0,)}
_NUMBERED = {**_CHOOSING, **_SHAPED, **_COUNTING}
_MEASURES = ("Shape", "Size")
#: operators whose result is as large as something that they read
_FOLLOWING = ("ConstantOfShape", "Expand", "Gather", "Range")


class Varying:
    """The tensors whose shape may change between the iterations of a Loop or Scan.

    `tensor in varying` says it of a tensor of the body, and of a later output of an operation of
    the body, which takes a value out of that operation's own bodies.
    """

    def __init__(self, op: Operation) -> None:
        body: Graph = op.attrs["body"]
        readers = _readers(body)
        variables = _loop_variables(op)
        found = {t for t, _, _ in variables if _is_open(t) and _is_resized(t, readers)}
        resized = {t: a for t, before, a in variables if a is not t and _grows(t, before, a)}
        found.update(resized)
        numbers = _reached(body.inputs, readers)
        self._operations: set[Operation] = set()
        for operation in body.operations:
            if not numbers.isdisjoint(_sizes(operation, _NUMBERED)):
                found.update(operation.outputs)
            elif operation.op == "If" and (operation.operands[0] in numbers or _resizes(operation)):
                self._operations.add(operation)
                found.update(_of_either_size(operation))
            elif operation.op == "Loop" and _trips(operation) & numbers:
                self._operations.add(operation)
                found.update(operation.outputs[len(operation.operands) - 2 :])
        following: dict[Tensor, list[Tensor]] = {}
        for formal, _, after in variables:
            following.setdefault(after, []).append(formal)
        self._tensors = _reached(found, readers, following)
        self._grown = [(a, _reached([t], readers, following)) for t, a in resized.items()]

    def larger(self, tensor: Tensor) -> list[Tensor]:
        """Loop variables, as they leave an iteration, that broadcasting may make larger, if the
        tensor of the body depends on them: its size in the first iteration is then not that of the
        others."""
        around = [tensor] if tensor.value_index >= 0 else tensor.op.operands
        rank = tensor.shape.ndims
        return [
            variable
            for variable, reached in self._grown
            if variable.shape.ndims in (rank, None) and not reached.isdisjoint(around)
        ]

    def __contains__(self, tensor: Tensor) -> bool:
        if not _is_open(tensor) or tensor.op is None:
            return False
        inputs: list[Tensor | None] = tensor.op.operands
        if tensor.op.op == "Shape":  # of unknown length, if its tensor is of unknown rank
            return inputs[0] in self._tensors
        if tensor.value_index >= 0:
            return tensor in self._tensors
        return tensor.op in self._operations or not self._tensors.isdisjoint(inputs)


def _is_open(tensor: Tensor) -> bool:
    return not tensor.shape.is_fully_defined()


def _readers(body: Graph) -> Readers:
    """The operations that depend on each tensor otherwise than by its shape."""
    found: Readers = {}
    for operation in body.operations:
        if operation.op not in _MEASURES or operation.domain != "":
            for tensor in {*operation.operands, *operation.captures} - {None}:
                found.setdefault(tensor, []).append(operation)
    return found


def _reached(
    tensors: Iterable[Tensor],
    readers: Readers,
    following: Mapping[Tensor, list[Tensor]] | None = None,
) -> set[Tensor]:
    """The tensors and all that depend on them in an iteration; following: what is to be read in
    the next one, by what gives it."""
    found, pending = set(tensors), list(tensors)
    while pending:
        tensor = pending.pop()
        given = [t for operation in readers.get(tensor, ()) for t in operation.outputs]
        given += [] if following is None else following.get(tensor, [])
        pending.extend(t for t in given if t not in found)
        found.update(given)
    return found


def _sizes(operation: Operation, table: Mapping[str, tuple[int, ...]]) -> list[Tensor | None]:
    """The inputs that say how large what an operation gives is; the table has those of operators
    that are not sized in every case."""
    if operation.op in _SIZED:
        return operation.operands[_SIZED[operation.op] :]
    return [
        operation.operands[i] for i in table.get(operation.op, ()) if i < len(operation.operands)
    ]


def _is_resized(tensor: Tensor, readers: Readers) -> bool:
    reached = _reached([tensor], readers)
    return any(_resizes(operation) for t in reached for operation in readers.get(t, ()))


def _resizes(operation: Operation) -> bool:
    """Whether what an operation gives may be larger or smaller than what it reads, along an axis
    of unknown size."""
    if operation.bodies():
        return any(_resizes(inner) for body in operation.bodies() for inner in body.operations)
    dims = dims_of(operation.outputs[0]) if operation.outputs else ()
    if dims is not None and None not in dims:
        return False
    if operation.op == "Concat":
        return dims is None or dims[int(operation.attrs["axis"])] is None
    if operation.op == "Slice" and dims is not None and len(operation.operands) > 3:
        axes = None if operation.operands[3] is None else constant_value(operation.operands[3])
        return axes is None or any(dims[int(axis)] is None for axis in axes)
    if operation.op == "Gather":
        return not operation.operands[1].shape.is_fully_defined()
    if operation.op in _SIZED or operation.op in _COUNTING:
        return True
    chosen = _sizes(operation, _CHOOSING)
    return any(t is not None and constant_value(t) is None for t in chosen)


# ---- loop variables ----


def _loop_variables(op: Operation) -> list[tuple[Tensor, Tensor | None, Tensor]]:
    """Each in the body, as it enters the Loop or Scan, and as it leaves an iteration."""
    body: Graph = op.attrs["body"]
    count, before_in, before_out = carried(op)
    return [
        (body.inputs[before_in + k], op.operands[before_in + k], body.outputs[before_out + k])
        for k in range(count)
    ]


def _grows(formal: Tensor, before: Tensor | None, after: Tensor) -> bool:
    """Whether broadcasting may make a loop variable larger: it enters with an axis of 1, or with
    fewer axes, and its shape invariant leaves that open."""
    assert before is not None
    entering, invariant = dims_of(before), dims_of(formal)
    if entering is None:
        return False
    if invariant is None:
        return 1 in entering or after.shape.ndims != len(entering)
    return any(a == 1 and b is None for a, b in zip(entering, invariant, strict=True))


# ---- branches ----


def _of_either_size(operation: Operation) -> list[Tensor]:
    """The outputs of an If whose two branches may give them different sizes."""
    one, two = operation.bodies()
    pairs = zip(operation.outputs, one.outputs, two.outputs, strict=True)
    return [t for t, a, b in pairs if _is_open(t) and not _alike(a, b)]


def _alike(a: Tensor, b: Tensor) -> bool:
    """Whether two results of branches get what is open in their shapes from the same tensor."""
    return _dims(a.shape) == _dims(b.shape) and not _origins(a).isdisjoint(_origins(b))


def _dims(shape: TensorShape) -> list[int | None] | None:
    return None if shape.ndims is None else shape.as_list()


def _origins(tensor: Tensor) -> set[Tensor]:
    """The tensors that say how large one of a branch is: of outside, or resized in the branch."""
    body, found, seen = tensor.graph, set(), {tensor}
    pending = [tensor]
    while pending:
        at = pending.pop()
        if at.graph is not body or (_resizes(at.op) and at.op.op not in _FOLLOWING):
            found.add(at)
            continue
        sources = [t for t in _sizing(at.op) if t not in seen]
        seen.update(sources)
        pending.extend(sources)
    return found


def _sizing(operation: Operation) -> list[Tensor]:
    """The inputs of which an operation's result has its open sizes."""
    inputs = [t for t in (*operation.operands, *operation.captures) if t is not None]
    if operation.op == "Gather" and _is_open(inputs[1]):
        return inputs[1:2]
    return [t for t in inputs if _is_open(t)] or inputs


# ---- loops inside ----


def _trips(operation: Operation) -> set[Tensor]:
    """The outer tensors that determine how often an inner Loop runs."""
    body: Graph = operation.attrs["body"]
    around: set[Tensor] = {t for t in operation.operands[:2] if t is not None}
    seen, pending = {body.outputs[0]}, [body.outputs[0]]
    while pending:
        tensor = pending.pop()
        if tensor.graph is not body:
            around.add(tensor)
            sources: list[Tensor | None] = []
        elif tensor in body.inputs[2:]:
            k = body.inputs.index(tensor)
            initial = operation.operands[k]
            assert initial is not None
            around.add(initial)
            sources = [body.outputs[k - 1]]
        else:
            sources = [*tensor.op.operands, *tensor.op.captures]
        following = [t for t in sources if t is not None and t not in seen]
        seen.update(following)
        pending.extend(following)
    return around
