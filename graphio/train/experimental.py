"""tf.train.experimental: loss scales, and parts of checkpoints that a program writes itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.framework import api_boundary, refusals
from graphio.train.optimizers.loss_scale import (
    DynamicLossScale,
    FixedLossScale,
    LossScale,
    MixedPrecisionLossScaleOptimizer,
)
from graphio.train.tracking.python_state import PythonState

__all__ = [
    "DynamicLossScale",
    "FixedLossScale",
    "LossScale",
    "MixedPrecisionLossScaleOptimizer",
    "PythonState",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
