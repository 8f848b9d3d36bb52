"""tf.contrib.nn: activations and losses that tf.nn lacks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.nn.activations import alpha_dropout, scaled_softplus
from graphio.contrib.nn.losses import (
    deprecated_flipped_sigmoid_cross_entropy_with_logits,
    deprecated_flipped_softmax_cross_entropy_with_logits,
    deprecated_flipped_sparse_softmax_cross_entropy_with_logits,
    sampled_sparse_softmax_loss,
)
from graphio.framework import api_boundary, refusals
from graphio.ops.nn.windows import conv1d_transpose

__all__ = [
    "alpha_dropout",
    "conv1d_transpose",
    "deprecated_flipped_sigmoid_cross_entropy_with_logits",
    "deprecated_flipped_softmax_cross_entropy_with_logits",
    "deprecated_flipped_sparse_softmax_cross_entropy_with_logits",
    "sampled_sparse_softmax_loss",
    "scaled_softplus",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
