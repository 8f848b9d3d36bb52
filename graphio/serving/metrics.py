"""Counts and times for Prometheus.

With several workers each one writes its numbers into files of PROMETHEUS_MULTIPROC_DIR, which must
be set before this module is imported; the worker that gets the request adds them up.
"""

from __future__ import annotations

import os
import time
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, multiprocess

__all__ = ["CONTENT_TYPE", "FOLDER", "Metrics", "forget"]

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_LATEST
#: of the environment: the folder that workers share
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_BUCKETS = tuple(ms / 1000 for ms in (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 5000))


def forget(worker: int | None) -> None:
    """Drops the numbers of a dead process that are of this moment; its counts stay."""
    mark: Any = multiprocess.mark_process_dead
    mark(worker)


class Metrics:
    """The numbers of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "graphio_requests",
            "Requests that ask for a run, by model, method and HTTP status.",
            ("model", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "graphio_request_seconds",
            "From the head of a request to its answer.",
            ("model", "method"),
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._running = Gauge(
            "graphio_requests_running",
            "Requests that have no answer yet.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self._versions = Gauge(
            "graphio_model_version",
            "The newest version that is served; 0: none.",
            ("model",),
            registry=self._registry,
            multiprocess_mode="livemin",
        )
        self._counters: dict[tuple[str, str, int], Counter] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}

    def begin(self) -> float:
        """Notes that a request has come; gives the moment for `end`."""
        self._running.inc()
        return time.perf_counter()

    def end(self, began: float, model: str, method: str, status: int) -> None:
        """Notes an answer. The model is one of the server's: names are kept for ever."""
        self._running.dec()
        key = model, method, status
        if key not in self._counters:
            self._counters[key] = self._requests.labels(model, method, status)
            self._histograms[key[:2]] = self._seconds.labels(model, method)
        self._counters[key].inc()
        self._histograms[key[:2]].observe(time.perf_counter() - began)

    def newest(self, model: str, version: int) -> None:
        """Notes the newest version of a model."""
        self._versions.labels(model).set(version)

    def page(self) -> bytes:
        """The numbers in Prometheus' text format, of all workers."""
        registry = self._registry
        if FOLDER in os.environ:
            registry = CollectorRegistry()
            collector: Any = multiprocess.MultiProcessCollector
            collector(registry)
        return prometheus_client.generate_latest(registry)
