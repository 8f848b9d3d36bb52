"""Nodes that call functions of graphio.engine.media, which both engines know by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.engine.media import functions
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import describe
from graphio.ops.base.host import host_call_to
from graphio.ops.base.shapes import Dims
from graphio.support import errors

__all__ = ["call", "contents_of", "require_one_of", "scalar_of"]


def call(
    tf_type: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, Dims]],
    at: str,
    **options: Any,
) -> Operation:
    """The operation of a type of TensorFlow; options: those that its function takes."""
    declared = [(dtype, TensorShape(dims)) for dtype, dims in outputs]
    name = functions.name_of(tf_type, options)
    return host_call_to(name, inputs, declared, False, at, tf_type)


def contents_of(value: Any, tf_type: str, at: str) -> Tensor:
    """The content of a file as a scalar string tensor."""
    return scalar_of(convert_to_tensor(value, dtypes.string, name="contents"), tf_type, at)


def scalar_of(tensor: Tensor, tf_type: str, at: str) -> Tensor:
    """The tensor.

    Raises:
        ValueError: it is known not to be a scalar.
    """
    if tensor.shape.ndims not in (0, None):
        raise ValueError(
            f"Shape must be rank 0 but is rank {tensor.shape.ndims} for {describe(at, tf_type)}: "
            "give one file; tf.map_fn takes several"
        )
    return tensor


def require_one_of(value: Any, allowed: Sequence[Any], what: str, op: str) -> Any:
    """The value.

    Raises:
        InvalidArgumentError: it is none of those that are allowed.
    """
    if value not in allowed:
        known = ", ".join(repr(v) for v in allowed)
        raise errors.InvalidArgumentError(message=f"{what} of {op} is {value!r}, expected {known}")
    return value
