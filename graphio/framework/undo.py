"""Tables whose changes can be rolled back, at a cost that grows with the changes, not the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Journal", "Table"]

K = TypeVar("K")
V = TypeVar("V")
_ABSENT: Any = object()


class Journal:
    """Overwritten entries of tables and lists, since the oldest mark that is still open."""

    __slots__ = ("_open", "entries")

    def __init__(self) -> None:
        #: table, key and former value, one after the other; of a list: the list, None, its length
        self.entries: list[Any] = []
        self._open = 0

    def note(self, values: list[Any]) -> None:
        """Notes a list that is about to grow."""
        if self._open:
            self.entries += (values, None, len(values))

    def open(self) -> int:
        """Begins to note changes, until `close`; returns the mark that `undo` takes."""
        self._open += 1
        return len(self.entries)

    def close(self) -> None:
        """Ends what `open` has begun."""
        self._open -= 1
        if not self._open:
            self.entries.clear()

    def undo(self, mark: int, undone: Callable[[Any, Any, Any], None] | None = None) -> None:
        """Rolls back what was changed since a mark, the last change first.

        Args:
            mark: what `open` gave.
            undone: called with a table, a key and its value before a key that was added goes.
        """
        entries = self.entries
        for at in range(len(entries) - 3, mark - 1, -3):
            table, key, former = entries[at : at + 3]
            if isinstance(table, list):
                del table[former:]
            elif former is not _ABSENT:
                dict.__setitem__(table, key, former)
            elif key in table:
                if undone is not None:
                    undone(table, key, table[key])
                dict.__delitem__(table, key)
        del entries[mark:]

    def restore(self, table: Table[K, V], mark: int) -> None:
        """Gives one table its content at a mark; this can itself be rolled back."""
        entries = self.entries
        formers: dict[K, Any] = {}  # the oldest of each key: nested marks would double the others
        for at in range(len(entries) - 3, mark - 1, -3):
            if entries[at] is table:
                formers[entries[at + 1]] = entries[at + 2]
        for key, former in formers.items():
            if former is not _ABSENT:
                table[key] = former
            else:
                table.pop(key, None)


class Table(dict[K, V]):
    """A dict that notes in a journal what it loses, while the journal is open."""

    __slots__ = ("_journal",)

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def __setitem__(self, key: K, value: V) -> None:
        journal = self._journal
        if journal._open:
            journal.entries += (self, key, self.get(key, _ABSENT))
        dict.__setitem__(self, key, value)

    def __delitem__(self, key: K) -> None:
        if self._journal._open:
            self._journal.entries += (self, key, self.get(key, _ABSENT))
        dict.__delitem__(self, key)

    def setdefault(self, key: K, default: Any = None) -> V:
        """As dict's."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: K, *default: Any) -> Any:
        """As dict's."""
        if self._journal._open and key in self:
            self._journal.entries += (self, key, self.get(key, _ABSENT))
        return dict.pop(self, key, *default)

    def update(self, *others: Any, **more: Any) -> None:
        """As dict's."""
        for key, value in dict(*others, **more).items():
            self[key] = value

    def clear(self) -> None:
        """As dict's."""
        for key in list(self):
            del self[key]
