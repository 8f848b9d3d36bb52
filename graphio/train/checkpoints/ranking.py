"""The best checkpoints by a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, SupportsFloat

import numpy as np

from graphio.schema.checkpoint_index import read_index
from graphio.support import errors

__all__ = ["Ranking", "checked_metrics", "ranking"]

MODES = ("min", "max")


class Ranking(NamedTuple):
    """The rule by which checkpoints are the best.

    Attributes:
        most: how many of them.
        metric: the name of the number that they are compared by.
        mode: "min", the smallest is the best, or "max".
    """

    most: int
    metric: str
    mode: str

    def value(self, metrics: Mapping[str, float] | None) -> float | None:
        """The number of a checkpoint; None: it has none, or NaN, and is never among the best."""
        found = (metrics or {}).get(self.metric, math.nan)
        return None if math.isnan(found) else found

    def saved_value(self, prefix: str) -> float | None:
        """Likewise, of one that was saved; None also where it cannot be read."""
        try:
            index = read_index(prefix)
        except (errors.OpError, ValueError):
            return None
        return self.value({metric.name: metric.value for metric in index.metric})

    def best(self, values: Sequence[float | None]) -> list[int]:
        """The indices of the best, the best first; of equal ones the later is the better."""
        sign = 1.0 if self.mode == "min" else -1.0
        ranked = sorted((sign * v, -i) for i, v in enumerate(values) if v is not None)
        return [-i for _, i in ranked[: self.most]]

    def check(self, metrics: Mapping[str, float] | None) -> None:
        """Refuses metrics of which none is the one. Raises ValueError."""
        if metrics is not None and self.metric not in metrics:
            has = ", ".join(metrics) or "nothing"
            raise ValueError(
                f"metrics has {has}, expected '{self.metric}' among them, the Saver's best_metric"
            )


def ranking(count: Any, metric: Any, mode: Any, max_to_keep: int) -> Ranking | None:
    """The rule of a Saver's arguments; None: it has none.

    Raises:
        TypeError, ValueError: an argument is none, or is without effect; all errors at once.
    """
    if count is None and metric is None and mode is None:
        return None
    wrong = list(_wrong(count, metric, mode, max_to_keep))
    if wrong:
        raise wrong[0][0]("; ".join(text for _, text in wrong))
    return Ranking(int(count), metric, mode)


def _wrong(
    count: Any, metric: Any, mode: Any, max_to_keep: int
) -> Iterator[tuple[type[Exception], str]]:
    """The error in each argument, and its class."""
    if count is None:
        yield ValueError, "best_metric and best_mode do nothing without best_to_keep"
    elif isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        yield TypeError, f"best_to_keep must be an int or None, not {count!r}"
    elif count < 1:
        yield ValueError, f"best_to_keep is {count}, expected 1 or more, or None"
    elif not max_to_keep:
        yield ValueError, "best_to_keep does nothing where max_to_keep keeps all checkpoints"
    if not isinstance(metric, str) and metric is not None:
        yield TypeError, f"best_metric must be the name of a metric, not {metric!r}"
    elif not metric:
        yield (
            ValueError,
            f"best_metric is {metric!r}, expected the name of the number that save is given: "
            'best_metric="loss" and save(..., metrics={"loss": value})',
        )
    if mode not in MODES:
        yield (
            ValueError,
            f'best_mode is {mode!r}, expected "min", as for a loss, or "max", as for an accuracy',
        )


def checked_metrics(metrics: Any) -> dict[str, float] | None:
    """Numbers by name that are saved with a checkpoint. Raises TypeError, ValueError."""
    if metrics is None:
        return None
    if not isinstance(metrics, Mapping):
        raise TypeError(f'metrics is {metrics!r}, expected a dict of numbers: {{"loss": 0.25}}')
    for name in metrics:
        if not isinstance(name, str):
            raise TypeError(f"metrics has the key {name!r}, expected names")
        if not name or "\0" in name:
            raise ValueError(f"metrics has the name {name!r}, expected one without a byte 0")
    return {name: _number(name, value) for name, value in metrics.items()}


def _number(name: str, value: Any) -> float:
    real = isinstance(value, (SupportsFloat, np.ndarray)) and not isinstance(value, (str, bytes))
    if real and np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biufV":
        return float(value)
    raise TypeError(
        f"the metric '{name}' is {value!r}, expected one number, such as what session.run gave"
    )
