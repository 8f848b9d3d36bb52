"""Objects with leaves below them.

Their classes are made by attrs, or say themselves how an object is taken apart and put together
(`__tf_flatten__`, `__tf_unflatten__`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["is_object", "parts", "with_parts"]


def _says_how(kind: type) -> bool:
    return hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__")


def is_object(value: Any) -> bool:
    """Whether value is such an object."""
    kind = type(value)
    return hasattr(kind, "__attrs_attrs__") or _says_how(kind)


def parts(value: Any) -> list[Any]:
    """The content of an object, one level down."""
    if _says_how(type(value)):
        return list(value.__tf_flatten__()[1])
    return [getattr(value, field.name) for field in type(value).__attrs_attrs__]


def with_parts(like: Any, found: Sequence[Any]) -> Any:
    """An object of the class of like with other parts."""
    kind = type(like)
    if _says_how(kind):
        return kind.__tf_unflatten__(like.__tf_flatten__()[0], tuple(found))
    return kind(*found)
