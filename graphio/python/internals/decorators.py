"""Decorators and looks at functions: of util.tf_decorator, util.deprecation and util.tf_export."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from graphio.support import api_guard

__all__ = [
    "ArgSpec",
    "FullArgSpec",
    "LazyLoader",
    "as_it_is",
    "deprecated",
    "deprecated_alias",
    "deprecated_argument_lookup",
    "export",
    "fn_args",
    "get_func_name",
    "getargspec",
    "has_kwargs",
    "keep_all",
    "keyword_args_only",
    "make_all",
    "make_decorator",
    "silence",
    "unwrap",
]

FullArgSpec = inspect.FullArgSpec


@api_guard.unguarded
def make_decorator(
    target: Callable[..., Any],
    decorator_func: Any,
    decorator_name: str | None = None,
    decorator_doc: str = "",
    decorator_argspec: Any = None,
) -> Any:
    """decorator_func with the name and the documentation of the function that it calls.

    Args:
        target: the function.
        decorator_func: calls it.
        decorator_name, decorator_doc, decorator_argspec: have no effect.
    """
    return functools.wraps(target)(decorator_func)


@api_guard.unguarded
def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """The wrappers around a function, the outermost first, and the function."""
    found, at = [], maybe_tf_decorator
    while hasattr(at, "__wrapped__"):
        found.append(at)
        at = at.__wrapped__
    return found, at


class ArgSpec(tuple[Any, ...]):
    """args, varargs, keywords and defaults of a function, as Python 2's inspect gave them."""

    args = property(lambda self: self[0])
    varargs = property(lambda self: self[1])
    keywords = property(lambda self: self[2])
    defaults = property(lambda self: self[3])


@api_guard.unguarded
def getargspec(obj: Any) -> ArgSpec:
    """The ArgSpec of a function, also behind decorators."""
    found = inspect.getfullargspec(inspect.unwrap(obj))
    return ArgSpec((found.args, found.varargs, found.varkw, found.defaults))


@api_guard.unguarded
def fn_args(fn: Any) -> tuple[str, ...]:
    """The names of the arguments of a function; of a method without self."""
    return tuple(
        name
        for name, one in inspect.signature(fn).parameters.items()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    )


@api_guard.unguarded
def has_kwargs(fn: Any) -> bool:
    """Whether a function takes arguments of any name."""
    return any(one.kind is one.VAR_KEYWORD for one in inspect.signature(fn).parameters.values())


@api_guard.unguarded
def get_func_name(func: Any) -> str:
    """The name of a function; of another callable object that of its class."""
    plain = func.func if isinstance(func, functools.partial) else inspect.unwrap(func)
    return str(getattr(plain, "__name__", type(plain).__name__))


@api_guard.unguarded
def deprecated(*arguments: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is: of deprecated functions and arguments. No
    warning is written."""
    return lambda function: function


@api_guard.unguarded
def deprecated_alias(
    deprecated_name: str, name: str, func_or_class: Any, warn_once: bool = True
) -> Any:
    """The function or class itself; no warning is written."""
    return func_or_class


@api_guard.unguarded
def deprecated_argument_lookup(new_name: str, new_value: Any, old_name: str, old_value: Any) -> Any:
    """The value of an argument that has two names.

    Raises:
        ValueError: both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'")
    return old_value


@api_guard.unguarded
@contextlib.contextmanager
def silence() -> Iterator[None]:
    """A context without warnings of deprecation, of which there are none."""
    yield


@api_guard.unguarded
def export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """The decorator tf_export, which leaves a function as it is: it adds no public name."""
    return lambda function: function


@api_guard.unguarded
def keyword_args_only(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function takes its arguments by name alone.

    Raises:
        ValueError: at a call with an argument by position.
    """

    @functools.wraps(func)
    def call(*arguments: Any, **options: Any) -> Any:
        if arguments:
            raise ValueError(f"Must use keyword args to call {func.__name__}.")
        return func(**options)

    return call


@api_guard.unguarded
def keep_all(module_name: str, *arguments: Any, **options: Any) -> None:
    """remove_undocumented. No effect: the module keeps all its names."""


@api_guard.unguarded
def make_all(module_name: str, doc_string_modules: Any = None) -> list[str]:
    """The public names of a module."""
    return [name for name in vars(importlib.import_module(module_name)) if name[0] != "_"]


@api_guard.unguarded
def as_it_is(function: Any, *arguments: Any, **options: Any) -> Any:
    """The decorator should_use_result, which leaves a function as it is: it reports nothing."""
    return function


class LazyLoader(types.ModuleType):
    """A module that is imported when a name of it is first used.

    Args:
        local_name: its name in the module that uses it.
        parent_module_globals: globals() of that module.
        name: its path.
    """

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name, self._parent = local_name, parent_module_globals

    def __getattr__(self, item: str) -> Any:
        module = importlib.import_module(self.__name__)
        self._parent[self._local_name] = module
        return getattr(module, item)

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))
