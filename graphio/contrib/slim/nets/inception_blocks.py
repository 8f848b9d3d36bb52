"""Builds networks of branches from tables.

A layer is written as `96 3x3/2 valid ~0.09 @Name`: the number of filters, or max or avg for
pooling; the window; the stride; the padding; the standard deviation of the initial weights; the
scope, if it is not that of the layer's number in its branch (Conv2d_0a_3x3, Conv2d_0b_3x3, ...;
Conv2d_1a_3x3 with stride 2). `, ` separates the layers of a branch; layers joined by ` + ` have the
same input, and their results are concatenated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import Scope, arg_scope
from graphio.framework.collections import GraphKeys
from graphio.ops.array import surface as array
from graphio.ops.nn import core as nn
from graphio.variables.initializers import truncated_normal_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = ["Block", "batch_norm_scope", "build", "logits_of", "small_window"]

#: the branches of an end point, or its only layer
Block = tuple[str, ...]

_LAYER = re.compile(
    r"(?P<kind>max|avg|\d+) (?P<high>\d+)x(?P<wide>\d+)(/(?P<stride>\d))?"
    r"( (?P<padding>valid|same))?( ~(?P<deviation>[\d.]+))?( @(?P<name>\w+))?"
)
_POOLS = {"max": ("MaxPool", layers.max_pool2d), "avg": ("AvgPool", layers.avg_pool2d)}


def build(
    net: Any,
    blocks: Mapping[str, Block],
    final_endpoint: str,
    end_points: dict[str, Any],
    depth: Callable[[int], int] = lambda filters: filters,
) -> Any:
    """The result of the blocks up to final_endpoint; each result goes into end_points.

    Args:
        depth: from a number of filters to that which a layer gets.
    """
    for name, block in blocks.items():
        if final_endpoint in end_points:
            break
        if len(block) == 1:
            net = _layer(net, block[0], 0, depth, name)
        else:
            with variable_scope(name):
                parts = []
                for number, branch in enumerate(block):
                    with variable_scope(f"Branch_{number}"):
                        parts.append(_branch(net, branch, depth))
                net = array.concat(parts, 3)
        end_points[name] = net
    return net


def _branch(net: Any, branch: str, depth: Callable[[int], int]) -> Any:
    for number, text in enumerate(branch.split(", ")):
        steps = text.split(" + ")
        parts = [_layer(net, step, number + i, depth) for i, step in enumerate(steps)]
        net = parts[0] if len(parts) == 1 else array.concat(parts, 3)
    return net


def _layer(
    net: Any, text: str, number: int, depth: Callable[[int], int], scope: str | None = None
) -> Any:
    found = _LAYER.fullmatch(text)
    assert found is not None, text
    given = found.groupdict()
    window = [int(given["high"]), int(given["wide"])]
    prefix, pool = _POOLS.get(given["kind"], ("Conv2d", None))
    position = "1a" if given["stride"] else f"0{'abcdefg'[number]}"
    default = f"{prefix}_{position}_{window[0]}x{window[1]}"
    options: dict[str, Any] = {"scope": scope or given["name"] or default}
    if given["stride"]:
        options["stride"] = int(given["stride"])
    if given["padding"]:
        options["padding"] = given["padding"].upper()
    if given["deviation"]:
        options["weights_initializer"] = truncated_normal_initializer(
            0.0, float(given["deviation"])
        )
    if pool is not None:
        return pool(net, window, **options)
    return layers.conv2d(net, depth(int(given["kind"])), window, **options)


def small_window(net: Any, window: list[int]) -> list[int]:
    """The window, no larger than the image if its size is known."""
    height, width = net.get_shape().as_list()[1:3]
    if height is None or width is None:
        return window
    return [min(height, window[0]), min(width, window[1])]


def logits_of(net: Any, num_classes: int, scope: str, squeeze: bool, **options: Any) -> Any:
    """The scores of the classes, by a convolution without normalisation and activation.

    Args:
        squeeze: whether the result is (n, num_classes).
    """
    net = layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=scope, **options
    )
    return array.squeeze(net, [1, 2], name="SpatialSqueeze") if squeeze else net


def batch_norm_scope(
    weight_decay: float,
    collection: str,
    decay: float = 0.9997,
    epsilon: float = 0.001,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    normalizer_fn: Any = layers.batch_norm,
    **options: Any,
) -> Scope:
    """The arg_scope of these networks.

    Args:
        weight_decay: of all weights.
        collection: of the moving statistics.
        decay, epsilon, updates_collections, options: of the normalisation; normalizer_fn None:
            there is none.
    """
    given = {
        "decay": decay,
        "epsilon": epsilon,
        "updates_collections": updates_collections,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": [collection],
            "moving_variance": [collection],
        },
        **options,
    }
    penalty = layers.l2_regularizer(weight_decay)
    with (
        arg_scope([layers.conv2d, layers.fully_connected], weights_regularizer=penalty),
        arg_scope(
            [layers.conv2d],
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=normalizer_fn,
            normalizer_params=given if normalizer_fn else {},
        ) as scope,
    ):
        return scope
