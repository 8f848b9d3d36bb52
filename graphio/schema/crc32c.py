"""CRC-32C (Castagnoli): cinfer's where it is built, else tables in numpy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.storage import native

POLYNOMIAL = 0x82F63B78
LANES = 1024  # blocks that numpy works on side by side


def crc32c(data: Any, crc: int = 0) -> int:
    """The checksum of a bytes-like object, going on from crc."""
    return _implementation()(data, crc)


@functools.cache
def _implementation() -> Callable[[Any, int], int]:
    found = native.functions()
    return crc32c_numpy if found is None else found.crc32c


@functools.cache
def _table() -> np.ndarray[Any, np.dtype[np.uint32]]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(POLYNOMIAL), table >> 1)
    return table.astype(np.uint32)


def crc32c_numpy(data: Any, crc: int = 0) -> int:
    """The same in numpy: long data is cut into lanes whose checksums are then combined."""
    view = np.frombuffer(data, np.uint8)
    table = _table()
    lane = len(view) // LANES
    state = np.uint32(crc ^ 0xFFFFFFFF)
    done = 0
    if lane >= 64:
        rows = view[: lane * LANES].reshape(LANES, lane)
        states = np.zeros(LANES, np.uint32)
        states[0] = state
        for column in rows.T:
            states = table[(states ^ column) & 0xFF] ^ (states >> np.uint32(8))
        shift = _shift_by(lane)
        total = int(states[0])
        for part in states[1:].tolist():
            total = _apply(shift, total) ^ part
        state, done = np.uint32(total), lane * LANES
    value, rest = int(state), table.tolist()
    for byte in view[done:].tolist():
        value = rest[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _apply(matrix: list[int], vector: int) -> int:
    result, i = 0, 0
    while vector:
        if vector & 1:
            result ^= matrix[i]
        vector >>= 1
        i += 1
    return result


def _shift_by(nbytes: int) -> list[int]:
    """The matrix over GF(2) that appends nbytes zero bytes to a state, by repeated squaring."""
    power = [POLYNOMIAL, *(1 << i for i in range(31))]
    result = [1 << i for i in range(32)]
    bits = nbytes * 8
    while bits:
        if bits & 1:
            result = [_apply(power, column) for column in result]
        power = [_apply(power, column) for column in power]
        bits >>= 1
    return result
