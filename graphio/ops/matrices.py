"""Diagonals, triangles and determinants of matrices in the last two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio import dtypes
from graphio.constants import constant, convert_to_tensor
from graphio.graph import Tensor
from graphio.ops import filling, joining, primitive, reduction, shapes
from graphio.ops.any_rank import of_any_rank
from graphio.ops.emit import (
    FLOATING,
    INTEGER,
    describe,
    like,
    node,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.primitive import binary, cast, compare, select
from graphio.ops.shapes import Dims, dims_of

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


@of_any_rank("MatrixDiag", 1)
def matrix_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Square matrices with the last axis as their diagonals and zeros beside them.

    Args:
        diagonal: tensor (..., n).
        name: of the operation.

    Returns:
        A tensor (..., n, n).

    Raises:
        ValueError: the rank is 0.
    """
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


@of_any_rank("MatrixDiagPart", 2)
def matrix_diag_part(input: Any, name: str | None = None) -> Tensor:
    """The diagonals of matrices.

    Args:
        input: tensor (..., m, n).
        name: of the operation.

    Returns:
        A tensor (..., min(m, n)).

    Raises:
        ValueError: the rank is below 2.
    """
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
        places = filling.range(binary("Min", rows, columns))
        return primitive.gather(flat, binary("Mul", places, step), lead, at, "MatrixDiagPart")


@of_any_rank("MatrixSetDiag", 2, 1)
def matrix_set_diag(input: Any, diagonal: Any, name: str | None = None) -> Tensor:
    """Matrices with other diagonals.

    Args:
        input: tensor (..., m, n).
        diagonal: tensor (..., min(m, n)) of the same dtype.
        name: of the operation.

    Raises:
        ValueError: the rank is below 2, or the shapes do not fit.
        TypeError: the dtypes differ.
    """
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


def trace(x: Any, name: str | None = None) -> Tensor:
    """The sums of the diagonals of matrices (..., m, n): a tensor (...)."""
    with scope(name, "Trace") as at:
        return reduction.reduce_sum(matrix_diag_part(x), [-1], name=at)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """The elements whose first half of coordinates equals the second half.

    Args:
        input: tensor of known rank 2 k, whose first k sizes are its last k sizes.
        name: of the operation.

    Returns:
        A tensor of the first k sizes.

    Raises:
        ValueError: the rank is odd, 0 or unknown, or the sizes differ.
    """
    with scope(name, "DiagPart") as at:
        x = convert_to_tensor(input, name="input")
        dims = dims_of(x)
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
        product = node("ReduceProd", [sizes], dtypes.int64, (1,), keepdims=1)
        square = primitive.reshape(x, primitive.concat([product, product], 0), (count, count))
        return primitive.reshape_to(matrix_diag_part(square), sizes, kept, at)


@of_any_rank("MatrixDeterminant", 2)
def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """The determinants of square matrices.

    Args:
        input: floating tensor (..., n, n).
        name: of the operation.

    Returns:
        A tensor (...).

    Raises:
        ValueError: the rank is below 2, or the matrices are not square.
        TypeError: input is not floating.
    """
    with scope(name, "MatrixDeterminant") as at:
        x = _matrices(input, "MatrixDeterminant", at)
        require(x, FLOATING, "MatrixDeterminant", "input")
        dims = dims_of(x)
        assert dims is not None
        shapes.merge(dims[-2:-1], dims[-1:], describe(at, "MatrixDeterminant"))
        return node("Det", [x], x.dtype, dims[:-2], name=at, tf_type="MatrixDeterminant")
