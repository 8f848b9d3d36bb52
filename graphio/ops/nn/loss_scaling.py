"""Losses as they are scaled for several replicas, of which there is one here."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface
from graphio.ops.base.emit import scope
from graphio.ops.checks import asserts
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.support import api_guard

__all__ = ["compute_average_loss", "scale_regularization_loss"]


@api_guard.operator
def compute_average_loss(
    per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None
) -> Tensor:
    """The sum of the losses, each times its weight, divided by the batch size: a scalar.

    Args:
        per_example_loss: floating, of any shape.
        sample_weight: weights, broadcast from the first dimensions; None: 1.
        global_batch_size: an integer scalar; None: the first dimension's. 0 gives a loss of 0.

    Raises:
        TypeError: global_batch_size is not an integer.
        ValueError: it is not a scalar.
        InvalidArgumentError: it is negative; of the run, where it is known only then.
    """
    with scope(None, "compute_average_loss"):
        losses = convert_to_tensor(per_example_loss, name="per_example_loss")
        if sample_weight is not None:
            weights = elementwise.cast(convert_to_tensor(sample_weight), losses.dtype)
            for _ in range((losses.shape.ndims or 0) - (weights.shape.ndims or 0)):
                weights = surface.expand_dims(weights, -1)
            losses = elementwise.multiply(losses, weights)
        if global_batch_size is None:
            size = surface.shape(losses)[0]
        else:
            size = _checked(global_batch_size)
        total = reduction.reduce_sum(losses)
        return div_no_nan(total, elementwise.cast(size, losses.dtype))


def _checked(size: Any) -> Tensor:
    what = "global_batch_size"
    given = convert_to_tensor(size, name=what)
    if not given.dtype.is_integer:
        raise TypeError(f"{what} must be an integer, found {given.dtype.name}")
    if given.shape.ndims not in (0, None):
        raise ValueError(f"{what} must be a scalar, found the shape {given.shape}")
    checked = asserts.assert_non_negative(given, message=f"{what} must be non-negative.")
    counted: Tensor = with_dependencies([checked], given)
    return counted


@api_guard.operator
def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of the losses: there is one replica."""
    return reduction.reduce_sum(convert_to_tensor(regularization_loss))
