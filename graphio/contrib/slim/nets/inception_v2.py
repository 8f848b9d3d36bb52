"""Inception v2 (Ioffe and Szegedy 2015, "Batch normalization")."""

from __future__ import annotations

from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import Scope, arg_scope
from graphio.contrib.slim.nets.inception_blocks import (
    Block,
    batch_norm_scope,
    build,
    logits_of,
    small_window,
)
from graphio.support import api_guard
from graphio.variables.initializers import truncated_normal_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = ["inception_v2", "inception_v2_arg_scope", "inception_v2_base"]

#: the first end point, a separable convolution
_FIRST = "Conv2d_1a_7x7"
_BLOCKS: dict[str, Block] = {
    "MaxPool_2a_3x3": ("max 3x3/2",),
    "Conv2d_2b_1x1": ("64 1x1 ~0.1",),
    "Conv2d_2c_3x3": ("192 3x3",),
    "MaxPool_3a_3x3": ("max 3x3/2",),
    "Mixed_3b": (
        "64 1x1",
        "64 1x1 ~0.09, 64 3x3",
        "64 1x1 ~0.09, 96 3x3, 96 3x3",
        "avg 3x3, 32 1x1 ~0.1",
    ),
    "Mixed_3c": (
        "64 1x1",
        "64 1x1 ~0.09, 96 3x3",
        "64 1x1 ~0.09, 96 3x3, 96 3x3",
        "avg 3x3, 64 1x1 ~0.1",
    ),
    "Mixed_4a": (
        "128 1x1 ~0.09, 160 3x3/2",
        "64 1x1 ~0.09, 96 3x3, 96 3x3/2",
        "max 3x3/2",
    ),
    "Mixed_4b": (
        "224 1x1",
        "64 1x1 ~0.09, 96 3x3",
        "96 1x1 ~0.09, 128 3x3, 128 3x3",
        "avg 3x3, 128 1x1 ~0.1",
    ),
    "Mixed_4c": (
        "192 1x1",
        "96 1x1 ~0.09, 128 3x3",
        "96 1x1 ~0.09, 128 3x3, 128 3x3",
        "avg 3x3, 128 1x1 ~0.1",
    ),
    "Mixed_4d": (
        "160 1x1",
        "128 1x1 ~0.09, 160 3x3",
        "128 1x1 ~0.09, 160 3x3, 160 3x3",
        "avg 3x3, 96 1x1 ~0.1",
    ),
    "Mixed_4e": (
        "96 1x1",
        "128 1x1 ~0.09, 192 3x3",
        "160 1x1 ~0.09, 192 3x3, 192 3x3",
        "avg 3x3, 96 1x1 ~0.1",
    ),
    "Mixed_5a": (
        "128 1x1 ~0.09, 192 3x3/2",
        "192 1x1 ~0.09, 256 3x3, 256 3x3/2",
        "max 3x3/2",
    ),
    "Mixed_5b": (
        "352 1x1",
        "192 1x1 ~0.09, 320 3x3",
        "160 1x1 ~0.09, 224 3x3, 224 3x3",
        "avg 3x3, 128 1x1 ~0.1",
    ),
    "Mixed_5c": (
        "352 1x1",
        "192 1x1 ~0.09, 320 3x3",
        "192 1x1 ~0.09, 224 3x3, 224 3x3",
        "max 3x3, 128 1x1 ~0.1",
    ),
}


def _check(final_endpoint: str) -> None:
    if final_endpoint not in (_FIRST, *_BLOCKS):
        raise ValueError(f"Unknown final endpoint {final_endpoint}: there are {[_FIRST, *_BLOCKS]}")


@api_guard.makes_variables
def inception_v2_base(
    inputs: Any,
    final_endpoint: str = "Mixed_5c",
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """The network up to an end point, and all end points by name.

    Args:
        inputs: images (n, height, width, channels).
        min_depth, depth_multiplier: a layer has so many filters at least, and so many times as
            many as in the paper.

    Raises:
        ValueError: there is no such end point, or depth_multiplier is not positive.
    """
    _check(final_endpoint)
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")

    def depth(filters: int) -> int:
        return max(int(filters * depth_multiplier), min_depth)

    kinds = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d, layers.separable_conv2d]
    with (
        variable_scope(scope, "InceptionV2", [inputs]),
        arg_scope(kinds, stride=1, padding="SAME"),
    ):
        net = layers.separable_conv2d(
            inputs,
            depth(64),
            [7, 7],
            depth_multiplier=min(int(depth(64) / 3), 8),
            stride=2,
            weights_initializer=truncated_normal_initializer(0.0, 1.0),
            scope=_FIRST,
        )
        end_points = {_FIRST: net}
        return build(net, _BLOCKS, final_endpoint, end_points, depth), end_points


@api_guard.makes_variables
def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        min_depth, depth_multiplier: as inception_v2_base's.
        is_training: of normalisation and dropout.
        dropout_keep_prob: probability to keep a feature.
        prediction_fn: from scores to the end point Predictions.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
        reuse: whether to share the variables of the scope.

    Raises:
        ValueError: depth_multiplier is not positive.
    """
    with (
        variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as sc,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v2_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=sc
        )
        with variable_scope("Logits"):
            window = small_window(net, [7, 7])
            name = f"AvgPool_1a_{window[0]}x{window[1]}"
            net = layers.avg_pool2d(net, window, padding="VALID", scope=name)
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            logits = logits_of(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.unguarded
def inception_v2_arg_scope(
    weight_decay: float = 0.00004, batch_norm_var_collection: str = "moving_vars"
) -> Scope:
    """The arg_scope in which the network is made; see batch_norm_scope."""
    return batch_norm_scope(weight_decay, batch_norm_var_collection)
