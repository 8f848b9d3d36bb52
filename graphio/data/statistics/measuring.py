"""Transformations that record statistics of a pipeline; see StatsAggregator."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.data.dataset import Dataset
from graphio.data.function import Opening
from graphio.data.stages import Element, Item, Stage
from graphio.data.statistics.aggregator import StatsAggregator
from graphio.framework import dtypes
from graphio.framework.constants import as_array
from graphio.framework.tensor import Tensor
from graphio.support import api_guard

__all__ = ["bytes_produced_stats", "latency_stats", "set_stats_aggregator"]

Transformation = Callable[[Dataset], Dataset]
Record = Callable[[str, float], None]
#: from an element and the seconds that it took to a number
Measure = Callable[[Element, float], float]


class _Measured(Stage):
    """The elements, each of which is measured."""

    kind = "stats"
    never_more = True

    def __init__(self, source: Stage, tag: str, measure: Measure, record: Record) -> None:
        super().__init__(source)
        self.source, self.tag, self.measure, self.record = source, tag, measure, record

    def pull(self, count: int) -> list[Item]:
        found: list[Element] = []
        while len(found) < count:
            start = time.perf_counter()
            element = self.source.elements(1)
            if not element:
                break
            self.record(self.tag, self.measure(element[0], time.perf_counter() - start))
            found += element
        return found


@api_guard.unguarded
def latency_stats(tag: Any) -> Transformation:
    """Records the microseconds that each element takes.

    Args:
        tag: of the histogram: a string, or a scalar string tensor.
    """
    return _measuring(tag, lambda element, seconds: float(int(seconds * 1e6)))


@api_guard.unguarded
def bytes_produced_stats(tag: Any) -> Transformation:
    """Records the bytes of each element; of strings those of their characters.

    Args:
        tag: of the histogram: a string, or a scalar string tensor.
    """
    return _measuring(tag, lambda element, seconds: float(sum(map(_bytes, element))))


def _bytes(component: Any) -> int:
    if isinstance(component, list):  # the elements of a dataset
        return sum(_bytes(part) for element in component for part in element)
    array = np.asarray(component)
    if array.dtype == object:
        return sum(len(text) for text in array.reshape(-1).tolist())
    return int(array.nbytes)


def _measuring(tag: Any, measure: Measure) -> Transformation:
    text = tag if isinstance(tag, Tensor) else as_array(tag, dtypes.string)

    def apply(dataset: Dataset) -> Dataset:
        def opened(o: Opening) -> Stage:
            stage = dataset.open(o)
            if o.record is None:
                return stage
            return _Measured(stage, bytes(o.value(text)[()]).decode(), measure, o.record)

        return dataset._derived(opened, given=[text])

    return apply


@api_guard.unguarded
def set_stats_aggregator(
    stats_aggregator: StatsAggregator, prefix: str = "", counter_prefix: str = ""
) -> Transformation:
    """Records the statistics of a dataset into an aggregator.

    Args:
        stats_aggregator: see there.
        prefix: with one, tags are prefix::tag.
        counter_prefix: of counters, of which there are none: it has no effect.
    """

    def apply(dataset: Dataset) -> Dataset:
        made = dataset._derived(dataset.open)
        made._options.experimental_stats.aggregator = stats_aggregator
        made._options.experimental_stats.prefix = prefix
        return made

    return apply
