"""tf.train.sdca_shrink_l1: the step by which L1 regularization makes weights 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Operation
from graphio.framework.scopes import name_scope
from graphio.ops.control_flow.branches import group
from graphio.ops.math import elementwise
from graphio.support import api_guard
from graphio.variables.variables import Variable

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

    Raises:
        TypeError: weights is not a list of float32 variables, or l1 or l2 not a number.
    """
    if not isinstance(weights, (list, tuple)):
        raise TypeError(
            f"Expected list for 'weights' argument to 'sdca_shrink_l1' Op, not {weights!r}: give a "
            "list of float32 variables"
        )
    for weight in weights:
        if not isinstance(weight, Variable) or weight.dtype.base_dtype != dtypes.float32:
            raise TypeError(f"sdca_shrink_l1: a weight is {weight!r}, expected a float32 variable")
    for value, argument in ((l1, "l1"), (l2, "l2")):
        if not isinstance(value, (int, float, np.number)):
            raise TypeError(f"Expected float for argument '{argument}' not {value!r}.")
    with name_scope(name, "SdcaShrinkL1"):
        by = elementwise.divide(float(l1), float(l2))
        assigned = []
        for weight in weights:
            size = elementwise.maximum(elementwise.subtract(elementwise.abs(weight), by), 0.0)
            assigned.append(weight.assign(elementwise.multiply(elementwise.sign(weight), size)).op)
        return group(*assigned)
