"""Convolutions, their transposes, and the separable one."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.finishing import Finish, check_format, keras_format, variable_getter
from graphio.contrib.layers.initializers import xavier_initializer
from graphio.contrib.layers.utils import channel_dimension, last_dimension, two_element_tuple
from graphio.framework.constants import convert_to_tensor
from graphio.layers import convolutional as classes
from graphio.ops.array import surface as array
from graphio.ops.nn import conv
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_in_plane",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_in_plane",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "separable_conv2d",
    "separable_convolution2d",
]

_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
_BY_RANK: dict[int | None, Any] = {3: classes.Conv1D, 4: classes.Conv2D, 5: classes.Conv3D}
_NAMES = {"kernel": "weights", "bias": "biases"}
_SEPARABLE_NAMES = {
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
    "bias": "biases",
}


@api_guard.makes_variables
@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
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
    conv_dims: int | None = None,
) -> Any:
    """A convolution over one, two or three axes, normalised and with an activation.

    Args:
        inputs: floating, (n, *spatial, channels), or (n, channels, *spatial) by data_format.
        num_outputs: number of filters.
        kernel_size, stride, rate: an integer or one for each spatial axis; only one of stride and
            rate (the dilation) is above 1.
        padding: SAME or VALID.
        data_format: such as NHWC, which is the default, or NCHW.
        activation_fn: None: none.
        normalizer_fn: such as batch_norm, in the place of the biases; normalizer_params: a
            dictionary of its arguments.
        weights_initializer, weights_regularizer, biases_regularizer: of the variables.
        biases_initializer: None: there are no biases.
        reuse: whether to share the variables of the scope.
        variables_collections: names of collections, or a dictionary of such for `weights` and
            `biases`.
        outputs_collections: names of collections of the result.
        trainable: whether optimizers change the variables.
        scope: of the variables; None: Conv.
        conv_dims: the number of spatial axes that inputs must have.

    Variables: `weights` (*kernel_size, channels, num_outputs), `biases` (num_outputs).

    Raises:
        ValueError: inputs has another rank, or there is no such data_format.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format!r}; there are {_FORMATS[1:]}")
    with variable_scope(
        scope, "Conv", [inputs], reuse=reuse, custom_getter=variable_getter(_NAMES)
    ) as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if conv_dims is not None and conv_dims + 2 != rank:
            raise ValueError(f"Convolution expects input with rank {conv_dims + 2}, got {rank}")
        if rank not in _BY_RANK:
            raise ValueError(f"Convolution not supported for input with rank {rank}")
        layer = _BY_RANK[rank](
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format),
            dilation_rate=rate,
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        end = Finish(
            sc.name, activation_fn, outputs_collections, normalizer_fn, normalizer_params,
            variables_collections,
        )  # fmt: skip
        return end.of_layer(layer, inputs, _NAMES)


@api_guard.makes_variables
@add_arg_scope
def convolution1d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
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
    """convolution of inputs with one spatial axis.

    Raises:
        ValueError: inputs has another rank.
    """
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope, conv_dims=1,
    )  # fmt: skip


@api_guard.makes_variables
@add_arg_scope
def convolution2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
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
    """convolution of inputs with two spatial axes.

    Raises:
        ValueError: inputs has another rank.
    """
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope, conv_dims=2,
    )  # fmt: skip


@api_guard.makes_variables
@add_arg_scope
def convolution3d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
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
    """convolution of inputs with three spatial axes.

    Raises:
        ValueError: inputs has another rank.
    """
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope, conv_dims=3,
    )  # fmt: skip


@api_guard.makes_variables
@add_arg_scope
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
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
    """The transpose of a convolution over two axes, which enlarges them by stride.

    The arguments are those of convolution, without rate; scope None: Conv2d_transpose.

    Variables: `weights` (*kernel_size, num_outputs, channels), `biases` (num_outputs).

    Raises:
        ValueError: data_format is neither NHWC nor NCHW.
    """
    check_format(data_format)
    return _transposed(
        classes.Conv2DTranspose, "Conv2d_transpose", inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params,
        weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope,
    )  # fmt: skip


@api_guard.makes_variables
@add_arg_scope
def convolution3d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
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
    """The transpose of a convolution over three axes, which enlarges them by stride.

    The arguments are those of convolution, without rate; scope None: Conv3d_transpose.

    Raises:
        ValueError: data_format is neither NDHWC nor NCDHW.
    """
    check_format(data_format, ("NCDHW", "NDHWC"))
    return _transposed(
        classes.Conv3DTranspose, "Conv3d_transpose", inputs, num_outputs, kernel_size, stride,
        padding, data_format, activation_fn, normalizer_fn, normalizer_params,
        weights_initializer, weights_regularizer, biases_initializer, biases_regularizer, reuse,
        variables_collections, outputs_collections, trainable, scope,
    )  # fmt: skip


def _transposed(
    kind: Any,
    default_name: str,
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str,
    activation_fn: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
    weights_initializer: Any,
    weights_regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    reuse: Any,
    variables_collections: Any,
    outputs_collections: Any,
    trainable: bool,
    scope: Any,
) -> Any:
    with variable_scope(
        scope, default_name, [inputs], reuse=reuse, custom_getter=variable_getter(_NAMES)
    ) as sc:
        inputs = convert_to_tensor(inputs)
        layer = kind(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            bias_initializer=biases_initializer,
            kernel_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
        )
        end = Finish(
            sc.name, activation_fn, outputs_collections, normalizer_fn, normalizer_params,
            variables_collections,
        )  # fmt: skip
        return end.of_layer(layer, inputs, _NAMES)


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
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable(
                "biases",
                shape=[channels],
                dtype=dtype,
                initializer=biases_initializer,
                regularizer=biases_regularizer,
                collections=end.collections("biases"),
                trainable=trainable,
            )
            outputs = nn.bias_add(outputs, biases)
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
        layer = classes.SeparableConv2D(
            filters=num_outputs,
            kernel_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format),
            dilation_rate=two_element_tuple(rate),
            depth_multiplier=depth_multiplier,
            use_bias=not normalizer_fn and biases_initializer is not None,
            depthwise_initializer=weights_initializer,
            pointwise_initializer=pointwise_initializer or weights_initializer,
            bias_initializer=biases_initializer,
            depthwise_regularizer=weights_regularizer,
            pointwise_regularizer=weights_regularizer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
            name=sc.name,
            dtype=inputs.dtype.base_dtype,
            _scope=sc,
            _reuse=reuse,
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
    if end.normalizer_fn is not None or biases_initializer is None:
        return outputs
    biases = model_variable(
        "biases",
        shape=[depth_multiplier * channels],
        dtype=dtype,
        initializer=biases_initializer,
        regularizer=biases_regularizer,
        trainable=trainable,
        collections=end.collections("biases"),
    )
    return nn.bias_add(outputs, biases, data_format=data_format)


conv1d = convolution1d
conv2d = convolution2d
conv3d = convolution3d
conv2d_in_plane = convolution2d_in_plane
conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose
separable_conv2d = separable_convolution2d
