"""Functions of matrices that also take linear operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

__all__ = ["OperatorLike", "takes_operators"]

F = TypeVar("F", bound=Callable[..., Any])


class OperatorLike:
    """The base of linear operators.

    Attributes:
        functions: from the names of functions of matrices to those that take operators.
    """

    functions: ClassVar[Mapping[str, Callable[..., Any]]]


def takes_operators(function: F) -> F:
    """Gives calls with a linear operator as one of two matrices to the operator's function."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        for given in (*arguments[:2], *options.values()):
            if isinstance(given, OperatorLike):
                return given.functions[function.__name__](*arguments, **options)
        return function(*arguments, **options)

    return call  # type: ignore[return-value]
