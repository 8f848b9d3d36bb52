"""Pooling."""

from __future__ import annotations

from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.layers.finishing import check_format, keras_format
from graphio.contrib.layers.utils import collect_named_outputs, n_positive_integers
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.layers import pooling as classes
from graphio.ops.nn import windows
from graphio.support import api_guard

__all__ = ["avg_pool2d", "avg_pool3d", "max_pool2d", "max_pool3d", "pool"]

_PLANES, _VOLUMES = ("NCHW", "NHWC"), ("NCDHW", "NDHWC")


@api_guard.operator
@add_arg_scope
def avg_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Means of windows (height, width).

    Args:
        inputs: (n, height, width, channels), or (n, channels, height, width) by data_format.
        kernel_size, stride: an integer or two.
        padding: VALID or SAME.
        data_format: NHWC or NCHW.
        outputs_collections: names of collections of the result.
        scope: name scope; None: AvgPool2D.

    Raises:
        ValueError: inputs has another rank, or there is no such data_format.
    """
    check_format(data_format, _PLANES)
    return _pooled(
        classes.AveragePooling2D, "AvgPool2D", inputs, kernel_size, stride, padding, data_format,
        outputs_collections, scope,
    )  # fmt: skip


@api_guard.operator
@add_arg_scope
def avg_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Means of windows (depth, height, width); the arguments are those of avg_pool2d.

    Raises:
        ValueError: inputs has another rank, or there is no such data_format.
    """
    check_format(data_format, _VOLUMES)
    return _pooled(
        classes.AveragePooling3D, "AvgPool3D", inputs, kernel_size, stride, padding, data_format,
        outputs_collections, scope,
    )  # fmt: skip


@api_guard.operator
@add_arg_scope
def max_pool2d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Maxima of windows (height, width); the arguments are those of avg_pool2d.

    Raises:
        ValueError: inputs has another rank, or there is no such data_format.
    """
    check_format(data_format, _PLANES)
    return _pooled(
        classes.MaxPooling2D, "MaxPool2D", inputs, kernel_size, stride, padding, data_format,
        outputs_collections, scope,
    )  # fmt: skip


@api_guard.operator
@add_arg_scope
def max_pool3d(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = "NDHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Maxima of windows (depth, height, width); the arguments are those of avg_pool2d.

    Raises:
        ValueError: inputs has another rank, or there is no such data_format.
    """
    check_format(data_format, _VOLUMES)
    return _pooled(
        classes.MaxPooling3D, "MaxPool3D", inputs, kernel_size, stride, padding, data_format,
        outputs_collections, scope,
    )  # fmt: skip


def _pooled(
    kind: Any,
    default_name: str,
    inputs: Any,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str,
    outputs_collections: Any,
    scope: str | None,
) -> Any:
    with scopes.name_scope(scope, default_name) as sc:
        layer = kind(
            pool_size=kernel_size,
            strides=stride,
            padding=padding,
            data_format=keras_format(data_format),
            _scope=sc,
        )
        outputs = layer.apply(convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


@api_guard.operator
@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Pooling over all spatial axes; see tf.nn.pool.

    Args:
        pooling_type: MAX or AVG.
        kernel_size, dilation_rate, stride: an integer or one for each spatial axis.
        others: as avg_pool2d's; scope None: max_pool or avg_pool.

    Raises:
        ValueError: the rank of inputs is unknown or below 3.
    """
    with scopes.name_scope(scope, f"{pooling_type.lower()}_pool") as sc:
        inputs = convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        output = windows.pool(
            inputs,
            n_positive_integers(rank - 2, kernel_size),
            pooling_type,
            padding,
            dilation_rate=n_positive_integers(rank - 2, dilation_rate),
            strides=n_positive_integers(rank - 2, stride),
            name=sc,
            data_format=data_format,
        )
        return collect_named_outputs(outputs_collections, sc, output)
