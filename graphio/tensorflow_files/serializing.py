"""tf.io: tensors as strings, TensorFlow's TensorProto messages, by Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.ops.array import surface as array
from graphio.ops.base.emit import describe, scope
from graphio.ops.sparse.host_parts import check_arrays
from graphio.ops.strings.python_strings import call
from graphio.schema.tensorflow_pb2 import TensorProto
from graphio.support import api_guard, errors

__all__ = [
    "deserialize_many_sparse",
    "parse_tensor",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
]

Array = np.ndarray[Any, Any]

_INT64 = dtypes.int64.as_datatype_enum


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
    return [np.array(_text(value, number), object)]


def _text(value: Array, number: int) -> bytes:
    """An array as the bytes of a TensorProto."""
    made = TensorProto()
    made.dtype = number  # type: ignore[assignment]
    made.tensor_shape.SetInParent()
    for size in np.shape(value):
        made.tensor_shape.dim.add(size=size)
    if dtypes.as_dtype(number) == dtypes.string:
        made.string_val.extend(np.asarray(value, object).ravel().tolist())
    else:
        made.tensor_content = np.ascontiguousarray(value).tobytes()
    text: bytes = made.SerializeToString()
    return text


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
    return [_array(bytes(np.asarray(serialized, object).item()), number)]


def _array(text: bytes, number: int) -> Array:
    """The array of a TensorProto's bytes, which must have the dtype of that number."""
    # late: it comes with all readers of weights
    from graphio.tensorflow_files.values import array_of, dtype_of

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
    return value


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
    parts = _parts(sp_input, out_type, "serialize_sparse")
    with scope(name, "SerializeSparse") as at:
        return array.stack([serialize_tensor(part) for part in parts], name=at)


@api_guard.operator
def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """As serialize_sparse for each row of the first dimension.

    Args:
        sp_input: SparseTensor of at least one dimension.
        name: of the operation.
        out_type: string; variants are not known.

    Returns:
        A string tensor (rows, 3).

    Raises:
        TypeError: sp_input is not a SparseTensor, or out_type is another dtype.
    """
    parts = _parts(sp_input, out_type, "serialize_many_sparse")
    with scope(name, "SerializeManySparse") as at:
        outputs: list[tuple[DType, Any]] = [(dtypes.string, (None, 3))]
        number = parts[1].dtype.base_dtype.as_datatype_enum
        made = call("SerializeManySparse", _rows, parts, outputs, at, number=number)
        return made.outputs[0]


def _rows(indices: Array, values: Array, shape: Array, number: int) -> Sequence[Array]:
    check_arrays(indices, values, shape)
    order = np.argsort(indices[:, 0], kind="stable")
    ends = np.searchsorted(indices[order, 0], np.arange(int(shape[0]) + 1))
    made = np.empty((int(shape[0]), 3), object)
    of_shape = _text(shape[1:], _INT64)
    for i, (begin, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        row = order[begin:end]
        made[i] = _text(indices[row, 1:], _INT64), _text(values[row], number), of_shape
    return [made]


@api_guard.operator
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows serialize_many_sparse gave; its first dimension counts them.

    Args:
        serialized_sparse: string tensor (rows, 3).
        dtype: of the values.
        rank: of each row; None: not known.
        name: of the operation.

    Raises:
        InvalidArgumentError: of the run: a string is not such a message, the ranks of the rows
            differ, or there are no rows.
    """
    with scope(name, "DeserializeManySparse") as at:
        kind = dtypes.as_dtype(dtype).base_dtype
        width = None if rank is None else rank + 1
        given = convert_to_tensor(serialized_sparse, dtypes.string, name="serialized_sparse")
        outputs: list[tuple[DType, Any]] = [
            (dtypes.int64, (None, width)), (kind, (None,)), (dtypes.int64, (width,)),
        ]  # fmt: skip
        number = kind.as_datatype_enum
        made = call("DeserializeManySparse", _together, [given], outputs, at, number=number)
        return SparseTensor(*made.outputs)


def _together(strings: Array, number: int) -> Sequence[Array]:
    if np.ndim(strings) != 2 or np.shape(strings)[1] != 3 or not len(strings):
        raise errors.InvalidArgumentError(
            message=f"serialized_sparse has the shape {np.shape(strings)}, expected (rows, 3)"
        )
    numbers = (_INT64, number, _INT64)
    rows = [[_array(bytes(t), n) for t, n in zip(row, numbers, strict=True)] for row in strings]
    for i, (indices, values, shape) in enumerate(rows):
        if indices.shape != (values.size, shape.size) or shape.shape != rows[0][2].shape:
            raise errors.InvalidArgumentError(
                message=f"row {i} of serialized_sparse has indices of shape {indices.shape}, "
                f"{values.size} values and {shape.size} dimensions, the first row "
                f"{rows[0][2].size} dimensions"
            )
    indices = np.concatenate([np.insert(row[0], 0, i, axis=1) for i, row in enumerate(rows)])
    shape = np.max([row[2] for row in rows], axis=0)
    return [indices, np.concatenate([row[1] for row in rows]), np.insert(shape, 0, len(rows))]


def _parts(sp_input: Any, out_type: Any, word: str) -> list[Tensor]:
    if isinstance(sp_input, SparseTensorValue):
        sp_input = SparseTensor(*sp_input)
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"{word}: Input must be a SparseTensor, got {type(sp_input).__name__}")
    if dtypes.as_dtype(out_type) != dtypes.string:
        raise TypeError(f"{word}: out_type is {out_type!r}, expected tf.string")
    return [sp_input.indices, sp_input.values, sp_input.dense_shape]
