"""tf.train.sdca_shrink_l1: the step by which L1 regularization makes weights 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.graph import Operation
from graphio.framework.scopes import name_scope
from graphio.ops.control_flow.branches import group
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["sdca_shrink_l1"]


@api_guard.operator
def sdca_shrink_l1(
    weights: Sequence[Any], l1: float, l2: float, name: str | None = None
) -> Operation:
    """Moves weights towards 0 by l1 / l2, at most to 0: sign(w) * max(|w| - l1 / l2, 0).

    The proximal step of stochastic dual coordinate ascent (Shalev-Shwartz and Zhang 2012).

    Args:
        weights: float32 variables.
        l1, l2: strengths of the two regularizations. An l2 of 0 makes every weight 0, or nan where
            l1 is 0, too, as in TensorFlow.
        name: name scope of the operations.

    Returns:
        An operation.
    """
    with name_scope(name, "SdcaShrinkL1"):
        by = elementwise.divide(float(l1), float(l2))
        assigned = []
        for weight in weights:
            size = elementwise.maximum(elementwise.subtract(elementwise.abs(weight), by), 0.0)
            assigned.append(weight.assign(elementwise.multiply(elementwise.sign(weight), size)).op)
        return group(*assigned)
