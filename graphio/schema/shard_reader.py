"""Reading the data files of a checkpoint: each byte once, straight into the arrays, and checked
while the processor's cache still holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, small_types, tensors
from graphio.schema.checkpoint_pb2 import CheckpointVariable
from graphio.schema.crc32c import crc32c
from graphio.storage.stores import StoredFile
from graphio.support import buffers, errors, progress

Array = np.ndarray[Any, Any]
_SMALL = 64  # variables of less than a piece divided by this are read together


def read_shard(
    file: StoredFile,
    rows: Sequence[CheckpointVariable],
    into: Mapping[str, Array] | None,
    report: Callable[[int], Any] = progress.untold,
) -> Iterator[tuple[str, Array]]:
    """The variables of a data file with their values; all of them are checked.

    Args:
        file: whose header was checked.
        rows: its variables in the order of their bytes, which follow each other without a gap.
        into: arrays by name that values are read into, contiguous, of the stored dtype and as
            many elements; the other variables are checked only. None: all get new arrays.
        report: is called with each number of bytes that were read.

    Raises:
        DataLossError: a checksum does not match, or bytes do not fit dtype and shape.
    """
    small: list[CheckpointVariable] = []
    size = 0
    for row in rows:
        large = row.nbytes >= file.piece // _SMALL
        if small and (large or size + row.nbytes > file.piece):
            yield from _read_together(file, small, size, into)
            report(size)
            small, size = [], 0
        if not large:
            small.append(row)
            size += row.nbytes
        elif into is None or row.name in into:
            yield row.name, _read_alone(file, row, None if into is None else into[row.name], report)
        else:
            _check_alone(file, row, report)
    if small:
        yield from _read_together(file, small, size, into)
        report(size)


def _read_alone(
    file: StoredFile, row: CheckpointVariable, target: Array | None, report: Callable[[int], Any]
) -> Array:
    kind = dtypes.of_number(row.dtype)
    plain = tensors.is_plain(kind)
    if not plain:
        array = np.empty(row.nbytes, np.uint8)
    elif target is None:
        array = buffers.uncleared(row.dims, small_types.numpy_dtype(kind))
    else:
        array = target
    data = tensors.memory(array)
    _fill(file, row, data, report)
    return array if plain else _put(tensors.decode(row.dtype, row.dims, data), target)


def _check_alone(file: StoredFile, row: CheckpointVariable, report: Callable[[int], Any]) -> None:
    if tensors.is_plain(dtypes.of_number(row.dtype)):
        _fill(file, row, memoryview(bytearray(file.piece)), report)
    else:
        _read_alone(file, row, None, report)


def _fill(
    file: StoredFile, row: CheckpointVariable, data: memoryview, report: Callable[[int], Any]
) -> None:
    """Reads and checks a variable; data has space for all of it, or for a piece at a time."""
    kind, crc, valid = dtypes.of_number(row.dtype), 0, True
    for at in range(0, row.nbytes, file.piece):
        start = at % len(data)
        piece = data[start : start + min(file.piece, row.nbytes - at)]
        file.read_into(row.offset + at, piece)
        crc = crc32c(piece, crc)
        valid = valid and tensors.are_values(kind, piece)
        report(len(piece))
    _check(row, crc)
    if not valid:
        raise tensors.no_values(kind)


def _read_together(
    file: StoredFile,
    rows: Sequence[CheckpointVariable],
    size: int,
    into: Mapping[str, Array] | None,
) -> Iterator[tuple[str, Array]]:
    data = memoryview(bytearray(size))
    start = rows[0].offset
    file.read_into(start, data)
    for row in rows:
        part = data[row.offset - start : row.offset - start + row.nbytes]
        _check(row, crc32c(part))
        array = tensors.decode(row.dtype, row.dims, part)
        if into is None or row.name in into:
            yield row.name, _put(array, None if into is None else into[row.name])


def _check(row: CheckpointVariable, crc: int) -> None:
    if crc != row.crc32c:
        raise errors.DataLossError(
            message=f"the checksum of variable '{row.name}' in the checkpoint does not match"
        )


def _put(array: Array, target: Array | None) -> Array:
    """A decoded value in the array that it is meant for, or in a new one."""
    if target is None:
        return np.array(array)
    target.reshape(-1)[:] = array.reshape(-1)
    return target
