"""Finds the names of TensorFlow's modules among graphio's public names."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphio.framework import api_boundary, refusals
from graphio.python import names, tables
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
    known = (*_table(), *tables.NAMES, *tables.NAMESPACES, *tables.GENERATED)
    return frozenset(
        ".".join(path.split(".")[:count])
        for path in known
        for count in range(1, path.count(".") + 1)
    )


def is_module(path: str) -> bool:
    """Whether a path such as python.framework.ops is a module's."""
    return any(
        path in known
        for known in (_table(), tables.NAMES, tables.NAMESPACES, tables.GENERATED, _packages())
    )


def install(package: str) -> None:
    """Makes the modules of a package importable.

    Args:
        package: python, or contrib for its modules contrib.X.python and below.
    """
    served_modules.install(f"{_ROOT}{package}", _find, _refuse)


def _find(module: str) -> Callable[[str], Any] | None:
    path = module.removeprefix(_ROOT)
    if not _is_inner(path):
        return None
    # a part of contrib has one such package: it is known without reading the table
    found = path.count(".") == 2 and path.startswith("contrib.")
    return functools.partial(attribute, path) if found or is_module(path) else None


def _refuse(module: str) -> str | None:
    path = module.removeprefix(_ROOT)
    if "internals" in path or not _is_inner(path):
        return None
    return f"tensorflow.{path} is not part of graphio{_why(*path.rpartition('.')[::2])}"


def _is_inner(path: str) -> bool:
    """Whether a path is inside a package `python`: other modules of contrib have files."""
    return path.startswith("python.") or path.split(".")[2:3] == ["python"]


def attribute(module: str, name: str) -> Any:
    """A name of a module.

    Args:
        module: without "graphio.", such as python.framework.ops.

    Raises:
        AttributeError: graphio has no such name.
    """
    if name == "__all__":
        return _public(module)
    below = is_module(f"{module}.{name}")
    if below and name not in _table().get(module, {}):
        return importlib.import_module(f"{_ROOT}{module}.{name}")
    for path in _paths(module, name):
        try:
            value = served_modules.walk(path)
        except (AttributeError, ModuleNotFoundError):
            continue
        own = path.startswith("graphio.python.internals.")
        return api_boundary.export(value, f"{_ROOT}{module}", name) if own else value
    if below:
        return importlib.import_module(f"{_ROOT}{module}.{name}")
    if module in tables.GENERATED and (made := _generated(name)):
        return api_boundary.export(made, f"{_ROOT}{module}", name)
    if beside := _imported(module, name):
        return importlib.import_module(f"{_ROOT}{beside}")
    full = f"tensorflow.{module}.{name}"
    public = next(iter(_table().get(module, {}).get(name, "").split()), "")
    text = refusals.refusal(public) or f"{full} is not part of graphio{_why(module, name, public)}"
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


def _public(module: str) -> list[str]:
    """The names that `from MODULE import *` binds."""
    known = {*_table().get(module, {}), *tables.NAMES.get(module, {})}
    space = tables.NAMESPACES.get(module)
    if space and space[-1] == ":":
        known.update(dir(importlib.import_module(space[:-1])))
    elif space is not None:
        start = f"{space}." if space else ""
        public = (path.removeprefix(start) for path in names.table() if path.startswith(start))
        known.update(name for name in public if "." not in name)
    return sorted(name for name in known if name[0] != "_" and _is_there(module, name))


def _is_there(module: str, name: str) -> bool:
    try:
        attribute(module, name)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True


def _generated(name: str) -> Callable[..., Any] | None:
    """An operation of tf.raw_ops as a function of a generated module."""
    from graphio.tensorflow_files import raw_ops  # programs without such modules do not load it

    return raw_ops.generated(name)


def _imported(module: str, name: str) -> str | None:
    """The module of a name that a module has because it imports it: rnn_cell_impl of ops.rnn."""
    package = module.rpartition(".")[0]
    found = (f"{parent}.{name}" for parent in (package, *tables.IMPORTED_FROM))
    return next((path for path in found if "." in package and is_module(path)), None)


def _why(module: str, name: str, public: str = "") -> str:
    """The reason why a name of a module is left out: that of the longest path that has one, else
    that of the public name of the same object."""
    path = f"{module}.{name}"
    while path:
        if path in tables.REASONS:
            return f": {tables.REASONS[path]}"
        path = path.rpartition(".")[0]
    reason = names.reason(public) if public else None
    return f": {reason or 'it is internal to TensorFlow; docs/names.md lists the public names'}"
