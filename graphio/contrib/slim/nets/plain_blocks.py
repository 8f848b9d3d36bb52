"""Builds networks that are a row of layers: convolutions and pooling, then dense layers.

A layer is a tuple: name of its scope, number of filters (0: pooling), window, and options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import Scope, arg_scope
from graphio.contrib.layers.utils import convert_collection_to_dict
from graphio.ops.array import surface as array
from graphio.ops.nn import core as nn
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = ["Row", "build", "weight_decay_scope"]

Row = tuple[str, int, int, dict[str, Any]]


def build(
    default_scope: str,
    inputs: Any,
    rows: Sequence[Row],
    dense: tuple[int, int, int],
    num_classes: int,
    is_training: Any,
    dropout_keep_prob: Any,
    spatial_squeeze: bool,
    scope: Any,
    dense_options: dict[str, Any],
    last_options: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """Scores of the classes, and end points by name.

    Args:
        rows: the layers before the dense ones. A name with a number of layers, such as conv1/2,
            is a row of equal ones.
        dense: window of fc6, and the numbers of filters of fc6 and fc7.
        dense_options: of fc6, fc7 and fc8; last_options: of fc8.
    """
    with variable_scope(scope, default_scope, [inputs]) as sc:
        collection = f"{sc.original_name_scope}_end_points"
        kinds = [layers.conv2d, layers.fully_connected, layers.max_pool2d]
        with arg_scope(kinds, outputs_collections=[collection]):
            net = inputs
            for name, filters, window, options in rows:
                net = _layer(net, name, filters, window, options)
            window, first, second = dense
            with arg_scope([layers.conv2d], **dense_options):
                net = layers.conv2d(net, first, [window, window], padding="VALID", scope="fc6")
                net = layers.dropout(
                    net, dropout_keep_prob, is_training=is_training, scope="dropout6"
                )
                net = layers.conv2d(net, second, [1, 1], scope="fc7")
                net = layers.dropout(
                    net, dropout_keep_prob, is_training=is_training, scope="dropout7"
                )
                net = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8",
                    **last_options,
                )  # fmt: skip
        end_points: dict[str, Any] = convert_collection_to_dict(collection)
        if spatial_squeeze:
            net = array.squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{sc.name}/fc8"] = net
        return net, end_points


def _layer(net: Any, name: str, filters: int, window: int, options: dict[str, Any]) -> Any:
    size = [window, window]
    if not filters:
        return layers.max_pool2d(net, size, scope=name, **options)
    scope, _, number = name.partition("/")
    if number:
        return layers.repeat(net, int(number), layers.conv2d, filters, size, scope=scope)
    return layers.conv2d(net, filters, size, scope=scope, **options)


def weight_decay_scope(weight_decay: float, pooling: bool, biases_initializer: Any = None) -> Scope:
    """The arg_scope of these networks: weight decay, SAME convolutions.

    Args:
        pooling: whether it also says that pooling is VALID.
        biases_initializer: None: zeros.
    """
    kinds = [layers.conv2d, layers.fully_connected]
    with (
        arg_scope(
            kinds,
            activation_fn=nn.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=biases_initializer or zeros_initializer(),
        ),
        arg_scope([layers.conv2d], padding="SAME") as scope,
        arg_scope([layers.max_pool2d], padding="VALID") as with_pooling,
    ):
        return with_pooling if pooling else scope
