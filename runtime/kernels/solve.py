"""Linear equations and factors of matrices: in double, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Call, Function, function, kernel
from graphio.support import errors


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
    wide = a.astype(np.float64)
    try:
        found = np.linalg.cholesky(wide)
    except np.linalg.LinAlgError:
        found = np.array([_lower(x) for x in wide.reshape(-1, *a.shape[-2:])]).reshape(a.shape)
    failed = np.isnan(found).any((-2, -1), keepdims=True)
    return np.where(failed, np.tril(np.full(a.shape[-2:], np.nan)), found).astype(a.dtype)


def _lower(a: Any) -> Any:
    """The factor of one matrix; NaN where it has none."""
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return np.full(a.shape, np.nan)


def _eig(a: Any) -> Any:
    _check_square(a)
    if not np.isfinite(a).all():
        raise errors.InvalidArgumentError(message="the matrix has elements that are not finite")
    values, vectors = np.linalg.eigh(a.astype(np.float64))
    best = np.argmax(np.abs(vectors), axis=-2)[..., None, :] if a.size else None
    if best is not None:
        vectors = vectors * np.where(np.take_along_axis(vectors, best, -2) < 0, -1.0, 1.0)
    return values.astype(a.dtype), vectors.astype(a.dtype)


@kernel("Qr", domain="graphio", types="F", fresh=True)
def _qr(call: Call) -> Function:
    mode: Any = "complete" if call.integer("full_matrices", 0) else "reduced"

    def qr(a: Any) -> Any:
        if a.ndim < 2:
            raise errors.InvalidArgumentError(
                message=f"the input has shape {list(a.shape)}, expected matrices"
            )
        q, r = np.linalg.qr(a.astype(np.float64), mode=mode)
        return q.astype(a.dtype), r.astype(a.dtype)

    return qr


function("SelfAdjointEig", 1, _eig, "F", domain="graphio")
function("MatrixSolve", 1, _matrix_solve, "FF", domain="graphio")
function("Cholesky", 1, _cholesky, "F", domain="graphio")
