"""tf.contrib.learn: preprocessing, data sets, models and metrics, without estimators.

May import contrib.layers, contrib.rnn, contrib.lookup, contrib.training, examples and below.

    preprocessing   strings and categories as numbers
    datasets        data sets from local files
    io              records of files, arrays and DataFrames in batches
    graph_actions   train, evaluate, run_n, run_feeds, infer
    monitors        what training calls around its steps
    ops, models     embeddings, linear models, recurrent networks
    heads           predictions, losses and metrics of models
    model_functions ModelFnOps, InputFnOps; utils: for serving
    keys            ModeKeys, PredictionKey and others
    metric_spec     MetricSpec
    experiment      Experiment, ExportStrategy; learn_runner, run_config: their runs
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from graphio.contrib.learn import (
    datasets,
    graph_actions,
    io,
    monitors,
    ops,
    preprocessing,
    utils,
)
from graphio.contrib.learn.experiment import (
    Evaluable,
    Experiment,
    ExportStrategy,
    Trainable,
    make_export_strategy,
)
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
from graphio.contrib.learn.model_functions import (
    InputFnOps,
    ModelFnOps,
    NotFittedError,
    build_parsing_serving_input_fn,
    no_op_train_fn,
)
from graphio.contrib.learn.run_config import RunConfig
from graphio.framework import api_boundary
from graphio.python import names
from graphio.train.loops.hooks import NanLossDuringTrainingError

__all__ = [
    "Evaluable",
    "Experiment",
    "ExportStrategy",
    "InputFnOps",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "NanLossDuringTrainingError",
    "NotFittedError",
    "PredictionKey",
    "ProblemType",
    "RunConfig",
    "TaskType",
    "Trainable",
    "build_parsing_serving_input_fn",
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
    "make_export_strategy",
    "monitors",
    "no_op_train_fn",
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
    "utils",
]

_GUARDED_MODULES = (datasets, graph_actions, io, monitors, ops, preprocessing, utils)
api_boundary.guard_namespace(sys.modules[__name__])


#: loaded at their first use, since they load contrib.layers, contrib.rnn and contrib.training
_LAZY_MODULES = {
    "head": "graphio.contrib.learn.heads",
    "learn_runner": "graphio.contrib.learn.learn_runner",
    "models": "graphio.contrib.learn.models",
}
_OF_HEADS = {
    "Head", "binary_svm_head", "multi_class_head", "multi_head", "multi_label_head",
    "poisson_regression_head", "regression_head",
}  # fmt: skip

__all__ += [*_LAZY_MODULES, *sorted(_OF_HEADS)]


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        return importlib.import_module(_LAZY_MODULES[name])
    if name in _OF_HEADS:
        return getattr(importlib.import_module(_LAZY_MODULES["head"]), name)
    why = (
        names.reason(f"contrib.learn.{name}") if f"contrib.learn.{name}" in names.table() else None
    )
    text = f"module {__name__!r} has no attribute {name!r}"
    if why:
        text = f"tf.contrib.learn.{name} is not part of graphio: {why}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])
