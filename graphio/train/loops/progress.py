"""The progress of a training: a progress bar of tqdm on a terminal, else lines of the log."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.support import logging

__all__ = ["Progress"]

PROGRESS_SECS, LINE_SECS = 0.1, 10.0  # between two times that it is shown


class Progress:
    """Shows steps, metrics and steps a second.

    Args:
        first: the global step before the first run.
        total: the global step to be reached, None if that is not known.
    """

    def __init__(self, first: int, total: int | None) -> None:
        self._total, self._progress_bar = total, _progress_bar(first, total)
        self._secs = PROGRESS_SECS if self._progress_bar is not None else LINE_SECS
        self._shown = time.monotonic(), first

    def due(self) -> bool:
        """Whether it is time for `show`."""
        return time.monotonic() >= self._shown[0] + self._secs

    def show(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Shows where the training is.

        Args:
            step: the global step: how many are done.
            metrics: what the last one gave.
        """
        (since, before), self._shown = self._shown, (time.monotonic(), step)
        values = {name: f"{value:.4g}" for name, value in one_number(metrics).items()}
        if self._progress_bar is not None:
            self._progress_bar.set_postfix(values, refresh=False)
            self._progress_bar.update(step - before)
            return
        total = "" if self._total is None else f" of {self._total}"
        listed = "".join(f", {name} = {value}" for name, value in values.items())
        rate = (step - before) / max(self._shown[0] - since, 1e-9)
        logging.info("step %d%s%s (%.3g steps/s)", step, total, listed, rate)

    def close(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Shows where the training has ended."""
        if step != self._shown[1]:
            self.show(step, metrics)
        if self._progress_bar is not None:
            self._progress_bar.close()


def _progress_bar(first: int, total: int | None) -> Any:
    if not sys.stderr.isatty():
        return None
    try:
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError:
        return None
    return tqdm(initial=first, total=total, unit="step")


def one_number(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Those metrics that are one number."""
    return {
        name: value
        for name, value in metrics.items()
        if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"
    }
