"""tf.contrib.learn: preprocessing, data sets, models and metrics, without estimators.

May import contrib.layers, contrib.rnn, contrib.lookup, contrib.training, examples and below.

    preprocessing   strings and categories as numbers
    datasets        data sets from local files
    io              records of files, arrays and DataFrames in batches
    graph_actions   train, evaluate, run_n, run_feeds, infer
    monitors        what training calls around its steps
    ops, models     embeddings, linear models, recurrent networks
    head            predictions, losses and metrics of models
    model_functions ModelFnOps, InputFnOps; utils: for serving
    keys            ModeKeys, PredictionKey and others
    metric_spec     MetricSpec
    experiment      Experiment, ExportStrategy; learn_runner, run_config: their runs
"""

from __future__ import annotations

import sys
from typing import Any

from graphio.python import names
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.learn": (
        "datasets", "graph_actions", "head", "io", "learn_runner", "models", "monitors", "ops",
        "preprocessing", "utils",
    ),
    "graphio.contrib.learn.experiment": (
        "Evaluable", "Experiment", "ExportStrategy", "Trainable", "make_export_strategy",
    ),
    "graphio.contrib.learn.graph_actions": ("evaluate", "infer", "run_feeds", "run_n", "train"),
    "graphio.contrib.learn.head": (
        "Head", "binary_svm_head", "multi_class_head", "multi_head", "multi_label_head",
        "poisson_regression_head", "regression_head",
    ),
    "graphio.contrib.learn.io.data_frames": (
        "extract_dask_data", "extract_dask_labels", "extract_pandas_data", "extract_pandas_labels",
        "extract_pandas_matrix",
    ),
    "graphio.contrib.learn.io.graph_io": (
        "read_batch_examples", "read_batch_features", "read_batch_record_features",
        "read_keyed_batch_examples", "read_keyed_batch_examples_shared_queue",
        "read_keyed_batch_features", "read_keyed_batch_features_shared_queue",
    ),
    "graphio.contrib.learn.keys": ("ModeKeys", "PredictionKey", "ProblemType", "TaskType"),
    "graphio.contrib.learn.metric_spec": ("MetricSpec",),
    "graphio.contrib.learn.model_functions": (
        "InputFnOps", "ModelFnOps", "NotFittedError", "build_parsing_serving_input_fn",
        "no_op_train_fn",
    ),
    "graphio.contrib.learn.run_config": ("RunConfig",),
    "graphio.train.loops.hooks": ("NanLossDuringTrainingError",),
}  # fmt: skip


def _refuse(name: str) -> Any:
    why = (
        names.reason(f"contrib.learn.{name}") if f"contrib.learn.{name}" in names.table() else None
    )
    text = f"module {__name__!r} has no attribute {name!r}"
    if why:
        text = f"tf.contrib.learn.{name} is not part of graphio: {why}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


lazy_names.install(__name__, _NAMES, _refuse)
