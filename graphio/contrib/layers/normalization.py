"""Batch, layer, group and instance normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.finishing import Finish, check_format, variable_getter
from graphio.contrib.layers.moving_averages import assign_moving_average
from graphio.contrib.layers.utils import constant_value, smart_cond
from graphio.framework import dtypes, nest, scopes
from graphio.framework.collections import GraphKeys, add_to_collections
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.layers.normalization import BatchNormalization
from graphio.ops.array import surface as array
from graphio.ops.nn import core as nn
from graphio.ops.nn import statistics
from graphio.support import api_guard
from graphio.variables.initializers import ones_initializer, zeros_initializer
from graphio.variables.variable_scope import get_variable_scope, variable_scope

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm"]

_STARTS = {
    "beta": zeros_initializer(),
    "gamma": ones_initializer(),
    "moving_mean": zeros_initializer(),
    "moving_variance": ones_initializer(),
}


class _Parameters(NamedTuple):
    """How the parameters of a layer are made.

    Attributes:
        end: their collections.
        shape, dtype: of each.
        trainable: whether optimizers change beta and gamma.
        initializers, regularizers: by name, or None.
    """

    end: Finish
    shape: Any
    dtype: Any
    trainable: bool = True
    initializers: Any = None
    regularizers: Any = None

    def make(self, name: str) -> Any:
        """The variable of a name."""
        moving = name.startswith("moving")
        return model_variable(
            name,
            shape=self.shape,
            dtype=self.dtype,
            initializer=(self.initializers or {}).get(name, _STARTS[name]),
            regularizer=(self.regularizers or {}).get(name),
            collections=self.end.collections(name),
            trainable=self.trainable and not moving,
        )

    def make_moving(self) -> tuple[Any, Any]:
        """moving_mean and moving_variance, which are never partitioned."""
        with variable_scope(get_variable_scope()) as scope:
            scope.set_partitioner(None)
            return self.make("moving_mean"), self.make("moving_variance")


# ---- batch normalisation ----


@api_guard.makes_variables
@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: Any = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    param_initializers: Any = None,
    param_regularizers: Any = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Batch normalisation (Ioffe and Szegedy 2015) and an activation.

    While training mean and variance are the batch's and the moving ones follow them; otherwise
    they are the moving ones. Run the collection UPDATE_OPS with the training step.

    Args:
        inputs: floating; channels last, or second with data_format NCHW.
        decay: what a moving statistic keeps of itself in an update.
        center, scale: whether there are beta and gamma.
        epsilon: added to the variance.
        activation_fn: None: none.
        param_initializers, param_regularizers: dictionaries by the variables' names.
        updates_collections: names of collections of the updates; None: they are made before the
            result.
        is_training: bool or a bool scalar tensor.
        batch_weights: None, or a weight for each element of a batch in the moments.
        fused: None or True: the moving variance of inputs of rank 2 or 4 follows the sample's
            (divided by one less than the count), as TensorFlow's fused kernel does; False: never.
        zero_debias_moving_mean: whether the moving mean has no weight of its initial zeros.
        reuse, variables_collections, outputs_collections, trainable: as fully_connected's.
        scope: None: BatchNorm.
        renorm, renorm_clipping, renorm_decay, adjustment: as tf.layers.batch_normalization's
            renorm, renorm_clipping, renorm_momentum and adjustment.

    Variables: `beta`, `gamma`, `moving_mean`, `moving_variance`, each of the channels' size.

    Raises:
        ValueError: the rank or the number of channels is not known, there is no such data_format,
            or renorm comes with batch_weights, updates_collections or zero_debias_moving_mean.
    """
    check_format(data_format)
    inputs = convert_to_tensor(inputs)
    rank = inputs.get_shape().ndims
    special = batch_weights is not None or renorm or adjustment is not None
    plain_updates = updates_collections == GraphKeys.UPDATE_OPS
    as_fused = fused is not False and not special and rank in (2, 4)
    own = zero_debias_moving_mean or rank == 2 or not plain_updates
    layered = batch_weights is None and plain_updates and not zero_debias_moving_mean
    if layered and not (as_fused and own):
        return _by_layer(
            inputs, decay, center, scale, epsilon, activation_fn, param_initializers,
            param_regularizers, is_training, reuse, variables_collections, outputs_collections,
            trainable, fused, data_format, scope, renorm, renorm_clipping, renorm_decay, adjustment,
        )  # fmt: skip
    if renorm:
        raise ValueError(
            "renorm is not supported with batch_weights, updates_collections or "
            "zero_debias_moving_mean"
        )
    getter = None if as_fused else variable_getter()
    with variable_scope(scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=getter) as sc:
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        shape = _channels(inputs, data_format)
        kind = dtypes.float32 if as_fused else inputs.dtype.base_dtype
        parameters = _Parameters(
            end,
            shape,
            kind,
            trainable,
            param_initializers,
            param_regularizers if as_fused else None,
        )
        beta = parameters.make("beta") if center else None
        gamma = parameters.make("gamma") if scale else None
        moving = _Moving(
            *parameters.make_moving(), decay, zero_debias_moving_mean, is_training,
            updates_collections,
        )  # fmt: skip
        build = _fused if as_fused else _by_moments
        outputs = build(inputs, beta, gamma, moving, epsilon, data_format, batch_weights)
        outputs.set_shape(inputs.get_shape())
        return end.of(outputs)


