"""Linear equations and Cholesky factors."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.support import errors

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
for a, label in ((-np.eye(2), "negative"), (np.full((2, 2), np.nan), "nan")):
    case(
        "Cholesky", [np.stack([4 * np.eye(2), a])], domain="graphio", types=FLOATS, label=label,
        expect=lambda a: np.stack([2 * np.eye(2), [[np.nan, 0.0], [np.nan, np.nan]]]),
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


def eig(a: np.ndarray) -> tuple[np.ndarray, ...]:
    """numpy's eigenvectors with the largest number of each positive."""
    values, vectors = np.linalg.eigh(a)
    best = np.argmax(np.abs(vectors), -2)[..., None, :]
    return values, vectors * np.sign(np.take_along_axis(vectors, best, -2))


for n in (1, 2, 5):
    case(
        "SelfAdjointEig", [definite(n, n)], domain="graphio", expect=eig, types=FLOATS, rtol=1e-5,
        atol=1e-5, label=f"{n}",
    )  # fmt: skip
case(
    "SelfAdjointEig", [definite(2, 3, 3)], domain="graphio", expect=eig, types=FLOATS, rtol=1e-5,
    atol=1e-5, label="batch",
)  # fmt: skip
case(
    "SelfAdjointEig", [np.diag([3.0, -1.0, 2.0])], domain="graphio", types=FLOATS,
    expect=lambda a: (np.array([-1.0, 2.0, 3.0]), np.eye(3)[:, [1, 2, 0]]), label="diagonal",
)  # fmt: skip
for m, n in ((1, 1), (4, 3), (3, 4), (3, 3)):
    for full in (0, 1):
        case(
            "Qr", [floats(m, n)], {"full_matrices": full}, domain="graphio", types=FLOATS,
            expect=lambda a, mode=("reduced", "complete")[full]: tuple(np.linalg.qr(a, mode)),
            rtol=1e-4, atol=1e-5, label=f"{m} by {n}, {full}",
        )  # fmt: skip
case(
    "Qr", [floats(2, 4, 2)], {"full_matrices": 0}, domain="graphio", types=FLOATS,
    expect=lambda a: tuple(np.linalg.qr(a)), rtol=1e-4, atol=1e-5, label="batch",
)  # fmt: skip
bad("SelfAdjointEig", [floats(2, 3)], domain="graphio", error=INVALID, words=["square"],
    outputs=2, label="not square")  # fmt: skip
bad("SelfAdjointEig", [np.array([[1.0, 0.0], [np.inf, 1.0]])], domain="graphio", error=INVALID,
    words=["not finite"], outputs=2, label="inf")  # fmt: skip
bad("Qr", [floats(3)], {"full_matrices": 0}, domain="graphio", error=INVALID, words=["matrices"],
    outputs=2, label="vector")  # fmt: skip
