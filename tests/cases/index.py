"""Gathering and scattering by index."""

from __future__ import annotations

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
X = floats(5, 4, 3)
INDEX = np.array([[0, -1], [2, 4]])
KINDS = {
    "float32": X.astype("float32"),
    "float64": X,
    "int32": integers(5, 4, 3, low=-9, high=9, dtype="int32"),
    "bool": integers(5, 4, 3, low=0, high=2).astype(bool),
    "uint8": integers(5, 4, 3, low=0, high=255, dtype="uint8"),
}
for label, x in KINDS.items():
    case("Gather", [x, INDEX], {"axis": 0}, expect=lambda x, i: x[i], dtype=label, label=label)
case(
    "Gather",
    [X, np.array(2)],
    {"axis": 1},
    expect=lambda x, i: x[:, 2],
    types=FLOATS,
    label="scalar",
)
case(
    "Gather",
    [X, np.array([], "int64")],
    {"axis": 0},
    expect=lambda x, i: x[:0],
    types=FLOATS,
    label="none",
)
case(
    "Gather",
    [X, np.array([2, 0], "int32")],
    {"axis": -1},
    expect=lambda x, i: x[..., [2, 0]],
    types=FLOATS,
    label="int32",
)
for label, index, position in (("above", [0, 5], "5"), ("below", [-6, 0], "-6")):
    bad(
        "Gather",
        [X, np.array(index)],
        {"axis": 0},
        error=INVALID,
        words=["Gather 'node'", f"= {position}", "-5 to 4"],
        label=label,
    )
bad(
    "Gather",
    [X, INDEX],
    {"axis": 3},
    error=INVALID,
    words=["Gather 'node'", "axis 3"],
    label="axis",
)

ALONG = integers(5, 2, 3, low=-4, high=4)
case(
    "GatherElements",
    [X, ALONG],
    {"axis": 1},
    expect=lambda x, i: np.take_along_axis(x, i, 1),
    types=FLOATS,
)
case(
    "GatherElements",
    [X, ALONG[:2, :, :1]],
    {"axis": 1},
    expect=lambda x, i: np.take_along_axis(x[:2, :, :1], i, 1),
    types=FLOATS,
    label="smaller",
)
bad(
    "GatherElements",
    [X, np.full((5, 2, 3), 4)],
    {"axis": 1},
    error=INVALID,
    words=["GatherElements 'node'", "= 4", "-4 to 3"],
    label="above",
)
case(
    "GatherND",
    [X, np.array([[0, 1], [-1, 3]])],
    {"batch_dims": 0},
    expect=lambda x, i: x[i[:, 0], i[:, 1]],
    types=FLOATS,
)
case(
    "GatherND",
    [X, np.array([[0, 1, 2]])],
    {"batch_dims": 0},
    expect=lambda x, i: x[[0], [1], [2]],
    types=FLOATS,
    label="elements",
)
case(
    "GatherND",
    [X[:2], np.array([[1], [3]])],
    {"batch_dims": 1},
    version=12,
    expect=lambda x, i: np.stack([x[0, 1], x[1, 3]]),
    types=FLOATS,
    label="batch",
)
bad(
    "GatherND",
    [X, np.array([[0, 4]])],
    {"batch_dims": 0},
    error=INVALID,
    words=["GatherND 'node'", "= 4", "-4 to 3"],
    label="above",
)


def put(x: np.ndarray, i: np.ndarray, u: np.ndarray, reduce: object = None) -> np.ndarray:
    """ScatterElements along axis 1, one by one."""
    result = x.copy()
    for position in np.ndindex(i.shape):
        target = (position[0], i[position], position[2])
        result[target] = u[position] if reduce is None else reduce(result[target], u[position])
    return result


U = floats(5, 2, 3, seed=1)
DISTINCT = np.broadcast_to(np.array([1, -4])[None, :, None], (5, 2, 3)).copy()
case("ScatterElements", [X, DISTINCT, U], {"axis": 1}, expect=put, types=FLOATS)
REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
for name, reduce in REDUCTIONS.items():
    version = 16 if name in ("add", "mul") else 18
    case(
        "ScatterElements",
        [X, ALONG, U],
        {"axis": 1, "reduction": name},
        version=version,
        expect=lambda x, i, u, reduce=reduce: put(x, i, u, reduce),
        types=FLOATS,
        label=name,
    )
bad(
    "ScatterElements",
    [X, np.full((5, 2, 3), 7), U],
    {"axis": 1},
    error=INVALID,
    words=["ScatterElements 'node'", "= 7"],
    label="above",
)
bad(
    "ScatterElements",
    [X, DISTINCT, U[:4]],
    {"axis": 1},
    error=INVALID,
    words=["ScatterElements 'node'"],
    label="shapes",
)


def put_rows(x: np.ndarray, i: np.ndarray, u: np.ndarray, reduce: object = None) -> np.ndarray:
    """ScatterND of rows, one by one."""
    result = x.copy()
    for k, (row,) in enumerate(i.tolist()):
        result[row] = u[k] if reduce is None else reduce(result[row], u[k])
    return result


ROWS, UPDATES = np.array([[3], [-5]]), floats(2, 4, 3, seed=2)
case("ScatterND", [X, ROWS, UPDATES], expect=put_rows, types=FLOATS)
for name, reduce in REDUCTIONS.items():
    version = 16 if name in ("add", "mul") else 18
    case(
        "ScatterND",
        [X, np.array([[3], [3]]), UPDATES],
        {"reduction": name},
        version=version,
        expect=lambda x, i, u, reduce=reduce: put_rows(x, i, u, reduce),
        types=FLOATS,
        label=name,
    )
