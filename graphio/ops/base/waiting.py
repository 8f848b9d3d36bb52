"""Operations that wait for others, such as a queue's: a session runs them outside of its engine.

A run of an engine holds the state's lock, so nothing in it may wait for another run. The functions
of these operations are generators, or plain functions where they never wait. A generator yields
what it waits for, a collection of attempts, and goes on when one of them is done. The driver of a
run (graphio/execution/waiting.py) waits with no lock held.

An engine that reaches such an operation by itself, in a loop or in a function of a dataset, calls
it as any function of the program; there it fails if it would have to wait.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from typing import Any, TypeVar

from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.host import host_call
from graphio.support import errors

__all__ = [
    "Attempt",
    "Resources",
    "Turn",
    "WaitingFunction",
    "resources_of",
    "wait",
    "waiting_call",
    "waiting_function",
]

T = TypeVar("T")
#: yields what it waits for, returns the outputs
Steps = Generator[Collection["Attempt"], None, T]
Function = Callable[[list[Any]], "list[Any] | Steps[list[Any]]"]
Bind = Callable[[Any], Function]


class Attempt:
    """Something that a run waits for.

    Attributes:
        done: whether it has ended.
        results: what it gave.
        error: why it failed; None: it did not.
        notify: called, in any thread, when it has ended.
    """

    __slots__ = ("done", "error", "notify", "results")

    def __init__(self) -> None:
        self.done = False
        self.results: Any = None
        self.error: errors.OpError | None = None
        self.notify: Callable[[], object] | None = None

    def finish(self, results: Any = None, error: errors.OpError | None = None) -> None:
        """Ends it."""
        self.results, self.error = results, error
        self.done = True
        notify = self.notify
        if notify is not None:
            notify()

    def cancel(self) -> None:
        """Ends it with a CancelledError, if it has not ended."""
        raise NotImplementedError


def wait(attempt: Attempt) -> Steps[Any]:
    """Waits for an attempt; returns its results. It is cancelled if the run ends before."""
    try:
        while not attempt.done:
            yield (attempt,)
    finally:
        if not attempt.done:
            attempt.cancel()
    if attempt.error is not None:
        raise attempt.error
    return attempt.results


class Turn:
    """A lock that runs take one after the other, waiting as for anything else."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._others: deque[_Waiter] = deque()

    def take(self) -> Attempt:
        """An attempt to take it."""
        made = _Waiter(self)
        with self._lock:
            if self._taken:
                self._others.append(made)
                return made
            self._taken = True
        made.finish()
        return made

    def give_back(self) -> None:
        """Lets the next one take it."""
        with self._lock:
            following = self._others.popleft() if self._others else None
            self._taken = following is not None
        if following is not None:
            following.finish()

    def leave(self, waiter: _Waiter) -> bool:
        """Takes one that waits out of the row; False: it has the lock."""
        with self._lock:
            if waiter not in self._others:
                return False
            self._others.remove(waiter)
            return True


class _Waiter(Attempt):
    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self._turn = turn

    def cancel(self) -> None:
        if self._turn.leave(self):
            self.finish(error=errors.CancelledError(message="Operation was cancelled"))


class Resources:
    """The queues and similar objects of one session, and its runs that wait.

    Attributes:
        closed: whether the session was closed.
    """

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.RLock()
        self._found: dict[Any, Any] = {}
        self._made = 0
        self._runs: set[Callable[[], object]] = set()

    def get(self, key: Any, make: Callable[[], T]) -> T:
        """The resource of a key, made at its first use."""
        with self._lock:
            if key not in self._found:
                self._found[key] = make()
            found: T = self._found[key]
            return found

    def find(self, key: Any) -> Any:
        """The resource of a key; None: there is none."""
        return self._found.get(key)

    def number(self) -> int:
        """A number that no other call gives."""
        with self._lock:
            self._made += 1
            return self._made - 1

    def enter(self, cancel: Callable[[], object]) -> None:
        """Notes a run that waits; cancel is called when the session is closed."""
        with self._lock:
            self._runs.add(cancel)

    def leave(self, cancel: Callable[[], object]) -> None:
        """Forgets a run."""
        with self._lock:
            self._runs.discard(cancel)

    def close(self) -> None:
        """Cancels the runs that wait; called when the session is closed."""
        with self._lock:
            self.closed = True
            runs = list(self._runs)
        for cancel in runs:
            cancel()


def resources_of(session: Any) -> Resources:
    """The resources of a session."""
    found: Resources = session.resources.setdefault("queues", Resources())
    return found


def waiting_call(
    bind: Bind,
    inputs: Sequence[Tensor],
    outputs: Iterable[tuple[DType, TensorShape]],
    *,
    function: str,
    name: str | None = None,
    tf_type: str | None = None,
) -> Operation:
    """An operation that may wait, in the current graph.

    Args:
        bind: from a session to a function that takes the inputs as a list of arrays, which it does
            not change, and gives a list of arrays or is a generator of Steps; at module level, so
            that graphs pickle.
        inputs: tensors.
        outputs: dtype and static shape of each.
        function: its name in files, made unique; errors show it.
        name, tf_type: of the operation.
    """
    return host_call(
        WaitingFunction(bind, function),
        inputs,
        list(outputs),
        function=function,
        name=name,
        tf_type=tf_type,
    )


def waiting_function(operation: Operation) -> Bind | None:
    """The function of an operation that waits; None: it does not."""
    if operation.op != "HostCall" or operation.domain != "graphio":
        return None
    name = operation.attrs["function"]
    found = operation.graph.root.host_functions.get(
        name.decode() if isinstance(name, bytes) else name
    )
    return found.bind if isinstance(found, WaitingFunction) else None


class WaitingFunction:
    """A host function that waits.

    Attributes:
        bind: see waiting_call.
        name: for errors.

    Called with a session, it gives the function as an engine calls it, where nothing can wait.
    """

    def __init__(self, bind: Bind, name: str) -> None:
        self.bind = bind
        self.name = name

    def __call__(self, session: Any) -> Callable[[list[Any]], list[Any]]:
        return functools.partial(_at_once, self.bind(session), self.name)


def _at_once(called: Function, name: str, inputs: list[Any]) -> list[Any]:
    steps = called(inputs)
    if isinstance(steps, list):
        return steps
    try:
        while all(attempt.done for attempt in next(steps)):
            pass
    except StopIteration as ended:
        found: list[Any] = ended.value
        return found
    steps.close()
    raise errors.FailedPreconditionError(
        message=f"{name} would have to wait, and cannot here: inside of a loop, of a dataset's "
        "function or of a debugger's step all other runs wait for this one; use it outside"
    )
