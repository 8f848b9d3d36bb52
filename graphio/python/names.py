"""The public names of TensorFlow 1.15, of tf.compat.v1 and tf.contrib, and which graphio has."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from graphio.framework import refusals
from graphio.python import left_out
from graphio.support import served_modules

__all__ = ["Status", "reason", "resolve", "spaces", "status", "table"]


class Status(NamedTuple):
    """How much of a name is there.

    Attributes:
        how: "there", "partly", "not", or "unknown" for a name that TensorFlow 1.15 lacks, too.
        why: "not": the reason; "partly": the arguments and methods that are missing.
    """

    how: str
    why: str


@functools.cache
def table() -> Mapping[str, list[str] | None]:
    """By public path, such as nn.conv2d: the arguments of a function; those of a class, and its
    methods as "name()"; None for other values."""
    text = (Path(__file__).parent / "names.json").read_text(encoding="utf-8")
    found: dict[str, list[str] | None] = json.loads(text)
    return found


@functools.cache
def spaces() -> frozenset[str]:
    """The namespaces of TensorFlow: nn, nn.rnn_cell, contrib.layers, ..."""
    return frozenset(above for path in table() for above in _above(path))


def _above(path: str) -> Iterator[str]:
    """The namespaces of a path, the longest first."""
    while path := path.rpartition(".")[0]:
        yield path


def resolve(path: str) -> Any:
    """graphio's value of a path, public or of tensorflow.python and tensorflow.core.

    Raises:
        AttributeError: there is no such name.
    """
    try:
        return served_modules.walk(path)
    except ImportError as error:
        raise AttributeError(str(error), name=path) from error


def reason(path: str) -> str | None:
    """Why graphio has no such name: the reason of the name, or of the namespace that it is in;
    None for an unknown one."""
    for at in (path, *_above(path)):
        text = refusals.left_out(at)
        if text is None:
            matching = (p for p in left_out.PATTERNS if fnmatch.fnmatchcase(at, p))
            text = next((left_out.PATTERNS[p] for p in matching), None)
        if text is not None:
            return text
    return None


def status(path: str) -> Status:
    """How much of a name graphio has.

    Args:
        path: such as nn.conv2d or python.framework.ops.Tensor.
    """
    try:
        value = resolve(path)
    except AttributeError as error:
        if path.startswith(("python.", "core.")) or ".python." in path:
            return Status("not", str(error))
        text = reason(path)
        is_known = path in table() or path in spaces() or text is not None
        return Status("not", text or "") if is_known else Status("unknown", "")
    missing = _missing(value, table().get(path))
    return Status("partly", ", ".join(missing)) if missing else Status("there", "")


def _missing(value: Any, parts: list[str] | None) -> list[str]:
    """The arguments and methods of TensorFlow that an object lacks."""
    if not parts or not callable(value):
        return []
    methods = [part[:-2] for part in parts if part.endswith("()")]
    return [
        *_absent(value, [part for part in parts if not part.endswith("()")]),
        *(f"{name}()" for name in methods if isinstance(value, type) and not _has(value, name)),
    ]


def _has(cls: type, name: str) -> bool:
    """Whether objects of a class have an attribute: the class has it, or its methods set it."""
    if hasattr(cls, name) or hasattr(cls, "__getattr__"):
        return True
    for one in cls.__mro__:
        if name in getattr(one, "__annotations__", ()):
            return True
        methods = filter(inspect.isfunction, map(inspect.unwrap, vars(one).values()))
        if any(name in method.__code__.co_names for method in methods):
            return True
    return False


def _absent(value: Any, arguments: list[str]) -> list[str]:
    try:
        known = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return []
    return [name for name in arguments if name not in known and not name.startswith("*")]
