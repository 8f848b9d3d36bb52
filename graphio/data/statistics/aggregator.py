"""Statistics of pipelines that run: StatsAggregator keeps them, in each session apart."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import api_boundary, dtypes, scopes
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.host import host_call
from graphio.schema.histograms import histogram_of
from graphio.schema.summary_pb2 import Summary

__all__ = ["StatsAggregator"]

_PREFIX = "statistics of datasets"


class _Kept:
    """The statistics of a session: how often each number came, by tags."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[float]] = {}

    def add(self, tag: str, number: float) -> None:
        with self._lock:
            self._counts.setdefault(tag, Counter())[number] += 1

    def summary(self) -> Summary:
        made = Summary()
        with self._lock:
            for tag, counts in sorted(self._counts.items()):
                numbers, times = np.array(list(counts.items()), np.float64).T
                made.value.add(tag=tag, histo=histogram_of(numbers, times))
        return made

    def close(self) -> None:
        """A session closes its resources; this one holds no file and no thread."""


class StatsAggregator:
    """Keeps the statistics of datasets: see latency_stats and bytes_produced_stats.

    A dataset gets it as the option experimental_stats.aggregator, and its iterators, of the same
    graph, record into it. Those of several datasets come together.
    """

    def __init__(self) -> None:
        self._name = scopes.get_default_graph().root.unique_name("StatsAggregatorHandle")

    def _kept(self, session: Any) -> _Kept:
        found: _Kept = session.resources.setdefault(f"{_PREFIX}/{self._name}", _Kept())
        return found

    def recorder(self, session: Any, prefix: str) -> Callable[[str, float], None]:
        """Takes statistics of a session; with a prefix tags are prefix::tag."""
        kept, start = self._kept(session), f"{prefix}::" if prefix else ""
        return lambda tag, number: kept.add(start + tag, number)

    @api_boundary.rolling_back
    def get_summary(self) -> Tensor:
        """The statistics up to the run: a scalar string, a Summary with a histogram for each tag,
        in the order of the tags."""

        def bind(session: Any) -> Any:
            kept = self._kept(session)

            def call(inputs: Any) -> list[Any]:
                found = np.empty((), object)
                found[()] = kept.summary().SerializeToString()
                return [found]

            return call

        made = host_call(
            bind,
            [],
            [(dtypes.string, TensorShape([]))],
            function=f"{self._name}/summary",
            name="StatsAggregatorSummary",
            tf_type="StatsAggregatorSummary",
        )
        found: Tensor = made.outputs[0]
        return found
