"""Batch normalisation (Ioffe and Szegedy 2015) with moving statistics for inference."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer, size_of, sizes_of
from graphio.layers.configs import named
from graphio.layers.core import chosen, decided
from graphio.layers.input_spec import InputSpec
from graphio.layers.renorm import Renorm
from graphio.ops.array import surface as array
from graphio.ops.base import emit
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables import initializers
from graphio.variables.variables import Variable

__all__ = ["BatchNormalization", "batch_normalization"]


class BatchNormalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    While training mean and variance are the batch's, and the moving ones follow them by updates
    in the collection UPDATE_OPS, which the program has to run with its training step; otherwise
    they are the moving ones.

    Args:
        axis: of the channels; an integer or a list of them.
        momentum: what a moving statistic keeps of itself in an update.
        epsilon: added to the variance.
        center, scale: whether there are beta and gamma.
        beta_initializer, gamma_initializer, moving_mean_initializer,
            moving_variance_initializer: of the variables.
        beta_regularizer, gamma_regularizer: from a variable to a loss.
        beta_constraint, gamma_constraint: from a variable's new value to the one to keep.
        renorm: whether a batch is corrected by averages of the moments, so that training and
            inference normalise alike (batch renormalisation, Ioffe 2017).
        renorm_clipping: limits of the corrections: a dictionary of rmin, rmax and dmax; None:
            there are none.
        renorm_momentum: what an average of the moments keeps of itself in an update.
        fused: None or True: for rank 4 with channels last or second the moving variance follows
            the sample's (divided by one less than the count), as TensorFlow's fused kernel does;
            False, or with renorm, virtual_batch_size or adjustment: never.
        trainable: whether optimizers change beta and gamma, and updates are made.
        virtual_batch_size: None, or the size of the parts of a batch that are normalised each
            by its own moments; the size of a batch is a multiple of it.
        adjustment: None, or a function from the shape of the inputs (integer vector) to a factor
            and a summand for the normalised values before gamma and beta, while training.
        name: of the layer.

    Variables: `gamma`, `beta`, `moving_mean`, `moving_variance`, each of the channels' size;
    float32 where the inputs are of 16 bits. With renorm also `renorm_mean`, `renorm_stddev` of
    that size, and the scalars `renorm_mean_weight`, `renorm_stddev_weight`.

    Raises:
        ValueError: renorm_clipping has another key; or, at the first call: the axis is out of
            range, or its size unknown; fused=True where it cannot be; virtual_batch_size is
            below 1, is given with adjustment, or the axis is 0.
    """

    input_spec = InputSpec(min_ndim=1)
    #: False leaves the sample's variance out of a fused layer; programs know it by this name
    _bessels_correction_test_only = True

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
        gamma_initializer: Any = initializers.ones_initializer(),  # noqa: B008
        moving_mean_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
        moving_variance_initializer: Any = initializers.ones_initializer(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, **options)
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.center, self.scale, self.fused = center, scale, fused
        self.renorm, self.renorm_momentum = renorm, renorm_momentum
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self._renorm = Renorm(renorm_clipping, renorm_momentum, epsilon) if renorm else None
        #: for each parameter: initializer, regularizer, constraint
        self._made = {
            "gamma": (gamma_initializer, gamma_regularizer, gamma_constraint),
            "beta": (beta_initializer, beta_regularizer, beta_constraint),
            "moving_mean": (moving_mean_initializer, None, None),
            "moving_variance": (moving_variance_initializer, None, None),
        }
        self.gamma: Variable | None = None
        self.beta: Variable | None = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    # ---- variables ----

    def build(self, input_shape: Any) -> None:
        """Makes gamma, beta and the moving statistics."""
        dims = [size_of(d) for d in input_shape]
        self.axis = self._channel_axes(dims)
        sizes = [dims[axis] for axis in self.axis]
        if None in sizes:
            raise ValueError(
                f"Input has undefined `axis` dimension. Input shape: {dims}, axis: {self.axis}"
            )
        self.input_spec = InputSpec(ndim=len(dims), axes=dict(zip(self.axis, sizes, strict=True)))
        shape = sizes
        if self._keeps_axes:
            shape = [size if i in self.axis else 1 for i, size in enumerate(dims)]
        if self.virtual_batch_size is not None:
            self._check_virtual_batches()
            shape.insert(1, 1)
            self.axis = [axis + 1 for axis in self.axis]
        half = self._dtype in (dtypes.float16, dtypes.bfloat16)
        kind = dtypes.float32 if half else self._dtype
        self._check_fused(dims)
        used = {"gamma": self.scale, "beta": self.center}
        for name, (initializer, regularizer, constraint) in self._made.items():
            if used.get(name, True):
                made = self.add_weight(
                    name, shape, kind, named("initializer", initializer), regularizer,
                    not name.startswith("moving"), constraint,
                )  # fmt: skip
                setattr(self, name, made)
        if self._renorm is not None:
            self._renorm.build(self, shape, kind)
        self.built = True

    @property
    def _keeps_axes(self) -> bool:
        """Whether parameters have all axes of the inputs, so that they broadcast."""
        return len(self.axis) > 1 or self.virtual_batch_size is not None

    def _check_virtual_batches(self) -> None:
        if self.virtual_batch_size is not None and self.virtual_batch_size <= 0:
            raise ValueError(
                f"virtual_batch_size is {self.virtual_batch_size}, expected a positive integer "
                "that divides the size of a batch"
            )
        if 0 in self.axis:
            raise ValueError("virtual_batch_size takes axis 0 for the batch; axis cannot have it")
        if self.adjustment is not None:
            raise ValueError("adjustment cannot be given together with virtual_batch_size")

    def _check_fused(self, dims: list[int | None]) -> None:
        special = {
            "renorm": self.renorm,
            "virtual_batch_size": self.virtual_batch_size is not None,
            "adjustment": self.adjustment is not None,
        }
        found = [word for word, given in special.items() if given]
        fits = len(dims) == 4 and self.axis in ([1], [3])
        self._fused_shape = fits and not found
        if self.fused and found:
            raise ValueError(f"fused batch normalization has no {', '.join(found)}; leave out one")
        if self.fused and not fits:
            raise ValueError(
                f"fused batch normalization takes inputs of rank 4 with the channels on axis 1 or "
                f"3; found rank {len(dims)} and axis {self.axis}; leave out `fused`"
            )

    def _channel_axes(self, dims: list[int | None]) -> list[int]:
        given = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        axes = [axis + len(dims) if axis < 0 else axis for axis in given]
        if any(not 0 <= axis < len(dims) for axis in axes) or len(set(axes)) != len(axes):
            raise ValueError(f"Invalid axis: {self.axis} for inputs of rank {len(dims)}: {dims}")
        return axes

    # ---- the result ----

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """That of the inputs."""
        return TensorShape(input_shape)

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """inputs normalised; training: a bool, a number, or a scalar tensor."""
        training = options.pop("training", arguments[0] if arguments else False)
        kind = self.moving_mean.dtype.base_dtype
        x = elementwise.cast(inputs, kind)
        if self.virtual_batch_size is not None:
            x = self._in_virtual_batches(x)
        moving = (self.moving_mean.value(), self.moving_variance.value())
        mean, variance = chosen(training, lambda: self._moments(x), lambda: moving)
        gamma, beta = self._broad(self.gamma, x), self._broad(self.beta, x)
        new_mean, new_variance = mean, variance
        if decided(training) is not False:
            gamma, beta = self._adjusted(x, gamma, beta, training)
            if self._renorm is not None:
                r, d, new_mean, new_variance = self._renorm.corrections(mean, variance, training)
                gamma, beta = _then(self._broad(r, x), self._broad(d, x), gamma, beta)
            if self.trainable:
                self._follow(x, new_mean, new_variance, training)
        y = nn.batch_normalization(
            x, self._broad(mean, x), self._broad(variance, x), beta, gamma, self.epsilon,
            name="batchnorm",
        )  # fmt: skip
        if self.virtual_batch_size is not None:
            y = array.reshape(y, sizes_of(inputs))
        y.set_shape(inputs.shape)
        return elementwise.cast(y, inputs.dtype)

    def _in_virtual_batches(self, x: Tensor) -> Tensor:
        size = self.virtual_batch_size
        split = array.reshape(x, array.concat([[size, -1], sizes_of(x)[1:]], 0))
        rows, *rest = x.shape.as_list()
        split.set_shape([size, None if rows is None else rows // (size or 1), *rest])
        return split

    def _adjusted(self, x: Tensor, gamma: Any, beta: Any, training: Any) -> tuple[Any, Any]:
        if self.adjustment is None:
            return gamma, beta
        given = [elementwise.cast(value, x.dtype) for value in self.adjustment(array.shape(x))]
        scale = chosen(training, lambda: given[0], lambda: array.ones_like(given[0]))
        shift = chosen(training, lambda: given[1], lambda: array.zeros_like(given[1]))
        return _then(scale, shift, gamma, beta)

    def _moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        kept = self.axis if self.virtual_batch_size is None else [1, *self.axis]
        others = [axis for axis in range(x.shape.ndims or 0) if axis not in kept]
        return nn.moments(x, others, keep_dims=self._keeps_axes)

    def _broad(self, value: Any, x: Tensor) -> Any:
        """A parameter (channels) with the axes after the channels' added, so that it broadcasts."""
        rank = x.shape.ndims or 0
        if value is None or self._keeps_axes or self.axis == [rank - 1]:
            return value
        return array.reshape(value, [-1, *[1] * (rank - 1 - self.axis[0])])

    # ---- the moving statistics ----

    def _follow(self, x: Tensor, mean: Tensor, variance: Tensor, training: Any) -> None:
        """Adds the updates; when training does not hold in a run they change nothing."""
        kind = mean.dtype
        decay = convert_to_tensor(1.0 - self.momentum, kind)
        if self._fused_shape and self.fused is not False and self._bessels_correction_test_only:
            variance = elementwise.multiply(variance, self._sample_factor(x))
        if self.virtual_batch_size is not None:
            mean = reduction.reduce_mean(mean, 1, keepdims=True)
            variance = reduction.reduce_mean(variance, 1, keepdims=True)
        decay = chosen(training, lambda: array.identity(decay), lambda: emit.scalar(0, kind))
        for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            with scopes.name_scope("AssignMovingAvg"):
                change = elementwise.multiply(
                    elementwise.subtract(variable.read_value(), value), decay
                )
                update = variable.assign_sub(change)
            self.add_update(update.op)

    def _sample_factor(self, x: Tensor) -> Tensor:
        """n / (n - 1) for n elements a channel, 1 for a single one."""
        one = emit.scalar(1, x.dtype)
        channels = elementwise.cast(sizes_of(x)[self.axis[0]], x.dtype)
        n = elementwise.truediv(
            elementwise.cast(array.size(x), x.dtype), elementwise.maximum(channels, one)
        )
        return elementwise.truediv(n, elementwise.maximum(elementwise.subtract(n, one), one))


def _then(scale: Any, shift: Any, gamma: Any, beta: Any) -> tuple[Any, Any]:
    """Factor and summand of scale and shift followed by gamma and beta, None: there is none."""
    if gamma is not None:
        scale, shift = elementwise.multiply(scale, gamma), elementwise.multiply(shift, gamma)
    return scale, shift if beta is None else elementwise.add(shift, beta)


@api_guard.guarded
def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: Any = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    gamma_initializer: Any = initializers.ones_initializer(),  # noqa: B008
    moving_mean_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
    moving_variance_initializer: Any = initializers.ones_initializer(),  # noqa: B008
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Tensor:
    """inputs normalised over all axes but the channels'; see BatchNormalization.

    Run the collection UPDATE_OPS with the training step: without it the moving statistics stay
    as they are.

    Args:
        inputs: floating tensor.
        training: a bool, or a bool scalar tensor, such as a placeholder.
        reuse: whether to take the variables of the name instead of making them.
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
            moving_mean_initializer, moving_variance_initializer, beta_regularizer,
            gamma_regularizer, beta_constraint, gamma_constraint, trainable, name, renorm,
            renorm_clipping, renorm_momentum, fused, virtual_batch_size, adjustment: as the
            class's.
    """
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
        moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
        beta_constraint, gamma_constraint, renorm, renorm_clipping, renorm_momentum, fused,
        trainable, virtual_batch_size, adjustment, name, _scope=name, _reuse=reuse,
    )  # fmt: skip
    return layer.apply(inputs, training=training)  # type: ignore[no-any-return]
