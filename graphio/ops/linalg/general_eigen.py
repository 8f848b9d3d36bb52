"""Eigenvalues and eigenvectors of any square matrices, by the QR algorithm.

The matrices become Hessenberg ones, and by shifted QR steps triangular ones: Schur's form, with
complex numbers in double. Each matrix of a batch goes on until it has converged.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import FLOATING_OR_COMPLEX, describe, require, scalar, scope
from graphio.ops.base.primitive import select
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex import factors, parts
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["Schur", "eig", "eigvals", "schur"]

_EPSILON = float(np.finfo(np.float64).eps)
#: steps for each row, as LAPACK allows them; after so many without success a shift is varied
_STEPS, _PATIENCE = 30, 10


@api_guard.operator
@of_any_rank("Eig", 2)
def eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices, in no particular order.

    Args:
        tensor: float32, float64 or complex (..., n, n).
        name: of the operations.

    Returns:
        The eigenvalues (..., n) and the eigenvectors of length 1 as columns (..., n, n), complex64
        of float32 and complex64, else complex128. A function of the vectors that has a gradient
        must not depend on the complex number of size 1 by which each may be multiplied.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> tf.Session().run(tf.linalg.eig([[0.0, 2.0], [-2.0, 0.0]])[0])
        array([0.+2.j, 0.-2.j], dtype=complex64)
    """
    with scope(name, "Eig") as at:
        x = convert_to_tensor(tensor, name="input")
        require(x, FLOATING_OR_COMPLEX, "Eig", "input")
        dims = dims_of(x)
        if dims is None or len(dims) < 2:
            raise ValueError(
                f"Shape must be at least rank 2 but is rank {x.shape.ndims} for "
                f"{describe(at, 'Eig')} with input shapes: {shapes.text(dims)}."
            )
        shapes.merge(dims[-2:-1], dims[-1:], describe(at, "Eig"))
        if not x.dtype.is_complex:
            wide = x.dtype.base_dtype == dtypes.float64
            x = elementwise.cast(x, dtypes.complex128 if wide else dtypes.complex64)
        form = schur(elementwise.cast(x, dtypes.complex128))
        values = matrices.matrix_diag_part(form.triangle)
        vectors = matmul.matmul(form.vectors, _of_triangle(form.triangle))
        lengths = reduction.reduce_sum(elementwise.square(elementwise.abs(vectors)), -2, True)
        vectors = vectors / elementwise.cast(elementwise.sqrt(lengths), dtypes.complex128)
        found = [elementwise.cast(t, x.dtype) for t in (values, vectors)]
        e, v = factors.with_gradient(x, found, lambda made, by: _slope(*made, *by))
        return e, v


