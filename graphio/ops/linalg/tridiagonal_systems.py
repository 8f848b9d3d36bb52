"""Multiplication and systems of tridiagonal matrices, which are given by their diagonals."""

from __future__ import annotations

import functools
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.complex import parts
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["tridiagonal_matmul", "tridiagonal_solve"]


def _diagonals(given: Any, diagonals_format: str) -> list[Tensor]:
    """The diagonals above, on and below the main one, each (..., n): the first one's last element
    and the last one's first don't count.

    Raises:
        ValueError: another format, or shapes that don't fit it.
    """
    if diagonals_format == "compact":
        compact = convert_to_tensor(given, name="diagonals")
        rank = compact.shape.ndims
        if rank is not None and rank < 2:
            raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
        if rank is not None and compact.shape[-2].value not in (None, 3):
            raise ValueError(f"Expected 3 diagonals got {compact.shape[-2].value}")
        return [compact[..., i, :] for i in range(3)]
    if diagonals_format == "sequence":
        if not isinstance(given, (tuple, list)) or len(given) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        above, main, below = (convert_to_tensor(diagonal) for diagonal in given)
        return [_padded(above, main, False), main, _padded(below, main, True)]
    if diagonals_format != "matrix":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    matrix = convert_to_tensor(given, name="diagonals")
    sizes = [size.value for size in matrix.shape.with_rank_at_least(2)[-2:]]
    if None in sizes:
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"Expected last two dimensions of diagonals to be same, got {sizes[0]} and {sizes[1]}"
        )
    main = matrices.matrix_diag_part(matrix)
    above, below = (
        matrices.matrix_diag_part(part) for part in (matrix[..., :-1, 1:], matrix[..., 1:, :-1])
    )
    return [_padded(above, main, False), main, _padded(below, main, True)]


def _padded(diagonal: Tensor, main: Tensor, front: bool) -> Tensor:
    """A diagonal of n - 1 elements with a 0 in front or at the end; one of n as it is."""
    sizes = diagonal.shape[-1].value, main.shape[-1].value
    if None in sizes or sizes[0] == sizes[1]:
        return diagonal
    if sizes[0] + 1 != sizes[1]:
        word = "subdiagonal" if front else "superdiagonal"
        raise ValueError(
            f"Expected {word} to be have length {sizes[1]} or {sizes[1] - 1}, got {sizes[0]}."
        )
    zero = array.zeros_like(main[..., :1])
    return array.concat([zero, diagonal] if front else [diagonal, zero], -1)


@api_guard.operator
def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """The matrix multiplication of tridiagonal matrices and others.

    Args:
        diagonals: "compact": tensor (..., 3, n) of the diagonals above, on and below the main one,
            of which the first one's last element and the last one's first don't count;
            "sequence": the three as tensors (..., n), the outer ones also (..., n - 1); "matrix":
            (..., n, n), whose other elements are not read.
        rhs: tensor (..., n, m) of the same dtype.
        diagonals_format: of diagonals.
        name: of the operations.

    Returns:
        (..., n, m).

    Raises:
        ValueError: another format, or shapes that don't fit it.
    """
    with scope(name, "tridiagonal_matmul"):
        above, main, below = (
            array.expand_dims(part, -1) for part in _diagonals(diagonals, diagonals_format)
        )
        rhs = convert_to_tensor(rhs, main.dtype, name="rhs")
        zero = array.zeros_like(rhs[..., :1, :])
        after = array.concat([rhs[..., 1:, :], zero], -2)
        before = array.concat([zero, rhs[..., :-1, :]], -2)
        made: Tensor = above * after + main * rhs + below * before
        return made


@api_guard.operator
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """x with tridiagonal matrix x = rhs, by matrix_solve of the complete matrices.

    Args:
        diagonals: see tridiagonal_matmul.
        rhs: tensor (..., n, m), or (..., n) of vectors.
        diagonals_format: of diagonals.
        transpose_rhs: whether rhs and the result are given as (..., m, n).
        conjugate_rhs: whether rhs' conjugates are taken.
        name: of the operations.
        partial_pivoting: accepted; rows are always exchanged.

    Returns:
        A tensor of rhs' shape.

    Raises:
        ValueError: another format, or shapes that don't fit it.
        InvalidArgumentError: of the run, a matrix has no inverse.
    """
    with scope(name, "tridiagonal_solve"):
        above, main, below = _diagonals(diagonals, diagonals_format)
        rhs = convert_to_tensor(rhs, main.dtype, name="rhs")
        ranks = main.shape.ndims, rhs.shape.ndims
        if None not in ranks and (ranks[1] or 0) - (ranks[0] or 0) not in (0, 1):
            raise ValueError(
                f"Expected the rank of rhs to be {ranks[0]} or one more, got {ranks[1]}"
            )
        matrix = _complete(above, main, below)
        rhs = parts.conj(rhs) if conjugate_rhs else rhs
        if ranks[1] == ranks[0]:
            solved = solving.matrix_solve(matrix, array.expand_dims(rhs, -1))
            return array.squeeze(solved, [-1])
        rhs = matmul.matrix_transpose(rhs) if transpose_rhs else rhs
        solved = solving.matrix_solve(matrix, rhs)
        return matmul.matrix_transpose(solved) if transpose_rhs else solved


def _complete(above: Tensor, main: Tensor, below: Tensor) -> Tensor:
    """The matrices: each row of the unit matrix, and of those with a 1 next to its diagonal, times
    an element."""
    size = array.shape(main)[-1]
    unit = array.eye(size, dtype=main.dtype)
    zero = array.zeros_like(unit[:, :1])
    right = array.concat([zero, unit[:, :-1]], -1)  # the 1 in the next column
    left = array.concat([unit[:, 1:], zero], -1)
    rows = (
        array.expand_dims(diagonal, -1) * ones
        for diagonal, ones in ((above, right), (main, unit), (below, left))
    )
    return functools.reduce(elementwise.add, rows)
