"""Pooling layers: the largest or the mean element of windows along one to three axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.layers.base import Layer, channels_axis, functional
from graphio.layers.convolutional import (
    FORMATS,
    axes_of,
    padding_of,
    window_length,
    windowed_shape,
)
from graphio.layers.input_spec import InputSpec
from graphio.ops.nn import pooling, windows

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "MaxPooling1D", "MaxPooling2D",
    "MaxPooling3D", "average_pooling1d", "average_pooling2d", "average_pooling3d",
    "max_pooling1d", "max_pooling2d", "max_pooling3d",
]  # fmt: skip


class _Pooling(Layer):
    """Pooling.

    Args:
        pool_size: of the window, an integer or one an axis.
        strides: of the window, an integer or one an axis.
        padding: "valid" (none) or "same".
        data_format: channels_last or channels_first.
        name: of the layer.

    Raises:
        ValueError: an argument is malformed, or the inputs' rank is wrong.
    """

    _axes_count = 2
    _function: Callable[..., Tensor]

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        axes = self._axes_count
        self.pool_size = tuple(axes_of(pool_size, axes, "pool_size"))
        self.strides = tuple(axes_of(strides, axes, "strides"))
        self.padding = padding_of(padding)
        self.data_format, self._first = data_format, channels_axis(data_format, type(self).__name__)
        self.input_spec = InputSpec(ndim=axes + 2)

    def call(self, inputs: Tensor, *arguments: Any, **options: Any) -> Tensor:
        """The result for inputs (n, ..., channels), or (n, channels, ...)."""
        whole = [
            [1, 1, *sizes] if self._first else [1, *sizes, 1]
            for sizes in (self.pool_size, self.strides)
        ]
        word = FORMATS[self._axes_count][int(self._first)]
        return type(self)._function(inputs, *whole, self.padding.upper(), data_format=word)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the result for inputs of a shape, where sizes may be unknown.

        Raises:
            ValueError: the shape has another rank than the inputs.
        """
        return windowed_shape(input_shape, self._axes_count, self._first, self._length)

    def _length(self, size: int, axis: int) -> int:
        return window_length(size, self.pool_size[axis], self.strides[axis], self.padding)


class MaxPooling1D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 1, windows.max_pool1d


class MaxPooling2D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 2, pooling.max_pool


class MaxPooling3D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 3, windows.max_pool3d


class AveragePooling1D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 1, windows.avg_pool1d


class AveragePooling2D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 2, pooling.avg_pool


class AveragePooling3D(_Pooling):
    __doc__ = _Pooling.__doc__
    _axes_count, _function = 3, windows.avg_pool3d


max_pooling1d = functional(MaxPooling1D, "The largest element of windows of sequences.")
max_pooling2d = functional(MaxPooling2D, "The largest element of windows of images.")
max_pooling3d = functional(MaxPooling3D, "The largest element of windows of volumes.")
average_pooling1d = functional(AveragePooling1D, "The mean of windows of sequences.")
average_pooling2d = functional(AveragePooling2D, "The mean of windows of images.")
average_pooling3d = functional(AveragePooling3D, "The mean of windows of volumes.")
