"""The API boundary: a public call that fails is rolled back, and its error names the call.

Public functions are marked in api_guard.py's words and wrapped where a namespace exports them;
calls among our own modules do not pass the boundary. Methods are wrapped where they are defined.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from graphio.framework import scopes, source, tracebacks
from graphio.framework.graph_state import rollback
from graphio.support import api_guard, lazy_names, public_path
from graphio.support.api_guard import Guard

__all__ = [
    "export",
    "guard_namespace",
    "rolling_back",
    "rolling_back_object",
    "rolling_back_operator",
    "rolling_back_variables",
]

P = ParamSpec("P")
R = TypeVar("R")


def rolling_back(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose failed calls leave no operations in the default graph; their errors are
    those of source.refusal."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        graph = scopes.get_default_graph()
        with graph.root.building:
            before = rollback.mark(graph)
            try:
                return function(*arguments, **options)
            except BaseException as error:
                rollback.roll_back(graph, before)
                if not isinstance(error, Exception):
                    raise
                shown = source.refusal(error, function, arguments, options)
                if shown is error:
                    tracebacks.shorten(error)
                    raise
                tracebacks.shorten_cause(error)
                raise shown from error

    return call


def rolling_back_operator(function: Callable[P, R]) -> Callable[P, R]:
    """As rolling_back, for operators, which build in the graph of their tensors."""
    return scopes.in_graph_of_inputs(rolling_back(function))


def rolling_back_variables(function: Callable[P, R]) -> Callable[P, R]:
    """As rolling_back, for functions that make variables: these go with the operations."""
    inner = rolling_back(function)

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        graph = scopes.get_default_graph()
        try:
            with graph.root.building, graph.unchanged_on_error():
                return inner(*arguments, **options)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    return call


def rolling_back_object(method: Callable[P, R]) -> Callable[P, R]:
    """As rolling_back_variables, for methods that keep what they have made in their object: its
    attributes get their former values, too."""
    inner = rolling_back_variables(method)

    @functools.wraps(method)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        kept = vars(arguments[0])
        before = {k: copy.copy(v) if isinstance(v, (dict, list)) else v for k, v in kept.items()}
        try:
            return inner(*arguments, **options)
        except BaseException as error:
            kept.clear()
            kept.update(before)
            tracebacks.shorten(error)
            raise

    return call


# ---- the functions that namespaces export ----

_WRAPPERS: dict[Guard, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    Guard.GUARDED: rolling_back,
    Guard.OPERATOR: rolling_back_operator,
    Guard.MAKES_VARIABLES: rolling_back_variables,
}
#: the public form of each function that was exported, also by that form itself
_exported: dict[Callable[..., Any], Callable[..., Any]] = {}


def export(value: Any, module: str, name: str) -> Any:
    """The public form of a function, one for each function; anything else is itself. Functions and
    classes pickle by their name in a namespace of lazy_names, else by the first public name that
    they get.

    Raises:
        TypeError: the function has no mark of api_guard.
    """
    module = lazy_names.namespace_of(getattr(value, "__module__", ""), name) or module
    if not isinstance(value, types.FunctionType):
        public_path.name_class(value, module, name)
        return value
    guard = api_guard.guard_of(value)
    if guard is None:
        raise TypeError(
            f"{module}.{name} is public, but {value.__module__}.{value.__qualname__} declares no "
            "guard; decorate it with one of graphio.support.api_guard, such as @api_guard.operator"
        )
    if guard is Guard.UNGUARDED:
        return value
    known = _exported.get(value)
    if known is None:
        known = _WRAPPERS[guard](value)
        known.__module__, known.__qualname__ = module, name
        _exported[value] = _exported[known] = known
    return known


def guard_namespace(module: types.ModuleType) -> None:
    """Replaces each function that a namespace exports by its public form, also in the modules that
    it names as `_GUARDED_MODULES`. Names that it looks up at their first use get theirs then."""
    for name in set(getattr(module, "__all__", ())) & vars(module).keys():
        setattr(module, name, export(vars(module)[name], module.__name__, name))
    for inner in getattr(module, "_GUARDED_MODULES", ()):
        guard_namespace(inner)
