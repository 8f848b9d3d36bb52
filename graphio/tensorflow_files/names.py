"""Names of TensorFlow's nodes as names of operations."""

from __future__ import annotations

from graphio.framework import operation_names

__all__ = ["valid_name"]


def valid_name(name: str) -> str:
    """The name, where each part may be a name by itself: none begins with "_"."""
    return operation_names.valid_name(name).replace("/_", "/n_")
