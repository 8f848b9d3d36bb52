"""How far a training is: a bar of tqdm on a terminal that has it, else lines of the log."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio import logging

__all__ = ["Progress"]


class Progress:
    """Shows steps, metrics and steps a second.

    Args:
        first: the global step before the first run.
        total: the global step to be reached, None if that is not known.
        every_secs: between two lines of the log.
    """

    def __init__(self, first: int, total: int | None, every_secs: float) -> None:
        self._step, self._total, self._secs = first, total, every_secs
        self._told = (time.monotonic(), first)
        self._bar = _bar(first, total)

    def update(self, step: int, metrics: Mapping[str, Any]) -> None:
        """A step is done.

        Args:
            step: the global step after it.
            metrics: what it gave.
        """
        moved, self._step = step - self._step, step
        if self._bar is not None:
            self._bar.set_postfix(_shown(metrics), refresh=False)
            self._bar.update(moved)
        elif time.monotonic() >= self._told[0] + self._secs:
            self._tell(metrics)

    def _tell(self, metrics: Mapping[str, Any]) -> None:
        now, (since, before) = time.monotonic(), self._told
        self._told = (now, self._step)
        total = "" if self._total is None else f" of {self._total}"
        values = "".join(f", {name} = {value}" for name, value in _shown(metrics).items())
        rate = (self._step - before) / max(now - since, 1e-9)
        logging.info("step %d%s%s (%.3g steps/s)", self._step, total, values, rate)

    def close(self, metrics: Mapping[str, Any]) -> None:
        """Shows where the training has ended."""
        if self._bar is not None:
            self._bar.close()
        elif self._step != self._told[1]:
            self._tell(metrics)


def _bar(first: int, total: int | None) -> Any:
    if not sys.stderr.isatty():
        return None
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return None
    return tqdm(initial=first, total=total, unit="step")


def _shown(metrics: Mapping[str, Any]) -> dict[str, str]:
    """Those that are one number."""
    return {name: f"{value:.4g}" for name, value in metrics.items() if np.ndim(value) == 0}
