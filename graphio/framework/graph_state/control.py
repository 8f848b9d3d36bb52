"""Control dependencies of a graph: which operations new ones wait for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphio.framework.operation import Operation
from graphio.framework.tensor import Tensor

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

__all__ = ["ControlDependencies", "ControlGroup", "awaited", "note"]


class ControlGroup:
    """The operations that those made in a context wait for, and those that were made in it."""

    __slots__ = ("inside", "operations")

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations
        self.inside: set[Operation] = set()


class ControlDependencies(contextlib.ContextDecorator, contextlib.AbstractContextManager[None]):
    """A context in which operations of a graph wait for others."""

    __slots__ = ("_before", "_graph", "_inputs")

    def __init__(self, graph: Graph, control_inputs: Any) -> None:
        self._graph, self._inputs = graph, control_inputs

    def _recreate_cm(self) -> ControlDependencies:
        # a decorated function may call itself
        return ControlDependencies(self._graph, self._inputs)

    def __enter__(self) -> None:
        contexts = self._graph.contexts
        self._before = contexts.control, contexts.waits
        if self._inputs is None:
            contexts.control, contexts.waits = (), False
        else:
            found = [_control_operation(self._graph, c) for c in self._inputs]
            group = ControlGroup([op for op in found if op is not None])
            contexts.control = (*contexts.control, group)
            contexts.waits = contexts.waits or bool(found)

    def __exit__(self, *details: object) -> None:
        contexts = self._graph.contexts
        contexts.control, contexts.waits = self._before


def awaited(groups: Iterable[ControlGroup], inputs: Sequence[Tensor | None]) -> list[Operation]:
    """The operations that a new one with these inputs waits for, as the open groups require."""
    data = {t.op for t in inputs if t is not None}
    found: dict[Operation, None] = {}
    for group in groups:
        if group.inside.isdisjoint(data):  # else an input waits for the same
            found.update(dict.fromkeys(op for op in group.operations if op not in data))
    return list(found)


def note(groups: Iterable[ControlGroup], made: Operation) -> None:
    """Records that an operation was made in the contexts of the groups."""
    for group in groups:
        group.inside.add(made)


def _control_operation(graph: Graph, value: Any) -> Operation | None:
    """The operation to wait for; None if it is outside the body or an argument of it."""
    if isinstance(value, str) or hasattr(value, "_as_graph_element"):
        value = graph.as_graph_element(value)
    operation = value if isinstance(value, Operation) else None
    for attribute in ("values", "op"):
        if (
            operation is None
            and hasattr(value, attribute)
            and not callable(getattr(value, attribute))
        ):
            inner = getattr(value, attribute)
            operation = inner if isinstance(inner, Operation) else inner.op
    if operation is None:
        raise TypeError(
            f"control input {value!r} is {type(value).__name__}, expected an Operation, a "
            "Tensor or a Variable"
        )
    if operation.graph.root is not graph.root:
        raise ValueError(f"control input '{operation.name}' is from another graph")
    if operation.op == "Argument":
        return None
    if operation.graph is graph:
        return operation
    if not graph.is_inside(operation.graph):
        raise ValueError(
            f"control input '{operation.name}' is inside a loop or branch; wait for the "
            "operation around it, or for what it returns"
        )
    graph.outer_control.setdefault(operation)
    return None
