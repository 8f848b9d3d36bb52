"""Finds TensorFlow's messages among graphio's classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphio.core.table import MODULES
from graphio.support import served_modules

__all__ = ["install"]

_PREFIX = "graphio.core."


def install() -> None:
    """Makes graphio.core's modules importable."""
    served_modules.install("graphio.core", _find, _refuse)


def _find(module: str) -> Callable[[str], Any] | None:
    path = module.removeprefix(_PREFIX)
    if path in MODULES:
        return functools.partial(_message, path)
    if any(known.startswith(f"{path}.") for known in MODULES):
        return functools.partial(_absent, path)
    return None


def _message(path: str, name: str) -> Any:
    if name not in MODULES[path]:
        _absent(path, name)
    return served_modules.walk(MODULES[path][name])


def _absent(path: str, name: str) -> Any:
    raise AttributeError(f"tensorflow.core.{path}.{name} is not part of graphio", name=name)


def _refuse(module: str) -> str | None:
    return f"tensorflow.core.{module.removeprefix(_PREFIX)} is not part of graphio"
