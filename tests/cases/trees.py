"""TreeEnsemble: comparisons, NaN, aggregates, and malformed trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import FLOATS, bad, case
from graphio.support import errors

INVALID = errors.InvalidArgumentError
NAN, INF = np.nan, np.inf

# Tree 0: x0 ? 1.5 then leaf 0, else x1 ? -1 then leaf 1 else leaf 2; tree 1: leaf 2 alone;
# tree 2: x1 ? -1 (node 1 again) then leaf 1 else leaf 2.
SPLITS = np.array([1.5, -1.0])
FEATURES = np.array([0, 1], np.int32)
BRANCHES = np.array([[-1, 1], [-2, -3]], np.int32)
ROOTS = np.array([0, -3, 1], np.int32)
STARTS = np.array([0, 2, 3, 4], np.int32)
TARGETS = np.array([0, 2, 1, 2], np.int32)
WEIGHTS = np.array([0.5, -1.25, 3.0, 0.1])
X = np.array(
    [[1.5, -1], [1.0, 0], [2, -1], [2, -2], [2, 0], [NAN, NAN], [INF, -INF], [-INF, INF], [1.5, 1]]
)
LEAVES = np.array([[0.5, 0, -1.25], [0, 3, 0], [0, 0, 0.1]])


def modes(first: int, second: int) -> np.ndarray[Any, Any]:
    return np.array([first, second], np.uint8)


def inputs(code: np.ndarray[Any, Any], x: np.ndarray[Any, Any] = X) -> list[Any]:
    return [x, SPLITS, FEATURES, code, BRANCHES, ROOTS, STARTS, TARGETS, WEIGHTS]


def holds(mode: int, x: float, split: float) -> bool:
    plain = (x <= split, x < split, x >= split, x > split, x == split, x != split)[mode % 128]
    return bool(plain or (mode >= 128 and np.isnan(x)))


def walked(code: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> list[list[int]]:
    """The leaf of every tree, row by row, as the words above say."""
    found = []
    for row in x:
        inner = 1 if holds(int(code[1]), row[1], -1.0) else 2
        found.append([0 if holds(int(code[0]), row[0], 1.5) else inner, 2, inner])
    return found


def total(code: np.ndarray[Any, Any], aggregate: str, x: np.ndarray[Any, Any]) -> Any:
    each = LEAVES[np.array(walked(code, x), int).reshape(-1, 3)]
    if aggregate == "SUM":
        return each.sum(1)
    if aggregate == "AVERAGE":
        return each.sum(1) / 3
    named = np.array([[True, False, True], [False, True, False], [False, False, True]])
    there = named[np.array(walked(code, x), int).reshape(-1, 3)]
    if aggregate == "MIN":
        lowest = np.where(there, each, INF).min(1)
        return np.where(there.any(1), lowest, 0)
    highest = np.where(there, each, -INF).max(1)
    return np.where(there.any(1), highest, 0)


for first in range(6):
    for missing in (0, 128):
        code = modes(first + missing, (first + 2) % 6 + 128 - missing)
        case(
            "TreeEnsemble",
            inputs(code),
            {"n_targets": 3, "aggregate": "SUM"},
            expect=(total(code, "SUM", X),),
            domain="graphio",
            types=FLOATS,
            label=f"mode {first} {missing}",
        )
for aggregate in ("AVERAGE", "MIN", "MAX"):
    code = modes(0, 1)
    case(
        "TreeEnsemble",
        inputs(code),
        {"n_targets": 3, "aggregate": aggregate},
        expect=(total(code, aggregate, X),),
        domain="graphio",
        types=FLOATS,
        label=aggregate,
    )
for rows, label in ((X[:0], "no rows"), (X[:3], "few rows"), (np.tile(X, (40, 1)), "many rows")):
    code = modes(3, 0)
    case(
        "TreeEnsemble",
        inputs(code, rows),
        {"n_targets": 3, "aggregate": "SUM"},
        expect=(total(code, "SUM", rows).reshape(-1, 3),),
        domain="graphio",
        types=FLOATS,
        label=label,
    )
# float32 compared, float64 added: more rows than walk at a time, then leaves of one weight each.
for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
    code = modes(0, 1)
    lines = np.tile(X, (5, 1))
    given = [v.astype(np.float32) if v.dtype == np.float64 else v for v in inputs(code, lines)]
    case(
        "TreeEnsemble",
        [*given[:-1], WEIGHTS],
        {"n_targets": 3, "aggregate": aggregate},
        expect=(total(code, aggregate, lines),),
        domain="graphio",
        dtype="float64",
        rtol=1e-15,
        label=f"wide {aggregate}",
    )
VOTES = np.array([0.1, 0.2, 0.3])
for count in (3, 45):
    lines = np.tile(X, (5, 1))[:count]
    given = [
        v.astype(np.float32) if v.dtype == np.float64 else v for v in inputs(modes(0, 1), lines)
    ]
    case(
        "TreeEnsemble",
        [*given[:-3], np.arange(4, dtype=np.int32), np.zeros(3, np.int32), VOTES],
        {"n_targets": 1, "aggregate": "SUM"},
        expect=(VOTES[np.array(walked(modes(0, 1), lines))].sum(1, keepdims=True),),
        domain="graphio",
        dtype="float64",
        rtol=1e-15,
        label=f"wide votes {count}",
    )
EMPTY = np.zeros(0, np.int32)
case(
    "TreeEnsemble",
    [X, np.zeros(0), EMPTY, np.zeros(0, np.uint8), np.zeros((0, 2), np.int32), EMPTY,
     np.zeros(1, np.int32), EMPTY, np.zeros(0)],
    {"n_targets": 2, "aggregate": "AVERAGE"},
    expect=(np.zeros((len(X), 2)),),
    domain="graphio",
    types=FLOATS,
    label="no trees",
)  # fmt: skip


def refuse(position: int, value: Any, words: list[str], label: str, **attrs: Any) -> None:
    given = [np.asarray(v, np.float32) if np.asarray(v).dtype == np.float64 else v
             for v in inputs(modes(0, 0))]  # fmt: skip
    given[position] = value
    known = {"n_targets": 3, "aggregate": "SUM", **attrs}
    bad("TreeEnsemble", given, known, error=INVALID, words=words, domain="graphio", label=label)


I32 = np.int32
F32 = np.float32
refuse(2, np.array([0, 2], I32), ["node 1 compares column 2, but x has 2"], "column")
refuse(3, modes(0, 6), ["node 1 has mode 6"], "mode")
refuse(4, np.array([[-1, 0], [-2, -3]], I32), ["node 0 leads to 0", "later node"], "circle")
refuse(4, np.array([[-1, 1], [-2, -4]], I32), ["node 1 leads to -4", "leaf (-1 to -3)"], "leaf")
refuse(4, np.array([[-1, 2], [-2, -3]], I32), ["node 0 leads to 2"], "node")
refuse(5, np.array([2], I32), ["tree 0 starts at 2"], "root")
refuse(6, np.array([0, 2, 1, 4], I32), ["leaf 1 has weights 2 to 1"], "starts")
refuse(6, np.array([0, 2, 3, 3], I32), ["leaf_starts go from 0 to 3, expected 0 to 4"], "end")
refuse(7, np.array([2, 0, 1, 2], I32), ["leaf 0 has a weight for target 0 after 2"], "order")
refuse(7, np.array([0, 2, 1, 3], I32), ["leaf 2 has a weight for target 3"], "target")
refuse(1, np.zeros(3, F32), ["3 splits, 2 features"], "splits")
refuse(8, np.zeros(3, F32), ["4 targets, 3 weights"], "weights")
refuse(2, np.array([0, 1]), ["features is int64[2], expected int32"], "type")
refuse(0, X[0].astype(F32), ["x is float32[2], expected float32 of rank 2"], "rank")
refuse(1, SPLITS, ["splits is float64[2], expected float32"], "mixed types")
refuse(1, SPLITS.astype(F32), ["n_targets is 0"], "none", n_targets=0)
refuse(1, SPLITS.astype(F32), ["aggregate is 'MEAN'"], "aggregate", aggregate="MEAN")
refuse(8, WEIGHTS.astype(np.float16), ["weights is float16[4], expected float32"], "weights' type")
