"""Conversions to and from the element types that numpy itself lacks, and to powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Array
from graphio.schema import dtypes, small_types

ROUND_MODES = ("up", "down", "nearest")
_POWERS = 24  # float8e8m0
_MOST = {17: 448.0, 18: 240.0, 19: 57344.0, 20: 57344.0}  # float8, which may saturate


def is_small(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is one of ml_dtypes'."""
    return dtypes.of_numpy(dtype).number in dtypes.ML_DTYPES


def widen(x: Array) -> Array:
    """The same numbers in a dtype of numpy's own: floats in float32, integers in 8 bits."""
    row = dtypes.of_numpy(x.dtype)
    if row.number not in dtypes.ML_DTYPES:
        return x
    if row.name.startswith("int"):
        return x.astype(np.int8)
    return x.astype(np.uint8 if row.name.startswith("uint") else np.float32)


def narrow(x: Array, number: int, saturate: bool = True, round_mode: str = "up") -> Array:
    """Numbers of numpy's own dtypes in one of ml_dtypes'.

    Args:
        x: float32, float64, or for the 4- and 2-bit integers int32, whose low bits are kept.
        number: of the element type.
        saturate: float8 beyond the largest number: that one, else infinity or NaN.
        round_mode: to float8e8m0, one of ROUND_MODES.
    """
    row = dtypes.of_number(number)
    kind = small_types.numpy_dtype(row)
    if row.name.startswith(("int", "uint")):
        return np.asarray((x & ((1 << row.bits) - 1)).astype(np.uint8)).view(kind)
    x = to_odd(x)
    if number == _POWERS:
        return _to_power(x, saturate, round_mode).view(kind)
    if number in _MOST and saturate:
        x = np.clip(x, np.float32(-_MOST[number]), np.float32(_MOST[number]))
    return x.astype(kind)


def to_odd(x: Array) -> Array:
    """float32, towards zero with the last bit set where anything is lost: fit to round again."""
    near = np.asarray(x.astype(np.float32))
    if x.dtype == np.float32:
        return near
    lost = (near.astype(np.float64) != x) & np.isfinite(near)
    bits = near.view(np.uint32) - (lost & (np.abs(near.astype(np.float64)) > np.abs(x)))
    return np.asarray(np.where(lost, bits | 1, bits).astype(np.uint32)).view(np.float32)


def _to_power(x: Array, saturate: bool, round_mode: str) -> Array:
    """Codes of float8e8m0."""
    bits = x.view(np.uint32)
    code = bits >> 23
    fraction = np.where(code == 0, (bits & 0x3FFFFF) << 1, bits & 0x7FFFFF)
    from_here = {"up": 1, "down": 0x800000, "nearest": 0x400000}[round_mode]
    code = np.minimum(code + (fraction >= from_here), 0xFE if saturate else 0xFF)
    code = np.where(x < 2.0**-127, 0 if saturate else 0xFF, code)
    code = np.where(np.isinf(x) & (not saturate), 0xFF, code)
    return np.asarray(np.where(np.isnan(x) | (x < 0), 0xFF, code).astype(np.uint8))
