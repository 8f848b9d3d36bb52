"""Gradients of operators that are compositions: the parts are computed again and differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphio.framework import dtypes, registered
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of

__all__ = ["by_parts"]

Parts = Callable[..., "Tensor | Sequence[Tensor | None]"]


def by_parts(
    op: Operation, gradients_of_outputs: Sequence[Tensor | None], parts: Parts
) -> list[Tensor | None]:
    """The gradients of an operation's inputs through an equal composition of other operators.

    Args:
        op: the operation.
        gradients_of_outputs: what arrives at each of its outputs; None where nothing does.
        parts: from tensors in the place of op's inputs (None for an absent one) to the outputs,
            in order, made of operators with gradients; outputs after the last that matters may
            be left out.

    Returns:
        One gradient an input; None where none is defined.
    """
    # Copies, because a dependency of one input on another outside the operation must not count.
    copies = [None if x is None else node("Identity", [x], x.dtype, dims_of(x)) for x in op.inputs]
    found = parts(*copies)
    outputs = [found] if isinstance(found, Tensor) else list(found)
    pairs = [
        (y, dy)
        for y, dy in zip(outputs, gradients_of_outputs, strict=False)
        if y is not None and dy is not None
    ]
    xs = [x for x in copies if x is not None and dtypes.carries_gradient(x.dtype)]
    if not pairs or not xs:
        return [None] * len(copies)
    results = registered.gradients([y for y, _ in pairs], xs, [dy for _, dy in pairs], [])
    by_input = dict(zip(xs, results, strict=True))
    return [None if x is None else by_input.get(x) for x in copies]
