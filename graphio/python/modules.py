"""Finds the names of TensorFlow's modules among graphio's public names."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphio.framework import api_boundary, refusals
from graphio.python import tables
from graphio.support import served_modules

__all__ = ["attribute", "install", "is_module"]

_ROOT = "graphio."


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    """modules.json: by module, its names and the public paths of each, separated by spaces."""
    text = (Path(__file__).parent / "modules.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


@functools.cache
def _packages() -> frozenset[str]:
    """The modules above those of the tables."""
    known = (*_table(), *tables.NAMES, *tables.NAMESPACES)
    return frozenset(
        ".".join(path.split(".")[:count])
        for path in known
        for count in range(1, path.count(".") + 1)
    )


def is_module(path: str) -> bool:
    """Whether a path such as python.framework.ops is a module's."""
    return (
        path in _table() or path in tables.NAMES or path in tables.NAMESPACES or path in _packages()
    )


def install() -> None:
    """Makes graphio.python's modules importable."""
    served_modules.install("graphio.python", _find, _refuse)


def _find(module: str) -> Callable[[str], Any] | None:
    path = module.removeprefix(_ROOT)
    return functools.partial(attribute, path) if is_module(path) else None


def _refuse(module: str) -> str | None:
    path = module.removeprefix(_ROOT)
    return None if "internals" in path else f"tensorflow.{path} is not part of graphio{_why(path)}"


def attribute(module: str, name: str) -> Any:
    """A name of a module.

    Args:
        module: without "graphio.", such as python.framework.ops.

    Raises:
        AttributeError: graphio has no such name.
    """
    if is_module(f"{module}.{name}"):
        return importlib.import_module(f"{_ROOT}{module}.{name}")
    for path in _paths(module, name):
        try:
            value = served_modules.walk(path)
        except (AttributeError, ModuleNotFoundError):
            continue
        own = path.startswith("graphio.python.internals.")
        return api_boundary.export(value, f"{_ROOT}{module}", name) if own else value
    full = f"tensorflow.{module}.{name}"
    public = next(iter(_table().get(module, {}).get(name, "").split()), "")
    text = refusals.refusal(public) or f"{full} is not part of graphio{_why(f'{module}.{name}')}"
    raise AttributeError(text, name=name)


def _paths(module: str, name: str) -> list[str]:
    """Where a name of a module may be found, the best first."""
    found = []
    if own := tables.NAMES.get(module, {}).get(name):
        found.append(own)
    for path in _table().get(module, {}).get(name, "").split():
        if not path.startswith("v2:"):
            found.append(path)
        elif later := tables.LATER.get(path.removeprefix("v2:")):
            found.append(later)
    space = tables.NAMESPACES.get(module)
    if space is not None and not name.startswith("_"):
        found.append(f"{space}.{name}" if space and space[-1] != ":" else f"{space}{name}")
    return found


def _why(path: str) -> str:
    """The reason why a part of TensorFlow is left out, of the longest path that has one."""
    while path:
        if path in tables.REASONS:
            return f": {tables.REASONS[path]}"
        path = path.rpartition(".")[0]
    return ": it is internal to TensorFlow; docs/names.md lists the public names"
