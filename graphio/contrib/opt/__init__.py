"""tf.contrib.opt: optimizers that tf.train lacks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.opt.adams import AdaMaxOptimizer, LazyAdamOptimizer, NadamOptimizer
from graphio.contrib.opt.around import (
    LARSOptimizer,
    MovingAverageOptimizer,
    VariableClippingOptimizer,
)
from graphio.contrib.opt.centers import (
    AGNCustomGetter,
    AGNOptimizer,
    ElasticAverageCustomGetter,
    ElasticAverageOptimizer,
    ModelAverageCustomGetter,
    ModelAverageOptimizer,
)
from graphio.contrib.opt.external import ExternalOptimizerInterface, ScipyOptimizerInterface
from graphio.contrib.opt.ggt import GGTOptimizer
from graphio.contrib.opt.global_steps import (
    AdamGSOptimizer,
    LazyAdamGSOptimizer,
    RegAdagradOptimizer,
)
from graphio.contrib.opt.multitask import (
    MultitaskOptimizerWrapper,
    clip_gradients_by_global_norm,
)
from graphio.contrib.opt.shampoo import ShampooOptimizer
from graphio.contrib.opt.signs import (
    AddSignOptimizer,
    PowerSignOptimizer,
    get_cosine_decay_fn,
    get_linear_decay_fn,
    get_restart_decay_fn,
)
from graphio.contrib.opt.stale import (
    DelayCompensatedGradientDescentOptimizer,
    DropStaleGradientOptimizer,
)
from graphio.contrib.opt.weight_decay import (
    AdamWOptimizer,
    DecoupledWeightDecayExtension,
    MomentumWOptimizer,
    extend_with_decoupled_weight_decay,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "AGNCustomGetter",
    "AGNOptimizer",
    "AdaMaxOptimizer",
    "AdamGSOptimizer",
    "AdamWOptimizer",
    "AddSignOptimizer",
    "DecoupledWeightDecayExtension",
    "DelayCompensatedGradientDescentOptimizer",
    "DropStaleGradientOptimizer",
    "ElasticAverageCustomGetter",
    "ElasticAverageOptimizer",
    "ExternalOptimizerInterface",
    "GGTOptimizer",
    "LARSOptimizer",
    "LazyAdamGSOptimizer",
    "LazyAdamOptimizer",
    "ModelAverageCustomGetter",
    "ModelAverageOptimizer",
    "MomentumWOptimizer",
    "MovingAverageOptimizer",
    "MultitaskOptimizerWrapper",
    "NadamOptimizer",
    "PowerSignOptimizer",
    "RegAdagradOptimizer",
    "ScipyOptimizerInterface",
    "ShampooOptimizer",
    "VariableClippingOptimizer",
    "clip_gradients_by_global_norm",
    "extend_with_decoupled_weight_decay",
    "get_cosine_decay_fn",
    "get_linear_decay_fn",
    "get_restart_decay_fn",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
