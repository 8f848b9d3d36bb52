"""The state of a graph before a call that failed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from graphio.framework import registered
from graphio.framework.graph_state.attachments import VARIABLES

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

__all__ = ["Unchanged", "mark", "roll_back"]


class Unchanged(contextlib.AbstractContextManager[None]):
    """A context that rolls back what was added to a graph if it ends in an exception."""

    __slots__ = ("_graph", "_lengths", "_mark", "_order", "_seeds")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        root = self._graph.root
        self._order, self._seeds = root._order, root.seeds.given
        self._lengths = [(values, len(values)) for values in self._lists()]
        self._mark = root.journal.open()

    def _lists(self) -> list[list[Any]]:
        """The operations of the body and those around it, and the collections: a program may have
        a reference to one of these."""
        found: list[list[Any]] = list(self._graph.root.members.values())
        graph: Graph | None = self._graph
        while graph is not None:
            found += (graph.operations, graph.inputs, graph.outputs, graph.targets)
            graph = graph.outer
        return found

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        root = self._graph.root
        if kind is not None:
            self._roll_back(root)
        root.journal.close()

    def _roll_back(self, root: Graph) -> None:
        nowhere = _graph_of_failed_calls()

        def let_go(table: object, _: object, value: Any) -> None:
            if table is root.names.operations:
                value._let_go(nowhere)

        root.journal.undo(self._mark, let_go)
        for values, length in self._lengths:
            del values[length:]
        root._order, root.seeds.given = self._order, self._seeds
        root.changed()


def mark(graph: Graph) -> tuple[int, int]:
    """The facts about a graph as it is that roll_back needs."""
    return len(graph.operations), len(VARIABLES.find(graph) or ())


def roll_back(graph: Graph, before: tuple[int, int]) -> None:
    """Removes the operations added since a mark; their names stay taken, as TensorFlow's do.

    Where a variable was made meanwhile nothing is removed, for collections hold it.
    """
    count, variables = before
    if len(VARIABLES.find(graph) or ()) != variables:
        return
    if len(graph.operations) <= count:
        return
    nowhere = _graph_of_failed_calls()
    for made in reversed(graph.operations[count:]):
        graph.root.names.operations.pop(made.name, None)
        made._let_go(nowhere)
    del graph.operations[count:]
    graph.root.changed()


def _graph_of_failed_calls() -> Graph:
    """The graph of operations that were rolled back."""
    made = registered.new_graph()
    made.rolled_back = True
    return made
