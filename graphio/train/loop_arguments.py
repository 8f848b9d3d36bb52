"""What a training loop is told, checked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["checked_metrics", "checked_steps", "require_feed"]


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
