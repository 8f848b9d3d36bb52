"""The values that nodes of a model see by name."""

from __future__ import annotations

from graphio.framework.graph import Tensor

__all__ = ["Scope"]


class Scope:
    """Values by name in one graph of a model; inner graphs see the outer ones' values.

    A value of None could not be made, for a reason that was noted already.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.values: dict[str, Tensor | None] = {}

    def find(self, name: str) -> Tensor | None:
        """The value. Raises KeyError where nothing makes it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise KeyError(name)
