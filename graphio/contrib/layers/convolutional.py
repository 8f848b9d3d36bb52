"""Convolutions and their transposes."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.layers.finishing import Finish, check_format, keras_format, variable_getter
from graphio.contrib.layers.initializers import xavier_initializer
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.layers import convolutional as classes
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import VariableScope, variable_scope

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "layer_options",
]

_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
_BY_RANK: dict[int | None, Any] = {3: classes.Conv1D, 4: classes.Conv2D, 5: classes.Conv3D}
_NAMES = {"kernel": "weights", "bias": "biases"}


def layer_options(
    num_outputs: int,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str | None,
    normalizer_fn: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    trainable: bool,
    inputs: Tensor,
    scope: VariableScope,
    reuse: Any,
) -> dict[str, Any]:
    """The arguments of the class of tf.layers that all convolutions have."""
    return {
        "filters": num_outputs, "kernel_size": kernel_size, "strides": stride, "padding": padding,
        "data_format": keras_format(data_format),
        "use_bias": not normalizer_fn and biases_initializer is not None,
        "bias_initializer": biases_initializer, "bias_regularizer": biases_regularizer,
        "trainable": trainable, "name": scope.name, "dtype": inputs.dtype.base_dtype,
        "_scope": scope, "_reuse": reuse,
    }  # fmt: skip


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
        options = layer_options(
            num_outputs, kernel_size, stride, padding, data_format, normalizer_fn,
            biases_initializer, biases_regularizer, trainable, inputs, sc, reuse,
        )  # fmt: skip
        layer = _BY_RANK[rank](
            dilation_rate=rate, kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer, **options,
        )  # fmt: skip
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
        options = layer_options(
            num_outputs, kernel_size, stride, padding, data_format, normalizer_fn,
            biases_initializer, biases_regularizer, trainable, inputs, sc, reuse,
        )  # fmt: skip
        layer = kind(
            kernel_initializer=weights_initializer, kernel_regularizer=weights_regularizer,
            **options,
        )  # fmt: skip
        end = Finish(
            sc.name, activation_fn, outputs_collections, normalizer_fn, normalizer_params,
            variables_collections,
        )  # fmt: skip
        return end.of_layer(layer, inputs, _NAMES)


conv1d = convolution1d
conv2d = convolution2d
conv3d = convolution3d
conv2d_transpose = convolution2d_transpose
conv3d_transpose = convolution3d_transpose
