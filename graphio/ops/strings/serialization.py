"""Tensors as strings: TensorProto messages, compressed bytes, fingerprints.

They are computed by Python: a model saved with one needs its function again to run it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.base.emit import scope
from graphio.ops.strings import hashes, python_strings
from graphio.schema import tensorflow_pb2
from graphio.support import api_guard, errors

__all__ = [
    "decode_compressed",
    "deserialize_many_sparse",
    "fingerprint",
    "parse_tensor",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
]

Array = np.ndarray[Any, Any]
_Bytes = bytes


#: the fields of a message that have its elements where it has no tensor_content
_FIELDS = (
    "float_val", "double_val", "int_val", "string_val", "int64_val", "bool_val", "uint32_val",
    "uint64_val",
)  # fmt: skip


def _message(array: Array, dtype: Any) -> bytes:
    """An array as TensorFlow's TensorProto."""
    made = tensorflow_pb2.TensorProto()
    made.dtype = dtype.as_datatype_enum
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if dtype == dtypes.string:
        made.string_val.extend(array.reshape(-1).tolist())
    else:
        made.tensor_content = np.ascontiguousarray(array).tobytes()
    text: bytes = made.SerializeToString()
    return text


def _array(text: bytes, dtype: Any) -> Array:
    """The array of a TensorProto, whose dtype must be the given one."""
    try:
        found = tensorflow_pb2.TensorProto.FromString(text)
    except Exception:
        raise errors.InvalidArgumentError(
            message=f"Could not parse `serialized` as TensorProto, got {text[:40]!r}"
        ) from None
    if found.dtype != dtype.as_datatype_enum:
        raise errors.InvalidArgumentError(
            message=f"Type mismatch between parsed tensor (number {found.dtype}) and dtype "
            f"({dtype.name})"
        )
    shape = [d.size for d in found.tensor_shape.dim]
    count = int(np.prod(shape, dtype=np.int64))
    if found.tensor_content:
        held = np.frombuffer(found.tensor_content, dtype.as_numpy_dtype)
    else:
        values = next((list(v) for f in _FIELDS if (v := getattr(found, f))), [])
        held = np.empty(len(values), dtype.as_numpy_dtype)
        held[:] = values
        if len(values) == 1:
            held = np.repeat(held, count)
    if held.size != count:
        raise errors.InvalidArgumentError(
            message=f"a TensorProto has {held.size} elements for the shape {shape}"
        )
    made: Array = held.reshape(shape).copy()
    return made


def _scalar(text: bytes) -> Array:
    made: Array = np.empty((), object)
    made[()] = text
    return made


@api_guard.operator
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as the bytes of a TensorProto: a string scalar."""
    with scope(name, "SerializeTensor") as at:
        x = convert_to_tensor(tensor, name="tensor")
        dtype = x.dtype.base_dtype

        def work(array: Array, dtype: Any) -> Sequence[Array]:
            return [_scalar(_message(array, dtype))]

        made = python_strings.call(
            "SerializeTensor", work, [x], [(dtypes.string, ())], at, dtype=dtype
        )
        return made.outputs[0]


@api_guard.operator
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor of a TensorProto's bytes, of unknown shape.

    Args:
        serialized: string scalar.
        out_type: dtype of the tensor. A run raises InvalidArgumentError for another one, and where
            the bytes are not a TensorProto.
        name: of the operation.
    """
    with scope(name, "ParseTensor") as at:
        dtype = dtypes.as_dtype(out_type)

        def work(text: Any, dtype: Any) -> Sequence[Array]:
            return [_array(text.item() if hasattr(text, "item") else text, dtype)]

        given = [python_strings.as_text(serialized, "serialized")]
        made = python_strings.call("ParseTensor", work, given, [(dtype, None)], at, dtype=dtype)
        return made.outputs[0]


@api_guard.operator
def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """A SparseTensor as three strings, the TensorProtos of its indices, values and shape.

    Args:
        sp_input: SparseTensor.
        name: of the operation.
        out_type: tf.string.

    Raises:
        TypeError: sp_input is not a SparseTensor, or out_type is tf.variant.
    """
    parts, dtype = _sparse_parts(sp_input, out_type)
    with scope(name, "SerializeSparse") as at:

        def work(indices: Array, values: Array, shape: Array, dtype: Any) -> Sequence[Array]:
            return [_row(indices, values, shape, dtype)]

        made = python_strings.call(
            "SerializeSparse", work, parts, [(dtypes.string, (3,))], at, dtype=dtype
        )
        return made.outputs[0]


