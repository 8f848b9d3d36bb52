"""uvicorn: the socket, worker processes, the end."""

from __future__ import annotations

import contextlib
import functools
import logging
import logging.config
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

from graphio.serving import application
from graphio.serving.servable import Servable
from graphio.serving.settings import Settings
from graphio.serving.versions import Versions
from graphio.support import errors

__all__ = ["serve"]

_BACKLOG = 2048
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_HEALTHY = 60  # seconds in which a worker must answer its parent; large requests keep it busy
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
    _check(settings)
    with contextlib.closing(_listening(host, port)) as listener:
        address = listener.getsockname()
        _log.info("listening at http://%s:%d", f"[{host}]" if ":" in host else host, address[1])
        config = _config(settings, workers)
        if workers == 1:
            _alone(config, listener)
            return
        with _shared_metrics():
            Multiprocess(config, [listener]).run()


def _check(settings: Settings) -> None:
    """Opens each model that is one file or folder, so that an error ends the command.

    Raises:
        OpError: as Servable.
    """
    for name, path in settings.models.items():
        if not Versions(name, settings).watched:
            Servable(name, 1, path, settings)


def _listening(host: str, port: int) -> socket.socket:
    """A socket at an address.

    Raises:
        UnavailableError: it is in use, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        why = str(error) if number is None else os.strerror(number)
        raise errors.UnavailableError(
            message=f"cannot listen at {host}, port {port}: {why}; choose another with --port "
            "(0: any that is free)"
        ) from None
    made.set_inheritable(True)
    return made


def _config(settings: Settings, workers: int) -> uvicorn.Config:

    return uvicorn.Config(
        functools.partial(application.build, settings),
        factory=True,
        workers=workers,
        log_config=_LOGGING,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        http="httptools",
        ws="none",
        timeout_graceful_shutdown=int(2 * settings.timeout) + 1,
        timeout_worker_healthcheck=_HEALTHY,
    )


def _alone(config: uvicorn.Config, listener: socket.socket) -> None:
    """Serves in this process. After SIGTERM it goes on, where uvicorn would let it be killed."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        uvicorn.Server(config).run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _shared_metrics() -> Iterator[None]:
    """A folder in which workers keep their numbers; it goes with the server."""
    if _METRICS in os.environ:
        yield
        return
    folder = tempfile.mkdtemp(prefix="graphio-metrics-")
    os.environ[_METRICS] = folder
    try:
        yield
    finally:
        del os.environ[_METRICS]
        shutil.rmtree(folder, ignore_errors=True)
