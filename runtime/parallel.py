"""Running independent steps of a block at the same time.

What comes out is what comes out of running them in order: a step waits for those whose results it
reads, for its control inputs, and for earlier uses of a variable, generator or function that it
changes or that change it. Of several failures the first one in order is reported.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphio.engine.run_lock import RunLock
from graphio.runtime.program import GraphInfo, NodeInfo
from graphio.schema import operators

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

#: operators that look at a variable and leave it as it is
_READS = {("graphio", op) for op in ("Variable", "ReadVariable", "IsInitialized")}

Resource = tuple[str, bytes]


class Order:
    """Which steps wait for which, gathered while nodes are added in order."""

    def __init__(self) -> None:
        self._done: dict[str, frozenset[str]] = {}  # by node: the steps after which it is done
        self._waits: dict[str, frozenset[str]] = {}
        self._changed: dict[Resource, str] = {}
        self._looked: dict[Resource, set[str]] = {}

    def add(self, node: NodeInfo, is_step: bool) -> None:
        """Notes a node; one that became no step is done when what it reads is."""
        before = {self._done.get(v.partition(":")[0], frozenset()) for v in node.reads}
        before |= {self._done.get(name, frozenset()) for name in node.controls}
        waits = set(frozenset[str]().union(*before))
        if is_step:
            for resource, changes in resources(node):
                waits |= self._use(node.name, resource, changes)
            self._waits[node.name] = frozenset(waits - {node.name})
            self._done[node.name] = frozenset((node.name,))
        else:
            self._done[node.name] = frozenset(waits)

    def _use(self, name: str, resource: Resource, changes: bool) -> set[str]:
        waits = {self._changed[resource]} if resource in self._changed else set()
        looked = self._looked.setdefault(resource, set())
        if changes:
            waits |= looked
            self._changed[resource] = name
            looked.clear()
        else:
            looked.add(name)
        return waits

    def waits(self, names: Sequence[str]) -> list[list[int]]:
        """For the steps of these nodes: the numbers of those that each waits for."""
        numbers = {name: i for i, name in enumerate(names)}
        return [sorted(numbers[other] for other in self._waits[name]) for name in names]


def resources(node: NodeInfo) -> Iterable[tuple[Resource, bool]]:
    """The variables, generators and functions that a node and its bodies use, and whether they
    change them."""
    row = operators.find(*node.key, node.version)
    if row is not None and row.stateful:
        for key, value in node.attrs.items():
            if isinstance(value, bytes):
                yield (key, value), node.key not in _READS
            if isinstance(value, bytes) and key == "function":  # "name/part" may change "name"
                parts = value.split(b"/")
                for count in range(1, len(parts)):
                    yield (key, b"/".join(parts[:count])), False
    for body in node.bodies.values():
        yield from _of_graph(body)


def _of_graph(graph: GraphInfo) -> Iterable[tuple[Resource, bool]]:
    for node in graph.nodes:
        yield from resources(node)


class Schedule:
    """Runs numbered steps on the calling thread and on those of a pool.

    Args:
        waits: for each step those that must be over before it.
    """

    def __init__(self, waits: Sequence[Sequence[int]]) -> None:
        self._counts = [len(w) for w in waits]
        self._then: list[list[int]] = [[] for _ in waits]
        for i, before in enumerate(waits):
            for j in before:
                self._then[j].append(i)

    def run(
        self, step: Callable[[int], None], pool: ThreadPoolExecutor, threads: int, lock: RunLock
    ) -> None:
        """Runs all steps.

        Args:
            step: runs the step of a number.
            pool: has threads for the other steps.
            threads: how many steps at once.
            lock: of the state, which this thread holds.

        Raises:
            Exception: that of the first step in order that failed.
        """
        turn = _Turn(self._counts, self._then, step)
        others = [pool.submit(turn.help, lock) for _ in range(min(threads, len(self._counts)) - 1)]
        turn.work()
        for other in others:
            if not other.cancel():
                other.result()
        if turn.failure is not None:
            raise turn.failure[1]


class _Turn:
    """One run of a schedule."""

    def __init__(
        self, counts: list[int], then: list[list[int]], step: Callable[[int], None]
    ) -> None:
        self._left = counts[:]
        self._then = then
        self._step = step
        self._ready = [i for i, n in enumerate(counts) if n == 0]  # in order: a heap
        self._running = 0
        self._changed = threading.Condition()
        self.failure: tuple[int, BaseException] | None = None

    def help(self, lock: RunLock) -> None:
        """As work, on a thread of the pool."""
        with lock.shared(), np.errstate(all="ignore"):
            self.work()

    def work(self) -> None:
        """Runs ready steps until no step is left to wait for."""
        while True:
            with self._changed:
                while not self._ready and self._running:
                    self._changed.wait()
                if not self._ready:
                    self._changed.notify_all()
                    return
                i = heapq.heappop(self._ready)
                if self.failure is not None and i > self.failure[0]:
                    continue
                self._running += 1
            problem: BaseException | None = None
            try:
                self._step(i)
            except BaseException as error:
                problem = error
            self._finish(i, problem)

    def _finish(self, i: int, problem: BaseException | None) -> None:
        with self._changed:
            self._running -= 1
            if problem is None:
                for j in self._then[i]:
                    self._left[j] -= 1
                    if not self._left[j]:
                        heapq.heappush(self._ready, j)
            elif self.failure is None or i < self.failure[0]:
                self.failure = (i, problem)
            self._changed.notify_all()
