"""arg_scope: arguments that functions get where a call does not give them.

    with arg_scope([conv2d], padding="SAME", stride=2):
        net = conv2d(net, 64, [3, 3])

The scopes of a thread do not reach other threads.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from graphio.support import api_guard

__all__ = [
    "add_arg_scope",
    "arg_scope",
    "arg_scope_func_key",
    "arg_scoped_arguments",
    "current_arg_scope",
    "has_arg_scope",
]

F = TypeVar("F", bound=Callable[..., Any])
#: by the key of a function: its arguments
Scope = dict[Any, dict[str, Any]]

_current: contextvars.ContextVar[Scope] = contextvars.ContextVar("arg_scope")


def _of_here() -> Scope:
    return _current.get({})


@api_guard.unguarded
def current_arg_scope() -> Scope:
    """The arguments that calls get here, by function; for use as `arg_scope(scope)`."""
    return {key: dict(options) for key, options in _of_here().items()}


@api_guard.unguarded
def arg_scope_func_key(op: Callable[..., Any]) -> Any:
    """The key of a function in a scope."""
    return getattr(op, "_key_op", op)


@api_guard.unguarded
@contextlib.contextmanager
def arg_scope(list_ops_or_scope: Any, **kwargs: Any) -> Iterator[Scope]:
    """Gives arguments to calls of functions inside; arguments of a call and inner scopes win.

    Args:
        list_ops_or_scope: functions that add_arg_scope decorates, or a scope that an earlier
            arg_scope gave, which then replaces the current one.
        kwargs: the arguments; none with an earlier scope.

    Yields:
        the scope, to use again.

    Raises:
        TypeError: the first argument is neither a list, a tuple nor a dictionary.
        ValueError: a function is not decorated; arguments come with an earlier scope.
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise ValueError(
                f"arg_scope takes a scope as it is; found the arguments {sorted(kwargs)}: give "
                "them in an arg_scope of functions inside"
            )
        made: Scope = {key: dict(given) for key, given in list_ops_or_scope.items()}
    else:
        made = _with_arguments(list_ops_or_scope, kwargs)
    token = _current.set(made)
    try:
        yield made
    finally:
        _current.reset(token)


def _with_arguments(functions: Any, given: dict[str, Any]) -> Scope:
    if not isinstance(functions, (list, tuple)):
        raise TypeError(
            f"arg_scope: list_ops_or_scope is {functions!r}, expected a list or tuple of functions "
            "or a scope that an earlier arg_scope gave"
        )
    made = current_arg_scope()
    for function in functions:
        if not has_arg_scope(function):
            name = f"{function.__module__}.{getattr(function, '__qualname__', function)}"
            raise ValueError(
                f"{name} is not decorated with @add_arg_scope, so that arg_scope cannot give it "
                f"{', '.join(given) or 'arguments'}"
            )
        key = arg_scope_func_key(function)
        made[key] = {**made.get(key, {}), **given}
    return made


@api_guard.unguarded
def add_arg_scope(func: F) -> F:
    """Decorates a function whose arguments arg_scope may give."""

    @functools.wraps(func)
    def call(*arguments: Any, **options: Any) -> Any:
        given = _of_here().get(func)
        return func(*arguments, **({**given, **options} if given else options))

    call._key_op = func  # type: ignore[attr-defined]
    call._arguments = _with_defaults(func)  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


@api_guard.unguarded
def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Whether add_arg_scope decorates a function."""
    return hasattr(func, "_key_op")


@api_guard.unguarded
def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a decorated function's arguments that have defaults.

    Raises:
        ValueError: add_arg_scope does not decorate it.
    """
    if not has_arg_scope(func):
        raise ValueError(f"{func!r} is not decorated with @add_arg_scope")
    found: tuple[str, ...] = func._arguments  # type: ignore[attr-defined]
    return found


def _with_defaults(func: Callable[..., Any]) -> tuple[str, ...]:
    parameters = inspect.signature(func).parameters.values()
    return tuple(p.name for p in parameters if p.default is not p.empty)
