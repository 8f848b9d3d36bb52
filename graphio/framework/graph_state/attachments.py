"""Objects that other modules keep with a root graph, each under a typed key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from graphio.framework.undo import Table

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

__all__ = ["COLOCATION_GROUPS", "ITERATORS", "VARIABLES", "Attachment", "table"]

T = TypeVar("T")


class Attachment(Generic[T]):
    """A key for an object that a module keeps with each root graph.

    Args:
        name: of the object, for people who debug.
        make: from a root graph to its object, called at the first use.
    """

    __slots__ = ("_make", "name")

    def __init__(self, name: str, make: Callable[[Graph], T]) -> None:
        self.name = name
        self._make = make

    def __repr__(self) -> str:
        return f"Attachment({self.name!r})"

    def of(self, graph: Graph) -> T:
        """The object of a graph's root, made if there is none."""
        root = graph.root
        found: T | None = root.attachments.get(self)
        if found is None:
            found = root.attachments[self] = self._make(root)
        return found

    def find(self, graph: Graph) -> T | None:
        """The object of a graph's root; None: no call has made one."""
        found: T | None = graph.root.attachments.get(self)
        return found

    def put(self, graph: Graph, value: T) -> None:
        """Replaces the object of a graph's root."""
        graph.root.attachments[self] = value


def table(name: str) -> Attachment[Table[Any, Any]]:
    """A key for a table whose changes are rolled back with the graph's."""
    return Attachment(name, lambda root: Table(root.journal))


#: all variables ever made in a graph, by name
VARIABLES: Attachment[Table[str, Any]] = table("variables")
#: iterators of tf.data by name
ITERATORS: Attachment[Table[str, Any]] = table("iterators")
#: TensorFlow's groups of operations on one device, by operation
COLOCATION_GROUPS: Attachment[Table[Any, list[bytes]]] = table("colocation_groups")
