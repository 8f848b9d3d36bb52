"""Shapes and the order of elements."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, NUMBERS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
X = floats(2, 3, 4)
TEXT = np.array([[b"a", b""], [b"long text", b"\xff\x00"]], object)
KINDS = {
    "float64": X,
    "float32": X.astype("float32"),
    "int32": integers(2, 3, 4, low=-9, high=9, dtype="int32"),
    "uint8": integers(2, 3, 4, low=0, high=255, dtype="uint8"),
    "int64": integers(2, 3, 4, low=-9, high=9),
    "bool": integers(2, 3, 4, low=0, high=2).astype(bool),
}


def same(x: np.ndarray, *rest: object) -> np.ndarray:
    return x


for label, x in KINDS.items():
    case("Identity", [x], expect=same, label=label)
    case(
        "Transpose",
        [x],
        {"perm": [2, 0, 1]},
        expect=lambda x: x.transpose(2, 0, 1),
        dtype=label,
        label=label,
    )
    case(
        "Reshape",
        [x, np.array([4, 6])],
        expect=lambda x, s: x.reshape(4, 6),
        dtype=label,
        label=label,
    )
    case(
        "Slice",
        [x, np.array([1, -1]), np.array([3, -4]), np.array([1, 2]), np.array([1, -2])],
        expect=lambda x, *r: x[:, 1:3, -1:-4:-2],
        dtype=label,
        label=label,
    )
    case(
        "Concat",
        [x, x[:1]],
        {"axis": 0},
        expect=lambda *v: np.concatenate(v),
        dtype=label,
        label=label,
    )
    case(
        "Expand",
        [x[:, :1], np.array([5, 2, 3, 4])],
        expect=lambda x, s: np.broadcast_to(x, s),
        dtype=label,
        label=label,
    )
    case("Tile", [x, np.array([2, 1, 3])], expect=np.tile, dtype=label, label=label)
case("Identity", [TEXT], expect=same, label="text")
case("Reshape", [TEXT, np.array([4])], expect=lambda x, s: x.reshape(4), label="text")

case(
    "Reshape",
    [X, np.array([0, -1])],
    expect=lambda x, s: x.reshape(2, 12),
    types=FLOATS,
    label="0 and -1",
)
case(
    "Reshape",
    [floats(0, 3), np.array([3, 0])],
    {"allowzero": 1},
    expect=lambda x, s: x.reshape(3, 0),
    types=FLOATS,
    label="allowzero",
)
case(
    "Reshape",
    [floats(1), np.array([], "int64")],
    expect=lambda x, s: x.reshape(()),
    types=FLOATS,
    label="to a scalar",
)
bad("Reshape", [X, np.array([5, 5])], error=INVALID, words=["Reshape 'node'", "24"], label="size")
bad("Reshape", [X, np.array([-1, -1])], error=INVALID, words=["Reshape 'node'"], label="two -1")
bad("Reshape", [X, np.array([5, -1])], error=INVALID, words=["Reshape 'node'"], label="no multiple")

case("Transpose", [X], expect=np.transpose, types=NUMBERS[:2], label="reversed")
case(
    "Transpose", [floats(5, 4)], {"perm": [1, 0]}, expect=np.transpose, types=FLOATS, label="matrix"
)
case(
    "Transpose",
    [floats(2, 3, 4, 5)],
    {"perm": [0, 3, 1, 2]},
    expect=lambda x: x.transpose(0, 3, 1, 2),
    types=FLOATS,
    label="image",
)
bad("Transpose", [X], {"perm": [0, 0, 1]}, error=INVALID, words=["Transpose 'node'"], label="twice")
bad("Transpose", [X], {"perm": [1, 0]}, error=INVALID, words=["Transpose 'node'"], label="rank")

case("Shape", [X], expect=lambda x: np.array(x.shape), types=FLOATS, dtype="int64")
case("Shape", [X], {"start": 1, "end": -1}, expect=[np.array([3])], types=FLOATS, label="part")
case("Shape", [np.float64(1)], expect=[np.zeros(0, "int64")], label="scalar")
case("Size", [X], expect=lambda x: np.int64(x.size), types=FLOATS)
case(
    "Squeeze",
    [floats(1, 3, 1, 2), np.array([0, -2])],
    expect=lambda x, a: x.reshape(3, 2),
    types=FLOATS,
)
case("Squeeze", [floats(1, 3, 1)], expect=np.squeeze, types=FLOATS, label="all")
bad("Squeeze", [X, np.array([1])], error=INVALID, words=["Squeeze 'node'"], label="not 1")
case("Unsqueeze", [X, np.array([0, -1])], expect=lambda x, a: x[None, ..., None], types=FLOATS)
bad(
    "Unsqueeze", [X, np.array([5])], error=INVALID, words=["Unsqueeze 'node'", "5"], label="outside"
)
case(
    "Expand",
    [floats(3, 1), np.array([1, 4])],
    expect=lambda x, s: np.broadcast_to(x, (3, 4)),
    types=FLOATS,
    label="both ways",
)
bad("Expand", [floats(3), np.array([2])], error=INVALID, words=["Expand 'node'"], label="shapes")

# ---- parts ----

case(
    "Concat",
    [X, X, floats(2, 0, 4)],
    {"axis": -2},
    expect=lambda *v: np.concatenate(v, -2),
    types=FLOATS,
    label="three",
)
case("Concat", [X], {"axis": 1}, expect=same, types=FLOATS, label="one")
bad("Concat", [X, floats(2, 3)], {"axis": 0}, error=INVALID, words=["Concat 'node'"], label="ranks")
bad(
    "Concat",
    [X, floats(2, 3, 5)],
    {"axis": 0},
    error=INVALID,
    words=["Concat 'node'"],
    label="sizes",
)
BIG = 2**62
for label, starts, ends, axes, steps, index in (
    ("to the end", [1], [BIG], [0], None, np.s_[1:]),
    ("from behind", [-2], [-1], [2], None, np.s_[:, :, -2:-1]),
    ("backwards", [-1], [-BIG], [1], [-1], np.s_[:, ::-1]),
    ("backwards by 2", [BIG], [-BIG], [2], [-2], np.s_[..., ::-2]),
    ("nothing", [2], [1], [1], [1], np.s_[:, 2:1]),
    ("by 3", [0], [BIG], [2], [3], np.s_[..., ::3]),
):
    inputs = [X, np.array(starts), np.array(ends), np.array(axes)]
    case(
        "Slice",
        inputs + ([] if steps is None else [np.array(steps)]),
        expect=lambda x, *r, index=index: x[index],
        types=FLOATS,
        label=label,
    )
case(
    "Slice",
    [X, np.array([1, 0, 2], "int32"), np.array([2, 2, 4], "int32")],
    expect=lambda x, *r: x[1:2, 0:2, 2:4],
    types=FLOATS,
    label="no axes, int32",
)
bad(
    "Slice",
    [X, np.array([0]), np.array([1]), np.array([0]), np.array([0])],
    error=INVALID,
    words=["Slice 'node'", "step"],
    label="step 0",
)
bad(
    "Slice",
    [X, np.array([0]), np.array([1]), np.array([3])],
    error=INVALID,
    words=["Slice 'node'", "axis 3"],
    label="axis",
)
case(
    "Split",
    [X, np.array([1, 0, 2])],
    {"axis": 1},
    expect=lambda x, s: (x[:, :1], x[:, 1:1], x[:, 1:]),
    types=FLOATS,
)
case(
    "Split",
    [X],
    {"axis": 2, "num_outputs": 3},
    version=18,
    expect=lambda x: (x[..., :2], x[..., 2:4], x[..., 4:]),
    types=FLOATS,
    label="uneven",
)
case(
    "Split",
    [X],
    {"axis": 2},
    version=13,
    expect=lambda x: (x[..., :2], x[..., 2:]),
    types=FLOATS,
    label="equal",
)
bad(
    "Split",
    [X, np.array([1, 1])],
    {"axis": 1},
    outputs=2,
    error=INVALID,
    words=["Split 'node'"],
    label="sizes",
)

# ---- padding ----

M = floats(3, 4)
for mode in ("constant", "reflect", "edge"):
    case(
        "Pad",
        [M, np.array([1, 2, 0, 1])],
        {"mode": mode},
        expect=lambda x, p, mode=mode: np.pad(x, ((1, 0), (2, 1)), mode=mode),
        types=FLOATS,
        label=mode,
    )
case(
    "Pad",
    [M, np.array([1, 0, 0, 1]), np.float64(7)],
    {"mode": "constant"},
    expect=lambda x, p, v: np.pad(x, ((1, 0), (0, 1)), constant_values=7),
    types=FLOATS,
    label="value",
)
case(
    "Pad",
    [M, np.array([-1, 2, 1, -1])],
    {"mode": "constant"},
    expect=lambda x, p: np.pad(x[1:, :-1], ((0, 1), (2, 0))),
    types=FLOATS,
    label="crops",
)
case(
    "Pad",
    [M, np.array([2, 1]), np.float64(1), np.array([-1])],
    {"mode": "constant"},
    version=18,
    expect=lambda x, *r: np.pad(x, ((0, 0), (2, 1)), constant_values=1),
    types=FLOATS,
    label="axes",
)
case(
    "Pad",
    [integers(2, 2, low=0, high=9), np.array([1, 1, 1, 1])],
    {"mode": "constant"},
    expect=lambda x, p: np.pad(x, 1),
    label="int64",
)
bad(
    "Pad",
    [M, np.array([1, 2])],
    {"mode": "constant"},
    error=INVALID,
    words=["Pad 'node'"],
    label="count",
)
for mode in ("reflect", "edge"):
    case(
        "Pad",
        [M, np.array([7, 0, 5, 9])],
        {"mode": mode},
        expect=lambda x, p, mode=mode: np.pad(x, ((7, 5), (0, 9)), mode=mode),
        types=FLOATS,
        label=f"{mode}, wider than the axis",
    )
    bad(
        "Pad",
        [floats(0, 2), np.array([1, 0, 0, 0])],
        {"mode": mode},
        error=INVALID,
        words=["Pad 'node'"],
        label=f"{mode} of nothing",
    )

# ---- making ----

case("ConstantOfShape", [np.array([2, 3])], expect=[np.zeros((2, 3), "float32")])
case(
    "ConstantOfShape",
    [np.array([2, 0])],
    {"value": np.array([7])},
    expect=[np.zeros((2, 0), "int64")],
    label="empty",
)
case(
    "ConstantOfShape",
    [np.array([], "int64")],
    {"value": np.array([2.5])},
    expect=[np.float64(2.5)],
    label="scalar",
)
bad(
    "ConstantOfShape",
    [np.array([-1])],
    error=INVALID,
    words=["ConstantOfShape 'node'"],
    label="negative",
)
case("Constant", [], {"value": M.astype("float32")}, expect=[M.astype("float32")])
case("Constant", [], {"value": TEXT}, expect=[TEXT], label="text")
case("Constant", [], {"value_int": 3}, version=12, expect=[np.int64(3)], label="int")
case("Constant", [], {"value_float": 0.5}, version=12, expect=[np.float32(0.5)], label="float")
case("Constant", [], {"value_ints": [1, 2]}, version=12, expect=[np.array([1, 2])], label="ints")
case(
    "Constant",
    [],
    {"value_floats": [0.5, 2.0]},
    version=12,
    expect=[np.float32([0.5, 2])],
    label="floats",
)
for label, attrs, value in (
    ("string", {"value_string": "abc"}, np.array(b"abc", object)),
    ("no string", {"value_string": ""}, np.array(b"", object)),
    (
        "strings",
        {"value_strings": [b"a", b"", b"b\x00c"]},
        np.array([b"a", b"", b"b\x00c"], object),
    ),
    ("no ints", {"value_ints": []}, np.zeros(0, np.int64)),
):
    case("Constant", [], attrs, version=13, expect=[value], label=label)

# ---- corners ----

FAR = 2**63 - 1
TRIPLE = np.arange(24.0).reshape(2, 3, 4)


def padded(x: np.ndarray, pads: list[int], axes: list[int], mode: str) -> np.ndarray:
    """Crops, then copies from what is left, one element of an axis after another."""
    for i, axis in enumerate(axes):
        before, after = pads[i], pads[i + len(axes)]
        lines = np.moveaxis(x, axis, 0)
        lines = lines[max(0, -before) : len(lines) - max(0, -after)]
        positions = [*range(-max(0, before), len(lines) + max(0, after))]
        n = len(lines)
        if mode == "edge":
            positions = [min(max(p, 0), n - 1) for p in positions]
        elif mode == "wrap":
            positions = [p % n for p in positions]
        else:
            period = max(1, 2 * (n - 1))
            positions = [min(p % period, period - p % period) for p in positions]
        x = np.moveaxis(lines[positions], 0, axis)
    return x


for mode in ("reflect", "edge", "wrap"):
    for label, pads, axes in (
        ("crop", [1, -1, 0, 2], [-1, 1]),
        ("crop before", [-2, 3], [1]),
        ("crop after", [5, -2], [2]),
        ("far", [5, 6], [0]),
        ("one left", [-2, 4], [1]),
    ):
        case(
            "Pad",
            [TRIPLE, np.array(pads), None, np.array(axes)],
            {"mode": mode},
            expect=lambda x, p, v, a, m=mode: padded(x, p.tolist(), a.tolist(), m),
            types=FLOATS,
            label=f"{mode}-{label}",
        )
    case(
        "Pad",
        [TRIPLE, np.array([-4, 1]), None, np.array([1])],
        {"mode": mode},
        expect=lambda x, *r: x[:, :0],
        types=FLOATS,
        label=f"{mode}-nothing",
    )
    case("Pad", [X[0, 0, 0], np.zeros(0, "int64")], {"mode": mode}, expect=same, label=f"{mode}-0d")
    bad(
        "Pad",
        [TRIPLE, np.array([-4, 2]), None, np.array([1])],
        {"mode": mode},
        error=INVALID,
        words=["Pad 'node'", "axis 1"],
        label=f"{mode}-nothing left",
    )
case(
    "Pad",
    [TRIPLE, np.array([-4, 3]), np.array(7.0), np.array([1])],
    expect=lambda x, *r: np.full((2, 2, 4), 7.0),
    types=FLOATS,
    label="all cropped",
)
for op, inputs in (
    ("Pad", [TRIPLE, np.array([1, 1, 1, 1]), None, np.array([0, -3])]),
    ("Squeeze", [TRIPLE[:1], np.array([0, -3])]),
    ("Unsqueeze", [TRIPLE, np.array([0, -5])]),
    ("Slice", [TRIPLE, np.array([0, 0]), np.array([1, 1]), np.array([1, -2])]),
):
    bad(op, inputs, error=INVALID, words=[f"{op} 'node'", "twice"], label="axis twice")
for label, bounds, part in (
    ("far back", [-1, -FAR - 1, 1, -1], np.s_[:, ::-1]),
    ("far both", [FAR, -FAR - 1, 2, -2], np.s_[:, :, ::-2]),
    ("far step", [0, FAR, 1, FAR], np.s_[:, :1]),
    ("far step back", [2, 0, 2, -FAR - 1], np.s_[:, :, 2:1:-1]),
    ("beyond", [5, FAR, 1, 1], np.s_[:, 3:]),
    ("below", [-FAR - 1, 2, 1, 1], np.s_[:, :2]),
    ("empty back", [0, 2, 1, -1], np.s_[:, :0]),
):
    for kind in ("int64",) if "far" in label or FAR in bounds else ("int64", "int32"):
        low = -(2**31) if kind == "int32" else -FAR - 1
        case(
            "Slice",
            [TRIPLE, *(np.array([max(b, low)], kind) for b in bounds)],
            expect=lambda x, *r, p=part: x[p],
            types=FLOATS,
            label=f"{label}-{kind}",
        )
for label, indices, depth in (
    ("uint64", np.array([2**64 - 1, 1], "uint64"), 3),
    ("uint8", np.array([255, 1], "uint8"), 300),
    ("int8", np.array([-1, 1, -128], "int8"), 200),
    ("floats", np.array([-3.5, -2.9, 2.9, 3.0, -4.0, np.nan, np.inf], "float32"), 3),
):

    def hot(i: np.ndarray, depth: np.ndarray, values: np.ndarray) -> np.ndarray:
        result = np.full((len(i), int(depth)), values[0])
        for row, index in zip(result, i.tolist(), strict=True):
            if np.isfinite(index) and -int(depth) <= int(index) < int(depth):
                row[int(index)] = values[1]
        return result

    case("OneHot", [indices, np.array(depth), np.array([2, 5])], expect=hot, label=label)
for label, depth, values in (
    ("negative depth", np.array(-1), np.array([0, 1])),
    ("two depths", np.array([1, 2]), np.array([0, 1])),
    ("depth NaN", np.array(np.nan, "float32"), np.array([0, 1])),
    ("three values", np.array(3), np.array([0, 1, 2])),
):
    bad("OneHot", [np.array([1]), depth, values], error=INVALID, words=["OneHot"], label=label)


def counted(start: float, limit: float, delta: float) -> list[float]:
    """Python's own numbers do not overflow."""
    found = []
    while start < limit if delta > 0 else start > limit:
        found.append(start)
        start += delta
    return found


