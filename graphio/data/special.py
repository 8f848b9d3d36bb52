"""Rarer parts of tf.data.experimental: random numbers, sizes, and what is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.data import elements, graphs, stages, threads
from graphio.data.dataset import AUTOTUNE, Dataset
from graphio.data.function import Opening, Runner
from graphio.data.stages import Draws, Item, Stage
from graphio.data.structure import Spec
from graphio.framework import dtypes, scopes
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.host import host_call
from graphio.support import api_guard

__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "RandomDataset",
    "cardinality",
    "copy_to_device",
    "prefetch_to_device",
]

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
_SCALAR = TensorShape([])


class _Numbers(Stage):
    """Random numbers of 32 bits, without end."""

    kind = "RandomDataset"

    def __init__(self, key: int) -> None:
        super().__init__()
        self.key, self.epoch = key, -1
        self.restart()

    def restart(self) -> None:
        self.epoch += 1
        self.drawn = 0
        self._draws = Draws(self.key, self.epoch)

    def pull(self, count: int) -> list[Item]:
        found = self._draws(self.drawn, count)
        self.drawn += count
        return [[np.array(number >> 32, np.int64)] for number in found]

    def saved_position(self) -> Any:
        return [self.key, self.epoch, self.drawn]

    def set_saved_position(self, saved_position: Any) -> None:
        self.key, self.epoch, self.drawn = saved_position
        self._draws = Draws(self.key, self.epoch)


class RandomDataset(Dataset):
    """Random int64 numbers below 2^32, without end.

    Args:
        seed: see Dataset.shuffle.
    """

    def __init__(self, seed: int | None = None) -> None:
        key = scopes.get_default_graph().root.seeds.key(seed)
        super().__init__(
            Spec(dtypes.int64, _SCALAR), lambda o: _Numbers(o.new_key() if key is None else key)
        )


def _at_most(limit: int, count: int) -> int:
    return limit if count == INFINITE_CARDINALITY else min(limit, count)


def _times(times: int, count: int) -> int:
    if count == 0 or times == 0:
        return 0
    return INFINITE_CARDINALITY if times < 0 or count < 0 else times * count


def _batches(stage: Any, count: int) -> int:
    if count < 0:
        return count
    size = int(stage.size)
    return count // size if stage.drop else -(-count // size)


def _sum(counts: list[int]) -> int:
    return INFINITE_CARDINALITY if INFINITE_CARDINALITY in counts else sum(counts)


def _least(counts: list[int]) -> int:
    finite = [n for n in counts if n >= 0]
    return min(finite) if finite else INFINITE_CARDINALITY


#: kind of a stage to its number of elements, from those of its inputs, all of which are known
_COUNTS: dict[type[Stage], Callable[[Any, list[int]], int]] = {
    _Numbers: lambda stage, n: INFINITE_CARDINALITY,
    stages.Slices: lambda stage, n: stage.length,
    stages.Tensors: lambda stage, n: 1,
    stages.Range: lambda stage, n: len(stage.numbers),
    stages.Take: lambda stage, n: n[0] if stage.count < 0 else _at_most(stage.count, n[0]),
    stages.Skip: lambda stage, n: (
        0 if stage.count < 0 else n[0] if n[0] < 0 else max(0, n[0] - stage.count)
    ),
    stages.Repeat: lambda stage, n: _times(stage.count, n[0]),
    stages.Shard: lambda stage, n: (
        n[0] if n[0] < 0 else max(0, -(-(n[0] - stage.index) // stage.number))
    ),
    stages.Shuffle: lambda stage, n: n[0],
    stages.Cache: lambda stage, n: n[0],
    stages.Zip: lambda stage, n: _least(n),
    stages.Concatenate: lambda stage, n: _sum(n),
    elements.Map: lambda stage, n: n[0],
    elements.Scan: lambda stage, n: n[0],
    elements.Batch: lambda stage, n: _batches(stage, n[0]),
    elements.PaddedBatch: lambda stage, n: _batches(stage, n[0]),
    threads.ParallelMap: lambda stage, n: n[0],
    threads.Prefetch: lambda stage, n: n[0],
}


def _count(stage: Stage) -> int:
    counts = [_count(inner) for inner in stage.inputs]
    rule = _COUNTS.get(type(stage))
    if rule is None or UNKNOWN_CARDINALITY in counts:
        return UNKNOWN_CARDINALITY
    return rule(stage, counts)


@api_guard.unguarded
def cardinality(dataset: Dataset) -> Tensor:
    """The number of a dataset's elements, as far as it is known without running it.

    Returns:
        A scalar int64 tensor; INFINITE_CARDINALITY where there is no end, UNKNOWN_CARDINALITY
        after filter, flat_map, generators and files.

    Raises:
        ValueError: the dataset is of another graph than the default one.
    """
    graphs.check(dataset)
    tensors = list(dataset.captures)

    def bind(session: Any) -> Any:
        runner = Runner(session)

        def run(values: Any) -> Any:
            stage = dataset.open(Opening(runner, dict(zip(tensors, values, strict=True))))
            count = _count(stage)
            stage.close()
            return [np.int64(count)]

        return run

    return host_call(
        bind,
        tensors,
        [(dtypes.int64, _SCALAR)],
        function="ExperimentalDatasetCardinality",
        stateful=False,
        tf_type="ExperimentalDatasetCardinality",
    ).outputs[0]


def without_errors(dataset: Dataset) -> Dataset:
    """The elements of a dataset that can be had; those whose making raises are left out."""
    return dataset._derived(lambda o: elements.IgnoreErrors(dataset.open(o)))


@api_guard.unguarded
def copy_to_device(target_device: Any, source_device: Any = "/cpu:0") -> Any:
    """Leaves a dataset as it is: there is one device."""
    return lambda dataset: dataset.with_options(dataset.options())


@api_guard.unguarded
def prefetch_to_device(device: Any, buffer_size: Any = None) -> Any:
    """See Dataset.prefetch: there is one device."""
    return lambda dataset: dataset.prefetch(AUTOTUNE if buffer_size is None else buffer_size)
