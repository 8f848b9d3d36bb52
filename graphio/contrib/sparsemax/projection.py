"""Sparsemax: the nearest point of the simplex, in place of softmax; and its loss."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather_nd
from graphio.ops.array.order import top_k
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["sparsemax", "sparsemax_loss"]


@api_guard.operator
def sparsemax(logits: Any, name: str | None = None) -> Tensor:
    """The probabilities max(logits - tau, 0), with tau such that each row sums to 1.

    Equation 2 and algorithm 1 of Martins and Astudillo (2016).

    Args:
        logits: floating (n, classes). A row with a nan, with inf, or of -inf alone gives nan.
        name: name scope of the operations.

    Raises:
        ValueError: logits have another rank.
    """
    with name_scope(name, "sparsemax"):
        z = convert_to_tensor(logits, name="logits")
        if z.shape.ndims not in (2, None):
            raise ValueError(f"sparsemax: logits have shape {z.shape}, expected (n, classes)")
        dtype = z.dtype
        rows, classes = array.unstack(array.shape(z), num=2)
        descending = top_k(z, classes).values
        sums = reduction.cumsum(descending, axis=1)
        count = elementwise.cast(array.range(1, classes + 1), dtype)
        supported = comparison.greater(1.0 + count * descending, sums)
        support = reduction.reduce_sum(elementwise.cast(supported, "int32"), 1)
        at = array.stack([array.range(rows), elementwise.maximum(support, 1) - 1], axis=1)
        tau = (gather_nd(sums, at) - 1.0) / elementwise.cast(support, dtype)
        found = elementwise.maximum(z - array.expand_dims(tau, 1), 0.0)
        invalid = comparison.logical_or(
            comparison.equal(support, 0), elementwise.is_nan(sums[:, -1])
        )
        nan = array.fill(array.shape(z), elementwise.cast(float("nan"), dtype))
        return array.where(invalid, nan, found)


@api_guard.operator
def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> Tensor:
    """The loss whose gradient is `sparsemax - labels`, by row.

    Equation 18 of Martins and Astudillo (2016), for labels that are distributions.

    Args:
        logits: floating (n, classes).
        sparsemax: what the function sparsemax gives for them.
        labels: a distribution for each row (n, classes), of the same dtype.
        name: name scope of the operations.

    Returns:
        A tensor (n).
    """
    with name_scope(name, "sparsemax_loss"):
        z = convert_to_tensor(logits, name="logits")
        p = convert_to_tensor(sparsemax, name="sparsemax")
        q = convert_to_tensor(labels, name="labels")
        # where a class has no part in a term, its logit may be -inf: 0 * -inf would be nan
        has_part = comparison.logical_or(comparison.greater(p, 0.0), elementwise.is_nan(p))
        own = array.where(has_part, p * (z - 0.5 * p), array.zeros_like(p))
        absent = comparison.logical_and(comparison.equal(q, 0.0), elementwise.is_inf(z))
        other = array.where(absent, array.zeros_like(z), q * (0.5 * q - z))
        return reduction.reduce_sum(own + other, 1)
