"""tf.contrib.learn: preprocessing, data sets, names and metrics, without estimators.

May import contrib.layers, examples and below.

    preprocessing   strings and categories as numbers
    datasets        data sets from local files
    ops             embeddings, linear models
    keys            ModeKeys, PredictionKey and others
    metric_spec     MetricSpec
"""

from __future__ import annotations

import sys
from typing import Any

from graphio.contrib.learn import datasets, ops, preprocessing
from graphio.contrib.learn.keys import ModeKeys, PredictionKey, ProblemType, TaskType
from graphio.contrib.learn.metric_spec import MetricSpec
from graphio.framework import api_boundary
from graphio.python import names
from graphio.train.loops.hooks import NanLossDuringTrainingError

__all__ = [
    "MetricSpec",
    "ModeKeys",
    "NanLossDuringTrainingError",
    "PredictionKey",
    "ProblemType",
    "TaskType",
    "datasets",
    "ops",
    "preprocessing",
]

_GUARDED_MODULES = (datasets, ops, preprocessing)
api_boundary.guard_namespace(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    why = (
        names.reason(f"contrib.learn.{name}") if f"contrib.learn.{name}" in names.table() else None
    )
    text = f"module {__name__!r} has no attribute {name!r}"
    if why:
        text = f"tf.contrib.learn.{name} is not part of graphio: {why}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])
