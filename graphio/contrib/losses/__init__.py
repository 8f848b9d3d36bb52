"""tf.contrib.losses: losses whose predictions come first, and those of metric_learning."""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.losses": ("metric_learning",),
    "graphio.contrib.losses.weighted": (
        "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
        "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss",
        "mean_pairwise_squared_error", "mean_squared_error", "sigmoid_cross_entropy",
        "softmax_cross_entropy", "sparse_softmax_cross_entropy",
    ),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
