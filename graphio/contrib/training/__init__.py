"""tf.contrib.training: hyperparameters, training steps, evaluation of checkpoints, resampling.

May import train, contrib.rnn and below.

    hparam         HParams, HParamDef
    steps          create_train_op, train
    evaluation     evaluate_once, evaluate_repeatedly, their hooks
    resampling, placement    rows by rates; tasks of operations
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.training.bucketing": ("bucket", "bucket_by_sequence_length"),
    "graphio.contrib.training.evaluation": (
        "StopAfterNEvalsHook", "SummaryAtEndHook", "evaluate_once", "evaluate_repeatedly",
        "get_or_create_eval_step", "wait_for_new_checkpoint",
    ),
    "graphio.contrib.training.hparam": ("HParamDef", "HParams", "parse_values"),
    "graphio.contrib.training.placement": (
        "GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn",
    ),
    "graphio.contrib.training.resampling": ("resample_at_rate", "weighted_resample"),
    "graphio.contrib.training.sampling": ("rejection_sample", "stratified_sample"),
    "graphio.contrib.training.steps": (
        "add_gradients_summaries", "clip_gradient_norms", "clip_gradient_norms_fn",
        "create_train_op", "multiply_gradients", "train",
    ),
    "graphio.queues.feeding": ("FeedingQueueRunner",),
    "graphio.train.checkpoints.warm_starting": ("checkpoints_iterator",),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
