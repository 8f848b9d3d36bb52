"""Runs of a signature: in the event loop where they take microseconds, else in a thread.

Runs of one model wait for each other, so each model has one thread. A change of threads costs more
than a small run takes, and a large run must not keep other requests waiting: the time of a run of
as many bytes decides. It decides nothing where values, such as the count of a loop, lengthen a run.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from graphio.engine.interface import Signature, TensorSpec
from graphio.schema import functions
from graphio.schema import model_pb2 as pb
from graphio.support import errors

__all__ = ["Runner", "Worker", "is_steady"]

Array = np.ndarray[Any, Any]
T = TypeVar("T")
_HOST = "HostCall"
_QUICK = 0.001  # seconds of a run that may keep the event loop


def is_steady(message: pb.Model, inputs: Iterable[TensorSpec]) -> bool:
    """Whether the sizes of inputs tell how long a run takes.

    Not so with loops and functions of the program, with strings, whose lengths are not among the
    sizes, and with integers, which may be counts and shapes.
    """
    nodes = itertools.chain(message.graph.node, *(f.node for f in message.function))
    plain = all(not functions.subgraphs(node) and node.op != _HOST for node in nodes)
    return plain and all(spec.dtype.kind in "fb" or spec.dtype == np.uint8 for spec in inputs)


class Worker:
    """The thread of a model."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, "graphio-serving")
        self._busy = 0
        self._counting = threading.Lock()

    @property
    def busy(self) -> bool:
        """Whether a run waits for the thread or is in it."""
        return self._busy > 0

    def submit(self, call: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Calls a function in the thread, after those that were submitted before."""
        self._count(1)
        try:
            future = self._threads.submit(call, *arguments)
        except BaseException:
            self._count(-1)
            raise
        future.add_done_callback(lambda done: self._count(-1))
        return asyncio.wrap_future(future)

    def _count(self, by: int) -> None:
        with self._counting:
            self._busy += by


class Runner:
    """Runs one signature.

    Args:
        call: the signature.
        worker: of its model.
        timeout: seconds from the request until its result.
        watched: the engine has no limit of time, so each run is watched.
        steady: the sizes of inputs tell how long a run takes, see `is_steady`.
    """

    def __init__(
        self, call: Signature, worker: Worker, timeout: float, watched: bool, steady: bool = False
    ) -> None:
        self._call = call
        self._worker = worker
        self._timeout = timeout
        self._watched = watched
        self._steady = steady
        self._quick_bytes = -1  # inputs of at most so many bytes were quick

    async def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Results in the order of the signature's outputs.

        Args:
            inputs: in its order, of exactly its dtypes, contiguous.

        Raises:
            DeadlineExceededError: it took too long, waiting included.
            OpError: as the signature's run.
        """
        size = sum(array.nbytes for array in inputs)
        deadline = time.monotonic() + self._timeout
        if size <= self._quick_bytes and not self._worker.busy:
            results, seconds = self._timed(inputs, deadline)
            if seconds > _QUICK:
                self._quick_bytes = -1
            return results
        results, seconds = await self._in_thread(inputs, deadline)
        if self._steady and seconds <= _QUICK:
            self._quick_bytes = max(self._quick_bytes, size)
        return results

    async def _in_thread(
        self, inputs: Sequence[Array], deadline: float
    ) -> tuple[list[Array], float]:
        waiting = self._worker.submit(self._timed, inputs, deadline)
        try:
            return await asyncio.wait_for(waiting, self._timeout)
        except asyncio.TimeoutError as error:
            if isinstance(error, errors.OpError):  # the engine's
                raise
            raise self._late() from None

    def _timed(self, inputs: Sequence[Array], deadline: float) -> tuple[list[Array], float]:
        """Results, and the seconds that they took."""
        started = time.monotonic()
        if started >= deadline:
            raise self._late()
        if self._watched:
            results = self._call.run_watched(inputs, None, deadline)
        else:
            results = self._call.run(inputs)
        return results, time.monotonic() - started

    def _late(self) -> errors.DeadlineExceededError:
        return errors.DeadlineExceededError(
            message=f"the request took longer than {self._timeout:g} s"
        )
