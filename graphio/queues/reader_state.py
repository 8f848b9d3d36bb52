"""A reader as a session has it: its position in its work, and the counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphio.ops.base.waiting import Steps, Turn, wait
from graphio.queues.contents import Contents
from graphio.queues.record_files import KINDS, Record
from graphio.schema import wire
from graphio.support import errors

__all__ = ["ReaderState"]


class ReaderState:
    """A reader, which takes work from a queue, such as the name of a file, when it has none.

    Args:
        kind: a key of KINDS.
        name: for errors.
        settings: of the kind.

    Attributes:
        produced: how many records it has given.
        finished: how many pieces of work it has ended.
    """

    def __init__(self, kind: str, name: str, settings: dict[str, Any]) -> None:
        self._title = f"{kind} '{name}'"
        self._kind, self._settings = KINDS[kind], settings
        self._turn = Turn()
        self._work = b""
        self._running: Iterator[Record] | None = None
        self._ahead: Record | None = None
        self._started = self.finished = self.produced = 0

    def read(self, queue: Contents, count: int) -> Steps[list[Record]]:
        """The next records of the current piece of work, or of the next one: at least one."""
        yield from wait(self._turn.take())
        try:
            found: list[Record] = []
            while not found:
                if self._running is None:
                    (work,) = yield from wait(queue.dequeue())
                    self._begin(bytes(work.item()))
                found = self._records(count)
            self.produced += len(found)
            return found
        finally:
            self._turn.give_back()

    def _begin(self, work: bytes) -> None:
        self._work, self._started = work, self._started + 1
        self._running = self._kind.records(work, **self._settings)

    def _records(self, count: int) -> list[Record]:
        assert self._running is not None
        found: list[Record] = []
        try:
            while len(found) < count:
                found.append(next(self._running))
                if self._kind.serializes:  # it has one record
                    self._end()
                    break
        except StopIteration:
            self._end()
        except BaseException:
            self._end()
            raise
        return found

    def _end(self) -> None:
        self._stop()
        self.finished = self._started

    def _stop(self) -> None:
        close = getattr(self._running, "close", None)
        self._running = None
        if close is not None:
            close()

    def reset(self) -> Steps[list[Any]]:
        """Begins again, with other work."""
        yield from wait(self._turn.take())
        self._stop()
        self._work, self._started, self.finished, self.produced = b"", 0, 0, 0
        self._turn.give_back()
        return []

    # ---- the state as bytes, in the form of TensorFlow's ReaderBaseState ----

    def serialized(self) -> Steps[bytes]:
        """The counts and the last work.

        Raises:
            UnimplementedError: the reader may be inside of a file.
        """
        self._check_serializes("SerializeState")
        yield from wait(self._turn.take())
        self._turn.give_back()
        return _encoded(self._started, self.finished, self.produced, self._work)

    def restore(self, state: bytes) -> Steps[list[Any]]:
        """Takes up a state of serialized.

        Raises:
            UnimplementedError: as serialized. InvalidArgumentError: it is not one.
        """
        self._check_serializes("RestoreState")
        try:
            counts, work = _decoded(state)
            if _encoded(*counts, work) != state or counts[0] != counts[1] or not work:
                raise ValueError("the counts do not fit each other")
        except (ValueError, IndexError) as error:
            raise errors.InvalidArgumentError(
                message=f"Could not parse state for {self._title}: {state!r} ({error})"
            ) from None
        yield from wait(self._turn.take())
        self._stop()
        self._started, self.finished, self.produced = counts
        self._work = work
        self._turn.give_back()
        return []

    def _check_serializes(self, what: str) -> None:
        if not self._kind.serializes:
            raise errors.UnimplementedError(message=f"Reader {what}: {self._title} has none")


def _encoded(started: int, finished: int, produced: int, work: bytes) -> bytes:
    numbers = (started, finished, produced)
    parts = [bytes([i << 3]) + wire.varint(n) for i, n in enumerate(numbers, 1) if n]
    return b"".join(parts) + (wire.sized(b"\x22", work) if work else b"")


def _decoded(state: bytes) -> tuple[tuple[int, int, int], bytes]:
    """The counts and the work. Raises ValueError, IndexError: it is something else."""
    counts, work, at = [0, 0, 0], b"", 0
    while at < len(state):
        key = state[at]
        number, at = _number(state, at + 1)
        if key == 0x22:
            work, at = state[at : at + number], at + number
        elif key in (0x08, 0x10, 0x18):
            counts[(key >> 3) - 1] = number
        else:
            raise ValueError(f"unknown field {key >> 3}")
    return (counts[0], counts[1], counts[2]), work


def _number(state: bytes, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    number, shift = 0, 0
    while state[at] & 0x80:
        number |= (state[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | state[at] << shift, at + 1
