"""tf.contrib.learn: preprocessing, data sets, names and metrics, without estimators.

May import contrib.layers, examples and below.

    preprocessing   strings and categories as numbers
    datasets        data sets from local files
    io              records of files, arrays and DataFrames in batches
    graph_actions   train, evaluate, run_n, run_feeds, infer
    monitors        what training calls around its steps
    ops             embeddings, linear models
    keys            ModeKeys, PredictionKey and others
    metric_spec     MetricSpec
"""

from __future__ import annotations

import sys
from typing import Any

from graphio.contrib.learn import datasets, graph_actions, io, monitors, ops, preprocessing
from graphio.contrib.learn.graph_actions import evaluate, infer, run_feeds, run_n, train
from graphio.contrib.learn.io.data_frames import (
    extract_dask_data,
    extract_dask_labels,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
)
from graphio.contrib.learn.io.graph_io import (
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_examples_shared_queue,
    read_keyed_batch_features,
    read_keyed_batch_features_shared_queue,
)
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
    "evaluate",
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "graph_actions",
    "infer",
    "io",
    "monitors",
    "ops",
    "preprocessing",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
    "run_feeds",
    "run_n",
    "train",
]

_GUARDED_MODULES = (datasets, graph_actions, io, monitors, ops, preprocessing)
api_boundary.guard_namespace(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    why = (
        names.reason(f"contrib.learn.{name}") if f"contrib.learn.{name}" in names.table() else None
    )
    text = f"module {__name__!r} has no attribute {name!r}"
    if why:
        text = f"tf.contrib.learn.{name} is not part of graphio: {why}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])
