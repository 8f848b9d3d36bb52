"""Stages that work ahead in separate threads, in order: prefetch and the parallel map."""

from __future__ import annotations

import collections
import concurrent.futures
import queue
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from graphio.data.elements import _Calling
from graphio.data.function import Bound
from graphio.data.stages import Element, Item, Stage
from graphio.support import errors

_END = object()
_SHARE = 32  # elements that a thread of a parallel map takes at once, at most
_Results = concurrent.futures.Future[list[Any]]


class _Ahead:
    """The shared state of a prefetch and its thread; it has no reference to the prefetch."""

    def __init__(self, source: Stage, size: int) -> None:
        self.source, self.size = source, size
        self.changed = threading.Condition()
        self.found: collections.deque[Any] = collections.deque()  # elements, exceptions, or _END
        self.ended = self.busy = self.paused = self.stopped = False
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Makes sure that the thread works."""
        if self.thread is None and not self.ended:
            self.stopped = False
            self.thread = threading.Thread(target=self._work, name="prefetch", daemon=True)
            self.thread.start()

    def stop(self, wait: float | None = None) -> None:
        """Ends the thread after the element that it is at; waits for that, or some seconds."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(wait)
        self.thread = None

    def _idle(self) -> bool:
        return self.ended or self.paused or len(self.found) >= self.size

    def _work(self) -> None:
        while True:
            with self.changed:
                while self._idle() and not self.stopped:
                    self.changed.wait(1.0)  # a finalizer in this thread cannot wake it
                if self.stopped:
                    return
                self.busy = True
            found: Any
            try:
                elements = self.source.elements(1)
                found = elements[0] if elements else _END
            except BaseException as error:
                found = error
            with self.changed:
                self.busy = False
                self.ended = found is _END
                self.found.append(found)
                self.changed.notify_all()

    def take(self) -> Any:
        """The next of found; waits for it."""
        with self.changed:
            while not self.found:
                if self.stopped:
                    raise errors.CancelledError(message="the session was closed")
                self.changed.wait()
            if self.found[0] is _END:
                return _END
            found = self.found.popleft()
            self.changed.notify_all()
            return found


class Prefetch(Stage):
    """Elements made ahead by a thread."""

    kind = "prefetch"
    never_more = True

    def __init__(self, source: Stage, size: int) -> None:
        super().__init__(source)
        self._ahead = _Ahead(source, size)
        weakref.finalize(self, self._ahead.stop, 0.0).atexit = False

    def pull(self, count: int) -> Sequence[Item]:
        self._ahead.start()
        found: list[Element] = []
        while len(found) < count:
            next_one = self._ahead.take()
            if next_one is _END:
                break
            if isinstance(next_one, BaseException):
                raise next_one
            found.append(next_one)
        return found

    def restart(self) -> None:
        self._ahead.found.clear()
        self._ahead.ended = False

    def rewind(self) -> None:
        self._ahead.stop()
        super().rewind()

    def save(self) -> Any:
        ahead = self._ahead
        with ahead.changed:
            ahead.paused = True
            while ahead.busy:
                ahead.changed.wait()
        try:
            return super().save()
        finally:
            with ahead.changed:
                ahead.paused = False
                ahead.changed.notify_all()

    def load(self, saved: Any) -> None:
        self._ahead.stop()
        super().load(saved)

    def saved_position(self) -> Any:
        elements = [f for f in self._ahead.found if isinstance(f, list)]
        return [elements, self._ahead.ended]

    def set_saved_position(self, saved_position: Any) -> None:
        elements, ended = saved_position
        self._ahead.found = collections.deque([*elements, _END] if ended else elements)
        self._ahead.ended = ended

    def close(self) -> None:
        self._ahead.stop(1.0)
        super().close()


class _Workers:
    """Threads that call a function, each with a separate copy."""

    def __init__(self, function: Bound, count: int) -> None:
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = count
        for _ in range(count):
            threading.Thread(
                target=_serve, args=(function, self._tasks), name="map", daemon=True
            ).start()

    def submit(self, elements: list[Element]) -> _Results:
        """A future of the function's results, or error, for each element."""
        future: _Results = concurrent.futures.Future()
        self._tasks.put((future, elements))
        return future

    def stop(self) -> None:
        """Ends the threads when they have done what was submitted."""
        for _ in range(self._count):
            self._tasks.put(None)


def _serve(function: Bound, tasks: queue.SimpleQueue[Any]) -> None:
    run = None
    while (task := tasks.get()) is not None:
        future, elements = task
        found: list[Any] = []
        for element in elements:
            try:
                run = run or function.another()[1]
                found.append(function(element, run=run))
            except BaseException as error:
                found.append(error)
        future.set_result(found)


class ParallelMap(_Calling):
    """As Map, several elements at a time. Threads take more at once where more are requested."""

    kind = "parallel_map"
    never_more = True

    def __init__(self, source: Stage, function: Bound, count: int) -> None:
        super().__init__(source, function)
        self.count = count
        self.pending: collections.deque[tuple[list[Element], _Results]] = collections.deque()
        self.ready: collections.deque[tuple[Element, Any]] = collections.deque()
        self.ended = False
        self._workers: _Workers | None = None

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        share = max(1, min(_SHARE, count // self.count))
        while len(found) < count:
            self._fill(share)
            if not self.ready and self.pending:
                elements, future = self.pending.popleft()
                self.ready.extend(zip(elements, future.result(), strict=True))
            if not self.ready:
                break
            result = self.ready.popleft()[1]
            if isinstance(result, BaseException):
                raise result
            found.append(result)
        return found

    def _fill(self, share: int) -> None:
        while len(self.pending) < 2 * self.count and not self.ended:
            elements: list[Element] = []
            try:
                while len(elements) < share and not self.ended:
                    found = self.source.elements(1)
                    elements += found
                    self.ended = not found
            except Exception as error:
                self._submit(elements)
                failed: _Results = concurrent.futures.Future()
                failed.set_result([error])
                self.pending.append(([[]], failed))
                return
            self._submit(elements)

    def _submit(self, elements: list[Element]) -> None:
        if self._workers is None and elements:
            self._workers = _Workers(self.function, self.count)
            weakref.finalize(self, self._workers.stop).atexit = False
        if self._workers is not None and elements:
            self.pending.append((elements, self._workers.submit(elements)))

    def restart(self) -> None:
        self.pending.clear()
        self.ready.clear()
        self.ended = False

    def saved_position(self) -> Any:
        waiting = [element for element, _ in self.ready]
        waiting += [element for elements, _ in self.pending for element in elements]
        return [[element for element in waiting if element], self.ended, super().saved_position()]

    def set_saved_position(self, saved_position: Any) -> None:
        self.restart()
        self.ended = saved_position[1]
        super().set_saved_position(saved_position[2])
        for element in saved_position[0]:
            self._submit([element])

    def close(self) -> None:
        self.pending.clear()
        if self._workers is not None:
            self._workers.stop()
            self._workers = None
        super().close()
