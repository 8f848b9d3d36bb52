"""The functions of the program that operations of a root graph call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework.graph_state.names import free_name
from graphio.framework.undo import Table

__all__ = ["HostFunctions"]


class HostFunctions(Table[str, Callable[..., Any] | None]):
    """By the name in a HostCall: from a session to the function; None: it is not bound yet."""

    __slots__ = ()

    def add(self, name: str, bind: Callable[[Any], Callable[..., Any]] | None) -> str:
        """Adds a function under a name that is made unique; see Graph.add_host_function."""
        unique = free_name(name, self)
        self[unique] = bind
        return unique

    def bind(self, name: str, bind: Callable[[Any], Callable[..., Any]]) -> None:
        """Replaces the function of a name; see Graph.bind_host_function.

        Raises:
            KeyError: there is no such name.
        """
        if name not in self:
            known = ", ".join(sorted(self)) or "none"
            raise KeyError(f"the graph has no host function {name!r}; it has: {known}")
        self[name] = bind
