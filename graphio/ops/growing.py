"""What a Loop remembers for its gradient of values whose shape changes between iterations.

They cannot be stacked. Their elements go to one vector that the Loop carries and that grows in
every iteration; the shapes, and where each iteration begins, are stacked.
"""

from __future__ import annotations

import numpy as np

from graphio import dtypes, scopes
from graphio.folding import constant_value
from graphio.graph import Graph, Operation, Tensor
from graphio.ops import primitive as p
from graphio.ops.emit import node
from graphio.ops.shapes import dims_of
from graphio.tensor_shape import TensorShape

__all__ = ["recalled", "remember", "varying"]


#: operators that give a size which their inputs do not have, and from which input on it is said
_SIZED = {"ConstantOfShape": 0, "Expand": 1, "Pad": 1, "Range": 0, "Slice": 1, "Tile": 1}
_MEASURES = ("Shape", "Size")


def varying(op: Operation) -> set[Tensor]:
    """The tensors of a Loop's body of open shape that may have another one in every iteration.

    A loop variable's shape may change if it is resized on the way. A value's may if numbers of
    the iteration say how large it is.
    """
    body: Graph = op.attrs["body"]
    open_ones = [t for t in body.inputs if not t.shape.is_fully_defined()]
    found = {t for t in open_ones if any(map(_resizes, _readers(body, {t})))}
    numbers = _reached(body, set(body.inputs))
    for operation in body.operations:
        first = _SIZED.get(operation.op)
        if first is not None and any(t in numbers for t in operation.inputs[first:]):
            found.update(operation.outputs)
    return {t for t in _reached(body, found) if not t.shape.is_fully_defined()}


def _readers(body: Graph, tensors: set[Tensor]) -> list[Operation]:
    """The operations that depend on tensors otherwise than by their shapes."""
    found, reached = [], set(tensors)
    for operation in body.operations:
        if operation.op in _MEASURES and operation.domain == "":
            continue
        if any(t in reached for t in (*operation.inputs, *operation.captures)):
            found.append(operation)
            reached.update(operation.outputs)
    return found


def _reached(body: Graph, tensors: set[Tensor]) -> set[Tensor]:
    return tensors.union(*(operation.outputs for operation in _readers(body, tensors)))


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
    if operation.op == "Slice" and dims is not None and len(operation.inputs) > 3:
        axes = None if operation.inputs[3] is None else constant_value(operation.inputs[3])
        return axes is None or any(dims[int(axis)] is None for axis in axes)
    if operation.op == "Gather":
        return not operation.inputs[1].shape.is_fully_defined()
    return operation.op in _SIZED or operation.op in ("Compress", "NonZero", "Unique")


def remember(op: Operation, tensor: Tensor, joined: Tensor, begin: Tensor, sizes: Tensor) -> None:
    """Gives a Loop a carried vector of the elements of a tensor of its body.

    Args:
        op: the Loop.
        tensor: of its body, of known rank.
        joined: becomes the vector that the Loop ends with.
        begin: becomes, stacked, where each iteration's elements begin.
        sizes: becomes, stacked, each iteration's shape.
    """
    body: Graph = op.attrs["body"]
    count = len(op.inputs) - 2
    with body.as_body(), scopes.control_dependencies(None), scopes.name_scope("remembered"):
        before = body.add_input(tensor.dtype, TensorShape([None]), "elements")
        body.inputs.insert(2 + count, body.inputs.pop())
        length = p.count(before, dtypes.int64)
        shape = p.shape_of(tensor)
        flat = p.reshape(tensor, [-1], (None,))
        after = p.concat([before, flat], 0)
        outside = [t if t.graph is body else p.unary("Identity", t) for t in (length, shape)]
    body.outputs.insert(1 + count, after)
    body.outputs.extend(outside)
    op.append_input(_nothing(op, tensor))
    op.adopt_output(joined, count)
    op.adopt_output(begin)
    op.adopt_output(sizes)


def _nothing(op: Operation, like: Tensor) -> Tensor:
    """An empty vector, made right before an operation."""
    graph = op.graph
    with graph.as_default(), scopes.control_dependencies(None):
        made = graph.create_op(
            "Constant",
            [],
            [(like.dtype, TensorShape([0]))],
            {"value": np.zeros(0, like.dtype.as_numpy_dtype)},
            name="nothing",
            tf_type="Const",
        )
    graph.operations.remove(made)
    graph.operations.insert(graph.operations.index(op), made)
    made.order = op.order
    return made.outputs[0]


def recalled(joined: Tensor, begin: Tensor, shape: Tensor, like: Tensor) -> Tensor:
    """The tensor of one iteration: begin and shape are that iteration's."""
    size = node("ReduceProd", [shape], dtypes.int64, (1,), keepdims=1)
    start = p.unsqueeze(begin, [0])
    end = p.binary("Add", start, size)
    flat = node("Slice", [joined, start, end, p.int_vector([0])], joined.dtype, (None,))
    return p.reshape(flat, shape, dims_of(like))
