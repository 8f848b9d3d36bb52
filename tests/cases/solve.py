"""Linear equations and Cholesky factors."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.schema import errors

INVALID = errors.InvalidArgumentError


def definite(*shape: int) -> np.ndarray:
    """Symmetric positive definite matrices."""
    half = floats(*shape)
    return np.matmul(half, np.swapaxes(half, -1, -2)) + np.eye(shape[-1])


for n, k in ((1, 1), (2, 1), (3, 4), (6, 2)):
    case(
        "MatrixSolve", [floats(n, n) + 3 * np.eye(n), floats(n, k, seed=1)], domain="graphio",
        expect=np.linalg.solve, types=FLOATS, rtol=1e-5, atol=1e-6, label=f"{n} by {k}",
    )  # fmt: skip
    case(
        "Cholesky", [definite(n, n)], domain="graphio", expect=np.linalg.cholesky, types=FLOATS,
        rtol=1e-5, atol=1e-6, label=f"{n}",
    )  # fmt: skip
case(
    "MatrixSolve", [floats(2, 3, 3) + 3 * np.eye(3), floats(2, 3, 2)], domain="graphio",
    expect=np.linalg.solve, types=FLOATS, rtol=1e-5, atol=1e-6, label="batch",
)  # fmt: skip
case(
    "MatrixSolve", [np.eye(4)[[1, 0, 3, 2]], floats(4, 2)], domain="graphio",
    expect=lambda a, b: b[[1, 0, 3, 2]], types=FLOATS, label="permutation",
)  # fmt: skip
case(
    "MatrixSolve", [np.zeros((2, 0, 0)), np.zeros((2, 0, 3))], domain="graphio",
    expect=lambda a, b: b, types=FLOATS, label="no rows",
)  # fmt: skip
case(
    "Cholesky", [definite(2, 2, 3, 3)], domain="graphio", expect=np.linalg.cholesky, types=FLOATS,
    rtol=1e-5, atol=1e-6, label="batch",
)  # fmt: skip
case("Cholesky", [np.zeros((0, 2, 2))], domain="graphio", expect=lambda a: a, types=FLOATS,
     label="no matrices")  # fmt: skip
bad("MatrixSolve", [np.ones((2, 2)), np.ones((2, 1))], domain="graphio", error=INVALID,
    words=["Input matrix is not invertible"], label="singular")  # fmt: skip
bad("MatrixSolve", [np.eye(2), np.ones((3, 1))], domain="graphio", error=INVALID,
    words=["as many rows"], label="rows")  # fmt: skip
bad("MatrixSolve", [floats(2, 3), np.ones((2, 1))], domain="graphio", error=INVALID,
    words=["square"], label="not square")  # fmt: skip
bad("Cholesky", [floats(2, 3)], domain="graphio", error=INVALID, words=["square"],
    label="not square")  # fmt: skip
bad("Cholesky", [-np.eye(2)], domain="graphio", error=INVALID, words=["positive definite"],
    label="negative")  # fmt: skip
bad("Cholesky", [np.full((2, 2), np.nan)], domain="graphio", error=INVALID,
    words=["positive definite"], label="nan")  # fmt: skip
