"""tf.io: tensors as strings, TensorFlow's TensorProto messages, by Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import describe, scope
from graphio.ops.strings.python_strings import call
from graphio.schema.tensorflow_pb2 import TensorProto
from graphio.support import api_guard, errors
from graphio.tensorflow_files.values import array_of, dtype_of

__all__ = ["parse_tensor", "serialize_sparse", "serialize_tensor"]

Array = np.ndarray[Any, Any]


@api_guard.operator
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as a string, a TensorProto message, which parse_tensor and TensorFlow read.

    Args:
        tensor: of any dtype.
        name: of the operation.

    Returns:
        A scalar string tensor.
    """
    with scope(name, "SerializeTensor") as at:
        x = convert_to_tensor(tensor, name="tensor")
        number = x.dtype.base_dtype.as_datatype_enum
        outputs: list[tuple[DType, Any]] = [(dtypes.string, ())]
        made = call("SerializeTensor", _message, [x], outputs, at, number=number)
        return made.outputs[0]


def _message(value: Array, number: int) -> Sequence[Any]:
    made = TensorProto()
    made.dtype = number  # type: ignore[assignment]
    made.tensor_shape.SetInParent()
    for size in np.shape(value):
        made.tensor_shape.dim.add(size=size)
    if dtypes.as_dtype(number) == dtypes.string:
        made.string_val.extend(np.asarray(value, object).ravel().tolist())
    else:
        made.tensor_content = np.ascontiguousarray(value).tobytes()
    return [np.array(made.SerializeToString(), object)]


@api_guard.operator
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor of a string that serialize_tensor or TensorFlow wrote.

    Args:
        serialized: scalar string tensor: a TensorProto message.
        out_type: the dtype, which the message must have.
        name: of the operation.

    Returns:
        A tensor of unknown shape.

    Raises:
        ValueError: serialized is not a scalar.
        InvalidArgumentError: of the run: the string is not such a message, or of another dtype.
    """
    with scope(name, "ParseTensor") as at:
        given = convert_to_tensor(serialized, dtypes.string, name="serialized")
        if given.shape.ndims not in (0, None):
            raise ValueError(
                f"Shape must be rank 0 but is rank {given.shape.ndims} for "
                f"{describe(at, 'ParseTensor')}"
            )
        dtype = dtypes.as_dtype(out_type).base_dtype
        outputs: list[tuple[DType, Any]] = [(dtype, None)]
        made = call("ParseTensor", _value, [given], outputs, at, number=dtype.as_datatype_enum)
        return made.outputs[0]


def _value(serialized: Array, number: int) -> Sequence[Any]:
    text = bytes(np.asarray(serialized, object).item())
    message = TensorProto()
    try:
        message.ParseFromString(text)
        found, expected = dtype_of(message.dtype), dtypes.as_dtype(number)
        value = array_of(message)
    except Exception as error:  # protobuf's own classes, and ValueError of what does not fit
        raise errors.InvalidArgumentError(
            message=f"Could not parse `serialized` as TensorProto, {len(text)} bytes: {error}"
        ) from None
    if found != expected:
        raise errors.InvalidArgumentError(
            message=f"Type mismatch between parsed tensor ({found.name}) and dtype "
            f"({expected.name})"
        )
    return [value]


@api_guard.operator
def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """A sparse tensor as three strings: its indices, values and shape; see serialize_tensor.

    Args:
        sp_input: SparseTensor.
        name: of the operation.
        out_type: string; variants are not known.

    Returns:
        A string tensor (3).

    Raises:
        TypeError: sp_input is not a SparseTensor, or out_type is another dtype.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, got {type(sp_input).__name__}")
    if dtypes.as_dtype(out_type) != dtypes.string:
        raise TypeError(f"out_type of serialize_sparse is {out_type!r}, expected tf.string")
    with scope(name, "SerializeSparse") as at:
        parts = (sp_input.indices, sp_input.values, sp_input.dense_shape)
        return array.stack([serialize_tensor(part) for part in parts], name=at)