for kind, bounds in (
    ("uint64", (0, 2**64 - 1, 2**63)),
    ("int64", (FAR, -FAR - 1, -FAR)),
    ("int8", (-128, 127, 100)),
    ("uint8", (250, 0, 255)),
    ("uint16", (3, 9, 4)),
    ("int16", (3, -9, -4)),
    ("uint32", (0, 2**32 - 1, 2**31)),
    ("float32", (1, 4.5, 0.5)),
    ("float64", (1, -4.5, -0.5)),
):
    case(
        "Range",
        [np.array(v, kind) for v in bounds],
        expect=[np.array(counted(*bounds), kind)],
        label=f"{kind}-limits",
    )
for label, bounds in (("0", (0, 1, 0)), ("nan", (0, np.nan, 1)), ("inf", (0, np.inf, 1))):
    bad(
        "Range",
        [np.array(v, "float32") for v in bounds],
        error=INVALID,
        words=["Range 'node'", "no end"],
        label=label,
    )
for count in (2, 3, 4):
    case(
        "Split",
        [TRIPLE],
        {"axis": -1, "num_outputs": count},
        expect=lambda x, n=count: tuple(np.split(x, [-(-4 // n) * i for i in range(1, n)], -1)),
        types=FLOATS,
        version=18,
        label=f"{count} parts",
    )
case(
    "Split",
    [TRIPLE, np.array([0, 3, 0])],
    {"axis": 1},
    expect=lambda x, s: (x[:, :0], x, x[:, :0]),
    types=FLOATS,
    label="zeros",
)
for attrs in ({"start": 1}, {"end": -1}, {"start": -9, "end": 9}, {"start": 2, "end": 1}):
    case(
        "Shape",
        [TRIPLE],
        attrs,
        expect=lambda x, a=attrs: np.array(x.shape[a.get("start") : a.get("end")], np.int64),
        label=str(attrs),
    )
for kind in ("int32", "int64"):
    case(
        "Range",
        [np.array(v, kind) for v in (10, -3, -4)],
        expect=lambda a, b, c: np.arange(a, b, c),
        dtype=kind,
        label=kind,
    )
    case(
        "Range",
        [np.array(v, kind) for v in (3, 3, 1)],
        expect=lambda a, b, c: np.arange(a, b, c),
        dtype=kind,
        label=f"{kind}, empty",
    )
case(
    "Range",
    [np.float64(v) for v in (1, 2, 0.25)],
    expect=lambda a, b, c: np.arange(a, b, c),
    types=FLOATS,
)
bad(
    "Range",
    [np.array(v) for v in (1, 2, 0)],
    error=INVALID,
    words=["Range 'node'"],
    label="delta 0",
)
VALUES = np.array([2.0, 5.0])
case(
    "OneHot",
    [np.array([[0, 2], [-1, 7]]), np.array(3), VALUES],
    {"axis": -1},
    expect=[np.array([[[5, 2, 2], [2, 2, 5]], [[2, 2, 5], [2, 2, 2]]])],
    dtype="float64",
)
case(
    "OneHot",
    [np.array([1, 0], "int32"), np.array(2, "int32"), VALUES.astype("float32")],
    {"axis": 0},
    expect=[np.array([[2, 5], [5, 2]])],
    dtype="float32",
    label="axis 0",
)

# ---- lists of the wrong rank or type ----

for op, version in (
    ("Reshape", 14),
    ("Squeeze", 13),
    ("Unsqueeze", 13),
    ("Expand", 8),
    ("Tile", 6),
):
    for label, given, words in (
        ("rank of the list", np.ones((1, 1), "int64"), "list of"),
        ("type of the list", np.ones(1, "int8"), "int8"),
    ):
        bad(
            op,
            [floats(1), given],
            error=INVALID if label.startswith("rank") else errors.OpError,
            words=[f"{op} 'node'", words],
            version=version,
            label=label,
        )
bad(
    "Expand",
    [floats(1), np.ones(40, "int64")],
    error=INVALID,
    words=["Expand 'node'"],
    label="rank 40",
)
for label, attrs, version, words in (
    ("uneven", {}, 13, "3 equal parts"),
    ("one too many", {}, 18, "3 equal parts"),
    ("no outputs", {"num_outputs": 0}, 18, "num_outputs is 0"),
    ("2^62 outputs", {"num_outputs": 2**62}, 18, "num_outputs is 4611686018427387904"),
):
    bad(
        "Split",
        [floats(1)],
        attrs,
        error=INVALID,
        words=["Split 'node'", words],
        version=version,
        outputs=3,
        label=label,
    )
case(
    "OneHot",
    [np.array([0, 2]), np.float16(3), np.array([1, 5], "int32")],
    expect=[np.array([[5, 1, 1], [1, 1, 5]], "int32")],
    label="depth of half",
)
for op, version in {"Concat": 4, "Einsum": 12, "Max": 8, "Sum": 8}.items():
    bad(
        op,
        [floats(2, 3), None, floats(2, 3)],
        {"Concat": {"axis": 0}, "Einsum": {"equation": "ij,ij,ij->ij"}}.get(op, {}),
        error=INVALID,
        words=[f"{op} 'node'", "input"],
        version=version,
        label="absent",
    )
