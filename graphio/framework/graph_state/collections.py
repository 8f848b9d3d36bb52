"""The collections of a root graph: named lists of values."""

from __future__ import annotations

import re
from typing import Any

from graphio.framework.undo import Table

__all__ = ["Collections"]


class Collections(Table[str, list[Any]]):
    """Lists of variables, tensors, operations and other values by the collection's name."""

    __slots__ = ()

    def reference(self, name: str) -> list[Any]:
        """The collection itself, made if there is none; the caller may add to it."""
        values = self.setdefault(name, [])
        self._journal.note(values)
        return values

    def matching(self, name: str, scope: str | None) -> list[Any]:
        """A copy of a collection; scope: a regular expression for the names of its values."""
        values = self.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def filled(self) -> list[str]:
        """Names of the collections that are not empty; keys other than strings are left out."""
        return [name for name, values in self.items() if values and isinstance(name, str)]
