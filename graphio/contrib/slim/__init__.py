"""tf.contrib.slim: layers with arg_scope, loops of training and evaluation, networks.

losses and metrics are those of tf.contrib, nets the networks; they are loaded at their first use.

    learning, evaluation   loops; training: create_train_op
    data                   data sets by their files, decoders of records
"""

from __future__ import annotations

import importlib
from typing import Any

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib": ("losses", "metrics"),
    "graphio.contrib.framework": (
        "VariableDeviceChooser", "add_arg_scope", "add_model_variable", "arg_scope",
        "arg_scope_func_key", "arg_scoped_arguments", "assert_global_step",
        "assert_or_get_global_step", "assign_from_checkpoint", "assign_from_checkpoint_fn",
        "assign_from_values", "assign_from_values_fn", "create_global_step", "current_arg_scope",
        "filter_variables", "get_global_step", "get_local_variables", "get_model_variables",
        "get_or_create_global_step", "get_trainable_variables", "get_unique_variable",
        "get_variable_full_name", "get_variables", "get_variables_by_name",
        "get_variables_by_suffix", "get_variables_to_restore", "global_variable", "has_arg_scope",
        "local_variable", "model_variable", "variable", "zero_initializer",
    ),
    "graphio.contrib.layers": (
        "GDN", "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "ProblemType", "RevBlock",
        "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY", "adaptive_clipping_fn", "apply_regularization",
        "avg_pool2d", "avg_pool3d", "batch_norm", "bias_add", "binary_svm_target", "bow_encoder",
        "bucketize", "conv1d", "conv2d", "conv2d_in_plane", "conv2d_transpose", "conv3d",
        "conv3d_transpose", "convolution", "convolution1d", "convolution2d",
        "convolution2d_in_plane", "convolution2d_transpose", "convolution3d",
        "convolution3d_transpose", "dense_to_sparse", "dropout", "elu", "embed_sequence",
        "embedding_lookup_sparse_with_distributed_aggregation", "embedding_lookup_unique",
        "flatten", "fully_connected", "gdn", "get_default_binary_metrics_for_eval", "group_norm",
        "images_to_sequence", "instance_norm", "l1_l2_regularizer", "l1_regularizer",
        "l2_regularizer", "layer_norm", "legacy_fully_connected", "legacy_linear", "legacy_relu",
        "linear", "max_pool2d", "max_pool3d", "maxout", "multi_class_target", "one_hot_encoding",
        "optimize_loss", "poincare_normalize", "pool", "recompute_grad", "regression_target",
        "relu", "relu6", "repeat", "rev_block", "safe_embedding_lookup_sparse", "scale_gradient",
        "scattered_embedding_lookup", "scattered_embedding_lookup_sparse", "separable_conv2d",
        "separable_convolution2d", "sequence_to_images", "softmax", "sparse_feature_cross",
        "spatial_softmax", "stack", "sum_regularizer", "summarize_activation",
        "summarize_activations", "summarize_biases", "summarize_collection", "summarize_tensor",
        "summarize_tensors", "summarize_variables", "summarize_weights", "unit_norm", "utils",
        "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
    ),
    "graphio.contrib.slim": (
        "evaluation", "learning", "model_analyzer", "nets", "queues", "summaries",
    ),
    "graphio.contrib.slim.data": (
        "data_decoder", "data_provider", "dataset", "dataset_data_provider", "parallel_reader",
        "prefetch_queue", "tfexample_decoder",
    ),
}  # fmt: skip

#: modules that are names of slim, too, since TensorFlow imports all of contrib.layers there
_MODULES = {
    **dict.fromkeys(
        ("embedding_ops", "encoders", "initializers", "layers", "normalization", "optimizers",
         "regularizers", "rev_block_lib", "target_column"),
        "graphio.contrib.layers.python.layers",
    ),
    **dict.fromkeys(
        ("array_ops", "control_flow_ops", "init_ops", "math_ops", "nn", "nn_ops", "random_ops",
         "variable_scope"),
        "graphio.python.ops",
    ),
}  # fmt: skip
_refuse = refusals.getter(__name__)


def _otherwise(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{_MODULES[name]}.{name}")
    return _refuse(name)


lazy_names.install(__name__, _NAMES, _otherwise)
