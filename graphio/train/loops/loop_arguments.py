"""Checks of a training loop's arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.train.checkpoints.ranking import ranking

__all__ = [
    "check_best",
    "check_best_metric",
    "checked_metrics",
    "checked_steps",
    "require_feed",
]


def checked_steps(steps: Any) -> int | None:
    """The global step at which a training is over. Raises TypeError, ValueError."""
    if steps is None:
        return None
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)):
        raise TypeError(f"steps is {steps!r}, expected an int or None")
    if steps < 0:
        raise ValueError(
            f"steps is {steps}, expected the global step at which the training is over, or None"
        )
    return int(steps)


def checked_metrics(metrics: Any) -> dict[str, Any]:
    """Tensors by name. Raises TypeError."""
    if metrics is None:
        return {}
    if not isinstance(metrics, Mapping):
        raise TypeError(f'metrics is {metrics!r}, expected a dict of tensors: {{"loss": loss}}')
    return dict(metrics)


def check_best(
    best: Mapping[str, Any], max_to_keep: Any, metrics: Any, folder: str | None, saver: Any
) -> None:
    """Refuses arguments of the best checkpoints that a Saver refuses, or that have no effect.

    Raises:
        TypeError, ValueError: says what is wrong.
    """
    given = ", ".join(name for name, value in best.items() if value is not None)
    if not given:
        return
    if saver is not None:
        raise ValueError(f"{given} and a Saver are given: give them to the Saver")
    if folder is None:
        raise ValueError(f"{given} does nothing where checkpoint_dir is None")
    most = max(int(max_to_keep or 0), 0)
    ranking(best["best_to_keep"], best["best_metric"], best["best_mode"], most)
    check_best_metric(best["best_metric"], metrics)


def check_best_metric(best_metric: str, metrics: Mapping[str, Any]) -> None:
    """Raises ValueError unless it is one of the metrics."""
    if best_metric not in metrics:
        raise ValueError(
            f"best_metric is '{best_metric}', expected one of metrics, which has "
            f"{', '.join(metrics) or 'nothing'}"
        )


def require_feed(feed: Any) -> None:
    """Raises TypeError unless it is a feed_dict, or a function that can be given a step."""
    if feed is None or isinstance(feed, Mapping):
        return
    if not callable(feed):
        raise TypeError(
            f"feed is {feed!r}, expected a dict, or a function that gives the dict of a step"
        )
    try:
        signature = inspect.signature(feed)
    except ValueError:  # some functions of C have none
        return
    try:
        signature.bind(0)
    except TypeError as error:
        raise TypeError(
            f"feed is called with one argument, the global step: feed(step); {feed!r} takes "
            f"{signature}: {error}"
        ) from None
