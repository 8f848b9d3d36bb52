"""Shapes of distributions: static where they are known, tensors elsewhere."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import shaping, slicing
from graphio.ops.array import surface as array
from graphio.ops.math import comparison, reduction

__all__ = [
    "broadcast_shape",
    "broadcast_shape_tensor",
    "is_scalar",
    "no_axes",
    "pick_vector",
    "prefer_static_broadcast_shape",
    "prefer_static_rank",
    "prefer_static_shape",
    "prefer_static_value",
    "sample_vector",
    "with_last_axis",
    "with_sample_shape",
]


def broadcast_shape(*tensors: Tensor) -> TensorShape:
    """The static shape of an elementwise operation on tensors."""
    return reduce(shaping.broadcast_static_shape, [t.shape for t in tensors])


def broadcast_shape_tensor(*tensors: Tensor) -> Tensor:
    """The shape of an elementwise operation on tensors as int32 vector."""
    return reduce(shaping.broadcast_dynamic_shape, [array.shape(t) for t in tensors])


def no_axes() -> Tensor:
    """The shape of a scalar as int32 vector."""
    return constant([], dtypes.int32)


def with_last_axis(x: Tensor) -> Tensor:
    """x with a further axis of size 1 at the end, as x[..., tf.newaxis]."""
    return x[..., slicing.newaxis]


def pick_vector(cond: Any, true_vector: Any, false_vector: Any, name: str = "pick_vector") -> Any:
    """One of two vectors, whose lengths may differ.

    Args:
        cond: bool scalar.
        true_vector: taken where cond holds.
        false_vector: taken elsewhere.
        name: of the operations.

    Returns:
        One of the vectors as given if cond is known, else a tensor.

    Raises:
        TypeError: cond is not a bool, or the vectors' dtypes differ.
    """
    with scopes.name_scope(name, values=(cond, true_vector, false_vector)):
        chosen = convert_to_tensor(cond, name="cond")
        if chosen.dtype != dtypes.bool:
            raise TypeError(f"{chosen}.dtype={chosen.dtype} which is not {dtypes.bool}")
        known = constant_value(chosen)
        if known is not None:
            return true_vector if known else false_vector
        one = convert_to_tensor(true_vector, name="true_vector")
        two = convert_to_tensor(false_vector, name="false_vector")
        if one.dtype != two.dtype:
            raise TypeError(f"{one}.dtype={one.dtype} does not match {two}.dtype={two.dtype}")
        length = array.shape(one)[0]
        both = array.concat([one, two], 0)
        begin = array.where(chosen, 0, length)
        return both[begin : array.where(chosen, length, array.size(both))]


def prefer_static_value(x: Tensor) -> Any:
    """The numbers of x as array if they are known, else x."""
    known = constant_value(x)
    return x if known is None else known


def prefer_static_rank(x: Tensor) -> Any:
    """The rank of x as number if it is known, else as tensor."""
    return prefer_static_value(array.rank(x))


def prefer_static_shape(x: Tensor) -> Any:
    """The shape of x as array if it is known, else as tensor."""
    return prefer_static_value(array.shape(x))


def prefer_static_broadcast_shape(
    shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape"
) -> TensorShape | Tensor:
    """The shape of an elementwise operation on two shapes: a TensorShape if both are known.

    Raises:
        ValueError: one is a TensorShape of which sizes are unknown, and the other is a tensor.
    """
    with scopes.name_scope(name, values=[shape1, shape2]):
        static = [_static_shape(shape) for shape in (shape1, shape2)]
        if static[0] is not None and static[1] is not None:
            return shaping.broadcast_static_shape(*static)
        return shaping.broadcast_dynamic_shape(_shape_tensor(shape1), _shape_tensor(shape2))


def _static_shape(shape: Any) -> TensorShape | None:
    if isinstance(shape, TensorShape):
        return shape
    known = constant_value(_shape_tensor(shape))
    return None if known is None else TensorShape(known.tolist())


def _shape_tensor(shape: Any) -> Tensor:
    if isinstance(shape, TensorShape) and not shape.is_fully_defined():
        raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
    sizes = shape.as_list() if isinstance(shape, TensorShape) else shape
    return convert_to_tensor(sizes, dtypes.int32, name="shape")


def is_scalar(static: TensorShape, dynamic: Any) -> Any:
    """Whether a shape has no axes: a bool, or a tensor where that is not known.

    Args:
        static: the shape as far as it is known.
        dynamic: a function that gives it as tensor.
    """
    if static.ndims is not None:
        return static.ndims == 0
    return comparison.equal(array.shape(dynamic())[0], 0)


# ---- shapes of samples ----


def sample_vector(shape: Tensor) -> tuple[Tensor, Any]:
    """The shape of samples as vector, and their number: a number if it is known, else a tensor.

    Raises:
        ValueError: shape is neither a scalar nor a vector.
    """
    known, rank = constant_value(shape), shape.shape.ndims
    number = reduction.reduce_prod(shape) if known is None else np.prod(known, dtype=np.int32)
    if rank is None:
        rank_is_0 = comparison.equal(array.rank(shape), 0)
        return array.reshape(shape, pick_vector(rank_is_0, [1], array.shape(shape))), number
    if rank > 1:
        raise ValueError("Input is neither scalar nor vector.")
    if rank == 0:
        shape = array.reshape(shape, [1]) if known is None else constant([int(known)], shape.dtype)
    return shape, number


def with_sample_shape(
    x: Tensor, sample_shape: Tensor, batch: TensorShape, event: TensorShape
) -> Tensor:
    """x, whose static shape gets what is known of the samples', the batch's and the event's."""
    known = constant_value(sample_shape)
    sample = TensorShape(None) if known is None else TensorShape(known.tolist())
    parts = [sample, batch, event]
    if x.shape.ndims is not None:
        missing = [part for part in parts if part.ndims is None]
        if len(missing) == 1:
            others = sum(part.ndims or 0 for part in parts)
            rank = x.shape.ndims - others
            parts = [TensorShape([None] * rank) if p is missing[0] else p for p in parts]
    x.set_shape(reduce(TensorShape.concatenate, parts))
    if x.shape.ndims is not None and event.ndims is not None:
        front = TensorShape([None] * (x.shape.ndims - event.ndims))
        x.set_shape(front.concatenate(event))
    if x.shape.ndims is not None and sample.ndims is not None:
        x.set_shape(sample.concatenate([None] * (x.shape.ndims - sample.ndims)))
    return x
