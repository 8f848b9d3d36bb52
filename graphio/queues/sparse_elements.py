"""SparseTensors as elements of a queue: each one is a string there."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.host import host_call

__all__ = ["pack", "pack_rows", "unpack"]

Array = np.ndarray[Any, Any]
_INT = np.dtype("<i8")


def pack(sparse: SparseTensor) -> Tensor:
    """A string scalar that holds a SparseTensor."""
    return _packed(_one, sparse, TensorShape([]), "AddSparseToTensorsMap")


def pack_rows(sparse: SparseTensor) -> Tensor:
    """A vector with a string for each row of a SparseTensor."""
    rows = TensorShape([sparse.get_shape()[0]]) if sparse.get_shape().ndims else TensorShape([None])
    return _packed(_rows, sparse, rows, "AddManySparseToTensorsMap")


def unpack(strings: Tensor, dtype: DType, rank: int | None) -> SparseTensor:
    """The SparseTensors of a vector of strings, stacked to one.

    Args:
        strings: of pack.
        dtype: of the values.
        rank: of each SparseTensor; None: unknown.
    """
    width = None if rank is None else rank + 1
    shapes = [(dtypes.int64, [None, width]), (dtype, [None]), (dtypes.int64, [width])]
    made = host_call(
        functools.partial(_unpacking, dtype),
        [strings],
        [(kind, TensorShape(shape)) for kind, shape in shapes],
        function="sparse_elements/unpack",
        stateful=False,
        name="TakeManySparseFromTensorsMap",
        tf_type="TakeManySparseFromTensorsMap",
    )
    return SparseTensor(*made.outputs)


def _packed(work: Any, sparse: SparseTensor, shape: TensorShape, tf_type: str) -> Tensor:
    return host_call(
        functools.partial(_packing, work),
        [sparse.indices, sparse.values, sparse.dense_shape],
        [(dtypes.string, shape)],
        function="sparse_elements/pack",
        stateful=False,
        name=tf_type,
        tf_type=tf_type,
    ).outputs[0]


def _packing(work: Any, session: Any) -> Any:
    return lambda inputs: [work(*inputs)]


def _unpacking(dtype: DType, session: Any) -> Any:
    return lambda inputs: _stacked([_decoded(text, dtype) for text in inputs[0]], dtype)


def _one(indices: Array, values: Array, shape: Array) -> Array:
    return np.array(_encoded(indices, values, shape), object)


def _rows(indices: Array, values: Array, shape: Array) -> Array:
    found = np.empty(int(shape[0]), object)
    for row in range(len(found)):
        here = indices[:, 0] == row
        found[row] = _encoded(indices[here, 1:], values[here], shape[1:])
    return found


def _encoded(indices: Array, values: Array, shape: Array) -> bytes:
    """Rank, count, shape and indices as int64, and the values: numbers as they are, strings after
    their lengths."""
    numbers = np.concatenate([[len(shape), len(values)], shape, indices.ravel()]).astype(_INT)
    if values.dtype != object:
        return numbers.tobytes() + values.tobytes()
    sizes = np.array([len(text) for text in values], _INT)
    return numbers.tobytes() + sizes.tobytes() + b"".join(values)


def _decoded(text: bytes, dtype: DType) -> tuple[Array, Array, Array]:
    rank, count = (int(n) for n in np.frombuffer(text, _INT, 2))
    numbers = np.frombuffer(text, _INT, rank + count * rank, 2 * _INT.itemsize)
    end = (2 + rank + count * rank) * _INT.itemsize
    values = (
        _strings(text, end, count)
        if dtype == dtypes.string
        else np.frombuffer(text, dtype.as_numpy_dtype, count, end)
    )
    return numbers[rank:].reshape(count, rank), values, numbers[:rank]


def _strings(text: bytes, start: int, count: int) -> Array:
    found = np.empty(count, object)
    at = start + count * _INT.itemsize
    for i, size in enumerate(np.frombuffer(text, _INT, count, start).tolist()):
        found[i] = text[at : at + size]
        at += size
    return found


def _stacked(parts: Sequence[tuple[Array, Array, Array]], dtype: DType) -> list[Array]:
    """One SparseTensor with a dimension more, as large as the largest of the parts."""
    rank = len(parts[0][2]) if parts else 0
    indices = [np.insert(part[0], 0, i, axis=1) for i, part in enumerate(parts)]
    values = [part[1] for part in parts]
    shape = np.max([part[2] for part in parts], axis=0) if parts else np.zeros(rank, np.int64)
    empty = np.zeros((0,), dtype.as_numpy_dtype)
    return [
        np.concatenate(indices) if parts else np.zeros((0, rank + 1), np.int64),
        np.concatenate(values) if parts else empty,
        np.concatenate([[len(parts)], shape]).astype(np.int64),
    ]
