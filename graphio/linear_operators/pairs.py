"""The rules by which operators give operators: compositions, solutions, adjoints and others.

A rule is for classes of operators; that of the nearest classes counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["adjoint", "cholesky", "composition", "inverse", "rule", "solution"]

Rule = TypeVar("Rule", bound=Callable[..., Any])

#: kind of a rule -> classes of the operators -> the rule
_RULES: dict[str, dict[tuple[type, ...], Callable[..., Any]]] = {}


def rule(kind: str, *classes: type) -> Callable[[Rule], Rule]:
    """Makes a function the rule of a kind for operators of these classes."""

    def decorate(function: Rule) -> Rule:
        _RULES.setdefault(kind, {})[classes] = function
        return function

    return decorate


def _apply(kind: str, *operators: Any) -> Any:
    lines = [type(operator).__mro__ for operator in operators]
    fitting = [
        classes
        for classes in _RULES[kind]
        if all(c in line for c, line in zip(classes, lines, strict=True))
    ]
    nearest = min(
        fitting, key=lambda found: sum(s.index(c) for c, s in zip(found, lines, strict=True))
    )
    return _RULES[kind][nearest](*operators)


def composition(left: Any, right: Any) -> Any:
    """The operator of left right."""
    return _apply("composition", left, right)


def solution(left: Any, right: Any) -> Any:
    """The operator of left^-1 right."""
    return _apply("solution", left, right)


def adjoint(operator: Any) -> Any:
    """The operator of the adjoint matrices."""
    return _apply("adjoint", operator)


def inverse(operator: Any) -> Any:
    """The operator of the inverse matrices."""
    return _apply("inverse", operator)


def cholesky(operator: Any) -> Any:
    """The operator of the Cholesky factors."""
    return _apply("cholesky", operator)
