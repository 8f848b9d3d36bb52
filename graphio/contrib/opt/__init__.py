"""tf.contrib.opt: optimizers that tf.train lacks."""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.opt.adams": ("AdaMaxOptimizer", "LazyAdamOptimizer", "NadamOptimizer"),
    "graphio.contrib.opt.around": (
        "LARSOptimizer", "MovingAverageOptimizer", "VariableClippingOptimizer",
    ),
    "graphio.contrib.opt.center_variables": (
        "AGNCustomGetter", "ElasticAverageCustomGetter", "ModelAverageCustomGetter",
    ),
    "graphio.contrib.opt.centers": (
        "AGNOptimizer", "ElasticAverageOptimizer", "ModelAverageOptimizer",
    ),
    "graphio.contrib.opt.external": ("ExternalOptimizerInterface", "ScipyOptimizerInterface"),
    "graphio.contrib.opt.ggt": ("GGTOptimizer",),
    "graphio.contrib.opt.global_steps": (
        "AdamGSOptimizer", "LazyAdamGSOptimizer", "RegAdagradOptimizer",
    ),
    "graphio.contrib.opt.multitask": ("MultitaskOptimizerWrapper", "clip_gradients_by_global_norm"),
    "graphio.contrib.opt.shampoo": ("ShampooOptimizer",),
    "graphio.contrib.opt.signs": (
        "AddSignOptimizer", "PowerSignOptimizer", "get_cosine_decay_fn", "get_linear_decay_fn",
        "get_restart_decay_fn",
    ),
    "graphio.contrib.opt.stale": (
        "DelayCompensatedGradientDescentOptimizer", "DropStaleGradientOptimizer",
    ),
    "graphio.contrib.opt.weight_decay": (
        "AdamWOptimizer", "DecoupledWeightDecayExtension", "MomentumWOptimizer",
        "extend_with_decoupled_weight_decay",
    ),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
