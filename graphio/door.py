"""The door of the public functions: a refused call names itself and leaves the graph as it was.

Calls among our own modules do not pass it, so that it costs nothing there.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from graphio import scopes, source, tracebacks

__all__ = ["guard", "guarded", "keeping", "keeping_object", "outside"]

P = ParamSpec("P")
R = TypeVar("R")
#: modules whose functions make nothing
_OPEN = (
    "graphio.scopes", "graphio.session", "graphio.logging", "graphio.nest", "graphio.test",
    "graphio.tracebacks", "graphio.train.checkpoint_state",
)  # fmt: skip
#: modules whose functions make variables
_MAKERS = (
    "graphio.ops.metrics", "graphio.variable_scope", "graphio.rnn", "graphio.train.",
    "graphio.templates",
)  # fmt: skip
#: modules whose functions build in the graph of their tensors
_OPERATORS = ("graphio.ops.", "graphio.gradients")
_guards: dict[Callable[..., object], Callable[..., object]] = {}


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose failing takes its operations back; see source.refusal. An operator builds
    in the graph of its tensors."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        graph = scopes.get_default_graph()
        with graph.root.building:
            before = graph.mark()
            try:
                return function(*arguments, **options)
            except BaseException as error:
                graph.take_back(before)
                if not isinstance(error, Exception):
                    raise
                said = source.refusal(error, function, arguments, options)
                if said is error:
                    tracebacks.shorten(error)
                    raise
                tracebacks.shorten_cause(error)
                raise said from error

    made: Callable[P, R] = call
    if function.__module__.startswith(_OPERATORS) and not function.__module__.startswith(_MAKERS):
        made = scopes.in_graph_of_inputs(call)
    _guards[function] = _guards[made] = made
    return made


def keeping(function: Callable[P, R]) -> Callable[P, R]:
    """As guarded, for functions that make variables: these go with the operations."""
    inner = guarded(function)

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        graph = scopes.get_default_graph()
        try:
            with graph.root.building, graph.unchanged_on_error():
                return inner(*arguments, **options)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    _guards[function] = _guards[call] = call
    return call


def keeping_object(method: Callable[P, R]) -> Callable[P, R]:
    """As keeping, for methods that note in their object what they have made."""
    inner = keeping(method)

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


def outside(value: Any, module: str, name: str) -> Any:
    """The function behind its door, one for each function; anything else is itself. It pickles by
    the first public name that it gets."""
    if not isinstance(value, types.FunctionType) or value.__module__ in _OPEN:
        return value
    if not value.__module__.startswith("graphio."):
        return value
    known = _guards.get(value)
    if known is None:
        known = (keeping if value.__module__.startswith(_MAKERS) else guarded)(value)
        known.__module__, known.__qualname__ = module, name
    return known


def guard(module: types.ModuleType) -> None:
    """Puts the functions of a namespace behind the door."""
    for name in getattr(module, "__all__", ()):
        setattr(module, name, outside(getattr(module, name), module.__name__, name))
