"""Residual networks (He and others 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.layers.utils import collect_named_outputs, last_dimension
from graphio.contrib.slim.nets import resnet_parts, resnet_utils
from graphio.contrib.slim.nets.resnet_utils import resnet_arg_scope
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]


@api_guard.makes_variables
@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """A unit: three convolutions, the first and last of window 1, added to the inputs.

    Args:
        depth: number of filters of the last convolution.
        depth_bottleneck: of the others.
        stride, rate: of the second convolution.
    """
    with variable_scope(scope, "bottleneck_v1", [inputs]) as sc:
        depth_in = last_dimension(inputs.get_shape(), min_rank=4)
        if depth == depth_in:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(
            residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2"
        )
        residual = layers.conv2d(
            residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3"
        )
        output = nn.relu(elementwise.add(shortcut, residual))
        return collect_named_outputs(outputs_collections, sc.name, output)


@api_guard.makes_variables
def resnet_v1(
    inputs: Any,
    blocks: Sequence[resnet_utils.Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, dict[str, Any]]:
    """The result of blocks, or scores of classes (n, 1, 1, num_classes); and end points by name.

    Args:
        inputs: images (n, height, width, channels).
        num_classes: None: there are no scores.
        is_training: of the normalisation.
        global_pool: whether the mean of each image is taken before the scores.
        output_stride: after this stride dilations take the place of strides; None: never.
        include_root_block: whether a convolution and pooling come first.
        reuse: whether to share the variables of the scope.
        scope: None: resnet_v1.

    Raises:
        ValueError: output_stride is not a multiple of 4, or the strides do not make it up.
    """
    return resnet_parts.network(
        "resnet_v1", bottleneck, False, inputs, blocks, num_classes, is_training, global_pool,
        output_stride, include_root_block, reuse, scope,
    )  # fmt: skip


resnet_v1.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.unguarded
def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """A block of units of base_depth and four times base_depth filters; the last has the stride."""
    return resnet_parts.block(bottleneck, scope, base_depth, num_units, stride)


resnet_v1_50 = resnet_parts.of_layers(50, resnet_v1, bottleneck)
resnet_v1_101 = resnet_parts.of_layers(101, resnet_v1, bottleneck)
resnet_v1_152 = resnet_parts.of_layers(152, resnet_v1, bottleneck)
resnet_v1_200 = resnet_parts.of_layers(200, resnet_v1, bottleneck)
