"""What a run may be watched for: the time of each of its nodes."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.runtime.program import NodeInfo
from graphio.schema.engine import NodeTime


class Watch:
    """The observer of one run.

    Args:
        times: a list to be filled; None: nobody asks.
    """

    def __init__(self, times: list[NodeTime] | None) -> None:
        self._times = times

    def done(self, nodes: Sequence[NodeInfo]) -> None:
        """Notes nodes that take no time."""
        if self._times is not None:
            now = time.time_ns()
            self._times.extend(NodeTime(node.name, now, now) for node in nodes)

    def after(self, node: NodeInfo, start: int, results: list[Any]) -> None:
        """Notes a node that started at a time, and what it gave."""
        if self._times is not None:
            end = time.time_ns()
            arrays = [x for x in results if isinstance(x, (np.ndarray, np.generic))]
            shapes = [(x.dtype, x.shape) for x in arrays]
            self._times.append(NodeTime(node.name, start, end, threading.get_ident(), shapes))
