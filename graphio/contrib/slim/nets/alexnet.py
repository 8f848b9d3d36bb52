"""AlexNet v2 (Krizhevsky 2014, "One weird trick")."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import Scope
from graphio.contrib.slim.nets.plain_blocks import Row, build, weight_decay_scope
from graphio.support import api_guard
from graphio.variables.initializers import (
    constant_initializer,
    truncated_normal_initializer,
    zeros_initializer,
)

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]

_ROWS: tuple[Row, ...] = (
    ("conv1", 64, 11, {"stride": 4, "padding": "VALID"}),
    ("pool1", 0, 3, {"stride": 2}),
    ("conv2", 192, 5, {}),
    ("pool2", 0, 3, {"stride": 2}),
    ("conv3", 384, 3, {}),
    ("conv4", 384, 3, {}),
    ("conv5", 256, 3, {}),
    ("pool5", 0, 3, {"stride": 2}),
)


@api_guard.unguarded
def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The arg_scope in which the network is made: weight decay, padding, biases of 0.1."""
    return weight_decay_scope(weight_decay, True, constant_initializer(0.1))


@api_guard.makes_variables
def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        is_training: of dropout.
        dropout_keep_prob: probability to keep a feature.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
    """
    return build(
        "alexnet_v2", inputs, _ROWS, (5, 4096, 4096), num_classes, is_training, dropout_keep_prob,
        spatial_squeeze, scope,
        {
            "weights_initializer": truncated_normal_initializer(0.0, 0.005),
            "biases_initializer": constant_initializer(0.1),
        },
        {"biases_initializer": zeros_initializer()},
    )  # fmt: skip


alexnet_v2.default_image_size = 224  # type: ignore[attr-defined]
