"""Functions on variables: collections of them, their initializers, assignments.

The class is in graphio.framework.variable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Operation, Tensor
from graphio.framework.variable import (
    Variable,
    is_trainable,
    is_variable_initialized,
    variable_behind,
    variables_of,
)
from graphio.ops.control_flow.branches import group
from graphio.ops.state import report
from graphio.support import api_guard

__all__ = [
    "Variable",
    "all_variables",
    "assign",
    "assign_add",
    "assign_sub",
    "global_variables",
    "global_variables_initializer",
    "initialize_all_variables",
    "initialize_local_variables",
    "initialize_variables",
    "is_trainable",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variable_behind",
    "variables_initializer",
    "variables_of",
]

# ---- collections and initializers ----


def _collection(key: str, scope: str | None) -> list[Variable]:
    return scopes.get_default_graph().get_collection(key, scope)


@api_guard.guarded
def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables that checkpoints hold; scope: a regular expression for names."""
    return _collection(GraphKeys.GLOBAL_VARIABLES, scope)


@api_guard.guarded
def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables of a process alone; scope: a regular expression for names."""
    return _collection(GraphKeys.LOCAL_VARIABLES, scope)


@api_guard.guarded
def model_variables(scope: str | None = None) -> list[Variable]:
    """The collection of model variables; scope: a regular expression for names."""
    return _collection(GraphKeys.MODEL_VARIABLES, scope)


@api_guard.guarded
def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that optimizers change; scope: a regular expression for names."""
    return _collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@api_guard.guarded
def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables with moving averages; scope: a regular expression for names."""
    return _collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


@api_guard.guarded
def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives all variables of a list their initial values."""
    return group(*[v.initializer for v in var_list], name=name)


@api_guard.guarded
def global_variables_initializer() -> Operation:
    """An operation that gives all global variables their initial values."""
    return variables_initializer(global_variables())


@api_guard.guarded
def local_variables_initializer() -> Operation:
    """An operation that gives all local variables their initial values."""
    return variables_initializer(local_variables())


@api_guard.guarded
def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """A string vector: the names of the variables without a value."""
    chosen = global_variables() + local_variables() if var_list is None else list(var_list)
    return report.names_where_not([v.op.name for v in chosen], chosen, name)


def _assignable(ref: Any, method: str) -> Callable[..., Tensor]:
    found: Callable[..., Tensor] | None = getattr(variable_behind(ref), method, None)
    if found is None:
        raise AttributeError(
            f"{method}: {ref!r} is of type {type(ref).__name__}, expected a variable, for nothing "
            "else keeps a value from run to run; make one with tf.Variable or tf.get_variable"
        )
    return found


@api_guard.guarded
def assign(
    ref: Variable,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """See Variable.assign; ref may be a part of a variable, v[1:3], or its tensor "v:0", too.

    Raises:
        AttributeError: ref is not a variable.
    """
    if validate_shape is False:
        return _assignable(ref, "assign")(value, name=name, validate_shape=False)
    return _assignable(ref, "assign")(value, name=name)


@api_guard.guarded
def assign_add(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """See Variable.assign_add."""
    return _assignable(ref, "assign_add")(value, name=name)


@api_guard.guarded
def assign_sub(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Tensor:
    """See Variable.assign_sub."""
    return _assignable(ref, "assign_sub")(value, name=name)


all_variables = global_variables
initialize_variables = variables_initializer
initialize_all_variables = global_variables_initializer
initialize_local_variables = local_variables_initializer
