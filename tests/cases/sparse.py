"""Checks of sparse tensors."""

from __future__ import annotations

import numpy as np

from cases import bad, case
from graphio.support import errors

INVALID = errors.InvalidArgumentError
SHAPE = np.array([3, 4])


def given(indices: np.ndarray, *rest: np.ndarray) -> np.ndarray:
    return indices


for label, indices, ordered in (
    ("ascending", [[0, 3], [1, 0], [1, 2]], 1),
    ("one", [[2, 3]], 1),
    ("any order", [[1, 2], [0, 3], [1, 2]], 0),
):
    inputs = [np.array(indices), SHAPE]
    attrs = {"ordered": ordered}
    case("CheckSparseIndices", inputs, attrs, expect=given, domain="graphio", label=label)
NONE = [np.zeros((0, 2), np.int64), SHAPE]
case("CheckSparseIndices", NONE, {"ordered": 1}, expect=given, domain="graphio", label="none")
case(
    "CheckSparseIndices",
    [np.zeros((1, 0), np.int64), np.zeros(0, np.int64)],
    {"ordered": 1},
    expect=given,
    domain="graphio",
    label="scalar",
)
for label, indices, ordered, words in (
    ("repeated", [[0, 1], [0, 1]], 1, ["indices[1] = [0,1] is repeated"]),
    ("unordered", [[0, 1], [1, 0], [0, 2]], 1, ["indices[2] = [0,2] is out of order"]),
    ("negative", [[0, 1], [0, -1]], 0, ["indices[1] = [0,-1] is out of bounds", "[3,4]"]),
    ("beyond", [[3, 0]], 1, ["indices[0] = [3,0] is out of bounds: need 0 <= index < [3,4]"]),
    ("columns", [[0], [1]], 1, ["CheckSparseIndices 'node'"]),
    ("rank", [0, 1], 1, ["CheckSparseIndices 'node'"]),
):
    bad(
        "CheckSparseIndices",
        [np.array(indices), SHAPE],
        {"ordered": ordered},
        domain="graphio",
        error=INVALID,
        words=words,
        label=label,
    )

bad(
    "CheckSparseIndices",
    [np.array([[0, 0]]), np.array([1 << 40, 1 << 23])],
    {"ordered": 0},
    domain="graphio",
    error=INVALID,
    words=["[1099511627776,8388608] has more elements than an int64 counts"],
    label="overflow",
)

MESSAGE = {"message": "The shapes differ"}
case("CheckEqual", [SHAPE, SHAPE.copy()], MESSAGE, expect=given, domain="graphio")
for label, x, y, words in (
    ("values", SHAPE, SHAPE + 1, ["The shapes differ: [3,4] and [4,5]"]),
    ("lengths", SHAPE, SHAPE[:1], ["The shapes differ: [3,4] and [3]"]),
    ("rank", SHAPE, np.array(3), ["CheckEqual 'node'"]),
):
    bad("CheckEqual", [x, y], MESSAGE, domain="graphio", error=INVALID, words=words, label=label)
