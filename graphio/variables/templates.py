"""make_template: a function whose variables are made once and shared by its calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.support import api_guard
from graphio.variables.variable_scope import VariableScope, variable_scope

__all__ = ["make_template"]


@api_guard.makes_variables
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function like func_ whose first call makes the variables that the others share.

    Args:
        name_: of the variable scope, made unique.
        func_: makes variables by tf.get_variable.
        create_scope_now_: whether the scope is opened now instead of at the first call.
        unique_name_: of the scope, taken as it is.
        custom_getter_: for the scope.
        kwargs: arguments of func_ that all calls have.

    Raises:
        ValueError: at a later call, func_ makes variables that the first one did not.
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """The result of make_template; call it as the function."""

    def __init__(
        self, name: str, function: Callable[..., Any], now: bool, unique: str | None, getter: Any
    ) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name cannot be {name!r}; give a string")
        self._name, self._function = name, function
        self._unique, self._getter = unique, getter
        self._scope: VariableScope | None = None
        self._called = False
        if now:
            with self._first(auxiliary_name_scope=False) as opened:
                self._scope = opened

    def _first(self, **options: Any) -> variable_scope:
        """Opens the scope for the first time."""
        return variable_scope(
            self._unique, default_name=self._name, custom_getter=self._getter, **options
        )

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._scope is None:
            scope = self._first()
        else:
            scope = variable_scope(self._scope, reuse=self._called or None)
        unchanged = scopes.get_default_graph().unchanged_on_error()
        with unchanged, scope as opened:
            self._scope = self._scope or opened
            before = len(self._trainable())
            result = self._function(*arguments, **options)
            if self._called and len(self._trainable()) != before:
                made = ", ".join(v.name for v in self._trainable()[before:])
                raise ValueError(
                    f"Trainable variable created when calling a template after the first time, "
                    f"perhaps you used tf.Variable when you meant tf.get_variable: {made}"
                )
        self._called = True
        return result

    def _trainable(self) -> list[Any]:
        return scopes.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def name(self) -> str:
        """The name as it was given."""
        return self._name

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope; None before it is opened."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a slash at its end; None before it is opened."""
        if self._scope is None:
            return None
        name = self._scope.name
        return name if not name or name.endswith("/") else f"{name}/"

    def _members(self, collection: str) -> list[Any]:
        """The members of a collection whose names are in the scope."""
        prefix = self.variable_scope_name
        graph = scopes.get_default_graph()
        return [] if prefix is None else graph.get_collection(collection, prefix)

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return self._members(GraphKeys.GLOBAL_VARIABLES)

    global_variables = variables

    @property
    def local_variables(self) -> list[Any]:
        """Its variables of this process alone."""
        return self._members(GraphKeys.LOCAL_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """Its variables that optimizers leave alone."""
        trained = set(self.trainable_variables)
        return [v for v in self.variables if v not in trained]

    @property
    def trainable_variables(self) -> list[Any]:
        """Its variables that optimizers change."""
        return self._members(GraphKeys.TRAINABLE_VARIABLES)
