"""tf.contrib.layers: layers as functions, their initializers and regularizers, optimize_loss.

finishing.py has what all layers have in common: names of variables, collections, activation.
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.layers": ("summaries", "utils"),
    "graphio.contrib.layers.channelwise": (
        "conv2d_in_plane", "convolution2d_in_plane", "separable_conv2d", "separable_convolution2d",
    ),
    "graphio.contrib.layers.convolutional": (
        "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "convolution",
        "convolution1d", "convolution2d", "convolution2d_transpose", "convolution3d",
        "convolution3d_transpose",
    ),
    "graphio.contrib.layers.core": (
        "bias_add", "dropout", "elu", "flatten", "fully_connected", "legacy_fully_connected",
        "legacy_linear", "legacy_relu", "linear", "relu", "relu6", "repeat", "stack",
    ),
    "graphio.contrib.layers.crossing": (
        "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY", "scattered_embedding_lookup",
        "scattered_embedding_lookup_sparse", "sparse_feature_cross",
    ),
    "graphio.contrib.layers.embedding": (
        "bow_encoder", "embed_sequence", "embedding_lookup_sparse_with_distributed_aggregation",
        "embedding_lookup_unique", "safe_embedding_lookup_sparse",
    ),
    "graphio.contrib.layers.features": (
        "dense_to_sparse", "images_to_sequence", "maxout", "one_hot_encoding", "poincare_normalize",
        "scale_gradient", "sequence_to_images", "softmax", "spatial_softmax", "unit_norm",
    ),
    "graphio.contrib.layers.gdn": ("GDN", "gdn"),
    "graphio.contrib.layers.initializers": (
        "variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d",
    ),
    "graphio.contrib.layers.normalization": (
        "batch_norm", "group_norm", "instance_norm", "layer_norm",
    ),
    "graphio.contrib.layers.optimizers": (
        "OPTIMIZER_CLS_NAMES", "OPTIMIZER_SUMMARIES", "adaptive_clipping_fn", "optimize_loss",
    ),
    "graphio.contrib.layers.pooling": (
        "avg_pool2d", "avg_pool3d", "max_pool2d", "max_pool3d", "pool",
    ),
    "graphio.contrib.layers.regularizers": (
        "apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer",
        "sum_regularizer",
    ),
    "graphio.contrib.layers.reversible": ("RevBlock", "recompute_grad", "rev_block"),
    "graphio.contrib.layers.summaries": (
        "summarize_activation", "summarize_activations", "summarize_biases", "summarize_collection",
        "summarize_tensor", "summarize_tensors", "summarize_variables", "summarize_weights",
    ),
    "graphio.contrib.layers.targets": (
        "ProblemType", "binary_svm_target", "get_default_binary_metrics_for_eval",
        "multi_class_target", "regression_target",
    ),
    "graphio.ops.math.buckets": ("bucketize",),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
