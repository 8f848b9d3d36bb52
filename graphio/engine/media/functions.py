"""The names of functions that every engine of Python has, in HostCall nodes.

A name is `media/` and an operation of TensorFlow, with its options as in a URL:
`media/DecodeJpeg?channels=3&ratio=1`. The C library calls its host by the same name.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping

from graphio.engine import images
from graphio.engine.interface import HostFunction

__all__ = ["find", "is_known", "name_of"]

_PREFIX = "media/"
#: options of any bytes
_BYTES = frozenset(("xmp_metadata",))


def name_of(operation: str, options: Mapping[str, int | str | bytes]) -> str:
    """The name of the function that an operation of TensorFlow calls.

    Args:
        operation: its type.
        options: the function's arguments that are not arrays; a bool is 0 or 1.
    """
    plain = {k: v if isinstance(v, (str, bytes)) else int(v) for k, v in options.items()}
    query = urllib.parse.urlencode(plain)
    return f"{_PREFIX}{operation}?{query}" if query else _PREFIX + operation


def is_known(name: str) -> bool:
    """Whether a name is one of these, so that a graph has no function for it."""
    return name.startswith(_PREFIX)


def find(name: str) -> HostFunction | None:
    """The function of a name; None: engines have no such function."""
    if not is_known(name):
        return images.FUNCTIONS.get(name)
    from graphio.engine.media import operations  # with what formats need

    operation, _, query = name[len(_PREFIX) :].partition("?")
    work = operations.FUNCTIONS.get(operation)
    if work is None:
        return None
    pairs = urllib.parse.parse_qsl(query, True, encoding="latin-1")
    options = {key: _value(key, text) for key, text in pairs}
    return lambda arrays: work(*arrays, **options)


def _value(key: str, text: str) -> int | str | bytes:
    if key in _BYTES:
        return text.encode("latin-1")
    return int(text) if text.lstrip("-").isdigit() else text
