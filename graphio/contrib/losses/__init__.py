"""tf.contrib.losses: losses whose predictions come first, and those of metric_learning."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.losses import metric_learning
from graphio.contrib.losses.weighted import (
    absolute_difference,
    add_loss,
    compute_weighted_loss,
    cosine_distance,
    get_losses,
    get_regularization_losses,
    get_total_loss,
    hinge_loss,
    log_loss,
    mean_pairwise_squared_error,
    mean_squared_error,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
    sparse_softmax_cross_entropy,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "metric_learning",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]

_GUARDED_MODULES = (metric_learning,)
api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
