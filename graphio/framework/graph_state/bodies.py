"""Tensors that the body of a loop or branch reads from outside: captures, and access to others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphio.framework import registered
from graphio.framework.operation import Operation
from graphio.framework.tensor import InaccessibleTensorError, Tensor

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

__all__ = [
    "OuterAccess",
    "forget_capture",
    "measured",
    "record_captures",
    "resolve",
    "take_out_dead",
]


class OuterAccess:
    """How a graph reads tensors of graphs that do not enclose it.

    Attributes:
        resolve: of a gradient's body and a dataset's function: from a tensor outside to one that
            the body may read instead, None: there is none.
        measure: the same for the shape or size of a tensor: called with it, the operator and its
            attributes.
        leave: of a branch: from a tensor in it to one that stands for it outside.
        lifted: operators that are added to the enclosing graph if all their inputs are outside.
        around: of a dataset's function: the root graph that was the default one when it was made.
    """

    __slots__ = ("around", "leave", "lifted", "measure", "resolve")

    def __init__(self) -> None:
        self.resolve: Callable[[Tensor], Tensor | None] | None = None
        self.measure: Callable[[Tensor, str, Any], Tensor | None] | None = None
        self.leave: Callable[[Tensor], Tensor | None] | None = None
        self.lifted: tuple[str, ...] = ()
        self.around: Graph | None = None


def resolve(reader: Graph, tensor: Tensor) -> Tensor:
    """The tensor as a graph may read it.

    Raises:
        InaccessibleTensorError: it is of a body that does not enclose the reader.
        ValueError: it is of another root graph, or was rolled back.
    """
    graph: Graph | None = reader
    while graph is not None and not reader.encloses(tensor):
        access = graph.access.resolve
        found = access(tensor) if access is not None else None
        tensor = tensor if found is None else found
        graph = graph.outer
    while not reader.encloses(tensor) and tensor.graph.access.leave is not None:
        found = tensor.graph.access.leave(tensor)
        if found is None:
            break
        tensor = found
    if not reader.encloses(tensor):
        _refuse(reader, tensor)
    return tensor


def _refuse(reader: Graph, tensor: Tensor) -> None:
    hint = (
        "all tensors of an operation belong to one graph, and this one's graph is not the "
        "default graph here; build inside `with tensor.graph.as_default():`"
    )
    if tensor.graph.root is reader.root:
        raise InaccessibleTensorError(
            f"{tensor!r} must be from the same graph as the operation: it belongs to the "
            "body of a tf.cond or tf.while_loop; return it from there"
        )
    if tensor.graph.rolled_back:
        hint = "it was made by a call that failed, and was rolled back; make it again"
    raise ValueError(f"{tensor!r} must be from the same graph as the operation: {hint}")


def measured(
    reader: Graph, tensor: Tensor | None, op: str, attrs: Mapping[str, object] | None
) -> Tensor | None:
    """The shape or size of a tensor that only `OuterAccess.measure` reaches; None: of no other."""
    graph: Graph | None = reader
    while graph is not None and tensor is not None and not reader.encloses(tensor):
        measure = graph.access.measure
        found = None if measure is None else measure(tensor, op, attrs)
        if found is not None:
            return found
        graph = graph.outer
    return None


def record_captures(graph: Graph, made: Operation) -> None:
    """Records the tensors that a new operation reads from outside, on every graph on the way."""
    read = [t for t in made.operands if t is not None]
    for body in made.bodies():
        _wait_outside(graph, made, body)
        body.outputs[:] = [resolve(body, tensor) for tensor in body.outputs]
        for tensor in body.outputs:
            if tensor.graph is not body:
                body.captures.setdefault(tensor)
        read.extend(body.captures)
    for tensor in read:
        graph.capture(tensor)


def _wait_outside(graph: Graph, made: Operation, body: Graph) -> None:
    """Control edges stop at a body's border: its If or Loop waits instead of its nodes."""
    waited_for = set(made.awaited) if body.outer_control else set()
    for operation in body.outer_control:
        if operation.graph is not graph:
            graph.outer_control.setdefault(operation)
        elif operation not in waited_for:
            made.awaited.append(operation)


def forget_capture(body: Graph, tensor: Tensor) -> None:
    """Removes a tensor that is not read from the captures of a body and those around it."""
    graph: Graph | None = body
    while graph is not None and graph is not tensor.graph:
        graph.captures.pop(tensor, None)
        graph = graph.outer


def take_out_dead(body: Graph) -> set[Tensor]:
    """Removes the operations of a finished body that lead to none of its outputs and targets.

    Values of outside that only these read are removed from the captures.

    Returns:
        The tensors that the operations left read, and the outputs.
    """
    read = set(body.outputs)
    live: set[Operation] = set()
    pending = [*(t.op for t in body.outputs), *body.targets]
    while pending:
        operation = pending.pop()
        if operation in live or operation.graph is not body:
            continue
        live.add(operation)
        sources = [t for t in (*operation.operands, *operation.captures) if t is not None]
        read.update(sources)
        pending += [*(t.op for t in sources), *operation.awaited]
    nowhere = registered.new_graph()
    for operation in reversed(body.operations):
        if operation not in live:
            body.root.names.operations.pop(operation.name, None)
            operation._let_go(nowhere)
    body.operations[:] = [operation for operation in body.operations if operation in live]
    for tensor in [tensor for tensor in body.captures if tensor not in read]:
        del body.captures[tensor]
    return read
