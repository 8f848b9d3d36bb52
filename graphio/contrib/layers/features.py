"""Functions of features: one-hot codes, softmax, maxout, norms, images as sequences."""

from __future__ import annotations

from typing import Any

from graphio.autodiff.custom_gradients import custom_gradient
from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.finishing import check_format
from graphio.contrib.layers.utils import (
    collect_named_outputs,
    get_variable_collections,
    last_dimension,
)
from graphio.framework import dtypes, scopes
from graphio.framework.collections import add_to_collections
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import meshgrid
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import lin_space
from graphio.ops.nn import core as nn
from graphio.support import api_guard
from graphio.variables.initializers import constant_initializer, ones_initializer
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "dense_to_sparse",
    "images_to_sequence",
    "maxout",
    "one_hot_encoding",
    "poincare_normalize",
    "scale_gradient",
    "sequence_to_images",
    "softmax",
    "spatial_softmax",
    "unit_norm",
]


@api_guard.operator
@add_arg_scope
def one_hot_encoding(
    labels: Any,
    num_classes: int,
    on_value: float = 1.0,
    off_value: float = 0.0,
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Labels (n) as (n, num_classes): on_value at the label, off_value elsewhere."""
    with scopes.name_scope(scope, "OneHotEncoding") as sc:
        given = convert_to_tensor(labels)
        if given.dtype == dtypes.int32:
            given = elementwise.to_int64(given)
        outputs = index.one_hot(given, num_classes, on_value=on_value, off_value=off_value)
        return collect_named_outputs(outputs_collections, sc, outputs)


@api_guard.operator
@add_arg_scope
def dense_to_sparse(
    tensor: Any, eos_token: Any = 0, outputs_collections: Any = None, scope: Any = None
) -> SparseTensor:
    """The elements that are not eos_token, as a sparse tensor."""
    with variable_scope(scope, "dense_to_sparse", [tensor]):
        given = convert_to_tensor(tensor)
        present = comparison.not_equal(given, constant(eos_token, given.dtype))
        indices = array.where(present)
        values = index.gather_nd(given, indices)
        made = SparseTensor(indices, values, array.shape(given, out_type=dtypes.int64))
        add_to_collections(outputs_collections or (), made)
        return made


@api_guard.operator
@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Tensor:
    """The softmax along the last axis of a tensor of rank 2 or more.

    Raises:
        ValueError: the rank is below 2, or the last size is not known.
    """
    with variable_scope(scope, "softmax", [logits]):
        given = convert_to_tensor(logits)
        classes = last_dimension(given.get_shape(), min_rank=2)
        flat = nn.softmax(array.reshape(given, [-1, classes]))
        predictions = array.reshape(flat, array.shape(given))
        predictions.set_shape(given.get_shape())
        return predictions


@api_guard.makes_variables
@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: float | None = None,
    name: Any = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """The expected position of each channel under a softmax over the image: (n, 2 * channels).

    Positions go from -1 to 1; for each channel first the vertical one.

    Args:
        features: (n, height, width, channels), or (n, channels, height, width) by data_format.
        temperature: initial value of the variable by which features are divided; None: 1.
        name: scope; None: spatial_softmax.

    Variables: `temperature`, a scalar.

    Raises:
        ValueError: the number of channels is not known, or there is no such data_format.
    """
    with variable_scope(name, "spatial_softmax"):
        check_format(data_format)
        given = convert_to_tensor(features)
        first = data_format == "NCHW"
        sizes = array.shape(given)
        height, width = (sizes[2], sizes[3]) if first else (sizes[1], sizes[2])
        channels = given.shape.as_list()[1 if first else 3]
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. "
                "Found `None`."
            )
        with scopes.name_scope("spatial_softmax_op", "spatial_softmax_op"):
            axes = (lin_space(-1.0, 1.0, num=height), lin_space(-1.0, 1.0, num=width))
            count = elementwise.multiply(height, width)
            positions = [array.reshape(p, [count]) for p in meshgrid(*axes, indexing="ij")]
            start = ones_initializer() if temperature is None else constant_initializer(temperature)
            collections = get_variable_collections(variables_collections, "temperature")
            divisor = model_variable(
                "temperature",
                shape=(),
                dtype=dtypes.float32,
                initializer=start,
                collections=collections if trainable else None,
                trainable=trainable,
            )
            by_channel = given if first else array.transpose(given, [0, 3, 1, 2])
            flat = array.reshape(by_channel, [-1, count])
            attention = nn.softmax(elementwise.truediv(flat, divisor))
            expected = [
                reduction.reduce_sum(elementwise.multiply(p, attention), [1], keepdims=True)
                for p in positions
            ]
            keypoints = array.reshape(array.concat(expected, 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
    return keypoints


@api_guard.operator
@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Tensor:
    """The maxima of num_units groups of features (Goodfellow and others 2013).

    Args:
        axis: of the features, the last one.

    Raises:
        ValueError: the number of features is not a multiple of num_units.
    """
    with variable_scope(scope, "MaxOut", [inputs]):
        given = convert_to_tensor(inputs)
        shape: list[Any] = given.get_shape().as_list()
        channels = shape[axis]
        if channels % num_units:
            raise ValueError(
                f"number of features({channels}) is not a multiple of num_units({num_units})"
            )
        shape[axis] = num_units
        sizes = [array.shape(given)[i] if d is None else d for i, d in enumerate(shape)]
        return reduction.reduce_max(array.reshape(given, [*sizes, channels // num_units]), -1)


@api_guard.operator
@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Tensor:
    """inputs divided by their Euclidean norm along an axis.

    Args:
        dim: the axis, from 0.
        epsilon: added to the squared norm.

    Raises:
        ValueError: the rank is not known, or the axis is out of range.
    """
    with variable_scope(scope, "UnitNorm", [inputs]):
        given = convert_to_tensor(inputs)
        rank = given.get_shape().ndims
        if rank is None:
            raise ValueError("The input rank must be known.")
        if not 0 <= dim < rank:
            raise ValueError("dim must be positive but smaller than the input rank.")
        squares = reduction.reduce_sum(elementwise.square(given), dim, keepdims=True)
        return elementwise.truediv(given, elementwise.sqrt(elementwise.add(epsilon, squares)))


@api_guard.operator
def poincare_normalize(
    x: Any, axis: Any = 1, epsilon: float = 1e-5, name: str | None = None
) -> Tensor:
    """x, scaled down to the norm 1 - epsilon along axes where it is larger."""
    with scopes.name_scope(name, "poincare_normalize") as scope:
        given = convert_to_tensor(x, name="x")
        squares = reduction.reduce_sum(elementwise.square(given), axis, keepdims=True)
        limited = elementwise.multiply(1.0 - epsilon, elementwise.rsqrt(squares))
        return elementwise.multiply(given, elementwise.minimum(limited, 1.0), name=scope)


@api_guard.operator
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Tensor:
    """inputs, whose gradient is multiplied by gradient_multiplier."""

    @custom_gradient
    def scaled(x: Tensor, factor: Tensor) -> Any:
        return array.identity(x), lambda dy: (elementwise.multiply(dy, factor), None)

    given = convert_to_tensor(inputs)
    made: Tensor = scaled(given, convert_to_tensor(gradient_multiplier, given.dtype))
    return made


# ---- images as sequences ----


@api_guard.operator
@add_arg_scope
def images_to_sequence(
    inputs: Any,
    data_format: str = "NHWC",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Images (n, height, width, depth) as sequences of columns (width, n * height, depth).

    Raises:
        ValueError: data_format is neither NHWC nor NCHW.
    """
    check_format(data_format)
    with scopes.name_scope(scope, "ImagesToSequence") as sc:
        given = convert_to_tensor(inputs)
        if data_format == "NCHW":
            given = array.transpose(given, [0, 2, 3, 1])
        width, depth = given.get_shape().as_list()[2:]
        sizes = array.shape(given)
        rows = elementwise.multiply(sizes[0], sizes[1])
        outputs = array.reshape(array.transpose(given, [2, 0, 1, 3]), [width, rows, depth])
        return collect_named_outputs(outputs_collections, sc, outputs)


@api_guard.operator
@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: str | None = None,
) -> Any:
    """Sequences of columns (width, n * height, depth) as images (n, height, width, depth).

    Args:
        output_data_format: channels_last, or channels_first for (n, depth, height, width).
    """
    with scopes.name_scope(scope, "SequenceToImages") as sc:
        given = convert_to_tensor(inputs)
        width, rows, depth = given.get_shape().as_list()
        number = -1 if rows is None else rows // height
        split = array.reshape(given, [width, number, height, depth])
        order = [1, 3, 2, 0] if output_data_format == "channels_first" else [1, 2, 0, 3]
        return collect_named_outputs(outputs_collections, sc, array.transpose(split, order))