bad(
    "ScatterND",
    [X, np.array([[5], [0]]), UPDATES],
    error=INVALID,
    words=["ScatterND 'node'", "= 5"],
    label="above",
)
bad("ScatterND", [X, ROWS, UPDATES[:1]], error=INVALID, words=["ScatterND 'node'"], label="shapes")


def sum_rows(i: np.ndarray, v: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """ScatterSum, one by one."""
    result = np.zeros((int(rows), *v.shape[i.ndim :]), v.dtype)
    for position in np.ndindex(i.shape):
        result[i[position]] += v[position]
    return result


case(
    "ScatterSum",
    [np.array([[0, 3], [3, 1]]), floats(2, 2, 3), np.array(5)],
    domain="graphio",
    expect=sum_rows,
    types=FLOATS,
    atol=1e-6,
)
case(
    "ScatterSum",
    [np.array([2, 2], "int32"), integers(2, low=1, high=9), np.array(3)],
    domain="graphio",
    expect=sum_rows,
    label="integers",
)
case(
    "ScatterSum",
    [np.zeros(0, "int64"), floats(0, 3), np.array(2)],
    domain="graphio",
    expect=sum_rows,
    types=FLOATS,
    label="none",
)
for label, index in (("above", 5), ("negative", -1)):
    bad(
        "ScatterSum",
        [np.array([0, index]), floats(2, 3), np.array(5)],
        domain="graphio",
        error=INVALID,
        words=["ScatterSum 'node'", f"= {index}", "0 to 4"],
        label=label,
    )
bad(
    "ScatterSum",
    [np.array([0]), floats(2, 3), np.array(5)],
    domain="graphio",
    error=INVALID,
    words=["ScatterSum 'node'"],
    label="shapes",
)

case(
    "NonZero",
    [np.array([[1.0, 0.0, 2.0], [0.0, 0.0, -3.0]])],
    expect=lambda x: np.array(np.nonzero(x)),
    types=FLOATS,
    dtype="int64",
)
case("NonZero", [np.array([False, True, True])], expect=[np.array([[1, 2]])], label="bool")
case("NonZero", [np.zeros((2, 2))], expect=[np.zeros((2, 0), "int64")], label="nothing")

# ---- every type, corners ----

COMBINE = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def one_by_one(reduction: str, positions: list[tuple[int, ...]]) -> object:
    """Updates put in one after another."""

    def expect(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
        result = x.copy()
        parts = updates.reshape(len(positions), *x.shape[len(positions[0]) :])
        for position, update in zip(positions, parts, strict=True):
            if reduction == "none":
                result[position] = update
            else:
                result[position] = COMBINE[reduction](result[position], update)
        return result

    return expect


SMALL = np.arange(12).reshape(3, 4)
POSITIONS = [(0, 0), (2, 1), (0, 2), (0, 0), (1, 1), (1, 2)]
ROWS = np.array([[0, -1, 0], [0, 1, 1]])
for kind in ALL_NUMBERS:
    for reduction in ("none", *COMBINE):
        case(
            "ScatterElements",
            [SMALL.astype(kind), ROWS, (np.arange(6) * 7 + 60).reshape(2, 3).astype(kind)],
            {"axis": 0, "reduction": reduction},
            expect=one_by_one(reduction, POSITIONS),
            dtype=kind,
            version=18,
            label=f"{kind}-{reduction}",
        )
        case(
            "ScatterND",
            [SMALL.astype(kind), np.array([[2], [-3], [2]]), SMALL[::-1].astype(kind)],
            {"reduction": reduction},
            expect=one_by_one(reduction, [(2,), (0,), (2,)]),
            dtype=kind,
            version=18,
            label=f"{kind}-{reduction}",
        )
NONE = np.zeros((2, 0), np.int64)
case("GatherND", [X, NONE], expect=lambda x, i: np.stack([x, x]), types=FLOATS, label="whole")
case(
    "GatherND",
    [X[:2], NONE.reshape(2, 1, 0)],
    {"batch_dims": 1},
    expect=lambda x, i: x[:, np.newaxis],
    types=FLOATS,
    label="entire batch",
)
case(
    "ScatterND",
    [X, NONE, np.stack([X, X + 1])],
    {"reduction": "add"},
    expect=lambda x, i, u: x + u[0] + u[1],
    types=FLOATS,
    version=16,
    label="whole",
)
case(
    "GatherND",
    [X, np.array([[[0], [-1]]] * 5)],
    {"batch_dims": 1},
    expect=lambda x, i: x[:, [0, -1]],
    types=FLOATS,
    label="batches",
)
for label, batch in (("negative batch", -1), ("large batch", 2)):
    bad(
        "GatherND",
        [X, np.zeros((5, 1), "int64")],
        {"batch_dims": batch},
        error=INVALID,
        words=["GatherND 'node'"],
        label=label,
    )

for limit in (-1, 4):
    for dtype in (np.int32, np.int64):
        case(
            "IndexRange", [np.array([[0, 3], [2, 2]], dtype)], {"limit": limit}, domain="graphio",
            expect=lambda x: x, body=False, label=f"{np.dtype(dtype)}, {limit}",
        )  # fmt: skip
bad("IndexRange", [np.int32([[0, 3], [4, 2]])], {"limit": 4}, domain="graphio",
    error=errors.InvalidArgumentError, words=["indices[1, 0] = 4 is not in [0, 4)"],
    label="above")  # fmt: skip
bad("IndexRange", [np.int64(-1)], {"limit": -1}, domain="graphio",
    error=errors.InvalidArgumentError, words=["indices[] = -1 is negative"],
    label="below")  # fmt: skip
