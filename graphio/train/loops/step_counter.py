"""The global step: the one variable of a graph that counts training steps."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph, Tensor
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable
from graphio.variables.variables import Variable, variables_of

__all__ = [
    "assert_global_step",
    "create_global_step",
    "get_global_step",
    "get_or_create_global_step",
    "global_step",
]


@api_guard.makes_variables
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The number that a global step has in a session.

    Args:
        sess: a session.
        global_step_tensor: variable, tensor or its name.
    """
    return int(sess.run(global_step_tensor))


@api_guard.makes_variables
def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, the default one if None; None where there is none.

    It is the only member of the collection GLOBAL_STEP, or else what is named "global_step".

    Raises:
        TypeError: it is not an integer scalar.
    """
    chosen = scopes.get_default_graph() if graph is None else graph
    members = chosen.get_collection(GraphKeys.GLOBAL_STEP)
    if len(members) > 1:
        return None
    found = members[0] if members else variables_of(chosen).get("global_step")
    if found is None:
        try:
            found = chosen.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(found)
    return found


@api_guard.makes_variables
def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the global step: an int64 scalar variable "global_step" that starts at 0.

    It is not trainable and joins the collections GLOBAL_VARIABLES and GLOBAL_STEP.

    Raises:
        ValueError: the graph has a global step.
    """
    chosen = scopes.get_default_graph() if graph is None else graph
    if get_global_step(chosen) is not None:
        raise ValueError('"global_step" already exists.')
    with chosen.as_default(), scopes.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


@api_guard.makes_variables
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step of a graph, made now if there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


@api_guard.makes_variables
def assert_global_step(global_step_tensor: Any) -> None:
    """Refuses what cannot count steps.

    Raises:
        TypeError: it is not a variable or tensor, or not an integer scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    dtype = global_step_tensor.dtype.base_dtype
    if not dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype.name}')
    shape = global_step_tensor.shape
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')
