"""Operations to be run when a saved model has been loaded."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation
from graphio.ops.control_flow.branches import group
from graphio.support import api_guard
from graphio.variables.variables import global_variables_initializer, local_variables_initializer

__all__ = ["main_op", "main_op_with_restore"]


@api_guard.guarded
def main_op() -> Operation:
    """An operation that initialises variables, local ones too, and tables."""
    tables = scopes.get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(global_variables_initializer(), local_variables_initializer(), *tables)


@api_guard.guarded
def main_op_with_restore(restore_op_name: Any) -> Operation:
    """An operation that initialises everything, then runs another.

    Args:
        restore_op_name: operation or its name.
    """
    graph = scopes.get_default_graph()
    with scopes.control_dependencies([main_op()]):
        return group(graph.as_graph_element(restore_op_name))
