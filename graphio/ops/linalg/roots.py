"""Square roots and logarithms of matrices, by those of Schur's triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from graphio.ops.complex.factors import with_gradient
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg import general_eigen, matmul, matrices, solving
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["logm", "matrix_square_root", "sqrtm"]

#: Gauss and Legendre's points and weights for integrals from 0 to 1
_POINTS, _WEIGHTS = (v / 2 for v in np.polynomial.legendre.leggauss(8))
#: how far a matrix may be from the unit matrix for these, and after how many roots it is
_NEAR, _ROOTS = 0.25, 64


def _square(value: Any, op: str, at: str) -> Tensor:
    x = convert_to_tensor(value, name="input")
    require(x, FLOATING_OR_COMPLEX, op, "input")
    dims = dims_of(x)
    if dims is None or len(dims) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {x.shape.ndims} for {describe(at, op)} "
            f"with input shapes: {shapes.text(dims)}."
        )
    shapes.merge(dims[-2:-1], dims[-1:], describe(at, op))
    return x


@api_guard.operator
@of_any_rank("MatrixSquareRoot", 2)
def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """Square roots of matrices: those whose eigenvalues have no negative real part.

    By Schur's form (Bjorck and Hammarling 1983), in double.

    Args:
        input: floating or complex tensor (..., n, n); real ones without negative eigenvalues,
            whose roots are not real.
        name: of the operation.

    Raises:
        ValueError: the matrices are not square.

    Example:
        >>> tf.Session().run(tf.linalg.sqrtm([[4.0, 0.0], [0.0, 9.0]]))
        array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    with scope(name, "MatrixSquareRoot") as at:
        x = _square(input, "MatrixSquareRoot", at)
        schur = general_eigen.schur(elementwise.cast(x, dtypes.complex128))
        root = elementwise.cast(_mapped_back(schur, _root(schur.triangle)), x.dtype)
        return with_gradient(x, [root], _slope_of_root, at)[0]


matrix_square_root = sqrtm


def _mapped_back(schur: general_eigen.Schur, triangle: Tensor) -> Tensor:
    right = matmul.matmul(triangle, schur.vectors, adjoint_b=True)
    return matmul.matmul(schur.vectors, right)


def _root(x: Tensor) -> Tensor:
    """The root of upper triangular matrices, a diagonal after the other."""
    diagonal = elementwise.sqrt(matrices.matrix_diag_part(x))
    sums = array.expand_dims(diagonal, -1) + array.expand_dims(diagonal, -2)
    zero = scalar(0, x.dtype)
    empty = comparison.equal(sums, zero)
    sums = select(empty, scalar(1, x.dtype), sums)
    size = array.shape(x, out_type=dtypes.int64)[-1]
    row, column = (array.expand_dims(filling.range(size), axis) for axis in (-1, 0))

    def body(k: Tensor, above: Tensor) -> list[Tensor]:
        found = (x - matmul.matmul(above, above)) / sums
        made = select(comparison.equal(column - row, k), found, above)
        made.set_shape(above.shape)
        return [k + 1, made]

    start = [primitive.int_vector([1])[0], array.zeros_like(x)]
    _, above = while_loop(lambda k, _: comparison.less(k, size), body, start)
    return select(comparison.equal(row, column), array.expand_dims(diagonal, -1), above)


def _slope_of_root(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
    """g with r^H g + g r^H = dy, as linear equations of all its elements."""
    root = matmul.matrix_transpose(made[0], conjugate=True)
    sizes = primitive.shape_of(root)
    lead, side = (primitive.slice_axes(sizes, [i], [j], [0]) for i, j in ((0, -2), (-1, _END)))
    every = primitive.binary("Mul", side, side)
    unit = filling.eye(array.shape(root)[-1], dtype=root.dtype)
    other = matmul.matrix_transpose(root)
    left = _axes(root, -1, -3) * _axes(unit, -2, -4)
    right = _axes(unit, -1, -3) * _axes(other, -2, -4)
    dims = dims_of(root) or ()
    flat = (*dims[:-2], None)
    equations = primitive.reshape_to(
        left + right, primitive.concat([lead, every, every], 0), (*flat, None)
    )
    one = primitive.int_vector([1])
    sides = primitive.reshape_to(arriving[0], primitive.concat([lead, every, one], 0), (*flat, 1))
    return primitive.reshape_to(solving.matrix_solve(equations, sides), sizes, dims)


_END = primitive.last


def _axes(x: Tensor, first: int, second: int) -> Tensor:
    """x with two axes of size 1 more."""
    return array.expand_dims(array.expand_dims(x, first), second)


@api_guard.operator
@of_any_rank("MatrixLogarithm", 2)
def logm(input: Any, name: str | None = None) -> Tensor:
    """Logarithms of complex matrices: those whose eigenvalues have imaginary parts within pi.

    By roots of Schur's triangle until it is near the unit matrix, in double.

    Args:
        input: complex tensor (..., n, n) without the eigenvalue 0.
        name: of the operation.

    Raises:
        TypeError: the dtype is real.
        ValueError: the matrices are not square.

    Example:
        >>> tf.Session().run(tf.linalg.logm([[-1.0 + 0j]]))
        array([[0.+3.1415927j]], dtype=complex64)
    """
    with scope(name, "MatrixLogarithm") as at:
        x = _square(input, "MatrixLogarithm", at)
        if not x.dtype.is_complex:
            raise TypeError(
                f"Value passed to parameter 'input' of 'MatrixLogarithm' has DataType "
                f"{x.dtype.base_dtype.name}, expected a complex dtype; cast it"
            )
        schur = general_eigen.schur(elementwise.cast(x, dtypes.complex128))
        found = elementwise.cast(_mapped_back(schur, _logarithm(schur.triangle)), x.dtype)

        def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
            return _slope_of_logarithm(x, arriving[0])

        return with_gradient(x, [found], slope, at)[0]


def _slope_of_logarithm(x: Tensor, by: Tensor) -> Tensor:
    """The upper right quarter of the logarithm of [[x^H, by], [0, x^H]]."""
    adjoint = matmul.matrix_transpose(x, conjugate=True)
    upper = array.concat([adjoint, by], -1)
    lower = array.concat([array.zeros_like(by), adjoint], -1)
    size = array.shape(x)[-1]
    found = logm(array.concat([upper, lower], -2))[..., :size, size:]
    return primitive.reshape_to(found, primitive.shape_of(x), dims_of(x))


def _logarithm(x: Tensor) -> Tensor:
    size = array.shape(x, out_type=dtypes.int64)[-1]
    row, column = (array.expand_dims(filling.range(size), axis) for axis in (-1, 0))
    unit = select(comparison.equal(row, column), scalar(1, x.dtype), scalar(0, x.dtype))

    def goes_on(k: Tensor, x: Tensor) -> Tensor:
        sums = reduction.reduce_sum(elementwise.abs(x - unit), -1)
        far = reduction.reduce_any(comparison.greater(sums, _NEAR))
        return comparison.logical_and(far, comparison.less(k, _ROOTS))

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        made = _root(x)
        made.set_shape(x.shape)
        return [k + 1, made]

    count, near = while_loop(goes_on, body, [primitive.int_vector([0])[0], x])
    apart = near - unit
    total = array.zeros_like(x)
    for point, weight in zip(_POINTS + 0.5, _WEIGHTS, strict=True):
        total += solving.matrix_solve(unit + apart * point, apart) * weight
    scale = elementwise.pow(scalar(2, dtypes.float64), elementwise.cast(count, dtypes.float64))
    return total * elementwise.cast(scale, x.dtype)
