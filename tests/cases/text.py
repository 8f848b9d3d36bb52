"""Texts."""

from __future__ import annotations

import numpy as np

from cases import bad, case
from graphio.support import errors

INVALID = errors.InvalidArgumentError
TEXT = np.array([[b" aB\t", "äÖ".encode()], [b"", b"c\0D"]], object)
ASCII = np.array([b"abcd", b"ef"], object)


def strings(*values: bytes) -> np.ndarray:
    return np.array(values, object)


for label, unit, expected in (
    ("bytes", "BYTE", [[4, 4], [0, 3]]),
    ("characters", "UTF8_CHAR", [[4, 2], [0, 3]]),
):
    case(
        "StringLength",
        [TEXT],
        {"unit": unit},
        expect=[np.array(expected, "int32")],
        domain="graphio",
        label=label,
    )
for way, lines in (
    ("lower", [[b" ab\t", "äÖ".encode()], [b"", b"c\0d"]]),
    ("upper", [[b" AB\t", "äÖ".encode()], [b"", b"C\0D"]]),
    ("strip", [[b"aB", "äÖ".encode()], [b"", b"c\0D"]]),
):
    case(
        "StringTransform",
        [TEXT],
        {"way": way},
        expect=[np.array(lines, object)],
        domain="graphio",
        label=way,
    )
for label, x, begin, count, unit, expected in (
    ("scalars", ASCII, np.array(1), np.array(2), "BYTE", strings(b"bc", b"f")),
    ("negative", ASCII, np.array(-2), np.array(1), "BYTE", strings(b"c", b"e")),
    ("each", ASCII, np.array([0, 2]), np.array([9, 1]), "BYTE", strings(b"abcd", b"")),
    (
        "characters",
        strings("aäbö".encode()),
        np.array(1),
        np.array(2),
        "UTF8_CHAR",
        strings("äb".encode()),
    ),
    ("one", np.array(b"abc", object), np.array(1), np.array(1), "BYTE", np.array(b"b", object)),
):
    case(
        "Substr",
        [x, begin, count],
        {"unit": unit},
        expect=[expected],
        domain="graphio",
        label=label,
    )
for label, inputs, separator, expected in (
    ("two", [ASCII, ASCII], "", strings(b"abcdabcd", b"efef")),
    (
        "scalars",
        [np.array(b"<", object), ASCII, np.array(b">", object)],
        ", ",
        strings(b"<, abcd, >", b"<, ef, >"),
    ),
    ("one", [ASCII], "-", ASCII),
    ("all scalars", [np.array(b"a", object), np.array(b"", object)], "-", np.array(b"a-", object)),
    ("none", [ASCII[:0], np.array(b"a", object)], "-", ASCII[:0]),
):
    case(
        "StringJoin",
        inputs,
        {"separator": separator},
        expect=[expected],
        domain="graphio",
        label=label,
    )

for op, inputs, attrs, words, label in (
    ("StringLength", [TEXT], {"unit": "WORD"}, ["StringLength 'node'", "BYTE"], "unit"),
    ("StringTransform", [TEXT], {"way": "up"}, ["StringTransform 'node'", "upper"], "way"),
    (
        "Substr",
        [ASCII, np.array(3), np.array(1)],
        {"unit": "BYTE"},
        ["pos 3 out of range", "ef"],
        "beyond",
    ),
    (
        "Substr",
        [ASCII, np.array(-3), np.array(1)],
        {"unit": "BYTE"},
        ["pos -3 out of range"],
        "before",
    ),
    ("Substr", [ASCII, np.array(0), np.array(-1)], {"unit": "BYTE"}, ["len -1 is negative"], "len"),
    ("Substr", [ASCII, np.array([0]), np.array(1)], {"unit": "BYTE"}, ["Substr 'node'"], "shapes"),
    ("StringJoin", [ASCII, ASCII[:1]], {"separator": ""}, ["StringJoin 'node'"], "shapes"),
):
    bad(op, inputs, attrs, domain="graphio", error=INVALID, words=words, label=label)
bad(
    "StringLength",
    [np.array([1])],
    {"unit": "BYTE"},
    domain="graphio",
    error=errors.UnimplementedError,
    words=["StringLength 'node'", "strings"],
    label="numbers",
)

for axis, expected in (
    (0, [[b" aB\t|", "äÖ|c\0D".encode()]]),
    (-1, [[" aB\t|äÖ".encode()], [b"|c\0D"]]),
):
    case(
        "StringReduceJoin",
        [TEXT],
        {"axis": axis, "separator": "|"},
        expect=[np.array(expected, object)],
        domain="graphio",
        label=f"axis {axis}",
    )
case(
    "StringReduceJoin",
    [TEXT[:, :0]],
    {"axis": 1, "separator": "|"},
    expect=[np.full((2, 1), b"", object)],
    domain="graphio",
    label="nothing",
)
bad(
    "StringReduceJoin",
    [ASCII],
    {"axis": 1, "separator": ""},
    domain="graphio",
    error=INVALID,
    words=["StringReduceJoin 'node'", "axis 1"],
    label="axis",
)

LINES = [b"a, b,,c", b"", b",", b" x  y "]
CUTS = (
    ("letters", ", ", 1, 0, -1, lambda t: t.replace(b" ", b",").split(b",")),
    ("skipping", ", ", 1, 1, -1, lambda t: t.replace(b",", b" ").split()),
    ("bytes", "", 1, 1, -1, lambda t: [bytes([b]) for b in t]),
    ("text", ", ", 0, 0, -1, lambda t: t.split(b", ")),
    ("limited", ",", 0, 0, 1, lambda t: t.split(b",", 1)),
    ("words", "", 0, 0, -1, bytes.split),
    ("first word", "", 0, 0, 1, lambda t: t.split(None, 1)),
    ("uncut", "", 0, 0, 0, lambda t: t.split(None, 0)),
)
for label, separator, letters, skips, limit, cut in CUTS:
    for lines in (LINES, []):
        rows = [cut(line) for line in lines]
        positions = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
        attrs = {"separator": separator, "letters": letters, "skip_empty": skips, "limit": limit}
        case(
            "StringSplit",
            [np.array(lines, object)],
            attrs,
            expect=[
                np.array(positions, np.int64).reshape(-1, 2),
                np.array([part for row in rows for part in row], object),
                np.array([len(rows), max(map(len, rows), default=0)]),
            ],
            domain="graphio",
            label=f"{label}{'' if lines else ' of nothing'}",
        )
bad(
    "StringSplit",
    [TEXT],
    {"separator": "", "letters": 0, "skip_empty": 0, "limit": -1},
    domain="graphio",
    error=INVALID,
    words=["StringSplit 'node'", "vector"],
    outputs=3,
    label="rank",
)
