"""Fully connected layers, biases, dropout, and layers in a row."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.finishing import Finish, check_format, variable_getter
from graphio.contrib.layers.initializers import xavier_initializer
from graphio.contrib.layers.utils import collect_named_outputs
from graphio.framework import scopes
from graphio.framework.collections import GraphKeys, add_to_collections
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.layers import core as classes
from graphio.ops.array import surface as array
from graphio.ops.linalg.matmul import matmul
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = [
    "bias_add",
    "dropout",
    "elu",
    "flatten",
    "fully_connected",
    "legacy_fully_connected",
    "legacy_linear",
    "legacy_relu",
    "linear",
    "relu",
    "relu6",
    "repeat",
    "stack",
]

_NAMES = {"kernel": "weights", "bias": "biases"}


@api_guard.makes_variables
@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
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
    """activation(inputs . weights + biases) along the last axis.

    Args:
        inputs: floating, of rank 2 or more, whose last size is known.
        num_outputs: size of the result's last axis.
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
        scope: of the variables; None: fully_connected.

    Variables: `weights` (inputs' last axis, num_outputs), `biases` (num_outputs).

    Raises:
        ValueError: num_outputs is not an integer, or the inputs' last size is not known.
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be int, got {type(num_outputs)}.")
    with variable_scope(
        scope, "fully_connected", [inputs], reuse=reuse, custom_getter=variable_getter(_NAMES)
    ) as sc:
        inputs = convert_to_tensor(inputs)
        layer = classes.Dense(
            units=num_outputs,
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


elu = functools.partial(fully_connected, activation_fn=nn.elu)
relu = functools.partial(fully_connected, activation_fn=nn.relu)
relu6 = functools.partial(fully_connected, activation_fn=nn.relu6)
linear = functools.partial(fully_connected, activation_fn=None)


@api_guard.makes_variables
@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Any = None,
    initializer: Any = zeros_initializer(),  # noqa: B008
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """activation(inputs + biases), a bias for each channel.

    Args:
        inputs: floating; channels last, or second with data_format NCHW and rank 4.
        activation_fn: None: none.
        initializer, regularizer: of the biases.
        reuse, variables_collections, outputs_collections, trainable: as fully_connected's.
        scope: None: BiasAdd.

    Raises:
        ValueError: the number of channels is not known, or there is no such data_format.
    """
    check_format(data_format)
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        shape = inputs.get_shape()
        if shape.ndims is None:
            raise ValueError("Dims of shape must be known but is None")
        if shape.ndims != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        channels = shape.as_list()[1 if data_format == "NCHW" else -1]
        if channels is None:
            raise ValueError("`C` dimension must be known but is None")
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        biases = model_variable(
            "biases",
            shape=[channels],
            dtype=inputs.dtype.base_dtype,
            initializer=initializer,
            regularizer=regularizer,
            collections=end.collections("biases"),
            trainable=trainable,
        )
        return end.of(nn.bias_add(inputs, biases, data_format=data_format))


@api_guard.guarded
@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Drops elements at random while training and scales the others by 1 / keep_prob.

    Args:
        keep_prob: probability to keep an element; a number or a scalar tensor.
        noise_shape: of the choices, broadcast to the inputs'.
        is_training: bool or a bool scalar tensor.
        outputs_collections: names of collections of the result.
        scope: None: Dropout.
        seed: of the random numbers.
    """
    with variable_scope(scope, "Dropout", [inputs], custom_getter=variable_getter()) as sc:
        inputs = convert_to_tensor(inputs)
        layer = classes.Dropout(
            rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=sc.name, _scope=sc
        )
        outputs = layer.apply(inputs, training=is_training)
        return collect_named_outputs(outputs_collections, sc.name, outputs)


@api_guard.operator
@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """All axes but the first in one.

    Raises:
        ValueError: the rank is below 2.
    """
    with scopes.name_scope(scope, "Flatten") as sc:
        outputs = classes.flatten(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


# ---- several layers ----


@api_guard.makes_variables
def repeat(
    inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """A layer applied several times, each to the result of the one before.

    Args:
        layer: a function of inputs, args and kwargs.
        kwargs: also `scope`, None: Repeat. The layers are in scopes of this name, or else the
            layer's, with _1, _2 and so on.
    """
    scope = kwargs.pop("scope", None)
    with variable_scope(scope, "Repeat", [inputs]):
        outputs = convert_to_tensor(inputs)
        name = scope or _name_of(layer, "repeat")
        for number in range(1, repetitions + 1):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{name}_{number}"})
        return outputs


@api_guard.makes_variables
def stack(inputs: Any, layer: Callable[..., Any], stack_args: Any, **kwargs: Any) -> Any:
    """A layer applied several times, each time with other arguments.

    Args:
        layer: a function of inputs, an entry of stack_args, and kwargs.
        stack_args: a list or tuple whose entries are an argument, or a list or tuple of them.
        kwargs: also `scope`, None: Stack. The layers are in scopes of this name, or else the
            layer's, with _1, _2 and so on.

    Raises:
        ValueError: stack_args is neither a list nor a tuple.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError(f"stack_args need to be a list or tuple, not {stack_args!r}")
    with variable_scope(scope, "Stack", [inputs]):
        outputs = convert_to_tensor(inputs)
        name = scope or _name_of(layer, "stack")
        for number, given in enumerate(stack_args, 1):
            arguments: Iterable[Any] = given if isinstance(given, (list, tuple)) else [given]
            outputs = layer(outputs, *arguments, **{**kwargs, "scope": f"{name}_{number}"})
        return outputs


def _name_of(layer: Any, default: str) -> str:
    inner = layer.func if isinstance(layer, functools.partial) else layer
    return str(getattr(inner, "__name__", default))


# ---- an older layer ----


@api_guard.makes_variables
def legacy_fully_connected(
    x: Any,
    num_output_units: int,
    activation_fn: Any = None,
    weight_init: Any = xavier_initializer(),  # noqa: B008
    bias_init: Any = zeros_initializer(),  # noqa: B008
    name: Any = None,
    weight_collections: Any = (GraphKeys.WEIGHTS,),
    bias_collections: Any = (GraphKeys.BIASES,),
    output_collections: Any = (GraphKeys.ACTIVATIONS,),
    trainable: bool = True,
    weight_regularizer: Any = None,
    bias_regularizer: Any = None,
) -> Tensor:
    """activation(x . weights + bias), whose result joins the collection ACTIVATIONS.

    Args:
        x: floating, of rank 2 or more, whose last size is known.
        bias_init: None: there is no bias.
        weight_collections, bias_collections, output_collections: names of collections; the
            result always joins ACTIVATIONS.

    Variables: `weights` (x's last axis, num_output_units), `bias` (num_output_units).

    Raises:
        ValueError: the rank of x is below 2, or its last size is not known.
    """
    with variable_scope(name, "fully_connected", [x]):
        x = convert_to_tensor(x)
        rank, width = _rank_and_width(x)
        dtype = x.dtype.base_dtype
        weights = get_variable(
            "weights",
            shape=[width, num_output_units],
            dtype=dtype,
            initializer=weight_init,
            collections=_joined(weight_collections),
            regularizer=weight_regularizer,
            trainable=trainable,
        )
        y = matmul(x if rank == 2 else array.reshape(x, [-1, width]), weights)
        if bias_init is not None:
            bias = get_variable(
                "bias",
                shape=[num_output_units],
                dtype=dtype,
                initializer=bias_init,
                collections=_joined(bias_collections),
                regularizer=bias_regularizer,
                trainable=trainable,
            )
            y = nn.bias_add(y, bias)
        if rank > 2:
            sizes = array.unstack(array.shape(x))
            y = array.reshape(y, array.stack([*sizes[:-1], num_output_units]))
            y.set_shape([*x.get_shape().as_list()[:-1], num_output_units])
        if activation_fn is not None:
            y = activation_fn(y)
        add_to_collections([*(output_collections or ()), GraphKeys.ACTIVATIONS], y)
        return y


def _rank_and_width(x: Tensor) -> tuple[int, int]:
    shape = x.get_shape()
    if shape.ndims is None:
        raise ValueError("dims of x must be known but is None")
    if shape.ndims < 2:
        raise ValueError(f"rank of x must be at least 2 not: {shape.ndims}")
    width = shape.as_list()[-1]
    if width is None:
        raise ValueError("last dimension of x must be known but is None")
    return shape.ndims, width


def _joined(collections: Any) -> list[str]:
    return list(dict.fromkeys([*(collections or ()), GraphKeys.GLOBAL_VARIABLES]))


legacy_relu = functools.partial(legacy_fully_connected, activation_fn=nn.relu)
legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
