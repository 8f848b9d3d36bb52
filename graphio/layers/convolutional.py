"""Convolution layers: plain, transposed and separable, along one to three axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer, channels_axis, functional, size_of, sizes_of
from graphio.layers.configs import named
from graphio.layers.input_spec import InputSpec
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.nn import conv, windows
from graphio.ops.nn import core as nn
from graphio.variables import initializers

__all__ = [
    "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "SeparableConv1D",
    "SeparableConv2D", "conv1d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose",
    "separable_conv1d", "separable_conv2d",
]  # fmt: skip

#: data formats by the number of axes: channels last, channels second
FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def axes_of(value: Any, axes: int, what: str) -> list[int]:
    """One positive integer for each axis; a single one serves all.

    Raises:
        ValueError: something else.
    """
    one = isinstance(value, (int, np.integer))
    listed = [value] * axes if one else list(value if isinstance(value, Iterable) else ())
    if len(listed) != axes or any(int(v) != v or v < 1 for v in listed):
        raise ValueError(
            f"The `{what}` argument must be a tuple of {axes} positive integers. Received: {value}"
        )
    return [int(v) for v in listed]


def padding_of(padding: Any, allowed: Sequence[str] = ("valid", "same")) -> str:
    """The padding in lower case. Raises ValueError for an unknown one."""
    word = padding.lower() if isinstance(padding, str) else padding
    if word not in allowed:
        raise ValueError(
            f"The `padding` argument must be one of {', '.join(map(repr, allowed))}. "
            f"Received: {padding!r}"
        )
    return str(word)


def window_length(size: int, window: int, step: int, padding: str, dilation: int = 1) -> int:
    """How many windows an axis of a size has."""
    fewer = dilation * (window - 1) if padding == "valid" else 0
    return (size - fewer + step - 1) // step


def windowed_shape(
    input_shape: Any, axes: int, first: bool, length: Callable[[int, int], int], filters: Any = None
) -> TensorShape:
    """A shape with new sizes along the axes that windows move on.

    Args:
        input_shape: (n, ..., channels), or (n, channels, ...).
        axes: how many the windows move on.
        first: whether the channels come second.
        length: the new size for (size, number of the axis); sizes that are not known stay so.
        filters: number of channels of the result; None: that of the inputs.

    Raises:
        ValueError: the shape has another rank.
    """
    dims = TensorShape(input_shape).with_rank(axes + 2).as_list()
    sizes, channels = (dims[2:], dims[1]) if first else (dims[1:-1], dims[-1])
    out = [None if size is None else length(size, axis) for axis, size in enumerate(sizes)]
    last = [channels if filters is None else filters]
    return TensorShape([dims[0], *(last + out if first else out + last)])


class _Conv(Layer):
    """The code that convolution layers share.

    Args:
        filters: number of channels of the result.
        kernel_size: of the window, an integer or one an axis.
        strides: of the window, an integer or one an axis.
        padding: "valid" (none) or "same"; "causal" in one dimension.
        data_format: channels_last or channels_first.
        dilation_rate: distance of the elements under the window, an integer or one an axis; with
            strides above 1 it is 1.
        activation: a function, or its name; None: none.
        use_bias: whether there is a bias.
        kernel_initializer: None: the scope's, else Glorot uniform.
        bias_initializer: of the bias.
        kernel_regularizer, bias_regularizer: from a variable to a loss.
        activity_regularizer: from the result to a loss.
        kernel_constraint, bias_constraint: from a variable's new value to the one to keep.
        trainable: whether optimizers change the variables.
        name: of the layer.

    Variables: `kernel` (window, input channels, filters), `bias` (filters).

    Raises:
        ValueError: an argument is malformed; at the first call: the inputs' rank is wrong, the
            number of their channels unknown, or strides and dilation_rate are both above 1.
    """

    _axes_count = 2
    _paddings: tuple[str, ...] = ("valid", "same")

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
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
        axes = self._axes_count
        self.filters = int(filters)
        self.kernel_size = tuple(axes_of(kernel_size, axes, "kernel_size"))
        self.strides = tuple(axes_of(strides, axes, "strides"))
        self.dilation_rate = tuple(axes_of(dilation_rate, axes, "dilation_rate"))
        self.padding = padding_of(padding, self._paddings)
        self.data_format, self._first = data_format, channels_axis(data_format, type(self).__name__)
        if self.padding == "causal" and self._first:
            raise ValueError("padding 'causal' is for data_format 'channels_last'")
        self.activation, self.use_bias = named("activation", activation), use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(ndim=axes + 2)

    def build(self, input_shape: Any) -> None:
        """Makes kernel and bias."""
        self._make_kernels(self._channels(input_shape))
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.filters], initializer=self.bias_initializer,
                regularizer=self.bias_regularizer, constraint=self.bias_constraint,
            )  # fmt: skip
        self.built = True

    def _channels(self, input_shape: Any) -> int:
        axis = 1 if self._first else -1
        channels = size_of(input_shape[axis])
        if channels is None:
            raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
        self.input_spec = InputSpec(ndim=self._axes_count + 2, axes={axis: channels})
        return channels

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self.add_weight(
            "kernel", [*self.kernel_size, channels, self.filters],
            initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """The result for inputs (n, ..., channels), or (n, channels, ...)."""
        outputs = self._convolved(inputs)
        if self.use_bias:
            outputs = nn.bias_add(outputs, self.bias, "NCHW" if self._first else "NHWC")
        result: Tensor = outputs if self.activation is None else self.activation(outputs)
        return result

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the result for inputs of a shape, where sizes may be unknown.

        Raises:
            ValueError: the shape has another rank than the inputs.
        """
        return windowed_shape(
            input_shape, self._axes_count, self._first, self._length, filters=self.filters
        )

    def _length(self, size: Any, axis: int) -> Any:
        """The size of the result's axis, which for a tensor is one."""
        return window_length(
            size, self.kernel_size[axis], self.strides[axis], self.padding,
            self.dilation_rate[axis],
        )  # fmt: skip

    def _convolved(self, inputs: Tensor) -> Tensor:
        self._check_steps()
        build: Any = {1: windows.conv1d, 2: conv.conv2d, 3: windows.conv3d}[self._axes_count]
        outputs: Tensor = build(
            inputs, self.kernel, self._all(self.strides), self.padding.upper(),
            data_format=self._format(), dilations=self._all(self.dilation_rate),
        )  # fmt: skip
        return outputs

    def _check_steps(self) -> None:
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"strides > 1 not supported in conjunction with dilation_rate > 1: {self.strides} "
                f"and {self.dilation_rate}"
            )

    def _format(self) -> str:
        return FORMATS[self._axes_count][int(self._first)]

    def _all(self, sizes: Sequence[int]) -> list[int]:
        """One number for each axis, batch and channels included."""
        return [1, 1, *sizes] if self._first else [1, *sizes, 1]


