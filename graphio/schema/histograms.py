"""Histograms of summaries: numbers in TensorFlow's buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.schema.summary_pb2 import HistogramProto

__all__ = ["histogram_of"]

Array = np.ndarray[Any, Any]

#: right ends of the histogram's buckets: from 1e-12 each a tenth wider, on both sides of 0
_POSITIVE = 1e-12 * np.cumprod(np.full(774, 1.1)) / 1.1
_LIMITS = np.concatenate(
    [[-np.finfo(np.float64).max], -_POSITIVE[::-1], [0.0], _POSITIVE, [np.finfo(np.float64).max]]
)


def histogram_of(numbers: Array, times: Array | None = None) -> HistogramProto:
    """The numbers in TensorFlow's buckets; a run of empty ones is one.

    Args:
        numbers: float64 (n).
        times: float64 (n), how often each is there; None: once.
    """
    times = np.ones(numbers.size) if times is None else times
    made = HistogramProto(
        num=float(times.sum()), sum=float((numbers * times).sum()),
        sum_squares=float((np.square(numbers) * times).sum()),
        min=float(numbers.min(initial=_LIMITS[-1])), max=float(numbers.max(initial=_LIMITS[0])),
    )  # fmt: skip
    buckets = np.searchsorted(_LIMITS, numbers, side="right").clip(0, len(_LIMITS) - 1)
    counts = np.bincount(buckets, times, minlength=len(_LIMITS))
    last_of_run = np.append((counts[:-1] > 0) | (counts[1:] > 0), True)
    made.bucket_limit.extend(_LIMITS[last_of_run].tolist())
    made.bucket.extend(counts[last_of_run].tolist())
    return made
