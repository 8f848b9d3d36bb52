"""Blocks of residual networks of both kinds, and the network around their units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import arg_scope
from graphio.contrib.layers.utils import convert_collection_to_dict
from graphio.contrib.slim.nets import resnet_utils
from graphio.ops.math import reduction
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = ["UsualNetwork", "block", "network", "of_layers"]

#: units of the four blocks of each network, by its number of layers
_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def block(
    unit_fn: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int
) -> resnet_utils.Block:
    """A block of units of base_depth and four times base_depth filters; the last has the stride."""
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return resnet_utils.Block(scope, unit_fn, [{**unit, "stride": s} for s in strides])


class UsualNetwork(Protocol):
    """A network with a known number of layers; see resnet_v1, which describes the arguments."""

    def __call__(
        self,
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: Any = ...,
    ) -> tuple[Any, dict[str, Any]]:
        """The result, and end points by name."""


def of_layers(
    count: int, build: Callable[..., tuple[Any, dict[str, Any]]], unit_fn: Callable[..., Any]
) -> UsualNetwork:
    """The function of a network of 50, 101, 152 or 200 layers, whose scope is its name.

    Args:
        count: the number of layers.
        build: resnet_v1 or resnet_v2.
        unit_fn: the function of its units.
    """
    name = f"{build.__name__}_{count}"

    def made(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: float | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Any, dict[str, Any]]:
        return build(
            inputs, _usual_blocks(unit_fn, count), num_classes, is_training, global_pool,
            output_stride, True, reuse, scope,
        )  # fmt: skip

    made.__name__ = made.__qualname__ = name
    made.__module__ = build.__module__
    made.__doc__ = f"{build.__name__} of {count} layers."
    return api_guard.makes_variables(made)


def _usual_blocks(unit_fn: Callable[..., Any], count: int) -> list[resnet_utils.Block]:
    rows = zip((64, 128, 256, 512), _UNITS[count], (2, 2, 2, 1), strict=True)
    return [
        block(unit_fn, f"block{number}", depth, units, stride)
        for number, (depth, units, stride) in enumerate(rows, 1)
    ]


def network(
    name: str,
    unit_fn: Callable[..., Any],
    is_preactivated: bool,
    inputs: Any,
    blocks: Sequence[resnet_utils.Block],
    num_classes: int | None,
    is_training: Any,
    global_pool: bool,
    output_stride: float | None,
    include_root_block: bool,
    reuse: Any,
    scope: Any,
) -> tuple[Any, dict[str, Any]]:
    """A residual network; see resnet_v1, which describes the further arguments.

    Args:
        name: the scope where none is given.
        unit_fn: the function of units, whose results are end points.
        is_preactivated: whether units begin with normalisation and activation, so that the first
            convolution has none, and the blocks end with them.
    """
    with variable_scope(scope, name, [inputs], reuse=reuse) as sc:
        collection = f"{sc.original_name_scope}_end_points"
        kinds = [layers.conv2d, unit_fn, resnet_utils.stack_blocks_dense]
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
                net = _root(net, is_preactivated)
            net = resnet_utils.stack_blocks_dense(net, blocks, output_stride)
            if is_preactivated:
                net = layers.batch_norm(net, activation_fn=nn.relu, scope="postnorm")
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


def _root(net: Any, is_preactivated: bool) -> Any:
    """A convolution and pooling, each with stride 2."""
    plain = {"activation_fn": None, "normalizer_fn": None} if is_preactivated else {}
    with arg_scope([layers.conv2d], **plain):
        net = resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")
    return layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