@api_guard.operator
def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """As serialize_sparse for each row of the first dimension: strings of shape (rows, 3)."""
    parts, dtype = _sparse_parts(sp_input, out_type)
    with scope(name, "SerializeManySparse") as at:

        def work(indices: Array, values: Array, shape: Array, dtype: Any) -> Sequence[Array]:
            rows = [indices[:, 0] == i for i in range(int(shape[0]))]
            strings = [_row(indices[of, 1:], values[of], shape[1:], dtype) for of in rows]
            return [np.stack(strings) if strings else np.empty((0, 3), object)]

        made = python_strings.call(
            "SerializeManySparse", work, parts, [(dtypes.string, (None, 3))], at, dtype=dtype
        )
        return made.outputs[0]


@api_guard.operator
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The SparseTensor whose rows serialize_many_sparse gave; its first dimension counts them.

    Args:
        serialized_sparse: strings of shape (rows, 3).
        dtype: of the values.
        rank: of each row; None: not known.
        name: of the operation.
    """
    with scope(name, "DeserializeManySparse") as at:
        kind = dtypes.as_dtype(dtype)
        width = None if rank is None else rank + 1

        def work(strings: Array, kind: Any) -> Sequence[Array]:
            types = (dtypes.int64, kind, dtypes.int64)
            rows = [[_array(t, k) for t, k in zip(row, types, strict=True)] for row in strings]
            if not rows:
                raise errors.InvalidArgumentError(message="there is no serialized SparseTensor")
            indices = [np.insert(r[0], 0, i, axis=1) for i, r in enumerate(rows)]
            shape = np.max([r[2] for r in rows], axis=0)
            values = np.concatenate([r[1] for r in rows])
            return [np.concatenate(indices), values, np.insert(shape, 0, len(rows))]

        given = [python_strings.as_text(serialized_sparse, "serialized_sparse")]
        outputs: Any = [(dtypes.int64, (None, width)), (kind, (None,)), (dtypes.int64, (width,))]
        made = python_strings.call("DeserializeManySparse", work, given, outputs, at, kind=kind)
        return SparseTensor(*made.outputs)


def _sparse_parts(sp_input: Any, out_type: Any) -> tuple[list[Tensor], Any]:
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"sp_input is {sp_input!r}, expected a SparseTensor")
    if dtypes.as_dtype(out_type) != dtypes.string:
        raise TypeError(f"out_type is {out_type!r}, expected tf.string")
    parts = [sp_input.indices, sp_input.values, sp_input.dense_shape]
    return parts, sp_input.dtype.base_dtype


def _row(indices: Array, values: Array, shape: Array, dtype: Any) -> Array:
    made: Array = np.empty(3, object)
    made[:] = [
        _message(indices, dtypes.int64),
        _message(values, dtype),
        _message(shape, dtypes.int64),
    ]
    return made


@api_guard.operator
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings that were compressed, decompressed.

    Args:
        bytes: string tensor.
        compression_type: "", "ZLIB" or "GZIP".
        name: of the operation.

    Raises:
        ValueError: another compression_type. A run raises DataLossError for other bytes.
    """
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise ValueError(f"Only ZLIB, GZIP or NONE are supported compressions: {compression_type}")

    def opened(text: _Bytes, compression_type: str) -> _Bytes:
        try:
            if compression_type == "ZLIB":
                return zlib.decompress(text)
            return gzip.decompress(text) if compression_type else text
        except (OSError, EOFError, zlib.error) as error:
            raise errors.DataLossError(message=f"decode_compressed: {error}") from None

    return python_strings.mapped(
        "DecodeCompressed", bytes, opened, name, compression_type=compression_type
    )


@api_guard.operator
def fingerprint(data: Any, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """The FarmHash fingerprint of each part of the first dimension: uint8 (n, 8), the lowest byte
    first.

    Args:
        data: tensor of at least one dimension; of strings, those of one row are each hashed, and
            then the hashes.
        method: "farmhash64".
        name: of the operation.

    Raises:
        ValueError: another method, or data is a scalar.
    """
    if method != "farmhash64":
        raise ValueError(f"Unsupported method: {method}")
    with scope(name, "Fingerprint") as at:
        x = convert_to_tensor(data, name="data")
        if x.shape.ndims == 0:
            raise ValueError("fingerprint: data is a scalar, expected at least one dimension")

        def work(array: Array) -> Sequence[Array]:
            return [np.array([_fingerprint(row) for row in array], np.uint8).reshape(-1, 8)]

        count = x.shape.as_list()[0] if x.shape.ndims else None
        made = python_strings.call("Fingerprint", work, [x], [(dtypes.uint8, (count, 8))], at)
        return made.outputs[0]


def _fingerprint(row: Any) -> list[int]:
    if isinstance(row, bytes):
        text = row
    elif row.dtype == object:
        hashed = [hashes.fingerprint64(part) for part in row.reshape(-1)]
        text = b"".join(number.to_bytes(8, "little") for number in hashed)
    else:
        text = np.ascontiguousarray(row).tobytes()
    return list(hashes.fingerprint64(text).to_bytes(8, "little"))
