"""A queue as a session has it: its elements, and the attempts that wait for some.

As in TensorFlow, attempts to enqueue and to dequeue are each served in order. One for many elements
takes them as they come; when it is cancelled, elements that it took go back to where they were.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.waiting import Attempt
from graphio.support import errors

Array = np.ndarray[Any, Any]
#: the components of an element
Row = tuple[Array, ...]


class _Pending(Attempt):
    """An attempt at a queue.

    Attributes:
        ended: whether it has an end, of which its run may not know yet.
        step: called with the queue's lock held; True: it has ended.
    """

    __slots__ = ("ended", "kind", "queue", "rows", "step")

    def __init__(self, queue: Contents, kind: str) -> None:
        super().__init__()
        self.queue = queue
        self.kind = kind
        self.rows: list[Row] = []  # of one that dequeues: taken; of one that enqueues: to be added
        self.step: Callable[[], bool] = lambda: True
        self.ended = False

    def cancel(self) -> None:
        self.queue.cancel(self)


class Contents:
    """The elements of a FIFOQueue.

    Args:
        kind: TensorFlow's type, for errors.
        name: for errors.
        capacity: how many elements.
        dtypes: of the components.
        shapes: of the components; None: any.
    """

    def __init__(
        self, kind: str, name: str, capacity: int, dtypes: Sequence[DType],
        shapes: Sequence[TensorShape] | None,
    ) -> None:  # fmt: skip
        self.title = f"{kind} '{name}'"
        self.capacity = capacity if capacity >= 0 else 1 << 62
        self.dtypes, self.shapes = list(dtypes), None if shapes is None else list(shapes)
        self.closed = False
        self._changes = 0  # how often an element came or went, or an attempt ended
        self._lock = threading.RLock()
        self._enqueues: deque[_Pending] = deque()
        self._dequeues: deque[_Pending] = deque()
        self._ended: list[tuple[_Pending, Any, errors.OpError | None]] = []
        self._rows: Any = self.new_rows()

    # ---- the elements, in which queues differ ----

    def new_rows(self) -> Any:
        """A container of elements."""
        return deque()

    def push(self, row: Row) -> None:
        """Adds an element."""
        self._rows.append(row)

    def pop(self) -> Row:
        """Takes the next element."""
        row: Row = self._rows.popleft()
        return row

    def restore(self, rows: Iterable[Row]) -> None:
        """Puts elements back that pop gave in this order."""
        self._rows.extendleft(reversed(list(rows)))

    def available(self) -> int:
        """How many elements may be taken now."""
        return len(self._rows)

    def stacked(self, rows: Sequence[Row]) -> list[Array]:
        """The components of several elements, stacked."""
        if not rows:
            return [
                np.zeros((0, *self._known(i)), dtype.as_numpy_dtype)
                for i, dtype in enumerate(self.dtypes)
            ]
        return [_stack(parts) for parts in zip(*rows, strict=True)]

    def _known(self, component: int) -> list[int]:
        assert self.shapes is not None
        return [n or 0 for n in self.shapes[component].as_list()]

    # ---- operations ----

    def size(self) -> int:
        """How many elements it has."""
        with self._lock:
            return len(self._rows)

    def enqueue(self, row: Sequence[Array]) -> Attempt:
        """An attempt to add an element.

        Raises:
            InvalidArgumentError: it has other dtypes or shapes.
        """
        self._check(row, many=False)
        return self._enqueue([tuple(_copied(_encoded(part)) for part in row)])

    def enqueue_many(self, columns: Sequence[Array]) -> Attempt:
        """An attempt to add an element for each row of the columns.

        Raises:
            InvalidArgumentError: they have other dtypes or shapes, or not the same length.
        """
        self._check(columns, many=True)
        encoded = [_encoded(column) for column in columns]
        return self._enqueue([
            tuple(_row(column, i) for column in encoded) for i in range(len(columns[0]))
        ])  # fmt: skip

    def _enqueue(self, rows: list[Row]) -> Attempt:
        made = _Pending(self, "Enqueue")
        if not rows:
            made.finish([])
            return made
        made.rows = rows[::-1]
        made.step = lambda: self._step_enqueue(made)
        return self._begin(made, self._enqueues)

    def _step_enqueue(self, attempt: _Pending) -> bool:
        if self.closed:
            text = f"{self.title} is closed."
            return self._end(attempt, error=errors.CancelledError(message=text))
        while attempt.rows and len(self._rows) < self.capacity:
            self.push(attempt.rows.pop())
            self._changes += 1
        return not attempt.rows and self._end(attempt, [])

    def dequeue(self) -> Attempt:
        """An attempt to take an element: its components."""
        made = _Pending(self, "Dequeue")

        def step() -> bool:
            if self.available() > 0:
                return self._end(made, list(self.pop()))
            return self.closed and self._end(made, error=self._insufficient(1, len(self._rows)))

        made.step = step
        return self._begin(made, self._dequeues)

    def dequeue_many(self, count: int, up_to: bool) -> Attempt:
        """An attempt to take elements: their components, stacked.

        Args:
            count: how many.
            up_to: True: fewer, where the queue is closed and has no more.

        Raises:
            InvalidArgumentError: a negative count, or components without a shape.
        """
        self._check_count(count, "DequeueUpTo" if up_to else "DequeueMany")
        made = _Pending(self, "Dequeue")
        if count == 0:
            made.finish(self.stacked([]))
            return made
        made.step = lambda: self._step_dequeue(made, count, up_to)
        return self._begin(made, self._dequeues)

    def _step_dequeue(self, attempt: _Pending, count: int, up_to: bool) -> bool:
        left, size = count - len(attempt.rows), len(self._rows)
        if self.closed and size < left:
            self.restore(attempt.rows)
            attempt.rows = []
            if not up_to or not self._rows:
                return self._end(attempt, error=self._insufficient(left, size))
            left = len(self._rows)
        while left > 0 and self.available() > 0:
            attempt.rows.append(self.pop())
            self._changes += 1
            left -= 1
        return left == 0 and self._end(attempt, self.stacked(attempt.rows))

    def close(self, cancel_pending_enqueues: bool) -> Attempt:
        """An attempt to close it, which waits for enqueues begun before unless these are
        cancelled."""
        made = _Pending(self, "Close")

        def step() -> bool:
            if self.closed:
                text = f"{self.title} is already closed."
                return self._end(made, error=errors.CancelledError(message=text))
            self.closed = True
            return self._end(made, [])

        made.step = step
        if not cancel_pending_enqueues:
            return self._begin(made, self._enqueues)
        with self._lock:
            self.closed = True
            for attempt in list(self._enqueues):
                self._end(attempt, error=_cancelled(attempt))
            self._enqueues.clear()
            self._end(made, [])
            self._flush()
        self._tell()
        return made

    def cancel(self, attempt: _Pending) -> None:
        """Ends an attempt that has not ended."""
        with self._lock:
            if not attempt.ended:
                self._end(attempt, error=_cancelled(attempt))
                if attempt.kind == "Dequeue":
                    self.restore(attempt.rows)
                for waiting in (self._enqueues, self._dequeues):
                    if attempt in waiting:
                        waiting.remove(attempt)
                self._flush()
        self._tell()

    # ---- attempts ----

    def _begin(self, attempt: _Pending, waiting: deque[_Pending]) -> Attempt:
        with self._lock:
            waiting.append(attempt)
            self._flush()
        self._tell()
        return attempt

    def _flush(self) -> None:
        """Serves the attempts until none can go on."""
        before = -1
        while before != self._changes:
            before = self._changes
            for waiting in (self._enqueues, self._dequeues):
                while waiting and waiting[0].step():
                    waiting.popleft()

    def _end(
        self, attempt: _Pending, results: Any = None, error: errors.OpError | None = None
    ) -> bool:
        attempt.ended = True
        self._changes += 1
        self._ended.append((attempt, results, error))
        return True

    def _tell(self) -> None:
        """Finishes the attempts that have ended, without the lock."""
        while self._ended:
            try:
                attempt, results, error = self._ended.pop(0)
            except IndexError:  # another thread has finished it
                return
            attempt.finish(results, error)

    def _insufficient(self, count: int, size: int) -> errors.OpError:
        return errors.OutOfRangeError(
            message=f"{self.title} is closed and has insufficient elements (requested {count}, "
            f"current size {size})"
        )

    # ---- checks ----

    def _check(self, parts: Sequence[Array], many: bool) -> None:
        for i, part in enumerate(parts):
            if many and (part.ndim == 0 or len(part) != len(parts[0])):
                raise errors.InvalidArgumentError(
                    message=f"All input tensors must have the same size in the 0th dimension. "
                    f"Component {i} has {_rows_of(part)}, and should have {_rows_of(parts[0])}"
                )
            if self.shapes is not None:
                self._check_shape(i, part.shape[1:] if many else part.shape, part.shape, many)

    def _check_shape(
        self, component: int, found: tuple[int, ...], full: tuple[int, ...], many: bool
    ) -> None:
        assert self.shapes is not None
        expected = self.shapes[component]
        if expected.is_compatible_with(found):
            return
        rows = [full[0]] if many else []
        listed = ",".join("?" if n is None else str(n) for n in [*rows, *expected.as_list()])
        raise errors.InvalidArgumentError(
            message=f"Shape mismatch in tuple component {component}. Expected [{listed}], got "
            f"[{','.join(map(str, full))}]"
        )

    def _check_count(self, count: int, what: str) -> None:
        if self.shapes is None:
            kind = self.title.split(" ", 1)[0]
            raise errors.InvalidArgumentError(
                message=f"{kind}'s {what} requires the components to have specified shapes: give "
                "the queue its shapes"
            )
        if count < 0:
            raise errors.InvalidArgumentError(message=f"{what} requested {count} < 0 elements")


class Shuffled(Contents):
    """The elements of a RandomShuffleQueue.

    Args:
        least: how many elements stay while it is not closed.
        seed: of the order; None: another one each time.
    """

    def __init__(self, least: int, seed: int | None, *args: Any) -> None:
        self._least = least
        self._random = np.random.Generator(np.random.PCG64(seed))
        super().__init__(*args)

    def new_rows(self) -> Any:
        return []

    def pop(self) -> Row:
        rows = self._rows
        at = int(self._random.integers(len(rows)))
        rows[at], rows[-1] = rows[-1], rows[at]
        row: Row = rows.pop()
        return row

    def restore(self, rows: Iterable[Row]) -> None:
        self._rows.extend(rows)

    def available(self) -> int:
        return len(self._rows) - (0 if self.closed else self._least)


class Padded(Contents):
    """The elements of a PaddingFIFOQueue: components of one batch get the same shape."""

    def stacked(self, rows: Sequence[Row]) -> list[Array]:
        if not rows:
            return super().stacked(rows)
        return [_padded(parts) for parts in zip(*rows, strict=True)]


class Prioritized(Contents):
    """The elements of a PriorityQueue: the smallest first component comes first."""

    def __init__(self, *args: Any) -> None:
        self._count = 0
        super().__init__(*args)

    def new_rows(self) -> Any:
        return []

    def push(self, row: Row) -> None:
        self._count += 1
        heapq.heappush(self._rows, (int(row[0]), self._count, row))

    def pop(self) -> Row:
        row: Row = heapq.heappop(self._rows)[2]
        return row

    def restore(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.push(row)


def _cancelled(attempt: _Pending) -> errors.OpError:
    return errors.CancelledError(message=f"{attempt.kind} operation was cancelled")


def _rows_of(part: Array) -> str:
    return str(len(part)) if part.ndim else "no dimension"


def _encoded(part: Array) -> Array:
    """Strings as bytes, which is what an operator would get that the program feeds."""
    if part.dtype != object or not any(isinstance(value, str) for value in part.flat):
        return part
    made = np.empty(part.shape, object)
    for position, value in np.ndenumerate(part):
        made[position] = value.encode() if isinstance(value, str) else value
    return made


def _copied(part: Any) -> Array:
    """An array that nothing else changes."""
    return np.array(part, order="C")


def _row(column: Array, row: int) -> Array:
    """A row of a column; text as an array of objects."""
    made = np.empty(column.shape[1:], column.dtype)
    made[...] = column[row]
    return made


def _stack(parts: Sequence[Array]) -> Array:
    made = np.empty((len(parts), *parts[0].shape), parts[0].dtype)
    for i, part in enumerate(parts):
        made[i, ...] = part
    return made


def _padded(parts: Sequence[Array]) -> Array:
    """The parts as rows of one array, filled up with zeros or empty strings."""
    shape = tuple(max(sizes) for sizes in zip(*(part.shape for part in parts), strict=True))
    fill = b"" if parts[0].dtype == object else 0
    made = np.full((len(parts), *shape), fill, parts[0].dtype)
    for i, part in enumerate(parts):
        where: tuple[Any, ...] = (i, *(slice(n) for n in part.shape))
        made[where] = part if part.ndim else part[()]
    return made