@api_guard.operator
def eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of square matrices; see eig."""
    return eig(tensor, name)[0]


class Schur(NamedTuple):
    """A state of the algorithm: x = vectors triangle vectors^H.

    Attributes:
        triangle: the matrices, Hessenberg or triangular.
        vectors: unitary.
        last: int64 (...), the last row of the part that has not converged.
        tries: int64 (...), steps since that row changed.
    """

    triangle: Tensor
    vectors: Tensor
    last: Tensor
    tries: Tensor


def schur(x: Tensor) -> Schur:
    """Unitary vectors and a triangle of complex128 matrices (..., n, n)."""
    size = array.shape(x, out_type=dtypes.int64)[-1]
    steps = filling.range(size)
    hessenberg, vectors = factors.hessenberg(parts.parts_of(x))
    none = elementwise.cast(parts.real(reduction.reduce_sum(x[..., :0], [-2, -1])), dtypes.int64)
    start = Schur(parts.joined(*hessenberg), parts.joined(*vectors), none + size - 1, none)

    def goes_on(k: Tensor, *state: Tensor) -> Tensor:
        left = reduction.reduce_any(comparison.greater(Schur(*state).last, 0))
        return comparison.logical_and(left, comparison.less(k, _STEPS * size))

    def body(k: Tensor, *state: Tensor) -> list[Tensor]:
        made = _deflated(_stepped(Schur(*state), steps), steps)
        for new, old in zip(made, state, strict=True):
            new.set_shape(old.shape)
        return [k + 1, *made]

    first = _deflated(start, steps)
    for new, old in zip(first, start, strict=True):
        new.set_shape(old.shape)
    return Schur(*while_loop(goes_on, body, [primitive.int_vector([0])[0], *first])[1:])


def _deflated(state: Schur, steps: Tensor) -> Schur:
    """Without elements below the diagonal that are negligible, or below the next one."""
    x = matrices.matrix_band_part(state.triangle, 1, -1)
    sizes = elementwise.abs(x)
    diagonal = matrices.matrix_diag_part(sizes)
    row, column = (array.expand_dims(steps, axis) for axis in (-1, 0))
    both = array.expand_dims(diagonal, -1) + array.expand_dims(diagonal, -2)
    below = comparison.equal(row, column + 1)
    small = comparison.less_equal(sizes, _EPSILON * both)
    x = select(comparison.logical_and(below, small), scalar(0, x.dtype), x)
    stands = comparison.logical_and(below, comparison.logical_not(small))
    within = comparison.less_equal(row, _spread(state.last))
    rows = select(comparison.logical_and(stands, within), row, scalar(0, dtypes.int64))
    last = reduction.reduce_max(array.concat([rows, rows[..., :1] * 0], -1), [-2, -1])
    same = comparison.equal(last, state.last)
    tries = select(same, state.tries + 1, scalar(0, dtypes.int64))
    return Schur(x, state.vectors, last, tries)


def _spread(x: Tensor) -> Tensor:
    return array.expand_dims(array.expand_dims(x, -1), -1)


def _stepped(state: Schur, steps: Tensor) -> Schur:
    """A QR step of the rows and columns up to the last one."""
    x = state.triangle
    row, column = (array.expand_dims(steps, axis) for axis in (-1, 0))
    last = _spread(state.last)
    inside = comparison.logical_and(
        comparison.less_equal(row, last), comparison.less_equal(column, last)
    )
    one, zero = scalar(1, x.dtype), scalar(0, x.dtype)
    on_diagonal = comparison.equal(row, column)
    unit = select(on_diagonal, one, zero)
    moved = x - select(on_diagonal, _spread(_shift(state, row, column)), zero)
    q, _ = factors.triangular(parts.parts_of(select(inside, moved, unit)), full=True)
    by = parts.joined(q.re, q.im)
    triangle = matmul.matmul(matmul.matmul(by, x, adjoint_a=True), by)
    return Schur(triangle, matmul.matmul(state.vectors, by), state.last, state.tries)


def _shift(state: Schur, row: Tensor, column: Tensor) -> Tensor:
    """Wilkinson's: the eigenvalue of the last two rows and columns that is next to the last
    element; now and then another number, where that one would not lead on."""
    x, last = state.triangle, _spread(state.last)

    def element(i: int, j: int) -> Tensor:
        there = comparison.logical_and(
            comparison.equal(row, last + i), comparison.equal(column, last + j)
        )
        return reduction.reduce_sum(select(there, x, scalar(0, x.dtype)), [-2, -1])

    a, b, c, d = element(-1, -1), element(-1, 0), element(0, -1), element(0, 0)
    half = (a - d) * 0.5
    root = elementwise.sqrt(half * half + b * c)
    nearer = comparison.greater_equal(elementwise.abs(half + root), elementwise.abs(half - root))
    below = select(nearer, half + root, half - root)
    none = comparison.equal(elementwise.abs(below), 0.0)
    wilkinson = d - select(none, scalar(0, x.dtype), b * c / select(none, d * 0.0 + 1.0, below))
    size = elementwise.cast(elementwise.abs(b) + elementwise.abs(c), x.dtype)
    late = comparison.equal(elementwise.floormod(state.tries + 1, _PATIENCE), 0)
    return select(late, d + size * (0.75 + 0.4375j), wilkinson)


def _of_triangle(x: Tensor) -> Tensor:
    """The eigenvectors of upper triangular matrices as columns, with 1 on the diagonal."""
    size = array.shape(x, out_type=dtypes.int64)[-1]
    steps, rank = filling.range(size), x.shape.ndims or 2
    values = matrices.matrix_diag_part(x)
    largest = reduction.reduce_max(
        array.concat([elementwise.abs(x), elementwise.abs(x[..., :1]) * 0.0], -1), [-2, -1]
    )
    least = _EPSILON * largest + float(np.finfo(np.float64).tiny)
    row, column = (array.expand_dims(steps, axis) for axis in (-1, 0))

    def body(i: Tensor, found: Tensor) -> list[Tensor]:
        line = array.expand_dims(primitive.gather(x, i, rank - 2), -2)
        after = comparison.greater(steps, i)
        sums = matmul.matmul(select(after, line, scalar(0, x.dtype)), found)
        apart = values - array.expand_dims(primitive.gather(values, i, rank - 2), -1)
        limit = array.expand_dims(least, -1)
        close = comparison.less(elementwise.abs(apart), limit)
        apart = select(close, elementwise.cast(limit, x.dtype), apart)
        made = select(after, sums / array.expand_dims(apart, -2), scalar(0, x.dtype))
        made = select(comparison.equal(steps, i), scalar(1, x.dtype), made)
        made = select(comparison.equal(row, i), made, found)
        made.set_shape(found.shape)
        return [i - 1, made]

    start = [size - 1, array.zeros_like(x)]
    _, found = while_loop(lambda i, _: comparison.greater_equal(i, 0), body, start)
    return convert_to_tensor(found)


def _slope(values: Tensor, vectors: Tensor, de: Tensor, dv: Tensor) -> Tensor:
    """v^-H (diag(de) + f (v^H dv - v^H v diag(re(v^H dv)))) v^H; f is 1 / (e_j - e_i)^H off the
    diagonal."""
    across = matmul.matmul(vectors, dv, adjoint_a=True)
    along = parts.real(matrices.matrix_diag_part(across))
    same = matmul.matmul(vectors, vectors, adjoint_a=True)
    across = across - same * array.expand_dims(elementwise.cast(along, vectors.dtype), -2)
    apart = parts.conj(array.expand_dims(values, -2) - array.expand_dims(values, -1))
    none = comparison.equal(elementwise.abs(apart), 0.0)
    zero = scalar(0, vectors.dtype)
    inner = select(none, zero, across / select(none, zero + 1.0, apart))
    inner = matrices.matrix_diag(de) + inner
    right = matmul.matmul(inner, vectors, adjoint_b=True)
    return solving.matrix_solve(vectors, right, adjoint=True)
