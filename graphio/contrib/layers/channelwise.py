"""Convolutions of each channel for itself: the same for all, and the separable one."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.convolutional import layer_options
from graphio.contrib.layers.finishing import Finish, check_format, keras_format, variable_getter
from graphio.contrib.layers.initializers import xavier_initializer
from graphio.contrib.layers.utils import channel_dimension, last_dimension, two_element_tuple
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.layers import convolutional as classes
from graphio.ops.array import surface as array
from graphio.ops.nn import conv
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "conv2d_in_plane",
    "convolution2d_in_plane",
    "separable_conv2d",
    "separable_convolution2d",
]

_SEPARABLE_NAMES = {
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
    "bias": "biases",
}


@api_guard.makes_variables
@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """One and the same convolution of each channel for itself.

    The arguments are those of convolution; inputs (n, height, width, channels); scope None:
    ConvInPlane.

    Variables: `weights` (*kernel_size, 1, 1), `biases` (channels).

    Raises:
        ValueError: the number of channels is not known.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as sc:
        end = Finish(
            sc.name, activation_fn, outputs_collections, normalizer_fn, normalizer_params,
            variables_collections,
        )  # fmt: skip
        inputs = convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        high, wide = two_element_tuple(stride)
        channels = last_dimension(inputs.get_shape(), min_rank=4)
        weights = model_variable(
            "weights",
            shape=[*two_element_tuple(kernel_size), 1, 1],
            dtype=dtype,
            initializer=weights_initializer,
            regularizer=weights_regularizer,
            collections=end.collections("weights"),
            trainable=trainable,
        )
        each = array.tile(weights, [1, 1, channels, 1])
        outputs = conv.depthwise_conv2d(inputs, each, [1, high, wide, 1], padding)
        outputs = _biased(
            end, outputs, channels, "NHWC", biases_initializer, biases_regularizer, trainable
        )
        return end.of(outputs)


@api_guard.makes_variables
@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = xavier_initializer(),  # noqa: B008
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = zeros_initializer(),  # noqa: B008
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of each channel for itself, then one of window 1 over all channels.

    Args:
        num_outputs: number of filters; None: the second convolution is left out.
        depth_multiplier: results of the first convolution for each channel.
        pointwise_initializer: of the second convolution; None: weights_initializer.
        others: as convolution's; scope None: SeparableConv2d.

    Variables: `depthwise_weights` (*kernel_size, channels, depth_multiplier),
        `pointwise_weights` (1, 1, channels * depth_multiplier, num_outputs), `biases`.

    Raises:
        ValueError: data_format is neither NHWC nor NCHW.
    """
    check_format(data_format)
    with variable_scope(
        scope, "SeparableConv2d", [inputs], reuse=reuse,
        custom_getter=variable_getter(_SEPARABLE_NAMES),
    ) as sc:  # fmt: skip
        inputs = convert_to_tensor(inputs)
        end = Finish(
            sc.name, activation_fn, outputs_collections, normalizer_fn, normalizer_params,
            variables_collections,
        )  # fmt: skip
        if num_outputs is None:
            outputs = _depthwise(
                end, inputs, kernel_size, depth_multiplier, stride, padding, data_format, rate,
                weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
                trainable,
            )  # fmt: skip
            return end.of(outputs)
        options = layer_options(
            num_outputs, kernel_size, stride, padding, data_format, normalizer_fn,
            biases_initializer, biases_regularizer, trainable, inputs, sc, reuse,
        )  # fmt: skip
        layer = classes.SeparableConv2D(
            dilation_rate=two_element_tuple(rate),
            depth_multiplier=depth_multiplier,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            **options,
        )
        names = {"depthwise_kernel": "weights", "pointwise_kernel": "weights", "bias": "biases"}
        return end.of_layer(layer, inputs, names)


def _depthwise(
    end: Finish,
    inputs: Any,
    kernel_size: Any,
    depth_multiplier: int,
    stride: Any,
    padding: str,
    data_format: str,
    rate: Any,
    weights_initializer: Any,
    weights_regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    trainable: bool,
) -> Any:
    channels = channel_dimension(inputs.get_shape(), keras_format(data_format), min_rank=4)
    dtype = inputs.dtype.base_dtype
    weights = model_variable(
        "depthwise_weights",
        shape=[*two_element_tuple(kernel_size), channels, depth_multiplier],
        dtype=dtype,
        initializer=weights_initializer,
        regularizer=weights_regularizer,
        trainable=trainable,
        collections=end.collections("weights"),
    )
    steps = two_element_tuple(stride)
    strides = [1, 1, *steps] if data_format.startswith("NC") else [1, *steps, 1]
    outputs = conv.depthwise_conv2d(
        inputs, weights, strides, padding, rate=two_element_tuple(rate), data_format=data_format
    )
    return _biased(
        end, outputs, depth_multiplier * channels, data_format, biases_initializer,
        biases_regularizer, trainable,
    )  # fmt: skip


def _biased(
    end: Finish,
    outputs: Tensor,
    size: int,
    data_format: str,
    initializer: Any,
    regularizer: Any,
    trainable: bool,
) -> Tensor:
    """The outputs with biases, unless they are normalised or there is no initializer."""
    if end.normalizer_fn is not None or initializer is None:
        return outputs
    biases = model_variable(
        "biases",
        shape=[size],
        dtype=outputs.dtype.base_dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=end.collections("biases"),
    )
    return nn.bias_add(outputs, biases, data_format=data_format)


conv2d_in_plane = convolution2d_in_plane
separable_conv2d = separable_convolution2d
