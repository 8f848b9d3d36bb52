"""Rows of Cast, CastLike and BitCast between all types of numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from cases import bad, case
from graphio.schema import dtypes, small_types
from graphio.support import errors

NUMBERS = [r.name for r in dtypes.TABLE if r.name not in ("string", "complex64", "complex128")]
FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
PACKED = ("int4", "uint4", "int2", "uint2")
VALUES = np.array(
    [0, -0.0, 1, -1, 2, 3, -2, -3, 7, -8, 0.3, -1.7, 5.5, 100.25, -127.5, 240, 447, 448, 463, 464.5]
    + [57344, 61439, 61441, -61441, 1e-3, 2.0**-9, 2.0**-10, 1.1 * 2.0**-10, 3e-8, 1e6, -1e6, 3e9]
    + [1 + 2.0**-4, 1 + 2.0**-4 + 2.0**-40, np.inf, -np.inf, np.nan]
)  # ties, limits, denormals; one tie that float32 alone would hide


def number(name: str) -> int:
    return dtypes.BY_NAME[name].number


def kind(name: str) -> np.dtype[Any]:
    return small_types.numpy_dtype(dtypes.BY_NAME[name])


def source(name: str) -> np.ndarray:
    """Every code of the types of 8 bits or less, VALUES in the others."""
    bits = dtypes.BY_NAME[name].bits
    if name == "bool":
        return np.array([True, False])
    if bits <= 8:
        return np.arange(1 << bits, dtype=np.uint8).view(kind(name))
    with np.errstate(all="ignore"):
        if kind(name).kind in "iu":
            return VALUES[np.isfinite(VALUES)].astype(np.int64).astype(kind(name))
        return VALUES.astype(kind(name))


def _table(name: str) -> np.ndarray:
    """The finite numbers of a small float, ascending."""
    row = dtypes.BY_NAME[name]
    codes = np.arange(1 << row.bits, dtype=np.uint8).view(kind(name)).astype(np.float64)
    return np.unique(codes[np.isfinite(codes)])


def nearest(x: np.ndarray, name: str, saturate: bool) -> np.ndarray:
    """By looking for the nearest in the list of all numbers; a tie goes to the even code."""
    table = _table(name)
    x = x.astype(np.float64)
    top = table[-1] + (table[-1] - table[-2]) / 2  # from here on it is too large
    at = np.clip(np.searchsorted(table, np.nan_to_num(x)), 1, len(table) - 1)
    low, high = table[at - 1], table[at]
    even = low.astype(kind(name)).view(np.uint8) % 2 == 0
    middle = (low + high) / 2
    found = np.where((x > middle) | ((x == middle) & ~even), high, low)
    found = np.where(x >= table[-1], table[-1], np.where(x <= table[0], table[0], found))
    if not saturate:
        over = np.inf if name == "float8e5m2" else np.nan
        odd = table[-1].astype(kind(name)).view(np.uint8) % 2 == 1
        beyond = (np.abs(x) >= top) if odd else (np.abs(x) > top)
        found = np.where(beyond, np.copysign(over, x), found)
    lost = 0.0 if name == "float4e2m1" else np.nan
    return np.where(np.isnan(x), lost, found).astype(kind(name))


def as_integers(x: np.ndarray, name: str) -> np.ndarray:
    """Truncated and limited to int32 for 4 and 2 bits, whose low bits stay."""
    row = dtypes.BY_NAME[name]
    limits = np.iinfo(np.int32) if row.bits < 8 else np.iinfo(kind(name))
    if x.dtype.kind == "f":
        whole = np.trunc(np.nan_to_num(x.astype(np.float64), posinf=1e300, neginf=-1e300))
        exact = [min(max(int(v), int(limits.min)), int(limits.max)) for v in whole.ravel()]
    else:
        exact = [int(v) for v in x.ravel()]
    wrapped = [v % (1 << row.bits) for v in exact]
    if name.startswith("int"):
        wrapped = [v - (1 << row.bits) if v >> (row.bits - 1) else v for v in wrapped]
    return (
        np.array(wrapped, object)
        .astype(np.int64 if name != "uint64" else np.uint64)
        .astype(kind(name))
    )


def expected(x: np.ndarray, name: str, saturate: bool = True) -> np.ndarray:
    """x in another type; see docs/numerics.md."""
    if dtypes.of_numpy(x.dtype).number in dtypes.ML_DTYPES:
        x = x.astype(np.int8 if "int" in x.dtype.name else np.float32)
    if name == "bool":
        return np.asarray(x != 0)
    if name in FLOAT8 or name == "float4e2m1":
        return nearest(x, name, saturate)
    if name.startswith(("int", "uint")):
        return as_integers(x, name)
    if name == "bfloat16":  # ml_dtypes goes through float32
        return np.array([_once(v) for v in x.astype(np.float64)]).astype(kind(name))
    with np.errstate(all="ignore"):
        return x.astype(kind(name))


def _once(v: float) -> float:
    """Rounded to the 8 bits of bfloat16 in one step; none of VALUES is among its denormals."""
    if not np.isfinite(v) or v == 0:
        return v
    unit = 2.0 ** (np.floor(np.log2(abs(v))) - 7)
    return float(np.rint(v / unit) * unit)


for _from in NUMBERS:
    _x = source(_from)
    for _to in NUMBERS:
        if _to == "float8e8m0" or _from == _to:
            continue
        with np.errstate(all="ignore"):
            case(
                "Cast",
                [_x],
                {"to": number(_to)},
                expect=[expected(_x, _to)],
                version=28,
                dtype="float64" if _to == "float64" else None,
                label=f"{_from} to {_to}",
            )
for _from in ("float32", "float64", "float16"):
    for _to in FLOAT8:
        _x = source(_from)
        _like = np.zeros(2, kind(_to))
        _y = expected(_x, _to, saturate=False)
        _attrs = {"saturate": 0}
        case(
            "Cast",
            [_x],
            {"to": number(_to), **_attrs},
            expect=[_y],
            version=28,
            label=f"{_from} to {_to} unlimited",
        )
        case(
            "CastLike",
            [_x, _like],
            _attrs,
            expect=[_y],
            version=28,
            label=f"{_from} to {_to} unlimited",
        )

# Powers of two: exponents of what must come out, None for NaN.
_POWERS = np.array(
    [1, 1.1, 1.5, 1.9, 2, 0.75, 2.0**-126, 1.5 * 2.0**-127, 2.0**127, 1.5 * 2.0**127]
)
_EDGES = np.array([0, 2.0**-130, np.inf, np.nan, 1.2 * 2.0**127])
_ROUNDED: dict[str, list[int | None]] = {
    "up": [0, 1, 1, 1, 1, 0, -126, -126, 127, 127],
    "down": [0, 0, 0, 0, 1, -1, -126, -127, 127, 127],
    "nearest": [0, 0, 1, 1, 1, 0, -126, -126, 127, 127],
}


def powers(exponents: list[int | None]) -> np.ndarray:
    return np.array([np.nan if e is None else 2.0**e for e in exponents]).astype(kind("float8e8m0"))


for _mode, _exponents in _ROUNDED.items():
    for _saturate in (1, 0):
        _attrs = {"to": 24, "round_mode": _mode, "saturate": _saturate}
        _expected = list(_exponents)
        if not _saturate and _mode != "down":
            _expected[-1] = None
        _ends: list[int | None] = [-127, -127, 127, None, 127] if _saturate else [None] * 4 + [127]
        if not _saturate and _mode == "up":
            _ends[-1] = None
        for _type in ("float32", "float64"):
            _x = np.concatenate([_POWERS, _EDGES]).astype(_type)
            case(
                "Cast",
                [_x],
                _attrs,
                expect=[powers(_expected + _ends)],
                version=28,
                label=f"{_type} {_mode} {_saturate}",
            )
for _type in ("float64", "float16", "int32", "bool", "bfloat16", "float8e4m3fn"):
    case(
        "Cast",
        [np.arange(256, dtype=np.uint8).view(kind("float8e8m0"))],
        {"to": number(_type)},
        expect=[expected(np.arange(256, dtype=np.uint8).view(kind("float8e8m0")), _type)],
        version=28,
        dtype="float64" if _type == "float64" else None,
        label=f"powers to {_type}",
    )
case(
    "Cast",
    [np.zeros((0, 3), np.float32)],
    {"to": 22},
    expect=[np.zeros((0, 3), ml_dtypes.int4)],
    version=28,
    label="empty",
)
case(
    "Cast",
    [np.float32(3)],
    {"to": 25},
    expect=[np.array(3, ml_dtypes.uint2)],
    version=28,
    label="scalar",
)
case(
    "CastLike",
    [np.array([1.5, -9.0]), np.zeros(3, ml_dtypes.int4)],
    expect=[np.array([1, 7], ml_dtypes.int4)],
    version=28,
    label="int4",
)

# ---- BitCast ----

_BITS = np.array([[0, 1, 2], [0x3F800000, 0xFF800000, 0x80000000]], np.uint32)
case("BitCast", [_BITS], {"to": 1}, expect=[_BITS.view(np.float32)], version=26, label="to float32")
case(
    "BitCast",
    [_BITS.view(np.float32)],
    {"to": 6},
    expect=[_BITS.view(np.int32)],
    version=26,
    label="to int32",
)
for _from, _to in (
    ("float64", "uint64"),
    ("int64", "float64"),
    ("float16", "bfloat16"),
    ("uint16", "float16"),
    ("uint8", "float8e5m2"),
    ("float8e4m3fn", "int8"),
    ("int4", "float4e2m1"),
    ("uint4", "int4"),
    ("float4e2m1", "uint4"),
    ("int2", "uint2"),
    ("bool", "uint8"),
    ("float8e8m0", "uint8"),
):
    _x = source(_from)
    _x = _x[:8] if _from == "int64" else _x[np.isfinite(_x.astype(np.float64))]
    case(
        "BitCast",
        [_x],
        {"to": number(_to)},
        expect=[_x.view(kind(_to))],
        version=26,
        label=f"{_from} to {_to}",
    )
case(
    "BitCast",
    [np.array([0, 1, 2, 255], np.uint8)],
    {"to": 9},
    expect=[np.array([False, True, True, True])],
    version=26,
    label="to bool",
)
case(
    "BitCast",
    [np.zeros((2, 0), np.int16)],
    {"to": 10},
    expect=[np.zeros((2, 0), np.float16)],
    version=26,
    label="empty",
)

bad(
    "Cast",
    [np.ones(2, np.float32)],
    {"to": 24, "round_mode": "odd"},
    error=errors.InvalidArgumentError,
    words=["round_mode", "odd", "nearest"],
    version=28,
    label="round mode",
)
bad(
    "Cast",
    [np.ones(2, np.float32)],
    {"to": 77},
    error=errors.UnimplementedError,
    words=["77"],
    version=28,
    label="unknown type",
)
bad(
    "BitCast",
    [np.ones(2, np.float32)],
    {"to": 7},
    error=errors.InvalidArgumentError,
    words=["float32", "int64", "width"],
    version=26,
    label="other width",
)
bad(
    "BitCast",
    [np.ones(2, ml_dtypes.int4)],
    {"to": 25},
    error=errors.InvalidArgumentError,
    words=["int4", "uint2"],
    version=26,
    label="packed of another width",
)
bad(
    "BitCast",
    [np.ones(2, np.int64)],
    {"to": 8},
    error=errors.InvalidArgumentError,
    words=["string"],
    version=26,
    label="to string",
)
