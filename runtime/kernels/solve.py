"""MatrixSolve and Cholesky: in double, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import function
from graphio.schema import errors


def _check_square(a: Any) -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise errors.InvalidArgumentError(
            message=f"the input has shape {list(a.shape)}, expected square matrices"
        )


def _matrix_solve(a: Any, b: Any) -> Any:
    _check_square(a)
    if a.ndim != b.ndim or a.shape[:-1] != b.shape[:-1]:
        raise errors.InvalidArgumentError(
            message=f"the matrix has shape {list(a.shape)} and the right side {list(b.shape)}, "
            "expected as many rows of each"
        )
    try:
        return np.linalg.solve(a.astype(np.float64), b.astype(np.float64)).astype(b.dtype)
    except np.linalg.LinAlgError:
        raise errors.InvalidArgumentError(message="Input matrix is not invertible.") from None


def _cholesky(a: Any) -> Any:
    _check_square(a)
    try:
        found = np.linalg.cholesky(a.astype(np.float64))
    except np.linalg.LinAlgError:
        found = np.full(1, np.nan)
    if np.isnan(found).any():
        raise errors.InvalidArgumentError(
            message="Cholesky decomposition was not successful: the matrix is not positive "
            "definite."
        )
    return found.astype(a.dtype)


function("MatrixSolve", 1, _matrix_solve, "FF", domain="graphio")
function("Cholesky", 1, _cholesky, "F", domain="graphio")
