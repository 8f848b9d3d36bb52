"""tf.contrib.sparsemax: a softmax whose small probabilities are 0, and its loss.

Martins and Astudillo, "From Softmax to Sparsemax", 2016, https://arxiv.org/abs/1602.02068.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.sparsemax.projection import sparsemax, sparsemax_loss
from graphio.framework import api_boundary, refusals

__all__ = ["sparsemax", "sparsemax_loss"]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
