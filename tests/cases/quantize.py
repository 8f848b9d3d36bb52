"""Rows of QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear and of matrices of integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cases import bad, case, floats, integers
from cases.cast import FLOAT8, kind, nearest, number
from graphio.support import errors

INTEGERS = ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")
LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "uint16": (0, 65535),
    "int4": (-8, 7),
    "uint4": (0, 15),
    "int2": (-2, 1),
    "uint2": (0, 3),
}
X = np.concatenate([floats(2, 3, 4, seed=1, low=-9, high=9).ravel(), np.full(4, 2.5)])
X = np.concatenate([X, [-1.5, 0.5, 1.5, 1e9, -1e9, np.inf, -np.inf, 300]]).astype(np.float32)
X = X.reshape(3, 4, 3)


def positions(x: np.ndarray, scale: np.ndarray, axis: int, block: int) -> Iterator[tuple[Any, Any]]:
    """Each index of x with that of its scale."""
    for at in np.ndindex(*x.shape):
        if scale.size == 1:
            yield at, (0,) * scale.ndim
        elif block:
            yield at, tuple(i // block if a == axis % x.ndim else i for a, i in enumerate(at))
        else:
            yield at, (at[axis],)


def quantized(
    x: Any,
    scale: Any,
    zero: Any = None,
    to: str = "uint8",
    axis: int = 1,
    block: int = 0,
    saturate: bool = True,
) -> np.ndarray:
    """One element after the other, the quotient rounded to float32."""
    found = np.zeros(x.shape, kind(to))
    for at, where in positions(x, scale, axis, block):
        shift = 0 if zero is None else zero[where]
        ratio = np.float32(x[at]) / np.float32(scale[where])
        if scale.dtype == np.float16:
            ratio = np.float16(np.float32(np.float16(x[at])) / np.float32(scale[where]))
        if to in LIMITS:
            low, high = LIMITS[to]
            whole = 0.0 if np.isnan(ratio) else np.rint(np.float64(ratio)) + float(shift)
            found[at] = np.array(min(max(whole, low), high)).astype(kind(to))
        else:
            found[at] = nearest(np.array([ratio]), to, saturate)[0]
    return found


def dequantized(x: Any, scale: Any, zero: Any = None, axis: int = 1, block: int = 0) -> np.ndarray:
    found = np.zeros(x.shape, np.float32)
    for at, where in positions(x, scale, axis, block):
        shift = np.float32(0 if zero is None else zero[where])
        found[at] = (np.float32(x[at]) - shift) * np.float32(scale[where])
    return found


# ---- QuantizeLinear, DequantizeLinear ----

#: name, attributes, shape of the scales
GRIDS: list[tuple[str, dict[str, int], tuple[int, ...]]] = [
    ("one", {}, ()),
    ("one in a vector", {}, (1,)),
    ("an axis", {}, (4,)),
    ("the last axis", {"axis": -1}, (3,)),
    ("blocks", {"axis": 1, "block_size": 3}, (3, 2, 3)),
    ("blocks of the first axis", {"axis": -3, "block_size": 2}, (2, 4, 3)),
]
for _label, _attrs, _shape in GRIDS:
    _scale = floats(*_shape, seed=2, low=0.1, high=1.5).astype(np.float32)
    _grid = {"axis": _attrs.get("axis", 1), "block": _attrs.get("block_size", 0)}
    for _type in INTEGERS:
        _low, _high = LIMITS[_type]
        _zero = integers(*_shape, low=max(_low, -2), high=min(_high, 3) + 1, dtype="int64")
        _zero = np.asarray(_zero).astype(kind(_type))
        _q = integers(3, 4, 3, low=_low, high=_high + 1, seed=4).astype(kind(_type))
        with np.errstate(all="ignore"):
            case(
                "QuantizeLinear",
                [X, _scale, _zero],
                _attrs,
                version=28,
                label=f"{_label} {_type}",
                expect=[quantized(X, _scale, _zero, _type, **_grid)],
            )
            case(
                "QuantizeLinear",
                [X, _scale],
                {**_attrs, "output_dtype": number(_type)},
                version=28,
                label=f"{_label} {_type} by attribute",
                expect=[quantized(X, _scale, None, _type, **_grid)],
            )
        case(
            "DequantizeLinear",
            [_q, _scale, _zero],
            _attrs,
            version=28,
            label=f"{_label} {_type}",
            expect=[dequantized(_q, _scale, _zero, **_grid)],
        )
    for _type in (*FLOAT8, "float4e2m1"):
        _codes = (np.arange(36) * 7 % (16 if _type == "float4e2m1" else 256)).astype(np.uint8)
        _q = _codes.reshape(3, 4, 3).view(kind(_type))
        for _saturate in (True, False):
            with np.errstate(all="ignore"):
                _y = quantized(
                    X * 40,
                    _scale,
                    None,
                    _type,
                    **_grid,
                    saturate=_saturate or _type == "float4e2m1",
                )
            _all = {**_attrs, "output_dtype": number(_type), "saturate": int(_saturate)}
            case(
                "QuantizeLinear",
                [X * 40, _scale],
                _all,
                version=28,
                expect=[_y],
                label=f"{_label} {_type} {_saturate}",
            )
        case(
            "DequantizeLinear",
            [_q, _scale],
            _attrs,
            version=28,
            label=f"{_label} {_type}",
            expect=[dequantized(_q, _scale, **_grid)],
        )

_X = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 254.5, 255.5, np.nan, 0.0], np.float32)
case(
    "QuantizeLinear",
    [_X, np.float32(1)],
    version=28,
    label="ties",
    expect=[np.array([0, 2, 2, 0, 0, 254, 255, 0, 0], np.uint8)],
)
case(
    "QuantizeLinear",
    [_X, np.float32(1), np.uint8(3)],
    version=28,
    label="the zero point after rounding",
    expect=[np.array([3, 5, 5, 3, 1, 255, 255, 3, 3], np.uint8)],
)
case(
    "QuantizeLinear",
    [np.array([0.0, 1, -1], np.float32), np.float32(0), np.int8(1)],
    version=28,
    label="scale 0",
    expect=[np.array([1, 127, -128], np.int8)],
)
_INTS = np.array([[5, -7, 1000000]], np.int32)
case(
    "QuantizeLinear",
    [_INTS, np.float32(2), np.int8(0)],
    version=28,
    label="int32",
    expect=[np.array([[2, -4, 127]], np.int8)],
)
case(
    "DequantizeLinear",
    [_INTS, np.float32(0.5)],
    version=28,
    label="int32",
    expect=[np.array([[2.5, -3.5, 500000]], np.float32)],
)
_HALF = np.array([0.3, 1.0, 100.06, -3.0], np.float16)
case(
    "QuantizeLinear",
    [_HALF, np.float16(0.1)],
    {"output_dtype": 5},
    version=28,
    label="float16",
    expect=[quantized(_HALF, np.array(0.1, np.float16), None, "int16")],
)
_POWER = np.array([0.25, 8.0]).astype(kind("float8e8m0"))
_BLOCKS = np.array([[0.6, 1.2, -20.0, 100.0]], np.float32)
case(
    "QuantizeLinear",
    [_BLOCKS, _POWER.reshape(1, 2)],
    {"block_size": 2, "output_dtype": number("float4e2m1")},
    version=28,
    label="scales that are powers of two",
    expect=[np.array([[2, 4, -2, 6]]).astype(kind("float4e2m1"))],
)
case(
    "DequantizeLinear",
    [np.array([[2, 4, -2, 6]]).astype(kind("float4e2m1")), _POWER.reshape(1, 2)],
    {"block_size": 2},
    version=28,
    label="scales that are powers of two",
    expect=[np.array([[0.5, 1, -16, 48]], np.float32)],
)
case(
    "DequantizeLinear",
    [np.array([3, -5], np.int8), np.float32(0.1)],
    {"output_dtype": 10},
    version=28,
    label="to float16",
    expect=[np.array([0.3, -0.5], np.float16)],
)
case(
    "DequantizeLinear",
    [np.array([3, -5], np.int8), np.array(0.1).astype(kind("bfloat16"))],
    version=28,
    label="bfloat16",
    expect=[(np.array([3, -5]) * np.float32(0.10009765625)).astype(kind("bfloat16"))],
)
case(
    "QuantizeLinear",
    [np.array([10.0, 1.0], np.float32), np.float32(3)],
    {"precision": 10, "output_dtype": 19},
    version=28,
    label="precision",
    expect=[np.array([3.5, 0.3125]).astype(kind("float8e5m2"))],
)
for _shape in ((0,), (2, 0, 3), (0, 2)):
    _empty = np.zeros(_shape, np.float32)
    case(
        "QuantizeLinear",
        [_empty, np.float32(1)],
        version=28,
        label=f"empty {len(_shape)}",
        expect=[np.zeros(_shape, np.uint8)],
    )
case(
    "DequantizeLinear",
    [np.zeros((2, 0), np.int8), np.zeros((2, 0), np.float32)],
    {"block_size": 4},
    version=28,
    label="no blocks",
    expect=[np.zeros((2, 0), np.float32)],
)
case(
    "QuantizeLinear",
    [np.zeros((2, 0), np.float32), np.zeros(0, np.float32)],
    version=28,
    label="an empty axis",
    expect=[np.zeros((2, 0), np.uint8)],
)

_F = floats(2, 4).astype(np.float32)
_ONE = np.float32(1)
for _label, _inputs, _attrs, _words in (
    ("scales of another length", [_F, np.ones(3, np.float32)], {}, ["scale", "3"]),
    ("axis", [_F, np.ones(4, np.float32)], {"axis": 2}, ["axis 2", "rank 2"]),
    (
        "axis of the smallest integer",
        [_F, np.ones(4, np.float32)],
        {"axis": -(2**63)},
        ["axis", "rank 2"],
    ),
    ("a matrix of scales", [_F, np.ones((2, 2), np.float32)], {}, ["scale", "block"]),
    ("blocks", [_F, np.ones((2, 3), np.float32)], {"block_size": 2}, ["scale", "block_size 2"]),
    ("a large block", [_F, np.ones((2, 2), np.float32)], {"block_size": 2**63 - 1}, ["scale"]),
    (
        "a negative block",
        [_F, np.ones((2, 2), np.float32)],
        {"block_size": -2},
        ["block_size", "-2"],
    ),
    ("another zero point", [_F, np.ones(4, np.float32), np.zeros(2, np.uint8)], {}, ["zero point"]),
    ("the zero point's type", [_F, _ONE, np.uint8(0)], {"output_dtype": 3}, ["zero point", "int8"]),
    ("a wide output", [_F, _ONE], {"output_dtype": 7}, ["int64"]),
    ("a type of x", [_F.astype(np.int8), _ONE], {}, ["x is int8"]),
    ("a type of scales", [_F, np.int8(1)], {}, ["scale", "int8"]),
):
    bad(
        "QuantizeLinear",
        _inputs,
        _attrs,
        error=errors.InvalidArgumentError,
        words=_words,
        version=28,
        label=_label,
    )
for _label, _inputs, _attrs, _words in (
    ("x", [_F, _ONE], {}, ["x is float32"]),
    (
        "the zero point's type",
        [np.ones(2, np.int8), _ONE, np.uint8(0)],
        {},
        ["zero point", "uint8"],
    ),
    ("the output", [np.ones(2, np.int8), _ONE], {"output_dtype": 6}, ["int32"]),
    ("scales", [np.ones((2, 3), np.int8), np.ones(2, np.float32)], {}, ["scale", "2"]),
):
    bad(
        "DequantizeLinear",
        _inputs,
        _attrs,
        error=errors.InvalidArgumentError,
        words=_words,
        version=28,
        label=_label,
    )

# ---- DynamicQuantizeLinear ----


def dynamic(x: Any) -> tuple[np.ndarray, ...]:
    low, high = min(0.0, *x.ravel()), max(0.0, *x.ravel())
    scale = np.float32(np.float32(high) - np.float32(low)) / np.float32(255)
    zero = np.clip(np.rint(-np.float32(low) / scale), 0, 255)
    whole = np.clip(np.rint(x.astype(np.float32) / scale) + zero, 0, 255)
    return whole.astype(np.uint8), np.asarray(scale), np.asarray(zero.astype(np.uint8))


for _label, _x in (("both signs", _F), ("above", _F + 5), ("below", _F - 5)):
    case("DynamicQuantizeLinear", [_x], expect=dynamic(_x), label=_label)
case(
    "DynamicQuantizeLinear",
    [np.zeros(3, np.float32)],
    label="zeros",
    expect=[np.zeros(3, np.uint8), np.float32(0), np.uint8(0)],
)
case(
    "DynamicQuantizeLinear",
    [np.zeros((0, 2), np.float32)],
    label="empty",
    expect=[np.zeros((0, 2), np.uint8), np.float32(0), np.uint8(0)],
)

# ---- matrix multiplications ----


def _wide(x: Any, zero: Any, rows: bool) -> Any:
    zero = np.asarray(0 if zero is None else zero).astype(np.int64)
    if rows and zero.ndim == 1 and zero.size > 1:
        zero = zero[:, None]
    return x.astype(np.int64) - (zero.reshape(()) if zero.shape == (1,) else zero)


def matmul(a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> np.ndarray:
    return np.matmul(_wide(a, a_zero, True), _wide(b, b_zero, False)).astype(np.int32)


def byte(*shape: int, name: str, seed: int = 0) -> np.ndarray:
    low, high = LIMITS[name]
    return np.asarray(integers(*shape, low=low, high=high + 1, seed=seed, dtype=name))


for _left in ("int8", "uint8"):
    for _right in ("int8", "uint8"):
        _a, _b = byte(3, 5, name=_left), byte(5, 4, name=_right, seed=1)
        for _label, _za, _zb in (
            ("plain", None, None),
            ("a zero point", byte(name=_left, seed=3), None),
            ("only of b", None, byte(1, name=_right, seed=3)),
            ("rows and columns", byte(3, name=_left), byte(4, name=_right)),
            ("rows and columns of matrices", byte(3, 1, name=_left), byte(1, 4, name=_right)),
        ):
            case(
                "MatMulInteger",
                [_a, _b, _za, _zb],
                expect=matmul,
                label=f"{_left} {_right} {_label}",
            )
_A, _B = byte(2, 1, 3, 40, name="uint8"), byte(2, 40, 4, name="int8", seed=1)
case(
    "MatMulInteger",
    [_A, _B, byte(2, 1, 3, 1, name="uint8"), byte(2, 1, 4, name="int8")],
    expect=matmul,
    label="batches",
)
case(
    "MatMulInteger",
    [_A, _B, byte(3, name="uint8"), byte(4, name="int8")],
    expect=matmul,
    label="vectors for batches",
)
case(
    "MatMulInteger",
    [byte(5, name="uint8"), byte(5, name="uint8", seed=2), np.uint8(7)],
    expect=matmul,
    label="vectors",
)
case(
    "MatMulInteger",
    [np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.int8), np.uint8(7)],
    expect=matmul,
    label="K 0",
)
case(
    "MatMulInteger",
    [np.zeros((0, 2), np.uint8), np.zeros((2, 3), np.int8)],
    expect=matmul,
    label="no rows",
)


def multiplied(
    a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any
) -> np.ndarray:
    kept = np.asarray(y_scale).dtype
    left = np.asarray(a_scale)
    left = left[:, None] if left.ndim == 1 and left.size > 1 else left
    factor = (np.multiply(left, b_scale, dtype=kept) / y_scale).astype(kept)
    wide = matmul(a, b, a_zero, b_zero).astype(np.float64) * factor.astype(np.float64)
    low, high = LIMITS[str(y_zero.dtype)]
    return np.clip(np.rint(wide) + int(y_zero), low, high).astype(y_zero.dtype)


for _type in ("int8", "uint8"):
    for _float in (np.float32, np.float16):
        _a, _b = byte(3, 5, name=_type), byte(5, 4, name=_type, seed=1)
        for _label, _rows, _columns in (
            ("one", (), ()),
            ("vectors", (3,), (4,)),
            ("matrices", (3, 1), (1, 4)),
        ):
            _row: list[Any] = [
                _a,
                floats(*_rows, low=0.01, high=0.1).astype(_float),
                byte(*_rows, name=_type),
                _b,
                floats(*_columns, low=0.01, high=0.1).astype(_float),
                byte(*_columns, name=_type),
                _float(0.5),
                kind(_type).type(3),
            ]
            case(
                "QLinearMatMul",
                _row,
                expect=[multiplied(*_row)],
                version=21,
                label=f"{_type} {_float.__name__} {_label}",
            )
_row = [
    byte(2, 1, 3, 5, name="uint8"),
    floats(2, 1, 3, 1, low=0.01, high=0.1).astype(np.float32),
    byte(2, 1, 3, 1, name="uint8"),
    byte(4, 5, 2, name="int8"),
    floats(4, 1, 2, low=0.01, high=0.1).astype(np.float32),
    byte(4, 1, 2, name="int8"),
    np.float32(0.3),
    np.int8(-4),
]
case("QLinearMatMul", _row, expect=[multiplied(*_row)], version=21, label="batches")

_U, _V = np.ones((2, 3), np.uint8), np.ones((3, 2), np.uint8)
for _label, _inputs, _error, _words in (
    ("types", [_U.astype(np.int16), _V], errors.UnimplementedError, ["int16"]),
    ("shapes", [_U, _U], errors.InvalidArgumentError, ["3", "2"]),
    (
        "zero points of rows",
        [_U, _V, np.ones(3, np.uint8)],
        errors.InvalidArgumentError,
        ["zero point of a", "row"],
    ),
    (
        "zero points of columns",
        [_U, _V, None, np.ones(3, np.uint8)],
        errors.InvalidArgumentError,
        ["zero point of b", "column"],
    ),
    (
        "a zero point's type",
        [_U, _V, np.int8(1)],
        errors.InvalidArgumentError,
        ["zero point of a", "int8"],
    ),
):
    bad("MatMulInteger", _inputs, error=_error, words=_words, label=_label)
for _label, _at, _value, _words in (
    ("scales of y", 6, np.ones(2, np.float32), ["y", "one number"]),
    ("zero point of y", 7, np.int16(0), ["zero point of y", "int16"]),
    ("scales of rows", 1, np.ones(4, np.float32), ["scale of a", "row"]),
    ("types of scales", 4, np.float16(1), ["float16"]),
):
    _row = [_U, _ONE, np.uint8(0), _V, _ONE, np.uint8(0), _ONE, np.uint8(0)]
    _row[_at] = _value
    bad(
        "QLinearMatMul",
        _row,
        error=errors.InvalidArgumentError,
        words=_words,
        version=21,
        label=_label,
    )
