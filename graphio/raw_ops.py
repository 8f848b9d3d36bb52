"""tf.raw_ops: TensorFlow's operations by their types, with keyword arguments only.

The types are those that GraphDefs are read with; of any other, the error says so.
"""

from __future__ import annotations

import sys
import typing as _typing  # not Any itself, which is an operation's name

from graphio.framework import api_boundary
from graphio.tensorflow_files import raw_ops as _table

__all__: list[str] = []


def __getattr__(name: str) -> _typing.Any:
    if name in _table.definitions():
        made = api_boundary.export(_table.function(name), __name__, name)
        globals()[name] = made
        return made
    from graphio.python import names

    why = names.reason(f"raw_ops.{name}")
    text = f"module {__name__!r} has no attribute {name!r}"
    if f"raw_ops.{name}" in names.table():
        text = f"tf.raw_ops.{name} is not part of graphio: {why}; docs/names.md lists all names"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(_table.definitions())
