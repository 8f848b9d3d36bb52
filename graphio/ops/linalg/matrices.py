"""Diagonals, triangles and determinants of matrices in the last two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, joining
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    FLOATING_OR_COMPLEX,
    INTEGER,
    describe,
    like,
    node,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion
from graphio.ops.linalg import diagonals
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.linalg.operator_arguments import takes_operators
from graphio.ops.math import comparison, reduction
from graphio.support import api_guard

__all__ = [
    "diag_part",
    "matrix_band_part",
    "matrix_determinant",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
    "trace",
]

#: as many diagonals as any matrix has
_ALL = 2**31 - 1


def _matrices(value: Any, tf_type: str, at: str, parameter: str = "input") -> Tensor:
    """value as a tensor of known rank of 2 or more."""
    x = convert_to_tensor(value, name=parameter)
    dims = dims_of(x)
    if dims is None or len(dims) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {'?' if dims is None else len(dims)} for "
            f"{describe(at, tf_type)} with input shapes: {shapes.text(dims)}."
        )
    return x


@api_guard.operator
@of_any_rank("MatrixBandPart", 2)
def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Matrices with zeros outside a band around the diagonal.

    Args:
        input: tensor (..., m, n).
        num_lower: how many diagonals below the main one stay; negative: all.
        num_upper: how many above it stay; negative: all.
        name: of the operation.

    Raises:
        ValueError: the rank is below 2.
    """
    with scope(name, "MatrixBandPart") as at:
        x = _matrices(input, "MatrixBandPart", at)
        low = _diagonals(num_lower, "num_lower")
        high = _diagonals(num_upper, "num_upper")
        dims = dims_of(x)
        upper = node("Trilu", [x, primitive.unary("Neg", low)], x.dtype, dims, upper=1)
        return node("Trilu", [upper, high], x.dtype, dims, name=at, upper=0)


def _diagonals(value: Any, parameter: str) -> Tensor:
    """A number of diagonals as an int64 scalar: negative is all of them."""
    known = static_ints(value)
    if known is not None and len(known) == 1 and known[0] is not None:
        return constant(np.asarray(known[0] if known[0] >= 0 else _ALL, np.int64), name=parameter)
    x = convert_to_tensor(value, name=parameter)
    require(x, INTEGER, "MatrixBandPart", parameter)
    wide = cast(x, dtypes.int64)
    below = compare("Less", wide, scalar(0, dtypes.int64))
    return select(below, scalar(_ALL, dtypes.int64), wide)


def _on_diagonal(rows: Tensor, columns: Tensor) -> Tensor:
    """bool (rows, columns): where the two numbers are equal."""
    down = primitive.unsqueeze(filling.range(rows), [1])
    return compare("Equal", down, primitive.unsqueeze(filling.range(columns), [0]))


def _size(x: Tensor, axis: int) -> Tensor:
    """A size as an int64 scalar, a constant where it is known; axis from the front."""
    dims = dims_of(x)
    known = None if dims is None else dims[axis]
    if known is not None:
        return scalar(known, dtypes.int64)
    return primitive.gather(primitive.shape_of(x), scalar(axis, dtypes.int64), 0)


