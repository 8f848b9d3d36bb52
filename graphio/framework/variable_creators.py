"""Functions of the program that make variables in the place of the class Variable."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from graphio.framework import scopes
from graphio.framework.graph import Graph
from graphio.support import api_guard

__all__ = ["created", "variable_creator_scope"]

Creator = Callable[..., Any]


@api_guard.guarded
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """A context in which a function makes the variables of tf.Variable and tf.get_variable.

    The innermost scope's function is called first.

    Args:
        variable_creator: called with the creator that is next, and with all arguments of
            tf.Variable by name; what it gives is the variable. next_creator(**kwargs) makes one.

    Raises:
        RuntimeError: scopes are left in another order than they were entered.

    Example:
        >>> def on_cpu(next_creator, **kwargs):
        ...     with tf.device("/cpu:0"):
        ...         return next_creator(**kwargs)
        >>> with tf.variable_creator_scope(on_cpu):
        ...     print(tf.get_variable("scaled", [2]).device)
        /device:CPU:0
    """
    contexts = scopes.get_default_graph().root.contexts
    before = contexts.creators
    inside = contexts.creators = (*before, variable_creator)
    try:
        yield
    finally:
        if contexts.creators is not inside:
            raise RuntimeError("Exiting variable_creator_scope without proper nesting.")
        contexts.creators = before


def created(graph: Graph, make: Creator, arguments: dict[str, Any]) -> Any:
    """A variable by the open scopes' functions.

    Args:
        graph: whose scopes count.
        make: the creator after all of them.
        arguments: of the variable, by name.
    """
    for creator in graph.root.contexts.creators:
        make = functools.partial(creator, make)
    return make(**arguments)