def _by_layer(
    inputs: Tensor,
    decay: Any,
    center: bool,
    scale: bool,
    epsilon: float,
    activation_fn: Any,
    param_initializers: Any,
    param_regularizers: Any,
    is_training: Any,
    reuse: Any,
    variables_collections: Any,
    outputs_collections: Any,
    trainable: bool,
    fused: bool | None,
    data_format: str,
    scope: Any,
    renorm: bool,
    renorm_clipping: Any,
    renorm_decay: float,
    adjustment: Any,
) -> Any:
    """batch_norm by the layer of tf.layers."""
    with variable_scope(
        scope, "BatchNorm", [inputs], reuse=reuse, custom_getter=variable_getter()
    ) as sc:
        starts = {**_STARTS, **(param_initializers or {})}
        penalties = param_regularizers or {}
        layer = BatchNormalization(
            axis=1 if data_format == "NCHW" else -1,
            momentum=decay,
            epsilon=epsilon,
            center=center,
            scale=scale,
            beta_initializer=starts["beta"],
            gamma_initializer=starts["gamma"],
            moving_mean_initializer=starts["moving_mean"],
            moving_variance_initializer=starts["moving_variance"],
            beta_regularizer=penalties.get("beta"),
            gamma_regularizer=penalties.get("gamma"),
            trainable=trainable,
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            adjustment=adjustment,
            name=sc.name,
            fused=False if fused is False else None,
            _scope=sc,
            _reuse=reuse,
        )
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        outputs = layer.apply(inputs, training=is_training)
        for name in ("moving_mean", "moving_variance", "beta", "gamma"):
            end.collect(getattr(layer, name), name)
        return end.of(outputs)


def _channels(inputs: Tensor, data_format: str) -> list[int]:
    shape = inputs.get_shape()
    if shape.ndims is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    second = data_format == "NCHW" and shape.ndims > 2
    channels = shape.as_list()[1 if second else -1]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension: {shape}.")
    return [channels]


class _Moving(NamedTuple):
    """The moving statistics, and how they follow a batch's."""

    mean: Any
    variance: Any
    decay: Any
    zero_debias: bool
    is_training: Any
    collections: Any

    def follow(self, mean: Tensor, variance: Tensor, training: Any, otherwise: Any) -> Any:
        """The result: that of training or the other, with the updates made or collected."""
        if constant_value(self.is_training) in (False, 0):
            return otherwise

        def assigned() -> tuple[Tensor, Tensor]:
            return (
                assign_moving_average(self.mean, mean, self.decay, self.zero_debias),
                assign_moving_average(self.variance, variance, self.decay),
            )

        def forced() -> Any:
            with scopes.control_dependencies(list(assigned())):
                return nest.map_structure(array.identity, training)

        if self.collections is None:
            return smart_cond(self.is_training, forced, lambda: otherwise)
        moving = (self.mean.value(), self.variance.value())
        for update in smart_cond(self.is_training, assigned, lambda: moving):
            add_to_collections(self.collections, update)
        if training is otherwise:
            return training
        return smart_cond(self.is_training, lambda: training, lambda: otherwise)


