"""tf.contrib.layers: layers as functions, their initializers and regularizers, optimize_loss.

finishing.py has what all layers have in common: names of variables, collections, activation.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.layers import summaries, utils
from graphio.contrib.layers.convolutional import (
    conv1d,
    conv2d,
    conv2d_in_plane,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    convolution,
    convolution1d,
    convolution2d,
    convolution2d_in_plane,
    convolution2d_transpose,
    convolution3d,
    convolution3d_transpose,
    separable_conv2d,
    separable_convolution2d,
)
from graphio.contrib.layers.core import (
    bias_add,
    dropout,
    elu,
    flatten,
    fully_connected,
    legacy_fully_connected,
    legacy_linear,
    legacy_relu,
    linear,
    relu,
    relu6,
    repeat,
    stack,
)
from graphio.contrib.layers.crossing import (
    SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY,
    scattered_embedding_lookup,
    scattered_embedding_lookup_sparse,
    sparse_feature_cross,
)
from graphio.contrib.layers.embedding import (
    bow_encoder,
    embed_sequence,
    embedding_lookup_sparse_with_distributed_aggregation,
    embedding_lookup_unique,
    safe_embedding_lookup_sparse,
)
from graphio.contrib.layers.features import (
    dense_to_sparse,
    images_to_sequence,
    maxout,
    one_hot_encoding,
    poincare_normalize,
    scale_gradient,
    sequence_to_images,
    softmax,
    spatial_softmax,
    unit_norm,
)
from graphio.contrib.layers.gdn import (
    GDN,
    gdn,
)
from graphio.contrib.layers.initializers import (
    variance_scaling_initializer,
    xavier_initializer,
    xavier_initializer_conv2d,
)
from graphio.contrib.layers.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
)
from graphio.contrib.layers.optimizers import (
    OPTIMIZER_CLS_NAMES,
    OPTIMIZER_SUMMARIES,
    adaptive_clipping_fn,
    optimize_loss,
)
from graphio.contrib.layers.pooling import (
    avg_pool2d,
    avg_pool3d,
    max_pool2d,
    max_pool3d,
    pool,
)
from graphio.contrib.layers.regularizers import (
    apply_regularization,
    l1_l2_regularizer,
    l1_regularizer,
    l2_regularizer,
    sum_regularizer,
)
from graphio.contrib.layers.reversible import RevBlock, recompute_grad, rev_block
from graphio.contrib.layers.summaries import (
    summarize_activation,
    summarize_activations,
    summarize_biases,
    summarize_collection,
    summarize_tensor,
    summarize_tensors,
    summarize_variables,
    summarize_weights,
)
from graphio.contrib.layers.targets import (
    ProblemType,
    binary_svm_target,
    get_default_binary_metrics_for_eval,
    multi_class_target,
    regression_target,
)
from graphio.framework import api_boundary, refusals
from graphio.ops.math.buckets import bucketize

__all__ = [
    "GDN",
    "OPTIMIZER_CLS_NAMES",
    "OPTIMIZER_SUMMARIES",
    "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY",
    "ProblemType",
    "RevBlock",
    "adaptive_clipping_fn",
    "apply_regularization",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bias_add",
    "binary_svm_target",
    "bow_encoder",
    "bucketize",
    "conv1d",
    "conv2d",
    "conv2d_in_plane",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_in_plane",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "dense_to_sparse",
    "dropout",
    "elu",
    "embed_sequence",
    "embedding_lookup_sparse_with_distributed_aggregation",
    "embedding_lookup_unique",
    "flatten",
    "fully_connected",
    "gdn",
    "get_default_binary_metrics_for_eval",
    "group_norm",
    "images_to_sequence",
    "instance_norm",
    "l1_l2_regularizer",
    "l1_regularizer",
    "l2_regularizer",
    "layer_norm",
    "legacy_fully_connected",
    "legacy_linear",
    "legacy_relu",
    "linear",
    "max_pool2d",
    "max_pool3d",
    "maxout",
    "multi_class_target",
    "one_hot_encoding",
    "optimize_loss",
    "poincare_normalize",
    "pool",
    "recompute_grad",
    "regression_target",
    "relu",
    "relu6",
    "repeat",
    "rev_block",
    "safe_embedding_lookup_sparse",
    "scale_gradient",
    "scattered_embedding_lookup",
    "scattered_embedding_lookup_sparse",
    "separable_conv2d",
    "separable_convolution2d",
    "sequence_to_images",
    "softmax",
    "sparse_feature_cross",
    "spatial_softmax",
    "stack",
    "sum_regularizer",
    "summaries",
    "summarize_activation",
    "summarize_activations",
    "summarize_biases",
    "summarize_collection",
    "summarize_tensor",
    "summarize_tensors",
    "summarize_variables",
    "summarize_weights",
    "unit_norm",
    "utils",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