class Conv1D(_Conv):
    __doc__ = f"Convolution of sequences (n, w, c).\n\n{(_Conv.__doc__ or '').partition('.')[2]}"
    _axes_count = 1
    _paddings = ("valid", "same", "causal")

    def _convolved(self, inputs: Tensor) -> Tensor:
        self._check_steps()
        padding = self.padding
        if padding == "causal":
            before = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            inputs, padding = array.pad(inputs, [[0, 0], [before, 0], [0, 0]]), "valid"
        return windows.conv1d(
            inputs, self.kernel, self.strides[0], padding.upper(), data_format=self._format(),
            dilations=self.dilation_rate[0],
        )  # fmt: skip


class Conv2D(_Conv):
    __doc__ = f"Convolution of images (n, h, w, c).\n\n{(_Conv.__doc__ or '').partition('.')[2]}"


class Conv3D(_Conv):
    __doc__ = f"Convolution of volumes.\n\n{(_Conv.__doc__ or '').partition('.')[2]}"
    _axes_count = 3


class _Transposed(_Conv):
    """The transpose of a convolution: its gradient by the input.

    Args: as those of Conv2D, without dilation_rate.

    Variables: `kernel` (window, filters, input channels), `bias` (filters).
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
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
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, trainable, name, **options,
        )  # fmt: skip

    def _make_kernels(self, channels: int) -> None:
        self.kernel = self.add_weight(
            "kernel", [*self.kernel_size, self.filters, channels],
            initializer=self.kernel_initializer, regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip

    def _convolved(self, inputs: Tensor) -> Tensor:
        build: Any = conv.conv2d_transpose if self._axes_count == 2 else windows.conv3d_transpose
        outputs: Tensor = build(
            inputs, self.kernel, self._result_sizes(inputs), self._all(self.strides),
            self.padding.upper(), data_format=self._format(),
        )  # fmt: skip
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def _result_sizes(self, inputs: Tensor) -> Any:
        """The result's shape: numbers where all are known, else a tensor."""
        known, open_sizes = inputs.shape.as_list(), sizes_of(inputs)
        sizes = [open_sizes[i] if d is None else d for i, d in enumerate(known)]
        out = sizes[2:] if self._first else sizes[1:-1]
        lengths = [self._length(size, axis) for axis, size in enumerate(out)]
        channels: list[Any] = [self.filters]
        whole = [sizes[0], *(channels + lengths if self._first else lengths + channels)]
        return whole if all(isinstance(d, int) for d in whole) else array.stack(whole)

    def _length(self, size: Any, axis: int) -> Any:
        step, window = self.strides[axis], self.kernel_size[axis]
        return size * step + (max(window - step, 0) if self.padding == "valid" else 0)


