"""Assert, and tensors that a run has once a condition holds; a run in which it does not fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import operation, scalar, scope
from graphio.support import api_guard, errors

__all__ = ["Assert", "holding", "never", "once"]

not_differentiable("Assert", domain="graphio")


@api_guard.operator
def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails, showing data, if the condition does not hold.

    It runs where something waits for it: `with tf.control_dependencies([tf.Assert(...)])`.

    Args:
        condition: bool scalar.
        data: list of tensors and values of any dtype to show.
        summarize: elements that are shown of each; None: 3; negative: all.
        name: of the operation.

    Returns:
        The operation. A run in which the condition does not hold is an InvalidArgumentError
        "assertion failed: [...] [...]".

    Raises:
        TypeError: condition is not a bool, or data is not a list.
        ValueError: condition is not a scalar.
    """
    if not isinstance(data, (list, tuple)):
        raise TypeError(f"Assert: data is {type(data).__name__}, expected a list of tensors")
    with scope(name, "Assert") as at:
        holds = convert_to_tensor(condition, name="Condition")
        if holds.dtype != dtypes.bool:
            raise TypeError(
                f"Assert: condition '{holds.name}' is {holds.dtype.name}, expected bool"
            )
        if holds.shape.ndims not in (None, 0):
            raise ValueError(
                f"Assert: condition '{holds.name}' has shape {holds.shape}, expected a scalar; "
                "tf.reduce_all makes one"
            )
        shown = [convert_to_tensor(value, name=f"data_{i}") for i, value in enumerate(data)]
        return operation(
            "Assert",
            [holds, *shown],
            [],
            name=at,
            domain="graphio",
            attrs={"summarize": 3 if summarize is None else int(summarize)},
        )


def once(x: Tensor, holds: Tensor, words: str) -> Tensor:
    """x, once the condition is known to hold."""
    with scopes.control_dependencies([Assert(holds, [words, x], summarize=10)]):
        return primitive.unary("Identity", x)


def never(x: Tensor, words: str) -> Tensor:
    """x for static shapes alone: a run that wants it fails with the words."""
    return once(x, scalar(False, dtypes.bool), words)


def holding(x: Tensor, holds: Tensor, words: str) -> Tensor:
    """As once, without a check in the run where the condition is known.

    Raises:
        InvalidArgumentError: it is known not to hold.
    """
    known = constant_value(holds)
    if known is None:
        return once(x, holds, words)
    if not known:
        raise errors.InvalidArgumentError(message=f"{words} {x.name}")
    return x
