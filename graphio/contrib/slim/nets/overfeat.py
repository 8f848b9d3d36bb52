"""OverFeat (Sermanet and others 2013)."""

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

__all__ = ["overfeat", "overfeat_arg_scope"]

_ROWS: tuple[Row, ...] = (
    ("conv1", 64, 11, {"stride": 4, "padding": "VALID"}),
    ("pool1", 0, 2, {}),
    ("conv2", 256, 5, {"padding": "VALID"}),
    ("pool2", 0, 2, {}),
    ("conv3", 512, 3, {}),
    ("conv4", 1024, 3, {}),
    ("conv5", 1024, 3, {}),
    ("pool5", 0, 2, {}),
)


@api_guard.unguarded
def overfeat_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The arg_scope in which the network is made: weight decay, padding."""
    return weight_decay_scope(weight_decay, True)


@api_guard.makes_variables
def overfeat(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "overfeat",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 231, 231, channels).
        is_training: of dropout.
        dropout_keep_prob: probability to keep a feature.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
    """
    return build(
        "overfeat", inputs, _ROWS, (6, 3072, 4096), num_classes, is_training, dropout_keep_prob,
        spatial_squeeze, scope,
        {
            "weights_initializer": truncated_normal_initializer(0.0, 0.005),
            "biases_initializer": constant_initializer(0.1),
        },
        {"biases_initializer": zeros_initializer()},
    )  # fmt: skip


overfeat.default_image_size = 231  # type: ignore[attr-defined]
