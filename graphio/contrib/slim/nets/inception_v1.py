"""Inception v1 (Szegedy and others 2014, "Going deeper with convolutions")."""

from __future__ import annotations

from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import Scope, arg_scope
from graphio.contrib.slim.nets.inception_blocks import Block, batch_norm_scope, build, logits_of
from graphio.support import api_guard
from graphio.variables.initializers import truncated_normal_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = ["inception_v1", "inception_v1_arg_scope", "inception_v1_base"]

_BLOCKS: dict[str, Block] = {
    "Conv2d_1a_7x7": ("64 7x7/2",),
    "MaxPool_2a_3x3": ("max 3x3/2",),
    "Conv2d_2b_1x1": ("64 1x1",),
    "Conv2d_2c_3x3": ("192 3x3",),
    "MaxPool_3a_3x3": ("max 3x3/2",),
    "Mixed_3b": (
        "64 1x1",
        "96 1x1, 128 3x3",
        "16 1x1, 32 3x3",
        "max 3x3, 32 1x1",
    ),
    "Mixed_3c": (
        "128 1x1",
        "128 1x1, 192 3x3",
        "32 1x1, 96 3x3",
        "max 3x3, 64 1x1",
    ),
    "MaxPool_4a_3x3": ("max 3x3/2",),
    "Mixed_4b": (
        "192 1x1",
        "96 1x1, 208 3x3",
        "16 1x1, 48 3x3",
        "max 3x3, 64 1x1",
    ),
    "Mixed_4c": (
        "160 1x1",
        "112 1x1, 224 3x3",
        "24 1x1, 64 3x3",
        "max 3x3, 64 1x1",
    ),
    "Mixed_4d": (
        "128 1x1",
        "128 1x1, 256 3x3",
        "24 1x1, 64 3x3",
        "max 3x3, 64 1x1",
    ),
    "Mixed_4e": (
        "112 1x1",
        "144 1x1, 288 3x3",
        "32 1x1, 64 3x3",
        "max 3x3, 64 1x1",
    ),
    "Mixed_4f": (
        "256 1x1",
        "160 1x1, 320 3x3",
        "32 1x1, 128 3x3",
        "max 3x3, 128 1x1",
    ),
    "MaxPool_5a_2x2": ("max 2x2/2",),
    "Mixed_5b": (
        "256 1x1",
        "160 1x1, 320 3x3",
        "32 1x1, 128 3x3 @Conv2d_0a_3x3",
        "max 3x3, 128 1x1",
    ),
    "Mixed_5c": (
        "384 1x1",
        "192 1x1, 384 3x3",
        "48 1x1, 128 3x3",
        "max 3x3, 128 1x1",
    ),
}


def _check(final_endpoint: str) -> None:
    if final_endpoint not in _BLOCKS:
        raise ValueError(f"Unknown final endpoint {final_endpoint}: there are {list(_BLOCKS)}")


@api_guard.makes_variables
def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """The network up to an end point, and all end points by name.

    Args:
        inputs: images (n, height, width, channels).

    Raises:
        ValueError: there is no such end point.
    """
    _check(final_endpoint)
    end_points: dict[str, Any] = {}
    weights = truncated_normal_initializer(0.0, 0.01)
    with (
        variable_scope(scope, "InceptionV1", [inputs]),
        arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=weights),
        arg_scope([layers.conv2d, layers.max_pool2d], stride=1, padding="SAME"),
    ):
        return build(inputs, _BLOCKS, final_endpoint, end_points), end_points


@api_guard.makes_variables
def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.8,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        is_training: of normalisation and dropout.
        dropout_keep_prob: probability to keep a feature.
        prediction_fn: from scores to the end point Predictions.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
        reuse: whether to share the variables of the scope.
    """
    with (
        variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as sc,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, end_points = inception_v1_base(inputs, scope=sc)
        with variable_scope("Logits"):
            net = layers.avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
            net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
            logits = logits_of(net, num_classes, "Conv2d_0c_1x1", spatial_squeeze)
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.unguarded
def inception_v1_arg_scope(
    weight_decay: float = 0.00004,
    use_batch_norm: bool = True,
    batch_norm_var_collection: str = "moving_vars",
) -> Scope:
    """The arg_scope in which the network is made; see batch_norm_scope."""
    return batch_norm_scope(
        weight_decay,
        batch_norm_var_collection,
        normalizer_fn=layers.batch_norm if use_batch_norm else None,
    )
