"""uvicorn: the socket, worker processes, the end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import logging
import logging.config
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from graphio.serving import application, metrics
from graphio.serving.listening import BACKLOG, listening, make_no_more
from graphio.serving.servable import Servable
from graphio.serving.settings import Settings
from graphio.serving.versions import Versions
from graphio.support import errors

__all__ = ["serve"]

_ACCEPTING = 0.1  # seconds for connections that are made but not accepted yet
_HEALTHY = 20  # seconds in which a worker must answer its parent; large requests keep it busy
_log = logging.getLogger(__name__)
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        name: {"handlers": ["stderr"], "level": level, "propagate": False}
        for name, level in (
            ("graphio.serving", "INFO"), ("uvicorn.error", "WARNING"), ("uvicorn.access", "INFO")
        )
    },
}  # fmt: skip


def serve(settings: Settings, host: str, port: int, workers: int) -> None:
    """Serves until SIGTERM or Ctrl-C; see graphio.serving.serve."""
    if workers < 1:
        raise errors.InvalidArgumentError(message=f"workers is {workers}, expected 1 or more")
    logging.config.dictConfig(_LOGGING)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(contextlib.closing(listening(host, port)))
        if workers > 1 and not settings.shared:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="graphio-shared-"))
            settings = dataclasses.replace(settings, shared=folder)
        _check(settings)
        address = listener.getsockname()
        _log.info("listening at http://%s:%d", f"[{host}]" if ":" in host else host, address[1])
        config = _config(settings, workers)
        if workers == 1:
            _alone(config, listener)
            return
        with _shared_metrics():
            _Workers(config, listener, settings.drain).run()


def _check(settings: Settings) -> None:
    """Opens each model that is one file or folder, so that an error ends the command.

    Raises:
        OpError: as Servable.
    """
    for name, path in settings.models.items():
        if not Versions(name, settings).watched:
            Servable(name, 1, path, settings)


def _config(settings: Settings, workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        functools.partial(application.build, settings),
        factory=True,
        workers=workers,
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        http="httptools",
        ws="none",
        timeout_graceful_shutdown=int(2 * settings.timeout) + 1,
        timeout_worker_healthcheck=_HEALTHY,
    )


def _alone(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serves in this process. After SIGTERM it goes on, where uvicorn would let it be killed."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        _Server(config, listener).run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)


class _Server(uvicorn.Server):
    """A server that answers the connections that were made before it closes its socket."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        super().__init__(config)
        self._listener = listener

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; uvicorn calls it ten times a second."""
        ends = await super().on_tick(counter)
        if ends:
            make_no_more(self._listener)
            await asyncio.sleep(_ACCEPTING)
        return ends


class _Workers(Multiprocess):
    """Worker processes, which end together."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, drain: float) -> None:
        options: dict[str, Any] = {"sockets": [listener]}
        if "target" in inspect.signature(Multiprocess).parameters:  # before uvicorn 0.51
            options["target"] = uvicorn.Server(config).run
        super().__init__(config, **options)
        self._listener = listener
        self._drain = drain

    def keep_subprocess_alive(self) -> None:
        """Replaces dead workers, and forgets how many requests they were running."""
        before = {process.pid for process in self.processes}
        super().keep_subprocess_alive()
        for pid in before - {process.pid for process in self.processes}:
            metrics.forget(pid)

    def terminate_all(self) -> None:
        """Sends SIGTERM to all; the workers close the socket when they have drained."""
        super().terminate_all()
        time.sleep(self._drain / 2)
        make_no_more(self._listener)


@contextlib.contextmanager
def _shared_metrics() -> Iterator[None]:
    """A folder in which workers keep their numbers; it goes with the server."""
    if metrics.FOLDER in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="graphio-metrics-") as folder:
        os.environ[metrics.FOLDER] = folder
        try:
            yield
        finally:
            del os.environ[metrics.FOLDER]
