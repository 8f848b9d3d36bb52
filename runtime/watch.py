"""Observing a run: the time and the values of each of its nodes, and its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.engine.interface import NodeTime
from graphio.runtime.program import NodeInfo
from graphio.support import errors

#: called with a node, its inputs and its results, after it has run
Visit = Callable[[NodeInfo, list[Any], list[Any]], None]


class Watch:
    """The observer of one run.

    Args:
        times: a list to be filled; None: not measured.
        deadline: when the run has to be over, in time.monotonic's seconds; None: never.
        visit: sees each node after it has run, those of branches and loops, too; None: no function.
    """

    def __init__(
        self,
        times: list[NodeTime] | None = None,
        deadline: float | None = None,
        visit: Visit | None = None,
    ) -> None:
        self._times = times
        self._deadline = deadline
        self.visit = visit

    def check_deadline(self) -> None:
        """DeadlineExceededError when the run should be over."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise errors.DeadlineExceededError(
                message="Timed out waiting for notification: the run took longer than timeout_in_ms"
            )

    def done(self, nodes: Sequence[NodeInfo]) -> None:
        """Notes nodes that take no time."""
        if self._times is not None:
            now = time.time_ns()
            self._times.extend(NodeTime(node.name, now, now) for node in nodes)

    def after(self, node: NodeInfo, start: int, inputs: list[Any], results: list[Any]) -> None:
        """Notes a node that started at a time, what it read and what it gave."""
        if self._times is not None:
            end = time.time_ns()
            arrays = [x for x in results if isinstance(x, (np.ndarray, np.generic))]
            shapes = [(x.dtype, x.shape) for x in arrays]
            self._times.append(NodeTime(node.name, start, end, threading.get_ident(), shapes))
        if self.visit is not None:
            self.visit(node, inputs, results)