def _fused(
    inputs: Tensor,
    beta: Any,
    gamma: Any,
    moving: _Moving,
    epsilon: float,
    data_format: str,
    batch_weights: Any,
) -> Tensor:
    """The result by the operator of fused batch normalisation, which takes images."""
    size = moving.mean.get_shape()
    offset = constant(0.0, shape=size) if beta is None else beta
    factor = constant(1.0, shape=size) if gamma is None else gamma
    images = inputs
    if inputs.get_shape().ndims == 2:
        channels = size.as_list()[0]
        pixel = [-1, channels, 1, 1] if data_format == "NCHW" else [-1, 1, 1, channels]
        images = array.reshape(inputs, pixel)

    def of_batch() -> Any:
        return statistics.fused_batch_norm(
            images, factor, offset, epsilon=epsilon, data_format=data_format
        )

    def of_moving() -> Any:
        return statistics.fused_batch_norm(
            images, factor, offset, mean=moving.mean, variance=moving.variance, epsilon=epsilon,
            is_training=False, data_format=data_format,
        )  # fmt: skip

    outputs, mean, variance = smart_cond(moving.is_training, of_batch, of_moving)
    outputs = moving.follow(mean, variance, outputs, outputs)
    if images is not inputs:
        outputs = array.reshape(outputs, array.shape(inputs))
    return outputs  # type: ignore[no-any-return]


def _by_moments(
    inputs: Tensor,
    beta: Any,
    gamma: Any,
    moving: _Moving,
    epsilon: float,
    data_format: str,
    batch_weights: Any,
) -> Tensor:
    """The result by the moments of the batch, which may be weighted."""
    rank = inputs.get_shape().ndims or 0
    channels = 1 if data_format == "NCHW" else rank - 1
    axes = [axis for axis in range(rank) if axis != channels]
    known = constant_value(moving.is_training)
    mean, variance = moving.mean.value(), moving.variance.value()
    if known is None or known:
        if batch_weights is None:
            found = nn.moments(inputs, axes)
        else:
            weights = array.reshape(convert_to_tensor(batch_weights), [-1, *[1] * (rank - 1)])
            found = statistics.weighted_moments(inputs, axes, weights)
        mean, variance = moving.follow(*found, training=found, otherwise=(mean, variance))
    if channels == 1 and rank > 2:
        broad = [1, -1, *[1] * (rank - 2)]
        mean, variance, beta, gamma = (
            value if value is None else array.reshape(value, broad)
            for value in (mean, variance, beta, gamma)
        )
    return nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)


# ---- layer, instance and group normalisation ----


@api_guard.makes_variables
@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Layer normalisation (Ba, Kiros and Hinton 2016) and an activation.

    Args:
        begin_norm_axis: the moments are over this axis and all after it.
        begin_params_axis: beta and gamma have the sizes of this axis and all after it.
        center, scale, activation_fn, reuse, variables_collections, outputs_collections,
            trainable: as batch_norm's.
        scope: None: LayerNorm.

    Variables: `beta`, `gamma`.

    Raises:
        ValueError: the rank is not known, an axis is out of range, or a size of the parameters
            is not known.
    """
    with variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = convert_to_tensor(inputs)
        rank = _rank_of(inputs)
        first = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
        if begin_params_axis >= rank or first >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({first}) must be < "
                f"rank(inputs) ({rank})"
            )
        shape = inputs.shape.as_list()[begin_params_axis:]
        if None in shape:
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: "
                f"{inputs.shape}"
            )
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        dtype = inputs.dtype.base_dtype
        parameters = _Parameters(end, shape, dtype, trainable)
        beta = parameters.make("beta") if center else None
        gamma = parameters.make("gamma") if scale else None
        mean, variance = nn.moments(inputs, list(range(first, rank)), keep_dims=True)
        epsilon = 1e-3 if dtype == dtypes.float16 else 1e-12
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon)
        outputs.set_shape(inputs.shape)
        return end.of(outputs)


@api_guard.makes_variables
@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Instance normalisation: the moments of each channel of each image, and an activation.

    The arguments are those of batch_norm; scope None: InstanceNorm.

    Variables: `beta`, `gamma`, each of the channels' size.

    Raises:
        ValueError: the rank or the number of channels is not known, or there is no such
            data_format.
    """
    inputs = convert_to_tensor(inputs)
    rank = _rank_of(inputs)
    check_format(data_format)
    with variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        parameters = _Parameters(
            end, _channels(inputs, data_format), inputs.dtype.base_dtype, trainable,
            param_initializers,
        )  # fmt: skip
        beta = parameters.make("beta") if center else None
        gamma = parameters.make("gamma") if scale else None
        channels = 1 if data_format == "NCHW" else rank - 1
        if channels == 1 and rank > 2:
            broad = [1, -1, *[1] * (rank - 2)]
            beta = beta if beta is None else array.reshape(beta, broad)
            gamma = gamma if gamma is None else array.reshape(gamma, broad)
        axes = [axis for axis in range(1, rank) if axis != channels]
        mean, variance = nn.moments(inputs, axes, keep_dims=True)
        outputs = nn.batch_normalization(
            inputs, mean, variance, beta, gamma, epsilon, name="instancenorm"
        )
        return end.of(outputs)


