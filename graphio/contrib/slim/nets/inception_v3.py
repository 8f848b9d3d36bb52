"""Inception v3 (Szegedy and others 2015, "Rethinking the Inception architecture")."""

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
from graphio.framework.collections import GraphKeys
from graphio.support import api_guard
from graphio.variables.initializers import truncated_normal_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = ["inception_v3", "inception_v3_arg_scope", "inception_v3_base"]

#: the first layers, without padding
_STEM: dict[str, Block] = {
    "Conv2d_1a_3x3": ("32 3x3/2",),
    "Conv2d_2a_3x3": ("32 3x3",),
    "Conv2d_2b_3x3": ("64 3x3 same",),
    "MaxPool_3a_3x3": ("max 3x3/2",),
    "Conv2d_3b_1x1": ("80 1x1",),
    "Conv2d_4a_3x3": ("192 3x3",),
    "MaxPool_5a_3x3": ("max 3x3/2",),
}
_BLOCKS: dict[str, Block] = {
    "Mixed_5b": (
        "64 1x1",
        "48 1x1, 64 5x5",
        "64 1x1, 96 3x3, 96 3x3",
        "avg 3x3, 32 1x1",
    ),
    "Mixed_5c": (
        "64 1x1",
        "48 1x1 @Conv2d_0b_1x1, 64 5x5 @Conv_1_0c_5x5",
        "64 1x1, 96 3x3, 96 3x3",
        "avg 3x3, 64 1x1",
    ),
    "Mixed_5d": (
        "64 1x1",
        "48 1x1, 64 5x5",
        "64 1x1, 96 3x3, 96 3x3",
        "avg 3x3, 64 1x1",
    ),
    "Mixed_6a": (
        "384 3x3/2 valid @Conv2d_1a_1x1",
        "64 1x1, 96 3x3, 96 3x3/2 valid @Conv2d_1a_1x1",
        "max 3x3/2 valid",
    ),
    "Mixed_6b": (
        "192 1x1",
        "128 1x1, 128 1x7, 192 7x1",
        "128 1x1, 128 7x1, 128 1x7, 128 7x1, 192 1x7",
        "avg 3x3, 192 1x1",
    ),
    "Mixed_6c": (
        "192 1x1",
        "160 1x1, 160 1x7, 192 7x1",
        "160 1x1, 160 7x1, 160 1x7, 160 7x1, 192 1x7",
        "avg 3x3, 192 1x1",
    ),
    "Mixed_6d": (
        "192 1x1",
        "160 1x1, 160 1x7, 192 7x1",
        "160 1x1, 160 7x1, 160 1x7, 160 7x1, 192 1x7",
        "avg 3x3, 192 1x1",
    ),
    "Mixed_6e": (
        "192 1x1",
        "192 1x1, 192 1x7, 192 7x1",
        "192 1x1, 192 7x1, 192 1x7, 192 7x1, 192 1x7",
        "avg 3x3, 192 1x1",
    ),
    "Mixed_7a": (
        "192 1x1, 320 3x3/2 valid",
        "192 1x1, 192 1x7, 192 7x1, 192 3x3/2 valid",
        "max 3x3/2 valid",
    ),
    "Mixed_7b": (
        "320 1x1",
        "384 1x1, 384 1x3 + 384 3x1 @Conv2d_0b_3x1",
        "448 1x1, 384 3x3, 384 1x3 + 384 3x1",
        "avg 3x3, 192 1x1",
    ),
    "Mixed_7c": (
        "320 1x1",
        "384 1x1, 384 1x3 + 384 3x1",
        "448 1x1, 384 3x3, 384 1x3 + 384 3x1",
        "avg 3x3, 192 1x1",
    ),
}


def _check(final_endpoint: str) -> None:
    if final_endpoint not in {**_STEM, **_BLOCKS}:
        raise ValueError(f"Unknown final endpoint {final_endpoint}: there are {[*_STEM, *_BLOCKS]}")


@api_guard.makes_variables
def inception_v3_base(
    inputs: Any,
    final_endpoint: str = "Mixed_7c",
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

    end_points: dict[str, Any] = {}
    kinds = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d]
    with variable_scope(scope, "InceptionV3", [inputs]):
        with arg_scope(kinds, stride=1, padding="VALID"):
            net = build(inputs, _STEM, final_endpoint, end_points, depth)
        with arg_scope(kinds, stride=1, padding="SAME"):
            return build(net, _BLOCKS, final_endpoint, end_points, depth), end_points


@api_guard.makes_variables
def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name, of which AuxLogits are further scores.

    Args:
        inputs: images (n, 299, 299, channels).
        min_depth, depth_multiplier: as inception_v3_base's.
        is_training: of normalisation and dropout.
        dropout_keep_prob: probability to keep a feature.
        prediction_fn: from scores to the end point Predictions.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
        reuse: whether to share the variables of the scope.

    Raises:
        ValueError: depth_multiplier is not positive.
    """
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")
    with (
        variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as sc,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v3_base(
            inputs, min_depth=min_depth, depth_multiplier=depth_multiplier, scope=sc
        )
        kinds = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d]
        with arg_scope(kinds, stride=1, padding="SAME"), variable_scope("AuxLogits"):
            end_points["AuxLogits"] = _further_scores(
                end_points["Mixed_6e"],
                num_classes,
                [max(int(filters * depth_multiplier), min_depth) for filters in (128, 768)],
                spatial_squeeze,
            )
        with variable_scope("Logits"):
            window = small_window(net, [8, 8])
            name = f"AvgPool_1a_{window[0]}x{window[1]}"
            net = layers.avg_pool2d(net, window, padding="VALID", scope=name)
            net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
            end_points["PreLogits"] = net
            logits = logits_of(net, num_classes, "Conv2d_1c_1x1", spatial_squeeze)
        end_points["Logits"] = logits
        end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


def _further_scores(net: Any, num_classes: int, filters: list[int], squeeze: bool) -> Any:
    net = layers.avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
    net = layers.conv2d(net, filters[0], [1, 1], scope="Conv2d_1b_1x1")
    window = small_window(net, [5, 5])
    net = layers.conv2d(
        net,
        filters[1],
        window,
        weights_initializer=truncated_normal_initializer(0.0, 0.01),
        padding="VALID",
        scope=f"Conv2d_2a_{window[0]}x{window[1]}",
    )
    weights = truncated_normal_initializer(0.0, 0.001)
    return logits_of(net, num_classes, "Conv2d_2b_1x1", squeeze, weights_initializer=weights)


inception_v3.default_image_size = 299  # type: ignore[attr-defined]


@api_guard.unguarded
def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Scope:
    """The arg_scope in which the network is made; see batch_norm_scope."""
    return batch_norm_scope(
        weight_decay,
        batch_norm_var_collection,
        batch_norm_decay,
        batch_norm_epsilon,
        updates_collections,
        fused=use_fused_batchnorm,
    )
