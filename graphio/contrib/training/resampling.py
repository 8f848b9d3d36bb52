"""Resampling of a batch: each row as often as a rate says, on average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather
from graphio.ops.array.repeating import repeat
from graphio.ops.math import elementwise, reduction
from graphio.ops.random.more import random_poisson
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_local_variable, variable_scope
from graphio.variables.variables import assign_sub

__all__ = ["resample_at_rate", "weighted_resample"]


@api_guard.guarded
def resample_at_rate(
    inputs: Sequence[Any],
    rates: Any,
    scope: Any = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Any]:
    """The rows of tensors, each as often as a Poisson distribution draws.

    Args:
        inputs: list of tensors (batch, ...).
        rates: floats (batch), the means.
        scope: name of the operations.
        seed: of the random numbers.
        back_prop: accepted; the drawn numbers have no gradient.

    Returns:
        list of tensors (rows, ...).
    """
    with scopes.name_scope(scope, "resample_at_rate"):
        rates = convert_to_tensor(rates, name="rates")
        counts = random_poisson(rates, [], rates.dtype, seed=seed)
        counts = elementwise.cast(counts, dtypes.int32)
        rows = repeat(array.range(array.shape(counts)[0]), counts)
        return [gather(x, rows) for x in inputs]


@api_guard.makes_variables
def weighted_resample(
    inputs: Sequence[Any],
    weights: Any,
    overall_rate: float,
    scope: Any = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Any], Any]:
    """The rows of tensors, each as often as its weight says, compared with the mean weight.

    Args:
        inputs: list of tensors (batch, ...).
        weights: floats (batch).
        overall_rate: the mean number of rows for each row.
        scope: name of the operations and of the variable scope.
        mean_decay: decay of the moving average of the weights' mean, a local variable.
        seed: of the random numbers.

    Returns:
        (list of tensors (rows, ...), the rates of these rows).
    """
    weights = convert_to_tensor(weights)
    with scopes.name_scope(scope, "weighted_resample"):
        with variable_scope(scope, "estimate_mean"):
            average = get_local_variable(
                "estimated_mean", [], weights.dtype, initializer=zeros_initializer()
            )
            step = (average - reduction.reduce_mean(weights)) * (1.0 - mean_decay)
            mean = assign_sub(average, step)
        rates = weights * overall_rate / mean
        made = resample_at_rate([rates, *inputs], rates, seed=seed)
        return made[1:], made[0]
