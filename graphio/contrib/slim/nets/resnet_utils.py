"""Parts of residual networks: blocks of units, with strides or dilations; their arg_scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphio.contrib import layers
from graphio.contrib.framework.arg_scope import Scope, add_arg_scope, arg_scope
from graphio.contrib.layers.utils import collect_named_outputs
from graphio.framework.collections import GraphKeys
from graphio.ops.array import surface as array
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = ["Block", "conv2d_same", "resnet_arg_scope", "stack_blocks_dense", "subsample"]


class Block(NamedTuple):
    """A row of units.

    Attributes:
        scope: of the block.
        unit_fn: the function of a unit.
        args: its arguments (a dictionary) for each unit.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[dict[str, Any]]


@api_guard.operator
def subsample(inputs: Any, factor: int, scope: str | None = None) -> Any:
    """Each factor-th row and column of images."""
    if factor == 1:
        return inputs
    return layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@api_guard.makes_variables
def conv2d_same(
    inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None
) -> Any:
    """A convolution whose padding does not depend on the image's size, also with a stride."""
    if stride == 1:
        return layers.conv2d(
            inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope
        )
    reach = (kernel_size - 1) * rate
    sides = [reach // 2, reach - reach // 2]
    padded = array.pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return layers.conv2d(
        padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope
    )


@api_guard.makes_variables
@add_arg_scope
def stack_blocks_dense(
    net: Any,
    blocks: Sequence[Block],
    output_stride: float | None = None,
    outputs_collections: Any = None,
) -> Any:
    """The result of blocks, one after the other.

    Args:
        output_stride: after this stride of all units dilations take the place of strides; None:
            never.

    Raises:
        ValueError: the strides do not make up output_stride.
    """
    stride: float = 1
    rate = 1
    unreached = ValueError("The target output_stride cannot be reached.")
    for block in blocks:
        with variable_scope(block.scope, "block", [net]) as sc:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise unreached
                step = unit.get("stride", 1)
                with variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= step
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= step
            net = collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and stride != output_stride:
        raise unreached
    return net


@api_guard.unguarded
def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Scope:
    """The arg_scope in which a network is made: weight decay, normalisation, padding."""
    given: dict[str, Any] = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [layers.conv2d],
            weights_regularizer=layers.l2_regularizer(weight_decay),
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=layers.batch_norm,
            normalizer_params=given,
        ),
        arg_scope([layers.batch_norm], **given),
        arg_scope([layers.max_pool2d], padding="SAME") as scope,
    ):
        return scope
