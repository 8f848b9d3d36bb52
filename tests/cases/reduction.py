"""Sums, means, extremes along axes."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.schema import errors

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
