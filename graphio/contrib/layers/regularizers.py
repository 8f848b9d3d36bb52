"""Penalties of weights."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys, add_to_collection, get_collection
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.support import api_guard, logging

__all__ = [
    "apply_regularization",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "sum_regularizer",
]

Regularizer = Callable[[Any], "Tensor | None"]


@api_guard.unguarded
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """A function to scale * (sum of absolute weights); 0.0: to None.

    Args:
        scale: a float that is not negative, or a scalar tensor.
        scope: name scope of the penalty.

    Raises:
        ValueError: scale is an integer or negative.
    """
    return _scaled(
        scale, scope, "l1_regularizer", lambda w: reduction.reduce_sum(elementwise.abs(w))
    )


@api_guard.unguarded
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """A function to scale * (half the sum of squared weights); 0.0: to None.

    Args:
        scale: a float that is not negative, or a scalar tensor.
        scope: name scope of the penalty.

    Raises:
        ValueError: scale is an integer or negative.
    """
    return _scaled(scale, scope, "l2_regularizer", nn.l2_loss)


def _scaled(
    scale: Any, scope: str | None, default_scope: str, size: Callable[[Any], Tensor]
) -> Regularizer:
    """A function to scale * the size of the weights; 0.0: to None."""
    if _is_off("scale", scale):
        return _none

    def penalty(weights: Any) -> Tensor:
        with scopes.name_scope(scope, default_scope) as name:
            factor = convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return elementwise.multiply(factor, size(weights), name=name)

    return penalty


@api_guard.unguarded
def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Regularizer | None:
    """The sum of l1_regularizer and l2_regularizer.

    Raises:
        ValueError: a scale is an integer or negative.
    """
    for argument, scale in (("scale_l1", scale_l1), ("scale_l2", scale_l2)):
        _is_off(argument, scale, quiet=True)
    name = scope or "l1_l2_regularizer"
    if isinstance(scale_l1, float) and scale_l1 == 0.0:
        return l2_regularizer(scale_l2, name)
    if isinstance(scale_l2, float) and scale_l2 == 0.0:
        return l1_regularizer(scale_l1, name)
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], name)


@api_guard.unguarded
def sum_regularizer(
    regularizer_list: Sequence[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """A function to the sum of penalties; None: there are no regularizers in the list."""
    present = [one for one in regularizer_list if one is not None]
    if not present:
        return None

    def total(weights: Any) -> Tensor | None:
        with scopes.name_scope(scope, "sum_regularizer") as name:
            penalties = [p for p in (one(weights) for one in present) if p is not None]
            return elementwise.add_n(penalties, name=name) if penalties else None

    return total


@api_guard.guarded
def apply_regularization(
    regularizer: Regularizer, weights_list: Sequence[Any] | None = None
) -> Tensor:
    """The sum of the penalties of weights, which also joins REGULARIZATION_LOSSES.

    Args:
        regularizer: a function from weights to a scalar, or to None.
        weights_list: None or empty: the collection WEIGHTS.

    Raises:
        ValueError: there are no weights, or a penalty is not a scalar.
    """
    weights = weights_list or get_collection(GraphKeys.WEIGHTS)
    if not weights:
        raise ValueError("No weights to regularize.")
    with scopes.name_scope("get_regularization_penalty") as scope:
        given = [regularizer(w) for w in weights]
        penalties = [constant(0.0) if p is None else p for p in given]
        for p in penalties:
            if p.get_shape().ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{p.get_shape().ndims}."
                )
        total = elementwise.add_n(penalties, name=scope)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total


def _none(_: Any) -> None:
    return None


def _is_off(argument: str, scale: Any, quiet: bool = False) -> bool:
    """Whether a scale is 0.0. Raises ValueError for integers and negative numbers."""
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"{argument} cannot be an integer: {scale}")
    if not isinstance(scale, numbers.Real):
        return False
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {float(scale):g}")
    if scale == 0.0 and not quiet:
        logging.info("Scale of 0 disables regularizer.")
    return scale == 0.0
