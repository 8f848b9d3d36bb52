"""The networks of VGG (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import Scope
from graphio.contrib.slim.nets.plain_blocks import Row, build, weight_decay_scope
from graphio.support import api_guard

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope", "vgg_d", "vgg_e"]


def _rows(*numbers: int) -> tuple[Row, ...]:
    """Five rows of convolutions, of so many each, with pooling after each."""
    found: list[Row] = []
    for i, (number, filters) in enumerate(zip(numbers, (64, 128, 256, 512, 512), strict=True), 1):
        found += [(f"conv{i}/{number}", filters, 3, {}), (f"pool{i}", 0, 2, {})]
    return tuple(found)


@api_guard.unguarded
def vgg_arg_scope(weight_decay: float = 0.0005) -> Scope:
    """The arg_scope in which a network is made: weight decay, padding."""
    return weight_decay_scope(weight_decay, False)


@api_guard.makes_variables
def vgg_a(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_a",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        is_training: of dropout.
        dropout_keep_prob: probability to keep a feature.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
    """
    return build(
        "vgg_a", inputs, _rows(1, 1, 2, 2, 2), (7, 4096, 4096), num_classes, is_training,
        dropout_keep_prob, spatial_squeeze, scope, {}, {},
    )  # fmt: skip


vgg_a.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.makes_variables
def vgg_16(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_16",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        is_training: of dropout.
        dropout_keep_prob: probability to keep a feature.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
    """
    return build(
        "vgg_16", inputs, _rows(2, 2, 3, 3, 3), (7, 4096, 4096), num_classes, is_training,
        dropout_keep_prob, spatial_squeeze, scope, {}, {},
    )  # fmt: skip


vgg_16.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.makes_variables
def vgg_19(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: Any = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_19",
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        inputs: images (n, 224, 224, channels).
        is_training: of dropout.
        dropout_keep_prob: probability to keep a feature.
        spatial_squeeze: whether the scores are (n, num_classes) and not (n, 1, 1, num_classes).
    """
    return build(
        "vgg_19", inputs, _rows(2, 2, 4, 4, 4), (7, 4096, 4096), num_classes, is_training,
        dropout_keep_prob, spatial_squeeze, scope, {}, {},
    )  # fmt: skip


vgg_19.default_image_size = 224  # type: ignore[attr-defined]


vgg_d = vgg_16
vgg_e = vgg_19
