"""The elements of a staging area in a session, and the attempts that wait for some."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.ops.base.waiting import Attempt
from graphio.support import errors

__all__ = ["Elements", "KeyedElements"]

Array = np.ndarray[Any, Any]
Step = Callable[[], "list[Array] | None"]


class _Waiting(Attempt):
    """An attempt at an area; step gives its results, or None while it has to wait."""

    __slots__ = ("area", "step")

    def __init__(self, area: _Area, step: Step) -> None:
        super().__init__()
        self.area, self.step = area, step

    def cancel(self) -> None:
        self.area.cancel(self)


def _sizes(parts: Sequence[Array | None]) -> int:
    """Bytes of arrays."""
    return sum(part.nbytes for part in parts if part is not None)


class _Area:
    """The part of both kinds: limits and attempts.

    Args:
        capacity: how many elements; 0: any number.
        limit: bytes of all elements; 0: any number.
    """

    def __init__(self, capacity: int, limit: int) -> None:
        self._capacity, self._limit = capacity, limit
        self._bytes = 0
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []

    def attempt(self, step: Step) -> Attempt:
        """An attempt, which is served now or after another one."""
        made = _Waiting(self, step)
        with self._lock:
            self._waiting.append(made)
            ended = self._serve()
        for one, results, error in ended:
            one.finish(results, error)
        return made

    def cancel(self, attempt: _Waiting) -> None:
        """Ends an attempt that still waits."""
        with self._lock:
            waits = attempt in self._waiting
            if waits:
                self._waiting.remove(attempt)
        if waits:
            attempt.finish(error=errors.CancelledError(message="Operation was cancelled"))

    def _serve(self) -> list[tuple[_Waiting, Any, errors.OpError | None]]:
        """Serves attempts in their order until all that are left have to wait."""
        ended: list[tuple[_Waiting, Any, errors.OpError | None]] = []
        changed = True
        while changed:
            changed = False
            for one in list(self._waiting):
                try:
                    results, error = one.step(), None
                except errors.OpError as failure:
                    results, error = None, failure
                if results is not None or error is not None:
                    self._waiting.remove(one)
                    ended.append((one, results, error))
                    changed = True
        return ended

    def _check_bytes(self, count: int) -> None:
        """Refuses an element that never fits."""
        if self._limit and count > self._limit:
            raise errors.ResourceExhaustedError(
                message=f"Attempted to insert tensors with combined size of '{count}' bytes into "
                f"Staging Area with a memory limit of '{self._limit}'."
            )

    def _is_full(self, elements: int, more: int) -> bool:
        """Whether there is no capacity for an element of some bytes."""
        many = bool(self._capacity) and elements >= self._capacity
        return many or (bool(self._limit) and self._bytes + more > self._limit)


class Elements(_Area):
    """The elements of a StagingArea, in their order."""

    def __init__(self, capacity: int, limit: int) -> None:
        super().__init__(capacity, limit)
        self._rows: list[list[Array]] = []

    def put(self, inputs: Sequence[Array]) -> list[Array] | None:
        """Adds an element."""
        size = _sizes(inputs)
        self._check_bytes(size)
        if self._is_full(len(self._rows), size):
            return None
        self._rows.append([np.array(part) for part in inputs])
        self._bytes += size
        return []

    def get(self, inputs: Sequence[Array]) -> list[Array] | None:
        """Takes the first element."""
        if not self._rows:
            return None
        row = self._rows.pop(0)
        self._bytes -= _sizes(row)
        return row

    def peek(self, inputs: Sequence[Array]) -> list[Array] | None:
        """Gives the element of an index, which stays."""
        index = int(inputs[0])
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def size(self, inputs: Sequence[Array]) -> list[Array]:
        """How many elements there are."""
        return [np.array(len(self._rows), np.int32)]

    def clear(self, inputs: Sequence[Array]) -> list[Array]:
        """Removes all elements."""
        self._rows.clear()
        self._bytes = 0
        return []


class KeyedElements(_Area):
    """The elements of a MapStagingArea by key: complete ones, and those that lack parts.

    Args:
        parts: how many arrays an element has.
        ordered: whether popitem takes the smallest key, else the first that became complete.
        capacity, limit: as of all areas.
    """

    def __init__(self, parts: int, ordered: bool, capacity: int, limit: int) -> None:
        super().__init__(capacity, limit)
        self._parts, self._ordered = parts, ordered
        self._rows: dict[int, list[Array | None]] = {}
        self._partial: dict[int, list[Array | None]] = {}

    def put(self, inputs: Sequence[Array], indices: Sequence[int]) -> list[Array] | None:
        """Adds parts of the element of a key; with the last one it is complete."""
        key, given = int(inputs[0]), inputs[1:]
        _check_order(indices)
        size = _sizes(given)
        self._check_bytes(size)
        complete = len(indices) == self._parts
        if self._is_full(len(self._rows) if complete else 0, size):
            return None
        row = self._partial.setdefault(key, [None] * self._parts)
        for index in indices:
            self._check_index(index, key)
            if row[index] is not None:
                raise errors.InvalidArgumentError(
                    message=f"The tensor for index '{index}' for key '{key}' was already "
                    f"initialized '{self._parts}'."
                )
        for index, part in zip(indices, given, strict=True):
            row[index] = np.array(part)
        self._bytes += size
        if all(part is not None for part in row):
            del self._partial[key]
            self._rows.setdefault(key, row)
        return []

    def _check_index(self, index: int, key: int) -> None:
        if not 0 <= index < self._parts:
            raise errors.InvalidArgumentError(
                message=f"Index '{index}' for key '{key}' was out of bounds '{self._parts}'."
            )

    def _found(self, key: int, indices: Sequence[int], take: bool) -> list[Array]:
        row, found = self._rows[key], []
        _check_order(indices)
        for index in indices:
            self._check_index(index, key)
            part = row[index]
            if part is None:
                raise errors.InvalidArgumentError(
                    message=f"Tensor at index '{index}' for key '{key}' has already been removed."
                )
            found.append(part)
        if take:
            for index in indices:
                row[index] = None
            self._bytes -= _sizes(found)
            if all(part is None for part in row):
                del self._rows[key]
        return found

    def get(self, inputs: Sequence[Array], indices: Sequence[int]) -> list[Array] | None:
        """Takes parts of the element of a key."""
        key = int(inputs[0])
        return self._found(key, indices, True) if key in self._rows else None

    def peek(self, inputs: Sequence[Array], indices: Sequence[int]) -> list[Array] | None:
        """Gives parts of the element of a key, which stay."""
        key = int(inputs[0])
        return self._found(key, indices, False) if key in self._rows else None

    def popitem(self, inputs: Sequence[Array], indices: Sequence[int]) -> list[Array] | None:
        """Takes parts of an element: its key, and the parts."""
        if not self._rows:
            return None
        key = min(self._rows) if self._ordered else next(iter(self._rows))
        return [np.array(key, np.int64), *self._found(key, indices, True)]

    def size(self, inputs: Sequence[Array]) -> list[Array]:
        """How many elements are complete."""
        return [np.array(len(self._rows), np.int32)]

    def incomplete_size(self, inputs: Sequence[Array]) -> list[Array]:
        """How many elements lack parts."""
        return [np.array(len(self._partial), np.int32)]

    def clear(self, inputs: Sequence[Array]) -> list[Array]:
        """Removes all elements."""
        self._rows.clear()
        self._partial.clear()
        self._bytes = 0
        return []


def _check_order(indices: Sequence[int]) -> None:
    if any(one >= two for one, two in zip(indices, indices[1:], strict=False)):
        raise errors.InvalidArgumentError(message="Indices are not strictly ordered")
