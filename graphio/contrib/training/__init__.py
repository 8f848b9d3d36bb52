"""tf.contrib.training: hyperparameters, training steps, evaluation of checkpoints, resampling.

May import train, contrib.rnn and below.

    hparam         HParams, HParamDef
    steps          create_train_op, train
    evaluation     evaluate_once, evaluate_repeatedly, their hooks
    resampling, placement    rows by rates; tasks of operations
"""

from __future__ import annotations

import sys

from graphio.contrib.training.bucketing import bucket, bucket_by_sequence_length
from graphio.contrib.training.evaluation import (
    StopAfterNEvalsHook,
    SummaryAtEndHook,
    evaluate_once,
    evaluate_repeatedly,
    get_or_create_eval_step,
    wait_for_new_checkpoint,
)
from graphio.contrib.training.hparam import HParamDef, HParams, parse_values
from graphio.contrib.training.placement import (
    GreedyLoadBalancingStrategy,
    RandomStrategy,
    byte_size_load_fn,
)
from graphio.contrib.training.resampling import resample_at_rate, weighted_resample
from graphio.contrib.training.sampling import rejection_sample, stratified_sample
from graphio.contrib.training.steps import (
    add_gradients_summaries,
    clip_gradient_norms,
    clip_gradient_norms_fn,
    create_train_op,
    multiply_gradients,
    train,
)
from graphio.framework import api_boundary, refusals
from graphio.queues.feeding import FeedingQueueRunner
from graphio.train.checkpoints.warm_starting import checkpoints_iterator

__all__ = [
    "FeedingQueueRunner",
    "GreedyLoadBalancingStrategy",
    "HParamDef",
    "HParams",
    "RandomStrategy",
    "StopAfterNEvalsHook",
    "SummaryAtEndHook",
    "add_gradients_summaries",
    "bucket",
    "bucket_by_sequence_length",
    "byte_size_load_fn",
    "checkpoints_iterator",
    "clip_gradient_norms",
    "clip_gradient_norms_fn",
    "create_train_op",
    "evaluate_once",
    "evaluate_repeatedly",
    "get_or_create_eval_step",
    "multiply_gradients",
    "parse_values",
    "rejection_sample",
    "resample_at_rate",
    "stratified_sample",
    "train",
    "wait_for_new_checkpoint",
    "weighted_resample",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
