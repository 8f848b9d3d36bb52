"""Tridiagonal matrices in all formats, against numpy's complete matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
MAIN = np.array([[4.0, -3.0, 5.0, 0.5], [0.0, 2.0, 1.0, 3.0]])  # the second needs exchanges
ABOVE = np.array([[1.0, 0.5, -1.0], [2.0, 1.0, 0.3]])
BELOW = np.array([[-0.5, 2.0, 0.7], [1.0, -1.0, 0.2]])
MATRICES = np.stack(
    [
        np.diag(m) + np.diag(a, 1) + np.diag(b, -1)
        for m, a, b in zip(MAIN, ABOVE, BELOW, strict=True)
    ]
)
RHS = np.sin(np.arange(24.0)).reshape(2, 4, 3)


def formats(factor: Any = 1.0) -> dict[str, Any]:
    """The matrices in each format; what doesn't count is 9."""
    nine = np.full([2, 1], 9.0)
    wide = np.concatenate([ABOVE, nine], 1), MAIN, np.concatenate([nine, BELOW], 1)
    others = 9.0 * (np.abs(np.subtract.outer(np.arange(4), np.arange(4))) > 1)
    return {
        "compact": factor * np.stack(wide, 1),
        "sequence": tuple(factor * diagonal for diagonal in (ABOVE, MAIN, BELOW)),
        "matrix": factor * (MATRICES + others),
    }


@TARGETS
@pytest.mark.parametrize("factor", [1.0, 1.0 + 0.5j], ids=["real", "complex"])
@pytest.mark.parametrize("kind", ["compact", "sequence", "matrix"])
def test_multiplication_and_solutions_are_those_of_the_matrices(
    kind: str, factor: Any, target: str
) -> None:
    diagonals, matrices, rhs = formats(factor)[kind], factor * MATRICES, factor * RHS
    linalg, flat = tf.linalg, rhs[..., 0]
    options = {"diagonals_format": kind}
    pairs = [
        (linalg.tridiagonal_matmul(diagonals, rhs, kind), matrices @ rhs),
        (linalg.tridiagonal_solve(diagonals, rhs, kind), np.linalg.solve(matrices, rhs)),
        (
            linalg.tridiagonal_solve(diagonals, flat, **options),
            np.linalg.solve(matrices, flat[..., None])[..., 0],
        ),
        (
            linalg.tridiagonal_solve(
                diagonals, rhs.swapaxes(1, 2), transpose_rhs=True, conjugate_rhs=True, **options
            ),
            np.linalg.solve(matrices, rhs.conj()).swapaxes(1, 2),
        ),
    ]
    with tf.Session(target=target) as session:
        found = session.run([given for given, _ in pairs])
    for ours, (_, theirs) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("diagonals", "kind", "words"),
    [
        (np.zeros([2, 4]), "compact", "Expected 3 diagonals got 2"),
        (np.zeros([3, 4]), "dense", "Unrecognized diagonals_format"),
        ([np.zeros(2), np.zeros(4), np.zeros(3)], "sequence", "superdiagonal"),
        (np.zeros([3, 4]), "matrix", "to be same"),
    ],
)
def test_diagonals_of_another_shape_are_refused(diagonals: Any, kind: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.linalg.tridiagonal_solve(diagonals, np.zeros([4, 1]), kind)
