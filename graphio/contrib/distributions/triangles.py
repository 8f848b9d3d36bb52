"""Vectors as triangles of matrices, and changes of diagonals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import reverse
from graphio.ops.linalg import matrices
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["fill_triangular", "fill_triangular_inverse", "matrix_diag_transform", "tridiag"]


@api_guard.operator
def fill_triangular(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """Triangles whose numbers are those of vectors, along a spiral from a corner.

    Args:
        x: tensor (..., n (n + 1) / 2).
        upper: whether the triangles are upper ones.
        name: of the operations.

    Returns:
        (..., n, n).

    Raises:
        ValueError: a vector's known length is not that of a triangle.

    Example:
        fill_triangular([1, 2, 3, 4, 5, 6]) is [[4, 0, 0], [6, 5, 0], [3, 2, 1]].
    """
    with scopes.name_scope(name, "fill_triangular", values=[x]):
        x = convert_to_tensor(x, name="x")
        length = x.shape.with_rank_at_least(1)[-1].value
        if length is None:
            roots = elementwise.sqrt(0.25 + 2.0 * elementwise.cast(array.shape(x)[-1], "float32"))
            n: Any = elementwise.cast(roots, "int32")
        else:
            n = math.isqrt(2 * length)
            if n * (n + 1) != 2 * length:
                raise ValueError(
                    f"Input right-most shape ({length}) does not correspond to a triangular matrix."
                )
        both = [x, reverse(x[..., n:], [-1])] if upper else [x[..., n:], reverse(x, [-1])]
        lead = array.shape(x)[:-1]
        square = array.concat([lead, array.stack([n, n])], 0)
        made = array.reshape(array.concat(both, -1), square)
        made = matrices.matrix_band_part(made, *((0, -1) if upper else (-1, 0)))
        if length is not None:
            made.set_shape(x.shape[:-1].concatenate([n, n]))
        return made


@api_guard.operator
def fill_triangular_inverse(x: Any, upper: bool = False, name: str | None = None) -> Any:
    """The vectors of which fill_triangular makes triangles.

    Args:
        x: tensor (..., n, n).
        upper: whether the triangles are upper ones.
        name: of the operations.

    Returns:
        (..., n (n + 1) / 2).
    """
    with scopes.name_scope(name, "fill_triangular_inverse", values=[x]):
        x = convert_to_tensor(x, name="x")
        known = x.shape.with_rank_at_least(2)[-1].value
        n: Any = array.shape(x)[-1] if known is None else known
        if upper:
            first, others = x[..., 0, :], x[..., 1:, :]
        else:
            first, others = reverse(x[..., -1, :], [-1]), x[..., :-1, :]
        folded = others + reverse(others, [-1, -2])
        lead = array.shape(x)[:-2]
        flat = array.reshape(folded, array.concat([lead, array.stack([n * (n - 1)])], 0))
        made = array.concat([first, flat[..., : n * (n - 1) // 2]], -1)
        if known is not None:
            made.set_shape(x.shape[:-2].concatenate([n * (n + 1) // 2]))
        return made


@api_guard.operator
def matrix_diag_transform(
    matrix: Any, transform: Callable[[Any], Any] | None = None, name: str | None = None
) -> Any:
    """Matrices with a function of their diagonals as diagonals.

    Args:
        matrix: tensor (..., n, n).
        transform: from tensors (..., n) to such; None: the matrices stay.
        name: of the operations.
    """
    with scopes.name_scope(name, "matrix_diag_transform", values=[matrix]):
        matrix = convert_to_tensor(matrix, name="matrix")
        if transform is None:
            return matrix
        return matrices.matrix_set_diag(matrix, transform(matrices.matrix_diag_part(matrix)))


@api_guard.operator
def tridiag(below: Any = None, diag: Any = None, above: Any = None, name: str | None = None) -> Any:
    """Matrices of zeros but for three diagonals.

    Args:
        below: tensor (..., n - 1), under the main diagonal; None: zeros.
        diag: tensor (..., n); None: zeros.
        above: tensor (..., n - 1), over the main diagonal; None: zeros.
        name: of the operations.

    Returns:
        (..., n, n).

    Raises:
        ValueError: all diagonals are None.
    """
    with scopes.name_scope(name, "tridiag", values=[below, diag, above]):
        found = []
        for value, word, column in ((below, "below", 0), (diag, "diag", None), (above, "above", 1)):
            if value is None:
                continue
            matrix = matrices.matrix_diag(convert_to_tensor(value, name=word))
            found.append(matrix if column is None else _shifted(matrix, bool(column)))
        if not found:
            raise ValueError("Must specify at least one of `below`, `diag`, or `above`.")
        total = found[0]
        for matrix in found[1:]:
            total = total + matrix
        return total


def _shifted(matrix: Any, up: bool) -> Any:
    """Matrices with a row and a column of zeros more, so that the diagonal lies above the main
    diagonal or below."""
    before, after = (0, 1), (1, 0)
    rows, columns = (before, after) if up else (after, before)
    return array.pad(matrix, [[0, 0]] * (matrix.shape.ndims - 2) + [list(rows), list(columns)])
