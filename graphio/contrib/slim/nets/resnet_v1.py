"""Residual networks (He and others 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import add_arg_scope, arg_scope
from graphio.contrib.layers.utils import (
    collect_named_outputs,
    convert_collection_to_dict,
    last_dimension,
)
from graphio.contrib.slim.nets import resnet_utils
from graphio.contrib.slim.nets.resnet_utils import resnet_arg_scope
from graphio.ops.math import elementwise, reduction
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

#: units of the four blocks of each network
_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


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
    with variable_scope(scope, "resnet_v1", [inputs], reuse=reuse) as sc:
        collection = f"{sc.original_name_scope}_end_points"
        kinds = [layers.conv2d, bottleneck, resnet_utils.stack_blocks_dense]
        with (
            arg_scope(kinds, outputs_collections=collection),
            arg_scope([layers.batch_norm], is_training=is_training),
        ):
            net = inputs
            if include_root_block:
                if output_stride is not None:
                    if output_stride % 4 != 0:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride /= 4
                net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            if global_pool:
                net = reduction.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                    scope="logits",
                )  # fmt: skip
        end_points: dict[str, Any] = convert_collection_to_dict(collection)
        if num_classes is not None:
            end_points["predictions"] = layers.softmax(net, scope="predictions")
        return net, end_points


resnet_v1.default_image_size = 224  # type: ignore[attr-defined]


@api_guard.unguarded
def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> resnet_utils.Block:
    """A block of units of base_depth and four times base_depth filters; the last has the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return resnet_utils.Block(scope, bottleneck, [{**unit, "stride": s} for s in strides])


def _blocks(layers_in_all: int) -> list[resnet_utils.Block]:
    rows = zip((64, 128, 256, 512), _UNITS[layers_in_all], (2, 2, 2, 1), strict=True)
    return [
        resnet_v1_block(f"block{number}", depth, units, stride)
        for number, (depth, units, stride) in enumerate(rows, 1)
    ]


@api_guard.makes_variables
def resnet_v1_50(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_50",
) -> tuple[Any, dict[str, Any]]:
    """resnet_v1 of 50 layers."""
    return resnet_v1(
        inputs, _blocks(50), num_classes, is_training, global_pool, output_stride, True, reuse,
        scope,
    )  # fmt: skip


@api_guard.makes_variables
def resnet_v1_101(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_101",
) -> tuple[Any, dict[str, Any]]:
    """resnet_v1 of 101 layers."""
    return resnet_v1(
        inputs, _blocks(101), num_classes, is_training, global_pool, output_stride, True, reuse,
        scope,
    )  # fmt: skip


@api_guard.makes_variables
def resnet_v1_152(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_152",
) -> tuple[Any, dict[str, Any]]:
    """resnet_v1 of 152 layers."""
    return resnet_v1(
        inputs, _blocks(152), num_classes, is_training, global_pool, output_stride, True, reuse,
        scope,
    )  # fmt: skip


@api_guard.makes_variables
def resnet_v1_200(
    inputs: Any,
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: float | None = None,
    reuse: Any = None,
    scope: Any = "resnet_v1_200",
) -> tuple[Any, dict[str, Any]]:
    """resnet_v1 of 200 layers."""
    return resnet_v1(
        inputs, _blocks(200), num_classes, is_training, global_pool, output_stride, True, reuse,
        scope,
    )  # fmt: skip
