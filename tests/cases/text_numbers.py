"""Strings to numbers and back, bytes as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import bad, case
from graphio.support import errors

INVALID, MISSING = errors.InvalidArgumentError, errors.UnimplementedError
FLOAT, DOUBLE, INT32, INT64, BOOL, INT16, UINT8, COMPLEX = 1, 11, 6, 7, 9, 5, 2, 14
UMLAUT = "aäöü€".encode()


def strings(*values: Any) -> Any:
    """A vector of text."""
    made = np.empty(len(values), object)
    made[:] = [v.encode() if isinstance(v, str) else v for v in values]
    return made


X, Y = strings("a", "", "b\0c"), strings("x", "yy", "")
EMPTY = np.empty((0, 2), object)
ONE = np.array(b"one", object)


def ours(op: str, inputs: Any, expect: Any, label: str, **attrs: Any) -> None:
    """A row whose expectation is an array."""
    case(op, inputs, attrs, domain="graphio", expect=lambda *_: expect, label=label)


def wrong(op: str, inputs: Any, words: str, label: str, error: Any = INVALID, **attrs: Any) -> None:
    """A row that is refused."""
    bad(op, inputs, attrs, domain="graphio", error=error, words=(words,), label=label)


NUMBERS = {
    FLOAT: (
        strings("1.5", " -2e3\n", ".5", "5.", "inf", "-Infinity", "1e-50", "16777217"),
        "float32",
    ),
    DOUBLE: (strings("0.1", "+1E+2", "nan", "1e400", "4.9e-324"), "float64"),
    INT32: (strings("0", "+7", "-2147483648", " 2147483647 ", "007"), "int32"),
    INT64: (strings("-9223372036854775808", "9223372036854775807"), "int64"),
}
for _dtype, (_words_of, _name) in NUMBERS.items():
    with np.errstate(all="ignore"):
        _read = [float(t) if "f" in _name else int(t) for t in _words_of]
        _numbers = np.array(_read).astype(_name)
    ours("StringToNumber", [_words_of], _numbers, _name, dtype=_dtype)
_NO_NUMBERS = "one 1_0 1e . 0x 0xg 0x1p 1.5f --1 1\0 ٣".split(" ")
for _text in ("", "1 2", "1" * 1001, *_NO_NUMBERS):
    wrong("StringToNumber", [strings(_text)], "could not correctly", ascii(_text)[:9], dtype=FLOAT)
for _text in ("2147483648", "-2147483649", "1.0", "1e3", "", "99999999999999999999"):
    wrong("StringToNumber", [strings(_text)], "could not correctly", f"int {_text}", dtype=INT32)
wrong("StringToNumber", [X], "cannot be read from strings", "dtype", MISSING, dtype=BOOL)

PLAIN: dict[str, Any] = {"precision": -1, "scientific": 0, "shortest": 0, "width": -1, "fill": ""}
for _label, _value, _options, _expected in (
    ("float", np.float32([1.5, -0.1]), {}, ("1.500000", "-0.100000")),
    ("a large float", np.float32([1e20]), {}, ("100000002004087734272.000000",)),
    ("double", np.array([1e300]), {"shortest": 1}, ("1e+300",)),
    ("fewest digits", np.float32([0.1, 2e20]), {"precision": -2}, ("0.1", "2e+20")),
    ("fewest of double", np.array([2 / 3, 3]), {"precision": -2}, ("0.6666666666666666", "3.0")),
    ("precision", np.array([2 / 3]), {"precision": 20}, ("0.66666666666666662966",)),
    ("scientific", np.float32([1.5]), {"scientific": 1, "precision": 1}, ("1.5e+00",)),
    ("filled", np.array([1.5]), {"width": 10, "fill": "0"}, ("001.500000",)),
    ("zeros", np.array([-1.5]), {"width": 8, "precision": 2, "fill": "0"}, ("-0001.50",)),
    ("no numbers", np.array([np.nan, -np.inf]), {"width": 5, "fill": "0"}, ("  nan", " -inf")),
    ("sign", np.int32([3, -3]), {"fill": "+"}, ("+3", "-3")),
    ("behind", np.int64([3]), {"width": 3, "fill": "-"}, ("3  ",)),
    ("small", np.int8([-128]), {}, ("-128",)),
    ("large", np.uint64([2**64 - 1]), {}, ("18446744073709551615",)),
    ("bool", np.array([True, False]), {}, ("true", "false")),
    ("complex", np.array([1 - 2j]), {"precision": 1}, ("(1.0,-2.0)",)),
    ("half complex", np.complex64([0.5j]), {"shortest": 1}, ("(0,0.5)",)),
):  # fmt: skip
    ours("AsString", [_value], strings(*_expected), _label, **{**PLAIN, **_options})
for _label, _value, _options, _words in (
    ("both", np.array([1.0]), {"scientific": 1, "shortest": 1}, "Cannot select both"),
    ("fill", np.array([1.0]), {"fill": "x"}, "Fill argument not supported"),
    ("width", np.array([1.0]), {"width": 101}, "expected at most 100"),
    ("integers", np.array([1]), {"precision": 2}, "not supported for int64"),
):
    wrong("AsString", [_value], _words, _label, **{**PLAIN, **_options})
wrong("AsString", [X], "no string form of type string", "text", MISSING, **PLAIN)

RAW = strings(b"\0\1\2\3\4\5\6\7", b"\7\6\5\4\3\2\1\0")
KINDS = ((INT16, "int16"), (UINT8, "uint8"), (FLOAT, "float32"), (COMPLEX, "complex64"))
LITTLE: dict[str, Any] = {"little_endian": 1}
for _dtype, _name in KINDS:
    for _little in (1, 0):
        _part = "<>"[1 - _little] + np.dtype(_name).str[1:]
        _expected = np.stack([np.frombuffer(t, _part) for t in RAW]).astype(_name)
        _label = f"{_name}-{_little}"
        ours("DecodeRaw", [RAW], _expected, _label, dtype=_dtype, little_endian=_little)
BITS = np.array([[False] + [True] * 7, [True] * 7 + [False]])
ours("DecodeRaw", [RAW], BITS, "bool", dtype=BOOL, **LITTLE)
ours("DecodeRaw", [EMPTY], np.zeros((0, 2, 0), np.int16), "none", dtype=INT16, **LITTLE)
ours("DecodeRaw", [strings("", "")], np.zeros((2, 0), np.int64), "empty", dtype=INT64, **LITTLE)
wrong("DecodeRaw", [X], "the same size, but element 1", "sizes", dtype=UINT8, **LITTLE)
wrong("DecodeRaw", [ONE], "not a multiple of 2", "length", dtype=INT16, **LITTLE)
wrong("DecodeRaw", [ONE], "as elements of type", "dtype", MISSING, dtype=8, **LITTLE)
