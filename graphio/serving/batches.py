"""Several requests in one run: those that arrive within a window and fit together.

It pays for models whose run of many rows costs little more than that of one. What a row gives must
not depend on the other rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.engine.interface import TensorSpec
from graphio.serving.failures import invalid
from graphio.serving.runs import Runner

__all__ = ["Batches", "by_rows"]

Array = np.ndarray[Any, Any]
_Key = tuple[tuple[int, ...], ...]


def by_rows(specs: Sequence[TensorSpec]) -> bool:
    """Whether all tensors of a signature have a first dimension of any size."""
    return bool(specs) and all(
        spec.shape is not None and spec.shape[:1] == (None,) and not spec.kinds for spec in specs
    )


class _Group:
    """Requests for one run."""

    def __init__(self) -> None:
        self.rows = 0
        self.inputs: list[Sequence[Array]] = []
        self.results: list[asyncio.Future[list[Array]]] = []
        self.timer: asyncio.TimerHandle | None = None


class Batches:
    """Has the interface of a Runner.

    Args:
        runner: of a signature of which by_rows holds.
        window: seconds that the first request of a group waits.
        most: rows of a run.
    """

    def __init__(self, runner: Runner, window: float, most: int) -> None:
        self._runner = runner
        self._window = window
        self._most = most
        self._groups: dict[_Key, _Group] = {}
        self._running: set[asyncio.Task[None]] = set()  # the event loop holds them weakly

    async def run(self, inputs: Sequence[Array]) -> list[Array]:
        """As Runner.run. A run that fails is repeated for each of its requests alone."""
        rows = {array.shape[0] if array.ndim else 0 for array in inputs}
        if len(rows) != 1 or not 0 < (count := rows.pop()) < self._most:
            return await self._runner.run(inputs)
        key = tuple(array.shape[1:] for array in inputs)
        group = self._groups.get(key)
        if group is not None and group.rows + count > self._most:
            self._start(key)
            group = None
        loop = asyncio.get_running_loop()
        if group is None:
            group = self._groups[key] = _Group()
            group.timer = loop.call_later(self._window, self._start, key)
        result: asyncio.Future[list[Array]] = loop.create_future()
        group.rows += count
        group.inputs.append(inputs)
        group.results.append(result)
        if group.rows == self._most:
            self._start(key)
        return await result

    def _start(self, key: _Key) -> None:
        group = self._groups.pop(key)
        if group.timer is not None:
            group.timer.cancel()
        task = asyncio.get_running_loop().create_task(self._run(group))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _run(self, group: _Group) -> None:
        if len(group.inputs) == 1:
            await self._alone(group.inputs[0], group.results[0])
            return
        try:
            joined = [np.concatenate(parts) for parts in zip(*group.inputs, strict=True)]
            found = await self._runner.run(joined)
            parts = _split(found, [inputs[0].shape[0] for inputs in group.inputs])
        except Exception:
            for inputs, result in zip(group.inputs, group.results, strict=True):
                await self._alone(inputs, result)
            return
        for part, result in zip(parts, group.results, strict=True):
            if not result.done():  # its request may have been cancelled
                result.set_result(part)

    async def _alone(self, inputs: Sequence[Array], result: asyncio.Future[list[Array]]) -> None:
        try:
            found = await self._runner.run(inputs)
        except Exception as error:
            if not result.done():
                result.set_exception(error)
        else:
            if not result.done():
                result.set_result(found)


def _split(results: Sequence[Array], counts: Sequence[int]) -> list[list[Array]]:
    """The results of each request.

    Raises:
        InvalidArgumentError: a result has another number of rows than the inputs.
    """
    total = sum(counts)
    for array in results:
        if array.ndim == 0 or array.shape[0] != total:
            raise invalid(f"a result has shape {array.shape}, expected {total} rows")
    ends = np.cumsum(counts)[:-1].tolist()
    return [list(parts) for parts in zip(*(np.split(a, ends) for a in results), strict=True)]
