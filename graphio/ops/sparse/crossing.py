"""Crosses: for each row, all combinations of a value of every input, as strings or hashes.

They are computed by Python: a model saved with one needs its function again to run it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.base.emit import scope
from graphio.ops.math import elementwise
from graphio.ops.sparse.host_parts import check_arrays
from graphio.ops.strings import hashes, python_strings
from graphio.support import api_guard, errors

__all__ = ["DEFAULT_HASH_KEY", "cross_of", "sparse_cross", "sparse_cross_hashed"]

#: the first value of a hash
DEFAULT_HASH_KEY = 0xDECAFCAFFE
_ALL, _MOST = (1 << 64) - 1, (1 << 63) - 1

Array = np.ndarray[Any, Any]
#: the number of rows, and the values of those that have any
_Rows = tuple[int, dict[int, list[Any]]]


@api_guard.operator
def sparse_cross(inputs: Sequence[Any], name: str | None = None) -> SparseTensor:
    """The crosses of each row as strings: values joined by "_X_", integers in decimal.

    Args:
        inputs: list of SparseTensors and tensors (n, size), strings or numbers. The values of the
            SparseTensors come first.
        name: of the operation.

    Returns:
        A string SparseTensor (n, largest number of crosses of a row).

    Raises:
        TypeError: inputs is not a list, or has something else.

    Example:
        >>> words, more = tf.constant([["a", "b"]]), tf.constant([["c"]])
        >>> tf.Session().run(tf.sparse.cross([words, more])).values.tolist()
        [b'a_X_c', b'b_X_c']
    """
    return cross_of(inputs, name, hashed=False)


@api_guard.operator
def sparse_cross_hashed(
    inputs: Sequence[Any],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The crosses of each row as hashes of the values' FarmHash fingerprints, as TensorFlow's.

    Args:
        inputs: as sparse_cross's.
        num_buckets: the hashes are taken modulo this; 0: modulo 2^63 - 1.
        hash_key: what a hash begins with; None and 0: the usual one.
        name: of the operation.

    Returns:
        An int64 SparseTensor (n, largest number of crosses of a row).

    Raises:
        TypeError: inputs is not a list, or has something else.
        ValueError: num_buckets is negative.
    """
    return cross_of(inputs, name, True, num_buckets, hash_key or DEFAULT_HASH_KEY)


def cross_of(
    inputs: Sequence[Any],
    name: str | None,
    hashed: bool,
    num_buckets: int = 0,
    hash_key: int | None = None,
) -> SparseTensor:
    """The crosses. Hashes without a hash_key are combined as the first TensorFlow did, which
    collides for integers that have the same last bits."""
    if not isinstance(inputs, list):
        raise TypeError(f"Inputs must be a list; sparse_cross got {type(inputs).__name__}")
    for i, one in enumerate(inputs):
        if not isinstance(one, (SparseTensor, Tensor)):
            raise TypeError(
                "All inputs must be SparseTensors; sparse_cross takes also tensors, and "
                f"inputs[{i}] is {type(one).__name__}"
            )
    if num_buckets < 0:
        raise ValueError(f"sparse_cross: num_buckets is {num_buckets}, expected 0 or more")
    sparse = [one for one in inputs if isinstance(one, SparseTensor)]
    dense = [_crossed(one) for one in inputs if isinstance(one, Tensor)]
    parts = [(one.indices, _crossed(one.values), one.dense_shape) for one in sparse]
    kind = dtypes.int64 if hashed else dtypes.string
    options = {"hashed": hashed, "num_buckets": int(num_buckets), "hash_key": hash_key}
    with scope(name, "SparseCross") as at:
        made = python_strings.call(
            "SparseCross", _work, [*itertools.chain(*parts), *dense],
            [(dtypes.int64, (None, 2)), (kind, (None,)), (dtypes.int64, (2,))],
            at, count=len(sparse), **options,
        )  # fmt: skip
    return SparseTensor(*made.outputs)


def _crossed(values: Tensor) -> Tensor:
    return values if values.dtype == dtypes.string else elementwise.cast(values, dtypes.int64)


def _work(
    *arrays: Array, count: int, hashed: bool, num_buckets: int, hash_key: int | None
) -> Sequence[Array]:
    columns = [_sparse_rows(*arrays[i : i + 3]) for i in range(0, 3 * count, 3)]
    columns += [_dense_rows(dense) for dense in arrays[3 * count :]]
    sizes = sorted({size for size, _ in columns} or {0})
    if len(sizes) > 1:
        raise errors.InvalidArgumentError(
            message=f"SparseCross: the inputs have {sizes} rows, expected equal numbers"
        )
    joined = functools.partial(_hash, num_buckets, hash_key) if hashed else _text
    full = set.intersection(*(set(rows) for _, rows in columns)) if columns else set()
    crosses = {
        i: [joined(cross) for cross in itertools.product(*(rows[i] for _, rows in columns))]
        for i in sorted(full)
    }
    values: Array = np.empty(sum(map(len, crosses.values())), np.int64 if hashed else object)
    values[:] = [value for row in crosses.values() for value in row]
    indices = [(i, j) for i, row in crosses.items() for j in range(len(row))]
    shape = np.array([sizes[0], max(map(len, crosses.values()), default=0)], np.int64)
    return [np.array(indices, np.int64).reshape(-1, 2), values, shape]


def _sparse_rows(indices: Array, values: Array, shape: Array) -> _Rows:
    check_arrays(indices, values, shape)
    if shape.size != 2:
        raise errors.InvalidArgumentError(
            message=f"SparseCross: a sparse input has {shape.size} dimensions, expected 2"
        )
    size = int(shape[0])  # which may be far larger than the values are many
    rows: dict[int, list[Any]] = {}
    for (row, _), value in zip(indices.tolist(), values.tolist(), strict=True):
        if not 0 <= row < size:
            raise errors.InvalidArgumentError(
                message=f"SparseCross: an index has row {row}, expected 0 to {size - 1}"
            )
        rows.setdefault(row, []).append(value)
    return size, rows


def _dense_rows(dense: Array) -> _Rows:
    if dense.ndim != 2:
        raise errors.InvalidArgumentError(
            message=f"SparseCross: a dense input has shape {list(dense.shape)}, expected (n, size)"
        )
    return len(dense), {i: row for i, row in enumerate(dense.tolist()) if row}


def _text(cross: Sequence[Any]) -> bytes:
    return b"_X_".join(v if isinstance(v, bytes) else str(v).encode() for v in cross)


def _hash(num_buckets: int, key: int | None, cross: Sequence[Any]) -> int:
    combined: Callable[[int, int], int] = _first_combined if key is None else hashes.combined64
    found = DEFAULT_HASH_KEY if key is None else key & _ALL
    for value in cross:
        number = hashes.fingerprint64(value) if isinstance(value, bytes) else value & _ALL
        found = combined(found, number)
    return found % (num_buckets or _MOST)


def _first_combined(a: int, b: int) -> int:
    """As fingerprints were combined at first; a is shifted as a signed number."""
    signed = a - (a >> 63 << 64)
    return (a ^ (b + 0x9E3779B97F4A7800 + (a << 10) + (signed >> 4))) & _ALL