class Conv2DTranspose(_Transposed):
    __doc__ = _Transposed.__doc__


class Conv3DTranspose(_Transposed):
    __doc__ = _Transposed.__doc__
    _axes_count = 3


class _Separable(_Conv):
    """Convolution of each channel by itself, then of the channels at each position.

    Args:
        filters, kernel_size, strides, padding, data_format, dilation_rate: as those of Conv2D.
        depth_multiplier: number of results of each channel's own convolution.
        activation, use_bias, bias_initializer, bias_regularizer, activity_regularizer,
            bias_constraint, trainable, name: as those of Conv2D.
        depthwise_initializer, pointwise_initializer: None: the scope's, else Glorot uniform.
        depthwise_regularizer, pointwise_regularizer: from a variable to a loss.
        depthwise_constraint, pointwise_constraint: from a variable's new value to the one to keep.

    Variables: `depthwise_kernel` (window, channels, depth_multiplier), `pointwise_kernel`
    (1, ..., channels * depth_multiplier, filters), `bias` (filters).
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = initializers.zeros_initializer(),  # noqa: B008
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation,
            use_bias, None, bias_initializer, None, bias_regularizer, activity_regularizer, None,
            bias_constraint, trainable, name, **options,
        )  # fmt: skip
        self.depth_multiplier = int(depth_multiplier)
        self._kernels = (
            (depthwise_initializer, depthwise_regularizer, depthwise_constraint),
            (pointwise_initializer, pointwise_regularizer, pointwise_constraint),
        )
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def _make_kernels(self, channels: int) -> None:
        several = channels * self.depth_multiplier
        shapes = (
            [*self.kernel_size, channels, self.depth_multiplier],
            [*[1] * self._axes_count, several, self.filters],
        )
        self.depthwise_kernel, self.pointwise_kernel = (
            self.add_weight(name, shape, initializer=made, regularizer=loss, constraint=kept)
            for name, shape, (made, loss, kept) in zip(
                ("depthwise_kernel", "pointwise_kernel"), shapes, self._kernels, strict=True
            )
        )

    def _convolved(self, inputs: Tensor) -> Tensor:
        depthwise, pointwise = self.depthwise_kernel.value(), self.pointwise_kernel.value()
        strides, rates = list(self.strides), list(self.dilation_rate)
        flat = self._axes_count == 1
        height_axis = 2 if self._first else 1
        if flat:  # as images of one row
            inputs = array.expand_dims(inputs, height_axis)
            depthwise, pointwise = (array.expand_dims(k, 0) for k in (depthwise, pointwise))
            strides, rates = strides * 2, [1, *rates]
        outputs = conv.separable_conv2d(
            inputs, depthwise, pointwise, self._all(strides), self.padding.upper(), rate=rates,
            data_format=FORMATS[2][int(self._first)],
        )  # fmt: skip
        return primitive.squeeze(outputs, [height_axis]) if flat else outputs


class SeparableConv1D(_Separable):
    __doc__ = _Separable.__doc__
    _axes_count = 1


class SeparableConv2D(_Separable):
    __doc__ = _Separable.__doc__


conv1d = functional(Conv1D, "Convolution of sequences (n, w, c).")
conv2d = functional(Conv2D, "Convolution of images (n, h, w, c).")
conv3d = functional(Conv3D, "Convolution of volumes (n, d, h, w, c).")
conv2d_transpose = functional(Conv2DTranspose, "The transpose of conv2d.")
conv3d_transpose = functional(Conv3DTranspose, "The transpose of conv3d.")
separable_conv1d = functional(SeparableConv1D, "Convolution of each channel, then of channels.")
separable_conv2d = functional(SeparableConv2D, "Convolution of each channel, then of channels.")
