"""Sums, means, extremes along axes."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
X = floats(3, 4, 5)
ROWS = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
}
VERSION = {"ReduceSum": 13}
ATOL = {"ReduceSum": 1e-6, "ReduceMean": 1e-7}
for op, reduce in ROWS.items():
    version = VERSION.get(op, 18)
    for label, axes, keep in (
        ("last", [-1], 0),
        ("first", [0], 1),
        ("middle", [1], 0),
        ("two", [0, -1], 1),
        ("all named", [0, 1, 2], 0),
    ):
        case(
            op,
            [X, np.array(axes)],
            {"keepdims": keep},
            version=version,
            expect=lambda x, a, r=reduce, k=keep: r(x, axis=tuple(a.tolist()), keepdims=bool(k)),
            types=FLOATS,
            label=label,
            atol=ATOL.get(op, 1e-7),
            rtol=None,
        )
    case(
        op,
        [X],
        {"keepdims": 0},
        version=version,
        expect=lambda x, r=reduce: r(x),
        types=FLOATS,
        label="all",
        atol=1e-6,
    )
    case(
        op,
        [X, np.zeros(0, "int64")],
        {"keepdims": 1, "noop_with_empty_axes": 1},
        version=version,
        expect=lambda x, a: x,
        types=FLOATS,
        label="none",
    )
    case(
        op,
        [np.float64(2.5)],
        {"keepdims": 0},
        version=version,
        expect=lambda x: x,
        types=FLOATS,
        label="scalar",
    )
    if op != "ReduceMean":
        for kind in ("int32", "int64"):
            case(
                op,
                [integers(4, 5, low=-9, high=9, dtype=kind), np.array([0])],
                {"keepdims": 0},
                version=version,
                expect=lambda x, a, r=reduce: r(x, axis=0).astype(x.dtype),
                label=kind,
            )
    bad(
        op,
        [X, np.array([3])],
        {"keepdims": 0},
        version=version,
        error=INVALID,
        words=[f"{op} 'node'", "axis 3"],
        label="axis",
    )

NOTHING = floats(2, 0, 3)
for op, value in (
    ("ReduceSum", 0.0),
    ("ReduceProd", 1.0),
    ("ReduceMean", np.nan),
    ("ReduceMax", -np.inf),
    ("ReduceMin", np.inf),
):
    case(
        op,
        [NOTHING, np.array([1])],
        {"keepdims": 0},
        version=VERSION.get(op, 18),
        expect=lambda x, a, v=value: np.full((2, 3), v),
        types=FLOATS,
        label="of nothing",
    )
NAN = np.array([[1.0, np.nan, 2.0], [3.0, -0.0, 0.0]])
for op, reduce in (("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceSum", np.sum)):
    case(
        op,
        [NAN, np.array([1])],
        {"keepdims": 0},
        version=VERSION.get(op, 18),
        expect=lambda x, a, r=reduce: r(x, axis=1),
        types=FLOATS,
        label="NaN stays",
    )
LONG = floats(3, 1000, low=0.0, high=1.0)
for op in ("ReduceSum", "ReduceMean"):
    for axis in (0, 1):
        case(
            op,
            [LONG, np.array([axis])],
            {"keepdims": 0},
            version=VERSION.get(op, 18),
            expect=lambda x, a, r=ROWS[op], axis=axis: r(x, axis=axis),
            types=FLOATS,
            rtol=1e-5,
            label=f"long {axis}",
        )

TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, -1.0]])
for op, find in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
    for x, label in ((X, "floats"), (TIES, "ties")):
        for axis, keep in ((0, 1), (-1, 0)):
            case(
                op,
                [x],
                {"axis": axis, "keepdims": keep},
                types=FLOATS,
                dtype="int64",
                label=f"{label} {axis}",
                expect=lambda x, f=find, a=axis, k=keep: f(x, axis=a, keepdims=bool(k)),
            )
    case(
        op,
        [integers(4, 5, low=0, high=4)],
        {"axis": 1, "keepdims": 0},
        expect=lambda x, f=find: f(x, axis=1),
        label="int64",
    )
case(
    "ArgMax",
    [TIES],
    {"axis": 1, "keepdims": 0, "select_last_index": 1},
    expect=[np.array([2, 1])],
    label="last",
)
bad(
    "ArgMax",
    [floats(2, 0)],
    {"axis": 1, "keepdims": 0},
    error=INVALID,
    words=["ArgMax 'node'"],
    label="of nothing",
)


def sums(x: np.ndarray, axis: np.ndarray, exclusive: bool, reverse: bool) -> np.ndarray:
    """CumSum by its definition."""
    rows = np.moveaxis(x, int(axis), 0)
    n = len(rows)
    taken = [
        [j for j in range(n) if (j >= i if reverse else j <= i) and not (exclusive and j == i)]
        for i in range(n)
    ]
    return np.moveaxis(np.stack([rows[t].sum(axis=0) for t in taken]), 0, int(axis))


for exclusive in (0, 1):
    for reverse in (0, 1):
        case(
            "CumSum",
            [X, np.array(1)],
            {"exclusive": exclusive, "reverse": reverse},
            types=FLOATS,
            atol=1e-6,
            label=f"{exclusive}{reverse}",
            expect=lambda x, a, e=exclusive, r=reverse: sums(x, a, e, r),
        )
case(
    "CumSum",
    [integers(3, 4, low=0, high=9), np.array(-1, "int32")],
    expect=lambda x, a: np.cumsum(x, -1),
    label="int64",
)

# ---- norms and logarithms ----


def log_sum_exp(x: np.ndarray, **axes: object) -> np.ndarray:
    """By its definition, for moderate numbers."""
    return np.log(np.sum(np.exp(x), **axes))


NORMS = {
    "ReduceL1": lambda x, **a: np.sum(np.abs(x), **a),
    "ReduceL2": lambda x, **a: np.sqrt(np.sum(x * x, **a)),
    "ReduceSumSquare": lambda x, **a: np.sum(x * x, **a),
    "ReduceLogSum": lambda x, **a: np.log(np.sum(x, **a)),
    "ReduceLogSumExp": log_sum_exp,
}
EMPTY = {"ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf}
for op, norm in NORMS.items():
    nothing = EMPTY.get(op, 0.0)
    values = floats(3, 4, 5, 2, low=0.1, high=2.0) if op == "ReduceLogSum" else floats(3, 4, 5, 2)
    for label, axes, keep in (
        ("last", [-1], 0),
        ("first", [0], 1),
        ("middle", [1, 2], 0),
        ("apart", [0, 2], 1),
        ("all named", [0, 1, 2, 3], 0),
    ):
        case(
            op,
            [values, np.array(axes)],
            {"keepdims": keep},
            expect=lambda x, a, f=norm, k=keep: f(x, axis=tuple(a.tolist()), keepdims=bool(k)),
            types=FLOATS,
            atol=2e-6,
            label=label,
        )
    case(
        op, [values], {"keepdims": 0}, expect=norm, types=FLOATS, rtol=1e-5, label="all", version=18
    )
    case(
        op,
        [values, np.zeros(0, "int64")],
        {"noop_with_empty_axes": 1},
        expect=lambda x, a, f=norm: f(x[None], axis=0),
        types=FLOATS,
        atol=1e-6,
        label="no axes",
    )
    case(
        op,
        [NOTHING, np.array([1])],
        {"keepdims": 0},
        expect=lambda x, a, v=nothing: np.full((2, 3), v),
        types=FLOATS,
        label="of nothing",
    )
    case(
        op,
        [np.float64(0.5)],
        expect=lambda x, f=norm: f(x[None], axis=0),
        types=FLOATS,
        atol=1e-6,
        version=18,
        label="scalar",
    )
    case(
        op,
        [floats(2, 70000, low=0.0, high=1.0), np.array([1])],
        {"keepdims": 0},
        expect=lambda x, a, f=norm: f(x, axis=1),
        types=FLOATS,
        rtol=1e-5,
        label="long",
    )
    bad(
        op,
        [X, np.array([3])],
        error=INVALID,
        words=[f"{op} 'node'", "axis 3"],
        label="axis",
    )
    bad(
        op,
        [X, np.array([1, -2])],
        error=INVALID,
        words=[f"{op} 'node'", "twice"],
        label="twice",
    )
for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare"):
    for kind in ("int32", "int64", "uint32", "uint64", "int8", "uint8"):
        case(
            op,
            [integers(4, 5, low=0 if kind[0] == "u" else -3, high=4, dtype=kind), np.array([1])],
            {"keepdims": 0},
            expect=lambda x, a, f=NORMS[op]: np.trunc(f(x.astype(float), axis=1)).astype(x.dtype),
            label=kind,
        )
for op in ("ReduceLogSum", "ReduceLogSumExp"):
    bad(
        op,
        [np.array([1, 2])],
        error=errors.UnimplementedError,
        words=[f"{op} 'node'", "int64"],
        label="integers",
        version=18,
    )
case(
    "ReduceLogSumExp",
    [
        np.array([[1000.0, 1000.0], [-1000, -1000], [np.inf, 0], [-np.inf, -np.inf], [np.nan, 1]]),
        np.array([1]),
    ],
    {"keepdims": 0},
    expect=[[1000 + np.log(2), -1000 + np.log(2), np.inf, -np.inf, np.nan]],
    dtype="float64",
    rtol=1e-12,
    label="extremes",
)

# ---- every type ----

for kind in ("int8", "int16", "uint8", "uint16", "uint32", "uint64", "int32", "int64"):
    x = integers(4, 5, low=0 if kind[0] == "u" else -9, high=9).astype(kind)
    for op, reduce in ROWS.items():
        case(
            op,
            [x, np.array([1])],
            {"keepdims": 0},
            version=VERSION.get(op, 18 if op not in ("ReduceMax", "ReduceMin") else 20),
            expect=lambda x, a, r=reduce: (
                np.trunc(r(x.astype(float), axis=1)).astype(np.int64).astype(x.dtype)
            ),
            label=f"{kind}, all types",
        )
    for op, find in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        case(op, [x], {"axis": 1}, expect=lambda x, f=find: f(x, 1, keepdims=True), label=kind)
    case("CumSum", [x, np.array(0)], expect=lambda x, a: np.cumsum(x, 0, x.dtype), label=kind)
FLAGS = np.array([[True, False, True], [False, False, False], [True, True, True]])
case("ReduceMax", [FLAGS, np.array([1])], expect=lambda x, a: x.any(1, keepdims=True), version=20)
case("ReduceMin", [FLAGS, np.array([0])], expect=lambda x, a: x.all(0, keepdims=True), version=20)
case(
    "ReduceMax",
    [FLAGS[:0], np.array([0])],
    expect=lambda x, a: np.zeros((1, 3), bool),
    version=20,
    label="of no bools",
)
case(
    "ReduceMin",
    [FLAGS[:0], np.array([0])],
    expect=lambda x, a: np.ones((1, 3), bool),
    version=20,
    label="of no bools",
)
case(
    "ArgMax",
    [np.array([[1.0, np.nan, 3.0, np.nan]])],
    {"axis": 1, "select_last_index": 1},
    expect=[np.array([[1]])],
    label="last, NaN",
)
for op in ("ArgMax", "ArgMin"):
    case(
        op,
        [np.zeros((0, 0), "float32")],
        {"axis": 1, "keepdims": 0},
        expect=[np.zeros(0, "int64")],
        label="no rows and no columns",
    )

for label, shape, axes in (
    ("equal", (3, 4, 5), ()),
    ("a leading axis", (4, 5), (0,)),
    ("sizes of one", (3, 1, 5), (1,)),
    ("both", (1, 5), (0, 1)),
    ("a scalar", (), (0, 1, 2)),
):
    case(
        "SumToShape",
        [X, np.array(shape, np.int64)],
        domain="graphio",
        expect=lambda x, s, a=axes: x.sum(axis=a).reshape(s),
        types=FLOATS,
        label=label,
        atol=1e-6,
    )
for label, shape in (("too wide", [1, 3, 4, 5]), ("another size", [3, 4, 2])):
    bad(
        "SumToShape",
        [X, np.array(shape)],
        domain="graphio",
        error=INVALID,
        words=("does not broadcast",),
        label=label,
    )
