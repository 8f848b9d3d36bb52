"""Reading the data files of a checkpoint: each byte once, straight into the arrays, and checked
while the processor's cache still holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, errors, small_types, tensors
from graphio.schema.checkpoint_pb2 import CheckpointVariable
from graphio.schema.crc32c import crc32c
from graphio.schema.stores import StoredFile

Array = np.ndarray[Any, Any]
_SMALL = 8  # variables of less than a piece divided by this are read together


def read_shard(
    file: StoredFile, rows: Sequence[CheckpointVariable], into: Mapping[str, Array]
) -> Iterator[tuple[str, Array]]:
    """The variables of a data file with their values.

    Args:
        file: whose header was checked.
        rows: its variables in the order of their bytes, which follow each other without a gap.
        into: arrays by name that values are read into, contiguous, of the stored dtype and as
            many elements; the other values get arrays of their own.

    Raises:
        DataLossError: a checksum does not match, or bytes do not fit dtype and shape.
    """
    small: list[CheckpointVariable] = []
    size = 0
    for row in rows:
        if small and size + row.nbytes > file.piece:
            yield from _read_together(file, small, size, into)
            small, size = [], 0
        if row.nbytes < file.piece // _SMALL:
            small.append(row)
            size += row.nbytes
            continue
        if small:
            yield from _read_together(file, small, size, into)
            small, size = [], 0
        yield row.name, _read_alone(file, row, into.get(row.name))
    if small:
        yield from _read_together(file, small, size, into)


def _read_alone(file: StoredFile, row: CheckpointVariable, target: Array | None) -> Array:
    kind = dtypes.of_number(row.dtype)
    plain = tensors.is_plain(kind)
    array = np.empty(row.dims, small_types.numpy_dtype(kind)) if plain else np.empty(0)
    if plain and target is not None:
        array = target
    data = tensors.memory(array if plain else np.empty(row.nbytes, np.uint8))
    crc = 0
    for at in range(0, row.nbytes, file.piece):
        piece = data[at : at + file.piece]
        file.read_into(row.offset + at, piece)
        crc = crc32c(piece, crc)
    _check(row, crc)
    if plain:
        tensors.check_values(kind, array)
        return array
    return _put(tensors.decode(row.dtype, row.dims, data), target)


def _read_together(
    file: StoredFile, rows: Sequence[CheckpointVariable], size: int, into: Mapping[str, Array]
) -> Iterator[tuple[str, Array]]:
    data = memoryview(bytearray(size))
    start = rows[0].offset
    file.read_into(start, data)
    for row in rows:
        part = data[row.offset - start : row.offset - start + row.nbytes]
        _check(row, crc32c(part))
        yield row.name, _put(tensors.decode(row.dtype, row.dims, part), into.get(row.name))


def _check(row: CheckpointVariable, crc: int) -> None:
    if crc != row.crc32c:
        raise errors.DataLossError(
            message=f"the checksum of variable '{row.name}' in the checkpoint does not match"
        )


def _put(array: Array, target: Array | None) -> Array:
    """A decoded value in the array that it is meant for, or in one of its own."""
    if target is None:
        return np.array(array)
    target.reshape(-1)[:] = array.reshape(-1)
    return target
