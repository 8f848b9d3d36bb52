"""Draws and checks of counts in classes."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks, shapes
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array.arranging import sequence_mask
from graphio.ops.array.index import one_hot
from graphio.ops.checks.asserts import assert_equal
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.special import lgamma
from graphio.ops.random.core import multinomial

__all__ = ["drawn_counts", "log_combinations", "summing_to"]


def log_combinations(n: Any, counts: Any, name: str = "log_combinations") -> Tensor:
    """The logarithm of n! / (counts_1! counts_2! ...), along the last axis.

    Args:
        n: floating tensor, the sums of counts.
        counts: floating tensor (..., k).
        name: of the operations.
    """
    with scopes.name_scope(name, values=[n, counts]):
        total, parts = convert_to_tensor(n, name="n"), convert_to_tensor(counts, name="counts")
        return lgamma(total + 1.0) - reduction.reduce_sum(lgamma(parts + 1.0), -1)


def summing_to(total: Tensor, counts: Tensor, words: str) -> Tensor:
    """counts, which are to be integers, not negative and of a sum."""
    found = checks.counts(counts)
    equal = assert_equal(total, reduction.reduce_sum(found, -1), message=words)
    checked: Tensor = with_dependencies([equal], found)
    return checked


def drawn_counts(
    total: Tensor, logits: Tensor, classes: Tensor, seed: int | None, dtype: Any
) -> Tensor:
    """How often each class is among total draws by probability softmax(logits).

    Args:
        total: floating tensor (rows) of integers.
        logits: floating tensor (rows, classes).
        classes: their number.
        seed: of the draws.
        dtype: of the counts.

    Returns:
        A tensor (rows, classes).
    """
    numbers = elementwise.cast(total, dtypes.int32)
    most = elementwise.maximum(reduction.reduce_max(numbers), 0)
    drawn = one_hot(multinomial(logits, most, seed=seed), classes, dtype=dtype)
    # each row has as many draws as the longest, of which the first ones count
    counting = shapes.with_last_axis(sequence_mask(numbers, most, dtype=dtype))
    return reduction.reduce_sum(drawn * counting, -2)
