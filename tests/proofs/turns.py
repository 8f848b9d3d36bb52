"""Several processes at one folder, one call of the system at a time, in an order that is given.

Each actor is a thread that stops before each call that others can see or that sees others; the
order says who makes the next ones. One that is killed makes no call any more, and the system lets
go of its locks.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from crash_states import Operation, Recorder

from graphio.storage import files, stores
from graphio.support import errors

#: reads of a store that see what others do
READS = ("read", "entries", "exists", "size", "open")
_ACTORS: dict[int, Actor] = {}


class Killed(BaseException):
    """The process is no more."""


class Actor(threading.Thread):
    """A process that does one thing.

    Args:
        name: for messages.
        task: what it does, by a layer that it is given; returns what it acknowledges.

    Attributes:
        result: what it acknowledged, once it has ended well.
        trouble: the error that it ended with.
        ended: whether it will make no call any more.
    """

    def __init__(self, name: str, task: Callable[[files.FileLayer], int], recorder: Recorder):
        super().__init__(name=name, daemon=True)
        self._task, self._layer = task, _Layer(self, recorder)
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.result: int | None = None
        self.trouble: BaseException | None = None
        self.ended = self.dead = False

    def run(self) -> None:
        """As Thread."""
        _ACTORS[threading.get_ident()] = self
        self._go.acquire()
        try:
            self.result = self._task(self._layer)
        except BaseException as error:
            self.trouble = error
        finally:
            del _ACTORS[threading.get_ident()]
            self.ended = True
            self._stopped.release()

    def step(self) -> None:
        """Lets it make one call."""
        if not self.ended:
            self._go.release()
            if not self._stopped.acquire(timeout=60):
                raise AssertionError(f"{self.name} waits for something")

    def kill(self) -> None:
        """Ends it before its next call."""
        self.dead = True
        while not self.ended:
            self.step()

    def stop(self) -> None:
        """Before a call: waits until it may make it."""
        if not self.dead:
            self._stopped.release()
            self._go.acquire()
        if self.dead:
            raise Killed


class _Layer(files.FileLayer):
    """Stops before each call, and does it by a recorder."""

    def __init__(self, actor: Actor, recorder: Recorder) -> None:
        self._actor, self._recorder = actor, recorder

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        actor, call = self._actor, getattr(self._recorder, name)

        def method(*arguments: Any) -> Any:
            if actor.dead and name == "close":
                return os.close(*arguments)
            # No other process reads temporary files; a record is removed under its lock.
            record = name == "remove" and arguments[0].endswith(".index")
            if actor.dead or (name in ("create", "rename", "remove", "sync_folder") and not record):
                actor.stop()
            return call(*arguments)

        return method


@contextlib.contextmanager
def watched_reads() -> Iterator[None]:
    """Inside, actors stop before reads, too."""

    def stopping(call: Callable[..., Any]) -> Callable[..., Any]:
        def method(*arguments: Any, **options: Any) -> Any:
            actor = _ACTORS.get(threading.get_ident())
            if actor is not None:
                actor.stop()
            return call(*arguments, **options)

        return method

    kept = {name: getattr(stores.LocalStore, name) for name in READS}
    for name, call in kept.items():
        setattr(stores.LocalStore, name, stopping(call))
    try:
        yield
    finally:
        for name, call in kept.items():
            setattr(stores.LocalStore, name, call)


class Play:
    """A run of actors in one order.

    Args:
        tasks: by name of the actor.
        order: who makes how many calls, in turn; None: all that it will make.
        killed: who is killed when the order is at its end; the others end by themselves.

    Attributes:
        operations: what was done to the files, with an acknowledgement for each actor that ended
            well.
        calls: how many calls each actor made.
    """

    def __init__(
        self,
        tasks: dict[str, Callable[[files.FileLayer], int]],
        order: Sequence[tuple[str, int | None]],
        killed: str | None = None,
    ) -> None:
        recorder = Recorder()
        self.actors = {name: Actor(name, task, recorder) for name, task in tasks.items()}
        self._recorder, self._reported = recorder, set[str]()
        self.calls = dict.fromkeys(tasks, 0)
        with watched_reads():
            for actor in self.actors.values():
                actor.start()
            for name, count in order:
                self._let(name, count)
            if killed is not None:
                self.actors[killed].kill()
            for name in self.actors:
                self._let(name, None)
        self.operations: list[Operation] = recorder.operations

    def _let(self, name: str, count: int | None) -> None:
        actor = self.actors[name]
        done = 0
        while not actor.ended and (count is None or done < count):
            actor.step()
            done += 1
        self.calls[name] += done
        if actor.result is not None and name not in self._reported:
            self._reported.add(name)
            self._recorder.acknowledge(actor.result)

    def refused(self) -> list[str]:
        """The errors of the actors that were not killed."""
        reported = []
        for name, actor in self.actors.items():
            if actor.trouble is not None and not isinstance(actor.trouble, Killed):
                if not isinstance(actor.trouble, errors.OpError):
                    raise actor.trouble
                reported.append(f"{name}: {actor.trouble}")
        return reported


def orders(names: Sequence[str], calls: int, switches: int) -> Iterator[list[tuple[str, int]]]:
    """All orders of two actors with so many switches, each after at most `calls` calls."""
    first, second = names

    def rest(turn: int, left: int) -> Iterator[list[tuple[str, int]]]:
        if left == 0:
            yield []
            return
        for count in range(1, calls + 1):
            for more in rest(turn + 1, left - 1):
                yield [((first, second)[turn % 2], count), *more]

    yield from rest(0, switches)
    yield from rest(1, switches)


def emptied(folder: Path) -> Path:
    """A folder without its files."""
    for path in folder.iterdir():
        path.unlink()
    return folder
