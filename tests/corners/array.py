"""Shapes, parts, indices, types."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from corners import D, F, corner, numbers, ones

H = np.float16
STRINGS = np.array([b"a", b"", b"b"], object)

# ---- absent inputs, and those that say nothing new ----
corner("Squeeze", ones(1, 2, 1), None)
corner("Split", numbers(4), None, outputs=[F, F])
corner("Slice", numbers(3, 4), [0, 1], [2, 4], None, [1, 2])
corner("Slice", numbers(3, 4), [0, 1], [2, 4], [0, 1], None)
corner("Slice", numbers(3, 4), [0, 1], [2, 4], None)
corner("Pad", numbers(3, 4), [1, 1], None, [1])
corner("Pad", numbers(3, 4), [1, 1, 0, 2], None, None)
corner("Clip", numbers(5), None, None)
corner("Clip", numbers(5, of=D), None, ones(of=D))
corner("Clip", numbers(500, of=D), np.array(-1.0), None)
corner("ReduceSum", numbers(3, 4), None)
corner("Trilu", numbers(3, 4), None)
corner("Shape", numbers(2, 3), outputs=[np.int64], start=7)
corner("Flatten", numbers(), axis=1)
corner("Flatten", numbers(), axis=0)
corner("Transpose", numbers(0, 3), perm=[1, 0])
corner("Concat", numbers(0, 3), numbers(2, 3), axis=0)
corner("Concat", STRINGS, STRINGS, axis=0, outputs=[object])
corner("Expand", STRINGS, [2, 3], outputs=[object])
corner("Tile", STRINGS, [2], outputs=[object])
corner("Tile", numbers(0, 2), [3, 2**40])
# ---- numbers that are made ----
for first, last, step in ((0, 5, -1), (5, 0, 1), (5, 0, -2), (0, 5, 2), (0, 0, 1)):
    values = [np.array(v, np.int64) for v in (first, last, step)]
    corner("Range", *values)
    corner("Range", *(v.astype(D) for v in values))
    if step > 0:
        corner("Range", *(v.astype(np.uint64) for v in values))
        corner("Range", *(v.astype(np.uint8) for v in values))
for dtype in (D, F, np.uint8):
    corner("OneHot", np.array([0, 2, 5, 1], dtype), np.array(3, dtype), ones(2), outputs=[F])
corner("OneHot", np.array([-1.5, 2.0, np.nan, 1e30], D), np.array(3.9, F), numbers(2), outputs=[F])
corner("ConstantOfShape", [2, 3], outputs=[np.float16], value=ones(1, of=H))
# ---- indices ----
corner("Gather", numbers(3, 0), [1, 2])
corner("Gather", numbers(3, 4), np.zeros((0,), np.int64))
corner("GatherND", numbers(3, 0), np.array([[1], [2]]))
corner("GatherND", numbers(3), np.zeros((2, 0), np.int64))
corner("ScatterND", numbers(3, 0), np.array([[1], [2]]), numbers(2, 0))
corner("graphio.ScatterSum", np.array([1, 0]), numbers(2, 0), np.array(3), outputs=[F])
corner("ScatterElements", numbers(3), np.array([-1, 0]), numbers(2), axis=0)
corner("TensorScatter", numbers(2, 4, 3), numbers(2, 2, 3), np.array([3, -1]), mode="circular")
corner("TensorScatter", numbers(0, 4, 3), numbers(0, 2, 3), np.zeros(0, np.int64))
corner("Compress", numbers(3, 2), np.zeros(0, bool), axis=0)
corner("EyeLike", numbers(3, 2), k=-1, dtype=7, outputs=[np.int64])
corner("TopK", numbers(2, 5, of=H), [2], outputs=[H, np.int64])
corner("TopK", numbers(2, 5000), [3], outputs=[F, np.int64])
corner("TopK", numbers(2, 5), [0], outputs=[F, np.int64])
for dtype in (
    np.int32,
    np.uint32,
    np.int64,
    np.uint64,
    np.int16,
    np.uint16,
    H,
    bool,
    object,
    np.complex64,
):
    x = np.array([0, 3, 0, 5])
    given = np.array([b"", b"a", b"", b"b"], object) if dtype is object else x.astype(dtype)
    corner("NonZero", given, outputs=[np.int64])
corner("NonZero", ones(), outputs=[np.int64])
corner("NonZero", np.zeros((), F), outputs=[np.int64])
for small in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu", "bfloat16"):
    dtype = np.dtype(getattr(ml_dtypes, small))
    codes = np.arange(256, dtype=np.uint8 if dtype.itemsize == 1 else np.uint16) << 8 * (
        dtype.itemsize - 1
    )
    corner("NonZero", codes.view(dtype), outputs=[np.int64])
corner("NonZero", np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn), outputs=[np.int64])
for dtype in (H, np.int8, D, bool):
    corner("Unique", np.array([1, 0, 1, 1]).astype(dtype), sorted=1)
for dtype in (F, D, np.int32, np.uint8):
    corner("ArgMax", numbers(0, 3, of=dtype), axis=1, outputs=[np.int64])
    corner("ArgMin", numbers(3, 300, 2, of=dtype), axis=1, select_last_index=1, outputs=[np.int64])
    corner("ArgMax", numbers(2, 3, 70000, of=dtype)[:, :, ::500].copy(), axis=0, outputs=[np.int64])
    corner("CumSum", numbers(3, 4, of=dtype), np.array(0), exclusive=1, reverse=1)
corner("ArgMax", numbers(100000), axis=0, outputs=[np.int64])
for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
    wide = np.random.RandomState(3).randint(0, 3, (3, 700)).astype(dtype)
    for last in (0, 1):
        corner("ArgMax", wide, axis=1, select_last_index=last, outputs=[np.int64])
        corner("ArgMin", wide, axis=0, select_last_index=last, outputs=[np.int64])
# ---- types ----
for dtype in (H, D):
    corner("ArgMax", numbers(3, 4, of=dtype), outputs=[np.int64])
    corner("IsNaN", numbers(3, 4, of=dtype), outputs=[bool])
    corner("Equal", numbers(4, of=dtype), numbers(4, of=dtype), outputs=[bool])
    corner(
        "Where",
        np.array([True, False]),
        numbers(2, of=dtype),
        numbers(2, of=dtype),
        outputs=[dtype],
    )
corner("Cast", np.array([1e300, -1e300, np.nan, np.inf, 0.1], D), to=10, outputs=[H])
corner("Cast", np.array([1e300, -1e300, np.nan, np.inf, 0.1], D), to=1, outputs=[F])
corner("BitCast", np.array([0, 1, 0], np.uint8), to=9, outputs=[bool])
corner("BitCast", np.array([0, 1, 0], bool), to=9, outputs=[bool])
corner("BitCast", np.array([0, 1, 0], bool), to=2, outputs=[np.uint8])
corner("CastLike", numbers(3), ones(1, of=D), outputs=[D])
# ---- sums of nothing, and of much ----
for op in (
    "ReduceSum",
    "ReduceMax",
    "ReduceMean",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceProd",
    "ReduceL1",
):
    corner(op, numbers(2, 0, 3), [2])
    corner(op, numbers(70000), [0], keepdims=0)
    corner(op, numbers(2, 70000), [0], keepdims=0)
    corner(op, numbers(2, 40000, of=D), [1])
    corner(op, numbers(300, 300, of=D), [0])
for dtype in (np.int32, np.int64, np.uint8, np.int16, np.uint32, np.uint64, np.int8, np.uint16):
    corner("ReduceSum", numbers(3, 40000, of=dtype), [0])
    corner("ReduceMax", numbers(300, 300, of=dtype), [0])
    corner("ReduceMin", numbers(40000, 3, of=dtype), [0])
corner("ReduceMax", np.array([[True, False], [False, False]]), [1], outputs=[bool])
corner("ReduceMin", np.array([[True, False], [True, True]]), [1], outputs=[bool])
corner("ReduceSum", numbers(2, 3, 4), np.zeros(0, np.int64), noop_with_empty_axes=1)
corner("graphio.CheckSparseIndices", np.zeros((2, 0), np.int64), np.zeros(0, np.int64), ordered=0)
corner("graphio.CheckSparseIndices", np.zeros((0, 2), np.int64), [0, 5], ordered=1)
corner("graphio.CheckEqual", [1, 2], [1, 2], message="m")
words = np.array([b"a", b"ab", b"", b"B{", "é".encode(), b"_x9", b"a\nb", b"A-b", b"7"], object)
for pattern in (
    "(?i)[^a-z]", "[[:a-]]", "[[:ab:x]", "a{1,x}", "a{x}", "[\\d-z]", "(?i)[^\\d]", "\\D+", "\\S+",
    "\\W", "\\Aab\\z", "\\Ba", "(?U)a+?", "(?-i)a", "(?i-s:a.)", "(?P<x>a)", "(?<x>a)b", "\\141",
    "\\07", "\\0", "\\x41", "\\x{61}b", "\\Qa", "\\Qa\\Eb", "[[:alpha:]]+", "[[:^alpha:]]", "[[:a]",
    "[a:]+", "(?m)a$\\n^b", "(?m)^a$", "a$", "\\bab\\b", "_.*", "[\\W]", "é", "(?i)É", "[é-ê]",
    "a{1,2}b?", "(a|b)*", "", "(?s).*", ".*", "[^\\w]", "(?i)[^\\w]", "(?i)[^k]", "\\Babc", "x*?",
    "(?i:AB)", "[[:word:]]+", "[\\s\\S]*", "[^a]*",
):  # fmt: skip
    corner("RegexFullMatch", words, pattern=pattern, outputs=[bool])
for way in ("upper", "lower", "strip"):
    corner("graphio.StringTransform", words, way=way, outputs=[object])
for sensitive in (0, 1):
    for action in ("NONE", "LOWER", "UPPER"):
        corner(
            "StringNormalizer",
            words,
            case_change_action=action,
            is_case_sensitive=sensitive,
            stopwords=["AB", "", "abc", "A"],
            outputs=[object],
        )
corner(
    "graphio.DecodeRaw",
    np.array([b"x" * 32, b"y" * 32], object),
    dtype=15,
    little_endian=0,
    outputs=[np.complex128],
)
corner(
    "graphio.DecodeRaw",
    np.array([b"x" * 32, b"y" * 32], object),
    dtype=14,
    little_endian=0,
    outputs=[np.complex64],
)
corner("StringSplit", words, delimiter="", maxsplit=1, outputs=[object, np.int64])
for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
    values = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    attrs = {"precision": -1, "scientific": 0, "shortest": 0, "width": 5, "fill": "0"}
    corner("graphio.AsString", values, outputs=[object], **attrs)
for dtype in (F, D):
    values = np.array([0, -0.0, 1e-5, 1e-4, 0.1, 1 / 3, 1e15, 1e16, 1e22, -2.5, np.inf], dtype)
    for precision in (-2, -1, 3):
        for shape in ({"scientific": 1, "shortest": 0}, {"scientific": 0, "shortest": 1}):
            attrs = {"precision": precision, "width": -1, "fill": "", **shape}
            if precision != -2:
                corner("graphio.AsString", values, outputs=[object], **attrs)
    attrs = {"precision": -2, "width": -1, "fill": "", "scientific": 0, "shortest": 0}
    corner("graphio.AsString", values, outputs=[object], **attrs)
for dtype in (F, D, np.int32, np.int64):
    strings = np.array([b"1", b" -7 ", b"+3", b"2147483647"], object)
    number = {np.int32: 6, np.int64: 7, F: 1, D: 11}[dtype]
    corner("graphio.StringToNumber", strings, outputs=[dtype], dtype=number)
corner("Split", numbers(0, 4), outputs=[F, F], axis=1, num_outputs=2)
corner("Split", numbers(4, 0), outputs=[F, F], axis=0, num_outputs=2)
