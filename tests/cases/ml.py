"""Keys looked up, and probabilities of classes from those of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case
from graphio.support import errors

INVALID = errors.InvalidArgumentError

# ---- IndexOf ----


def positions(x: Any, keys: Any) -> np.ndarray:
    known = list(keys.tolist())
    found = [known.index(v) if v in known else -1 for v in x.ravel().tolist()]
    return np.array(found, np.int64).reshape(x.shape)


def strings(*values: bytes) -> np.ndarray:
    return np.array(values, object)


for kind in ALL_NUMBERS:
    x = np.array([[3, 7, 0], [9, 3, 100]], kind)
    keys = np.array([7, 3, 100, 3, 7, 50], kind)
    case("IndexOf", [x, keys], expect=[positions(x, keys)], domain="graphio", label=kind)
for kind in ("int8", "int16", "int32", "int64", "float32", "float64"):
    x = np.array([-1, 0, 1, -128], kind)
    keys = np.array([1, -128, -1], kind)
    label = f"negative {kind}"
    case("IndexOf", [x, keys], expect=[positions(x, keys)], domain="graphio", label=label)
for kind in FLOATS:
    x = np.array([-0.0, np.nan, np.inf, 0.5, -np.inf], kind)
    keys = np.array([0.5, np.nan, 0.0, np.inf], kind)
    expected = np.array([2, -1, 3, 0, -1])
    case("IndexOf", [x, keys], expect=[expected], domain="graphio", label=f"special {kind}")
FLAGS = np.array([True, False])
case("IndexOf", [FLAGS, FLAGS[:1]], expect=[np.array([0, -1])], domain="graphio", label="bool")
WORDS = strings(b"b", "ä".encode(), b"", b"a\0b", b"a")
case(
    "IndexOf",
    [strings(b"a", b"ab", b"", "ä".encode(), b"b", b"a\0b"), WORDS],
    expect=[np.array([4, -1, 2, 1, 0, 3])],
    domain="graphio",
    label="texts",
)
case(
    "IndexOf",
    [np.array(b"b", object), WORDS],
    expect=[np.array(0)],
    domain="graphio",
    label="one string",
)
case(
    "IndexOf",
    [np.zeros((0, 2), np.int64), np.array([1])],
    expect=[np.zeros((0, 2), np.int64)],
    domain="graphio",
    label="nothing",
)
case(
    "IndexOf",
    [np.array([1, 2]), np.zeros(0, np.int64)],
    expect=[np.array([-1, -1])],
    domain="graphio",
    label="no keys",
    body=False,
)
MANY = np.random.RandomState(3).permutation(5000)[:3000]
REQUESTED = np.random.RandomState(4).randint(0, 5000, 20000)
case(
    "IndexOf",
    [REQUESTED, MANY],
    expect=[positions(REQUESTED, MANY)],
    domain="graphio",
    label="many",
    body=False,
)
bad("IndexOf", [np.array([1]), np.array([[1]])], error=INVALID, words=["expected a vector"],
    domain="graphio", label="matrix")  # fmt: skip

# ---- PairwiseCoupling ----


def pairs(true: np.ndarray) -> np.ndarray:
    """The pairwise probabilities of classes whose probabilities are `true`."""
    classes = true.shape[1]
    columns = [
        true[:, i] / (true[:, i] + true[:, j])
        for i in range(classes)
        for j in range(i + 1, classes)
    ]
    return np.stack(columns, 1)


def probabilities(classes: int, rows: int) -> np.ndarray:
    given = np.random.RandomState(classes).uniform(0.1, 1, (rows, classes))
    return given / given.sum(1, keepdims=True)


def coupled(r: np.ndarray, classes: int) -> np.ndarray:
    """One row after another, as Wu, Lin and Weng have it."""
    result = np.empty((len(r), classes))
    for row, line in enumerate(r):
        first, second = np.triu_indices(classes, 1)
        pair = np.zeros((classes, classes))
        pair[first, second], pair[second, first] = line, 1 - line
        q = -pair.T * pair
        np.fill_diagonal(q, (pair**2).sum(0))
        p = np.full(classes, 1 / classes)
        for _ in range(max(100, classes)):
            qp = q @ p
            total = p @ qp
            if np.abs(qp - total).max() < 0.005 / classes:
                break
            for t in range(classes):
                step = (total - qp[t]) / q[t, t]
                p[t] += step
                total = (total + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
                qp, p = (qp + step * q[t]) / (1 + step), p / (1 + step)
        result[row] = p
    return result


for classes in (2, 3, 5, 10):
    r = np.clip(pairs(probabilities(classes, 7)) + 0.01, 0.01, 0.99)
    case(
        "PairwiseCoupling",
        [r],
        {"classes": classes},
        expect=(coupled(r, classes),),
        domain="graphio",
        types=FLOATS,
        rtol=1e-5,
        label=f"{classes} classes",
    )
TRUE = probabilities(4, 300)
case("PairwiseCoupling", [pairs(TRUE)], {"classes": 4}, expect=(TRUE,), domain="graphio",
     atol=3e-3, label="consistent pairs")  # fmt: skip
case("PairwiseCoupling", [np.zeros((0, 3))], {"classes": 3}, expect=(np.zeros((0, 3)),),
     domain="graphio", types=FLOATS, label="no rows")  # fmt: skip
ROW = np.full((1, 3), 0.5)
bad("PairwiseCoupling", [ROW], {"classes": 4}, error=INVALID, words=["expected [rows,6]"],
    domain="graphio", label="pairs")  # fmt: skip
bad("PairwiseCoupling", [ROW], {"classes": 1}, error=INVALID, words=["classes is 1, expected 2"],
    domain="graphio", label="classes")  # fmt: skip
