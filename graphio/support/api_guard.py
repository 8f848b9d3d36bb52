"""Public API guards: what a public function declares about calls that fail.

Every function that a namespace of graphio exports is decorated with one of these. A decorator only
marks the function, so that calls between graphio's own modules cost nothing; the namespace wraps it
by its mark (api_boundary.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Guard", "guard_of", "guarded", "makes_variables", "operator", "unguarded"]

F = TypeVar("F", bound=Callable[..., Any])


class Guard(enum.Enum):
    """The treatment of a failed call by the public form of a function."""

    UNGUARDED = "nothing is rolled back, the error stays as it is"
    GUARDED = "the new operations of the default graph are rolled back"
    OPERATOR = "as GUARDED, in the graph of the arguments that are tensors"
    MAKES_VARIABLES = "new operations, variables and members of collections are rolled back"


def unguarded(function: F) -> F:
    """Marks a function that adds nothing to a graph and checks its own arguments."""
    return _marked(function, Guard.UNGUARDED)


def guarded(function: F) -> F:
    """Marks a function whose failed calls leave no operations behind. As for all but unguarded
    functions, its errors name the function, its arguments and the program's line."""
    return _marked(function, Guard.GUARDED)


def operator(function: F) -> F:
    """Marks a function that builds operations in the graph of its tensors."""
    return _marked(function, Guard.OPERATOR)


def makes_variables(function: F) -> F:
    """Marks a function that may make variables, which are rolled back with the operations."""
    return _marked(function, Guard.MAKES_VARIABLES)


def guard_of(function: Callable[..., Any]) -> Guard | None:
    """The guard that a function is marked with, also below decorators that use functools.wraps."""
    found: Guard | None = getattr(function, "api_guard", None)
    return found


def _marked(function: F, guard: Guard) -> F:
    function.api_guard = guard  # type: ignore[attr-defined]
    return function
