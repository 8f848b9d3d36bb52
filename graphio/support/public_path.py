"""The public path of a class: what repr and tracebacks show, and what pickles name.

A class is defined in a module that may move; programs find it in a namespace of `tf.`, and its
`__module__` says so. Messages of protobuf keep theirs, graphio.schema.*_pb2, which is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["name_class", "name_classes"]

#: classes that have got theirs
_named: set[type] = set()


def name_class(value: Any, module: str, name: str) -> None:
    """Lets a class say that it is module.name. The first such name stays; an alias is none.

    Args:
        value: anything; only a class is changed.
        module: of the namespace.
        name: in it.
    """
    is_class = isinstance(value, type) and not hasattr(value, "DESCRIPTOR")
    if is_class and value.__name__ == name and value not in _named:
        _named.add(value)
        value.__module__ = module


def name_classes(module: str, namespace: Mapping[str, Any]) -> None:
    """As name_class, for the classes among the names in __all__ of a namespace's variables."""
    for name in namespace["__all__"]:
        name_class(namespace[name], module, name)
