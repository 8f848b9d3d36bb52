"""Who knows the gradient of which operator.

A gradient function takes the operation and one gradient per output (None where none
arrives) and returns one gradient per input (None where none leaves). Operators without a
gradient are listed, so that silence means forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphio.graph import Operation, Tensor

GradientFunction = Callable[..., "Sequence[Tensor | None]"]

_functions: dict[tuple[str, str], GradientFunction] = {}
_none: set[tuple[str, str]] = set()
_lacking: dict[str, str] = {}


def gradient(op: str, domain: str = "") -> Callable[[GradientFunction], GradientFunction]:
    """Registers the decorated function as the gradient of an operator."""

    def register(function: GradientFunction) -> GradientFunction:
        _functions[domain, op] = function
        return function

    return register


def not_differentiable(*ops: str, domain: str = "") -> None:
    """Says out loud that no gradient passes through these operators."""
    _none.update((domain, op) for op in ops)


def lacks_gradient(tf_type: str, instead: str) -> None:
    """Says that TensorFlow has a gradient of the type and we have none, and what to do instead."""
    _lacking[tf_type] = instead


def functions() -> frozenset[tuple[str, str]]:
    """(domain, operator) of all that have a gradient function."""
    return frozenset(_functions)


def without() -> frozenset[tuple[str, str]]:
    """(domain, operator) of all that are said to have none."""
    return frozenset(_none)


def lookup(operation: Operation) -> GradientFunction | None:
    """The gradient of an operation; None if it has none by nature.

    Raises LookupError if nobody has said anything about the operator.
    """
    key = (operation.domain, operation.op)
    if key in _functions:
        return _functions[key]
    if operation.tf_type in _lacking:
        raise LookupError(
            f"{operation.type} '{operation.name}'{operation.where}: it cannot be differentiated "
            f"here; {_lacking[operation.tf_type]}"
        )
    if key in _none:
        return None
    raise LookupError(
        f"{operation.op} '{operation.name}'{operation.where}: no gradient is registered for this "
        f"operator; register one with gradient({operation.op!r}, {operation.domain!r}) or cut the "
        "path with stop_gradient"
    )
