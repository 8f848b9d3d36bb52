"""Layers other than convolutions: dense, dropout, flatten."""

from __future__ import annotations

import math as _math
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer, channels_axis, functional, size_of, sizes_of
from graphio.layers.configs import named
from graphio.layers.input_spec import InputSpec
from graphio.ops.array import surface as array
from graphio.ops.base import emit
from graphio.ops.control_flow import branches
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables import initializers

__all__ = ["Dense", "Dropout", "Flatten", "chosen", "decided", "dense", "dropout", "flatten"]


class Dense(Layer):
    """activation(inputs . kernel + bias) along the last axis.

    Args:
        units: size of the result's last axis.
        activation: a function, or its name; None: none.
        use_bias: whether there is a bias.
        kernel_initializer: None: the scope's, else Glorot uniform.
        bias_initializer: of the bias.
        kernel_regularizer, bias_regularizer: from a variable to a loss.
        activity_regularizer: from the result to a loss.
        kernel_constraint, bias_constraint: from a variable's new value to the one to keep.
        trainable: whether optimizers change the variables.
        name: of the layer.

    Variables: `kernel` (inputs' last axis, units), `bias` (units).

    Raises:
        ValueError: at the first call: the inputs have less than two axes, or the last one's size
            is not known.
        TypeError: the inputs are not floating.
    """

    input_spec = InputSpec(min_ndim=2)

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **options)
        self.units = int(units)
        self.activation = named("activation", activation)
        self.use_bias = use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: Any) -> None:
        """Makes kernel and bias."""
        dtype = self._dtype or dtypes.float32
        if not dtype.is_floating:
            raise TypeError(
                f"Unable to build `Dense` layer with non-floating point dtype {dtype.name}; "
                "tf.cast the inputs"
            )
        width = size_of(input_shape[-1])
        if width is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.kernel = self.add_weight(
            "kernel", [width, self.units], initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.units], initializer=self.bias_initializer,
                regularizer=self.bias_regularizer, constraint=self.bias_constraint,
            )  # fmt: skip
        self.input_spec = InputSpec(min_ndim=2, axes={-1: width})
        self.built = True

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """The result for inputs (..., width): (..., units)."""
        rank = inputs.shape.ndims or 2
        if rank == 2:
            outputs = matmul.matmul(inputs, self.kernel)
        else:
            outputs = matmul.tensordot(inputs, self.kernel, [[rank - 1], [0]])
        if self.use_bias:
            outputs = nn.bias_add(outputs, self.bias)
        result: Tensor = outputs if self.activation is None else self.activation(outputs)
        return result

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the result: that of the inputs with units as the last size.

        Raises:
            ValueError: the size of the inputs' last axis is not known.
        """
        shape = TensorShape(input_shape).with_rank_at_least(2)
        if shape[-1].value is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {shape}"
            )
        return TensorShape([*shape.as_list()[:-1], self.units])


class Dropout(Layer):
    """Drops elements at random while training and scales the others by 1 / (1 - rate).

    Args:
        rate: probability to drop an element; a number or a scalar tensor.
        noise_shape: of the choices, broadcast to the inputs'; None entries are the inputs' sizes.
        seed: of the random numbers.
        name: of the layer.

    Raises:
        ValueError: a number that is not a probability.
    """

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        if isinstance(rate, (int, float)) and not 0 <= rate <= 1:
            raise ValueError(f"rate must be in the range [0, 1], got {rate}")
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """inputs, dropped out if training (a bool, a number, or a scalar tensor) holds."""
        training = options.pop("training", arguments[0] if arguments else False)
        return chosen(training, lambda: self._dropped(inputs), lambda: array.identity(inputs))  # type: ignore[no-any-return]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """That of the inputs."""
        return TensorShape(input_shape)

    def _dropped(self, inputs: Tensor) -> Tensor:
        if isinstance(self.rate, (int, float)) and self.rate == 1:
            return array.zeros_like(inputs)
        return nn.dropout(
            inputs, rate=self.rate, noise_shape=self._noise_shape(inputs), seed=self.seed
        )

    def _noise_shape(self, inputs: Tensor) -> Any:
        if not isinstance(self.noise_shape, (list, tuple)):
            return self.noise_shape
        sizes = sizes_of(inputs)
        return [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]


class Flatten(Layer):
    """All axes but the first in one.

    Args:
        data_format: channels_last, or channels_first, which brings the channels last before.
    """

    input_spec = InputSpec(min_ndim=1)

    def __init__(self, data_format: str = "channels_last", **options: Any) -> None:
        super().__init__(**options)
        self._first = channels_axis(data_format or "channels_last", "Flatten")

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """inputs (n, ...) as (n, size of the rest); a vector as a column."""
        rank = inputs.shape.ndims or 1
        if self._first and rank > 2:
            inputs = array.transpose(inputs, [0, *range(2, rank), 1])
        first, *others = inputs.shape.as_list()
        rest = -1 if None in others else _math.prod(d or 0 for d in others)
        if first is None:
            first = sizes_of(inputs)[0] if rest < 0 else -1
        return array.reshape(inputs, [first, rest])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """(n, size of the rest) for inputs (n, ...), with None for what is not known."""
        first, *others = TensorShape(input_shape).with_rank_at_least(1).as_list()
        return TensorShape([first, None if None in others else _math.prod(others)])


def decided(training: Any) -> bool | Tensor:
    """The value of training where it is known: a bool, or the scalar that decides in the run."""
    if not emit.is_symbolic(training):
        return bool(training)
    pred = convert_to_tensor(training)
    known = constant_value(pred)
    return elementwise.cast(pred, dtypes.bool) if known is None else bool(known)


def chosen(training: Any, true_fn: Any, false_fn: Any) -> Any:
    """The result of true_fn if training holds, else that of false_fn."""
    pred = decided(training)
    if isinstance(pred, bool):
        return true_fn() if pred else false_fn()
    return branches.cond(pred, true_fn, false_fn)


dense = functional(Dense, "activation(inputs . kernel + bias) along the last axis.")


@api_guard.guarded
def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: str | None = None,
) -> Tensor:
    """inputs with elements dropped at random while training; see Dropout.

    Args:
        inputs: floating tensor.
        rate: probability to drop an element.
        noise_shape: of the choices, broadcast to the inputs'.
        seed: of the random numbers.
        training: a bool, or a bool scalar tensor, such as a placeholder.
        name: of the layer.
    """
    layer = Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)
    return layer.apply(inputs, training=training)  # type: ignore[no-any-return]


@api_guard.guarded
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """inputs (n, ...) as (n, size of the rest); see Flatten."""
    return Flatten(name=name, data_format=data_format).apply(inputs)  # type: ignore[no-any-return]
