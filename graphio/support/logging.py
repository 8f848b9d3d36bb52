"""tf.logging: messages of a program, over Python's logging, by the logger "graphio"."""

from __future__ import annotations

import logging as _python
import sys as _sys
from collections import Counter
from typing import Any

from graphio.support.api_guard import unguarded as _unguarded

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "TaskLevelStatusMessage", "debug", "error", "fatal",
    "flush", "get_logger", "get_verbosity", "info", "log", "log_every_n", "log_first_n", "log_if",
    "set_verbosity", "vlog", "warn", "warning",
]  # fmt: skip

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50


class _Handler(_python.StreamHandler):  # type: ignore[type-arg]
    """Writes "LEVEL:graphio:message" to stderr, unless the program has added handlers."""

    def emit(self, record: _python.LogRecord) -> None:
        if not _python.getLogger().handlers:
            self.stream = _sys.stderr
            super().emit(record)


def _made() -> _python.Logger:
    logger = _python.getLogger("graphio")
    handler = _Handler()
    handler.setFormatter(_python.Formatter(_python.BASIC_FORMAT))
    logger.addHandler(handler)
    return logger


_logger = _made()
_counts: Counter[tuple[str, int]] = Counter()


def log(level: int, msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at a level."""
    _logger.log(level, msg, *args, stacklevel=2, **options)


def debug(msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at DEBUG."""
    _logger.debug(msg, *args, stacklevel=2, **options)


def info(msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at INFO."""
    _logger.info(msg, *args, stacklevel=2, **options)


def warning(msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at WARN."""
    _logger.warning(msg, *args, stacklevel=2, **options)


def error(msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at ERROR."""
    _logger.error(msg, *args, stacklevel=2, **options)


def fatal(msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at FATAL; the program goes on."""
    _logger.fatal(msg, *args, stacklevel=2, **options)


warn = warning
TaskLevelStatusMessage = error


def vlog(level: int, msg: Any, *args: Any, **options: Any) -> None:
    """Logs msg % args at a level that is a number."""
    _logger.log(level, msg, *args, stacklevel=2, **options)


def _seen() -> int:
    """The number of earlier calls from the program's line that logs."""
    frame = _sys._getframe(2)
    caller = (frame.f_code.co_filename, frame.f_lineno)
    _counts[caller] += 1
    return _counts[caller] - 1


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs at the first, the n+1st, 2n+1st ... time that this line is reached."""
    _log_if(level, msg, _seen() % n == 0, args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Logs the first n times that this line is reached."""
    _log_if(level, msg, _seen() < n, args)


def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Logs if the condition holds."""
    _log_if(level, msg, condition, args)


def _log_if(level: int, msg: Any, condition: Any, args: tuple[Any, ...]) -> None:
    if condition:
        _logger.log(level, msg, *args, stacklevel=3)


@_unguarded
def get_logger() -> _python.Logger:
    """Python's logger that all messages go through."""
    return _logger


def get_verbosity() -> int:
    """The level from which on messages are shown; WARN at first."""
    return _logger.getEffectiveLevel()


def set_verbosity(v: int | str) -> None:
    """Sets the level from which on messages are shown."""
    _logger.setLevel(v)


def flush() -> None:
    """Writes what was logged."""
    for handler in _logger.handlers:
        handler.flush()