@api_guard.operator
def matrix_diag(
    diagonal: Any,
    name: str | None = None,
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the last axis, or the last two, as their diagonals.

    Args:
        diagonal: tensor (..., n), or (..., diagonals, n) of several.
        name: of the operation.
        k: which diagonal, 1 for the next one above the main one; or the lowest and the uppermost.
        num_rows: how many rows; -1: as few as hold the diagonals.
        num_cols: how many columns, likewise; -1 for both: of square matrices.
        padding_value: scalar for the elements outside the diagonals.
        align: at which side diagonals above and below the main one are filled up, where one is
            shorter than n: RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT.

    Returns:
        A tensor (..., rows, columns); (..., n, n) of main diagonals.

    Raises:
        ValueError: the rank is too low, or k or align is none of these.
        InvalidArgumentError: the sizes do not fit the diagonals.
    """
    sizes = static_ints(num_rows), static_ints(num_cols)
    plain = isinstance(padding_value, (int, float)) and padding_value == 0
    if diagonals.is_main(k) and sizes == ([-1], [-1]) and plain:
        return _main_diagonals_in_matrices(diagonal, name)
    band = diagonals.Band(k, align, "MatrixDiag")
    x = _of_rank(diagonal, band.axes, "MatrixDiag", "diagonal")
    return diagonals.spread(x, band, num_rows, num_cols, padding_value, name)


def _of_rank(value: Any, least: int, op: str, parameter: str) -> Tensor:
    x = convert_to_tensor(value, name=parameter)
    if x.shape.ndims is not None and x.shape.ndims < least:
        raise ValueError(
            f"Shape must be at least rank {least} but is rank {x.shape.ndims} for {op} with input "
            f"shapes: {shapes.text_of(x)}."
        )
    return x


@of_any_rank("MatrixDiag", 1)
def _main_diagonals_in_matrices(diagonal: Any, name: str | None = None) -> Tensor:
    with scope(name, "MatrixDiag") as at:
        x = convert_to_tensor(diagonal, name="diagonal")
        rank = x.shape.ndims
        if not rank:
            raise ValueError(
                f"Shape must be at least rank 1 but is rank {'?' if rank is None else 0} for "
                f"{describe(at, 'MatrixDiag')} with input shapes: {shapes.text_of(x)}."
            )
        size = _size(x, rank - 1)
        nought = scalar(0, x.dtype)
        return select(_on_diagonal(size, size), primitive.unsqueeze(x, [rank]), nought, at)


@api_guard.operator
@takes_operators
def matrix_diag_part(
    input: Any,
    name: str | None = None,
    k: Any = 0,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """The diagonals of matrices.

    Args:
        input: tensor (..., m, n).
        name: of the operation.
        k, align: as matrix_diag's.
        padding_value: scalar that fills up diagonals that are shorter than the longest.

    Returns:
        A tensor (..., longest), min(m, n) of main diagonals, or (..., diagonals, longest) of
        several, the uppermost first.

    Raises:
        ValueError: the rank is below 2, or k or align is none of these.
        InvalidArgumentError: the matrices lack a diagonal.
    """
    if diagonals.is_main(k):
        return _main_diagonals(input, name)
    band = diagonals.Band(k, align, "MatrixDiagPart")
    return diagonals.taken(_of_rank(input, 2, "MatrixDiagPart", "input"), band, padding_value, name)


@of_any_rank("MatrixDiagPart", 2)
def _main_diagonals(input: Any, name: str | None = None) -> Tensor:
    with scope(name, "MatrixDiagPart") as at:
        x = _matrices(input, "MatrixDiagPart", at)
        dims = dims_of(x)
        assert dims is not None
        lead, (m, n) = len(dims) - 2, dims[-2:]
        rows, columns = _size(x, lead), _size(x, lead + 1)
        cells = primitive.unsqueeze(binary("Mul", rows, columns), [0])
        sizes = [primitive.slice_axes(primitive.shape_of(x), [0], [lead], [0]), cells]
        whole = None if m is None or n is None else m * n
        flat = primitive.reshape(x, primitive.concat(sizes, 0), (*dims[:-2], whole))
        step = binary("Add", columns, scalar(1, dtypes.int64))
        positions = filling.range(binary("Min", rows, columns))
        return primitive.gather(flat, binary("Mul", positions, step), lead, at, "MatrixDiagPart")


@api_guard.operator
def matrix_set_diag(
    input: Any,
    diagonal: Any,
    name: str | None = None,
    k: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with other diagonals.

    Args:
        input: tensor (..., m, n).
        diagonal: tensor of the same dtype: what matrix_diag_part of the same k gives.
        name: of the operation.
        k, align: as matrix_diag's.

    Raises:
        ValueError: the rank is below 2, or the shapes do not fit.
        TypeError: the dtypes differ.
        InvalidArgumentError: the matrices lack a diagonal.
    """
    if diagonals.is_main(k):
        return _with_main_diagonals(input, diagonal, name)
    band = diagonals.Band(k, align, "MatrixSetDiag")
    x = _of_rank(input, 2, "MatrixSetDiag", "input")
    values = like(diagonal, x, "MatrixSetDiag", ("input", "diagonal"))
    return diagonals.replaced(
        x, _of_rank(values, band.axes, "MatrixSetDiag", "diagonal"), band, name
    )


@of_any_rank("MatrixSetDiag", 2, 1)
def _with_main_diagonals(input: Any, diagonal: Any, name: str | None = None) -> Tensor:
    with scope(name, "MatrixSetDiag") as at:
        x = _matrices(input, "MatrixSetDiag", at)
        values = like(diagonal, x, "MatrixSetDiag", ("input", "diagonal"))
        dims = dims_of(x)
        assert dims is not None
        lead, (m, n) = len(dims) - 2, dims[-2:]
        least = None if m is None or n is None else min(m, n)
        expected: Dims = (*dims[:-2], least)
        shapes.merge(dims_of(values), expected, describe(at, "MatrixSetDiag"))
        rows, columns = _size(x, lead), _size(x, lead + 1)
        if m is None or n is None or n < m:
            # One value a row: those of the rows below the last column do not matter.
            missing = binary("Sub", rows, binary("Min", rows, columns))
            last = primitive.unsqueeze(missing, [0])
            pads = primitive.concat([primitive.int_vector([0] * (2 * lead + 1)), last], 0)
            ends = primitive.transpose(primitive.reshape(pads, [2, lead + 1]), [1, 0])
            values = joining.pad(values, ends)
        return select(_on_diagonal(rows, columns), primitive.unsqueeze(values, [lead + 1]), x, at)


@api_guard.operator
@takes_operators
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices (..., m, n): a tensor (...)."""
    with scope(name, "Trace") as at:
        return reduction.reduce_sum(matrix_diag_part(x), [-1], name=at)


@api_guard.operator
def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The elements whose first half of coordinates equals the second half.

    Args:
        input: tensor of rank 2 k, whose first k sizes are its last k sizes.
        name: of the operation.

    Returns:
        A tensor of the first k sizes.

    Raises:
        ValueError: the rank is odd or 0, or the sizes differ; where only the run knows them, an
            InvalidArgumentError of the run.
    """
    with scope(name, "DiagPart") as at:
        x = convert_to_tensor(input, name="input")
        dims = dims_of(x)
        if dims is None:
            return _diag_part_in_run(x, at)
        if not dims or len(dims) % 2:
            raise ValueError(
                f"Input must have even and non-zero rank, but has shape {shapes.text(dims)} for "
                f"{describe(at, 'DiagPart')}"
            )
        half = len(dims) // 2
        kept = shapes.merge(dims[:half], dims[half:], describe(at, "DiagPart"))
        if half == 1:
            return matrix_diag_part(x, name=at)
        count = shapes.num_elements(kept)
        sizes = primitive.slice_axes(primitive.shape_of(x), [0], [half], [0])
        total = node("ReduceProd", [sizes], dtypes.int64, (1,), keepdims=1)
        square = primitive.reshape(x, primitive.concat([total, total], 0), (count, count))
        return primitive.reshape_to(matrix_diag_part(square), sizes, kept, at)


def _diag_part_in_run(x: Tensor, name: str) -> Tensor:
    """diag_part of an unknown rank; both halves of the sizes are a row each."""
    both = primitive.reshape(primitive.shape_of(x), [2, -1])
    first, second = both[0], both[1]
    some = comparison.greater(filling.size(first), 0)
    fits = comparison.logical_and(some, reduction.reduce_all(comparison.equal(first, second)))
    words = "Input must have even and non-zero rank, and sizes that come twice, but has the sizes"
    both = assertion.once(both, fits, words)
    total = node("ReduceProd", [both, primitive.int_vector([1])], dtypes.int64, (2,), keepdims=0)
    square = primitive.reshape_to(x, total, (None, None))
    return primitive.reshape_to(matrix_diag_part(square), both[0], None, name)


@api_guard.operator
@takes_operators
@of_any_rank("MatrixDeterminant", 2)
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinants of square matrices.

    Args:
        input: floating or complex tensor (..., n, n).
        name: of the operation.

    Returns:
        A tensor (...).

    Raises:
        ValueError: the rank is below 2, or the matrices are not square.
        TypeError: input is neither floating nor complex.
    """
    with scope(name, "MatrixDeterminant") as at:
        x = _matrices(input, "MatrixDeterminant", at)
        require(x, FLOATING_OR_COMPLEX, "MatrixDeterminant", "input")
        dims = dims_of(x)
        assert dims is not None
        shapes.merge(dims[-2:-1], dims[-1:], describe(at, "MatrixDeterminant"))
        return node("Det", [x], x.dtype, dims[:-2], name=at, tf_type="MatrixDeterminant")