@api_guard.makes_variables
@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Any = None,
    param_initializers: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Group normalisation (Wu and He 2018): the moments of groups of channels of each image.

    Args:
        groups: their number, which divides that of the channels.
        channels_axis: of the inputs.
        reduction_axes: the axes of the moments, to which the channels of a group are added.
        mean_close_to_zero: whether the moments are computed by sums of squares.
        others: as batch_norm's; scope None: GroupNorm.

    Variables: `beta`, `gamma`, each of the channels' size.

    Raises:
        ValueError: a rank or size is not known, an axis is out of range or given twice, or groups
            does not divide the number of channels.
    """
    inputs = convert_to_tensor(inputs)
    at, axes = _group_axes(inputs, groups, channels_axis, list(reduction_axes))
    known = inputs.shape.as_list()
    channels = known[at]
    run = array.shape(inputs)
    sizes = [run[i] if size is None else size for i, size in enumerate(known)]
    parts = [groups, channels // groups]
    split = array.reshape(inputs, [*sizes[:at], *parts, *sizes[at + 1 :]])
    with variable_scope(scope, "GroupNorm", [split], reuse=reuse) as sc:
        end = Finish(sc.name, activation_fn, outputs_collections, None, None, variables_collections)
        parameters = _Parameters(
            end, [channels], inputs.dtype.base_dtype, trainable, param_initializers
        )
        broad = [*[1] * at, *parts, *[1] * (len(known) - at - 1)]
        beta = array.reshape(parameters.make("beta"), broad) if center else None
        gamma = array.reshape(parameters.make("gamma"), broad) if scale else None
        kept = [at + 1, *(axis + 1 if axis > at else axis for axis in axes)]
        if mean_close_to_zero:
            count, means, squares, _ = statistics.sufficient_statistics(split, kept, keep_dims=True)
            mean, variance = statistics.normalize_moments(count, means, squares, shift=None)
        else:
            mean, variance = nn.moments(split, kept, keep_dims=True)
        outputs = nn.batch_normalization(split, mean, variance, beta, gamma, epsilon)
        return end.of(array.reshape(outputs, sizes))


def _group_axes(
    inputs: Tensor, groups: int, channels_axis: int, given: list[int]
) -> tuple[int, list[int]]:
    """The axis of channels and those of the moments, from 0."""
    rank = _rank_of(inputs)
    if channels_axis > rank - 1:
        raise ValueError(f"Axis is out of bounds: channels_axis {channels_axis}, rank {rank}.")
    at = channels_axis % rank
    dims = inputs.shape.as_list()
    channels = dims[at]
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {channels_axis}.")
    axes = [axis + rank if axis < 0 else axis for axis in given]
    for axis in axes:
        if not 0 <= axis < rank:
            raise ValueError(f"Axis is out of bounds: {axis} of reduction_axes, rank {rank}.")
        if dims[axis] is None:
            raise ValueError(f"Inputs {inputs.name} has undefined dimensions {axis}.")
        if axis == at:
            raise ValueError("reduction_axis must be mutually exclusive with channels_axis")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    return at, axes


def _rank_of(inputs: Tensor) -> int:
    rank = inputs.shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    return rank
