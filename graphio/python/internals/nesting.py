"""Nested structures beyond tf.nest: of util.nest."""

from __future__ import annotations

from typing import Any

from graphio.framework import nest
from graphio.support import api_guard

__all__ = ["flatten_dict_items"]


@api_guard.unguarded
def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """A dict whose keys may be nested structures, with one item for each leaf of keys and values.

    Raises:
        TypeError: it is not a dict.
        ValueError: a key and its value have different structures, or a leaf comes twice.
    """
    if not isinstance(dictionary, dict):
        raise TypeError("input must be a dictionary")
    found: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = [key], [value]
        if nest.is_nested(key):
            nest.assert_same_structure(key, value)
            keys, values = nest.flatten(key), nest.flatten(value)
        for leaf, content in zip(keys, values, strict=True):
            if leaf in found:
                raise ValueError(f"Could not flatten dictionary. Key {leaf} is not unique.")
            found[leaf] = content
    return found
