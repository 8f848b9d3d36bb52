"""Initializers of tables and, by convention, of iterators."""

from __future__ import annotations

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation
from graphio.ops.control_flow.branches import group
from graphio.support import api_guard

__all__ = ["initialize_all_tables", "tables_initializer"]


@api_guard.guarded
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that runs the collection TABLE_INITIALIZERS as it is now.

    Programs add `iterator.initializer` to the collection, so that it runs with those of tables.

    Args:
        name: of the operation.
    """
    initializers = scopes.get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name)


@api_guard.guarded
def initialize_all_tables(name: str = "init_all_tables") -> Operation:
    """The old name of tables_initializer."""
    return tables_initializer(name)
