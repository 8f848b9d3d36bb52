"""tf.Module: an object that finds the variables and modules among its attributes."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from graphio.framework import nest, scopes
from graphio.framework.variable import Variable

__all__ = ["Module"]

F = TypeVar("F", bound=Callable[..., Any])
#: where a new word begins in a name such as MyRNNCell
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<!^)(?=[A-Z][a-z])")


class Module:
    """A base class of layers: it finds the variables and modules among the attributes, also in
    lists, tuples and dicts, and has a name scope.

    Args:
        name: an identifier of Python; None: the class's name in lower case with underscores.

    Raises:
        ValueError: name is not an identifier.

    Example:
        >>> class Dense(tf.Module):
        ...     def __init__(self, inputs, outputs):
        ...         super().__init__()
        ...         with self.name_scope:
        ...             self.w = tf.Variable(tf.ones([inputs, outputs]), name="w")
        >>> print(*[v.name for v in Dense(2, 3).variables])
        dense/w:0
    """

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _WORDS.sub("_", type(self).__name__).lower()
        elif not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with scopes.name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name, without the scopes around."""
        return self._name

    @property
    def name_scope(self) -> contextlib.AbstractContextManager[str]:
        """A context with the module's name scope, the same one each time."""
        return scopes.name_scope(self._scope_name)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, each once: those of the attributes in the order of their names, then
        those of the modules among them."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that are trainable, in the same order."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules among the attributes, then those in them, each once."""
        return tuple(self._flatten(predicate=lambda value: isinstance(value, Module)))

    @classmethod
    def with_name_scope(cls, method: F) -> F:
        """A decorator of methods, which run in the module's name scope."""

        @functools.wraps(method)
        def call(self: Module, *arguments: Any, **options: Any) -> Any:
            with self.name_scope:
                return method(self, *arguments, **options)

        return call  # type: ignore[return-value]

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """The values among the attributes.

        Args:
            recursive: whether those of modules among them follow.
            predicate: which values; None: all.
            attribute_traversal_key: a key by which names of attributes are sorted.
            with_path: gives (path, value), a value as often as it is there.
        """
        chosen = predicate or (lambda value: True)
        seen = {id(self)}
        waiting: list[tuple[tuple[Any, ...], Module]] = [((), self)]
        while waiting:
            front, module = waiting.pop(0)
            inside = []
            for path, value in _leaves(module, attribute_traversal_key):
                if not with_path and id(value) in seen:
                    continue
                seen.add(id(value))
                if chosen(value):
                    yield (front + path, value) if with_path else value
                if recursive and isinstance(value, Module):
                    inside.append((front + path, value))
            waiting[:0] = inside


def _leaves(module: Module, key: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values of the attributes with their paths."""
    for name in sorted(vars(module), key=key):
        yield from _parts(vars(module)[name], (name,))


def _parts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a nested structure with their paths."""
    if not nest.is_nested(value):
        yield path, value
        return
    keys: Any = getattr(value, "_fields", None) or range(len(value))
    if isinstance(value, Mapping):
        keys = sorted(value)
    for key, child in zip(keys, nest.children(value), strict=True):
        yield from _parts(child, (*path, key))
