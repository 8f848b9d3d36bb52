"""Operators of domain graphio that update a variable and its slots in one step."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework import scopes
from graphio.framework.graph import Tensor

__all__ = ["step_operator"]


def step_operator(op: str, inputs: Sequence[Tensor], outputs: int, tf_type: str) -> list[Tensor]:
    """The outputs of a step operator, each like its first input."""
    like = inputs[0]
    operation = scopes.get_default_graph().add_operation(
        op,
        inputs,
        [(like.dtype, like.shape)] * outputs,
        domain="graphio",
        name=tf_type,
        tf_type=tf_type,
    )
    return list(operation.outputs)
