"""Functions that a package calls and a package above it defines.

A package imports only those below it (tests/architecture/test_architecture.py has their order), but
a tensor has eval(), which needs a session, and a graph is printed. The lower package declares the
function that it calls, the upper one registers its own:

    session_of: Registered[[Graph, Any, str], Any] = Registered("session_of")  # framework

    @registered.session_of.register                                            # execution
    def session_of(graph, session, what): ...

The root of the package says which module registers which function, so that a program that imports
the lower package alone has it, too: the module is loaded at the first call.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Generic, ParamSpec, TypeVar

__all__ = ["Registered", "provide"]

P = ParamSpec("P")
R = TypeVar("R")

_modules: dict[str, str] = {}


def provide(modules: Mapping[str, str]) -> None:
    """Says which modules register which functions.

    Args:
        modules: full names of modules by the names of the functions.
    """
    _modules.update(modules)


class Registered(Generic[P, R]):
    """A function that is called by its declaration, wherever it is defined.

    Args:
        name: of the function, by which the root knows the module that registers it.
    """

    __slots__ = ("_function", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._function: Callable[P, R] | None = None

    def register(self, function: Callable[P, R]) -> Callable[P, R]:
        """Makes a function the one that calls go to; a decorator of it."""
        self._function = function
        return function

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        function = self._function
        if function is None:
            function = self._found()
        return function(*arguments, **options)

    def _found(self) -> Callable[P, R]:
        """The function after its module is loaded.

        Raises:
            RuntimeError: no module is known to register it, or the one that is does not.
        """
        module = _modules.get(self.name)
        if module is not None:
            importlib.import_module(module)
        if self._function is None:
            raise RuntimeError(
                f"nothing is registered as {self.name!r}: expected "
                f"{module or 'a module that the package graphio names'} to register a function"
            )
        return self._function
