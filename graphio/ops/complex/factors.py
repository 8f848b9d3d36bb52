"""Solutions, factors and determinants of complex matrices, computed from their parts.

The parts of matrices (..., m, n) are float64 where reflections compute with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, index
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import node, operation, scalar
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex import reflections
from graphio.ops.complex.embedding import columns, embedded, parted, zeros
from graphio.ops.complex.parts import Parts, conjugate, given, joined, parts_of
from graphio.ops.linalg import matmul, matrices
from graphio.ops.math import comparison, elementwise, reduction

__all__ = [
    "ROWS",
    "hermitian",
    "hessenberg",
    "in_double",
    "log_determinant",
    "rounded",
    "singular",
    "triangular",
    "with_gradient",
]


def in_double(x: Tensor) -> Parts:
    """The parts of complex matrices in float64."""
    return Parts(*(primitive.cast(part, dtypes.float64) for part in parts_of(x)))


def rounded(x: Parts, like: Tensor, name: str | None = None) -> Tensor:
    """Parts as a tensor of another's complex dtype."""
    re, im = (primitive.cast(part, like.dtype.base_dtype.real_dtype) for part in x)
    return joined(re, im, name)


def with_gradient(
    x: Tensor,
    outputs: Sequence[Tensor],
    function: Callable[[Sequence[Tensor], Sequence[Any]], Tensor],
    name: str | None = None,
) -> list[Tensor]:
    """The outputs, with another gradient than that of their operations.

    Args:
        x: the only tensor that has a gradient.
        outputs: tensors that depend on it.
        function: the results, and the gradients that arrive at them, to the gradient of x.
        name: of the results.
    """
    made = [node("Identity", [y], y.dtype, dims_of(y), name=name) for y in outputs]

    def differentiate(arriving: Sequence[Any]) -> list[Tensor]:
        return [function(made, arriving)]

    region = Region([y.op for y in made], [x], made, differentiate)
    REGIONS.of(made[0].graph).update(dict.fromkeys(region.operations, region))
    return made


# ---- equations and Cholesky's factor: of the embedded matrix they are those of the matrix ----


def _solve(request: Request, name: str) -> Tensor:
    a, b = parts_of(given(request, 0)), parts_of(given(request, 1))
    left, right = embedded(a), columns(b)
    x = node("MatrixSolve", [left, right], right.dtype, dims_of(right), domain="graphio")
    return joined(*parted(x), name, request.dims)


def _cholesky(request: Request, name: str) -> Tensor:
    re, im = parts_of(given(request, 0))
    whole = embedded(Parts(re, _without_diagonal(im)))
    factor = node("Cholesky", [whole], whole.dtype, dims_of(whole), domain="graphio")
    found = parted(factor[..., 0::2])
    return joined(found.re, _without_diagonal(found.im), name, request.dims)


def _without_diagonal(x: Tensor) -> Tensor:
    return matrices.matrix_set_diag(x, array.zeros_like(matrices.matrix_diag_part(x)))


# ---- factors by reflections ----


def _size(x: Tensor, axis: int) -> Tensor:
    """A size as an int64 scalar; axis is negative."""
    return array.shape(x, out_type=dtypes.int64)[axis]


def _lesser(x: Tensor) -> Tensor:
    return elementwise.minimum(_size(x, -2), _size(x, -1))


def _unit_columns(like: Tensor, count: Tensor) -> Tensor:
    """The first columns of complex unit matrices for columns (..., 2 m, n): (..., 2 m, count)."""
    rows = array.expand_dims(filling.range(_size(like, -2)), -1)
    found = comparison.equal(rows, filling.range(count) * 2)
    return zeros(like, _size(like, -2), count) + primitive.cast(found, like.dtype)


def triangular(x: Parts, full: bool) -> tuple[Parts, Parts]:
    """q and r with q r = x; r has a real diagonal. q is (..., m, p), p the lesser of m and n, with
    full m."""
    made = columns(x)
    reduced = reflections.to_triangles(made, _lesser(x.re))
    wide = _size(x.re, -2) if full else _lesser(x.re)
    q = parted(reflections.multiplied(reduced, _unit_columns(made, wide)))
    r = parted(reduced.left[..., : 2 * wide, :])
    re, im = (matrices.matrix_band_part(part, 0, -1) for part in r)
    return q, Parts(re, _without_diagonal(im))


def hermitian(x: Parts) -> tuple[Tensor, Parts]:
    """Eigenvalues (..., n), ascending, and eigenvectors of Hermitian matrices, of which the lower
    triangle is read: those of real tridiagonal ones, reflected."""
    re, im = (matrices.matrix_band_part(part, -1, 0) for part in x)
    im = _without_diagonal(im)
    both = Parts(
        re + matmul.matrix_transpose(_without_diagonal(re)), im - matmul.matrix_transpose(im)
    )
    size = _size(x.re, -1)
    reduced = reflections.to_hessenberg(embedded(both), elementwise.maximum(size - 1, 0))
    real = matrices.matrix_band_part(reduced.left[..., 0::2, 0::2], 1, 1)
    dims = dims_of(x.re)
    assert dims is not None
    values, vectors = operation(
        "SelfAdjointEig", [real], [(real.dtype, dims[:-1]), (real.dtype, dims)], domain="graphio"
    ).outputs
    unit = _unit_columns(columns(both), size)
    return values, parted(reflections.multiplied(reduced, matmul.matmul(unit, vectors)))


def hessenberg(x: Parts) -> tuple[Parts, Parts]:
    """h, without elements below those next to the diagonal, and unitary q with x = q h q^H."""
    size = _size(x.re, -1)
    reduced = reflections.to_hessenberg(embedded(x), elementwise.maximum(size - 1, 0))
    h = parted(reduced.left[..., 0::2])
    return h, parted(reflections.multiplied(reduced, _unit_columns(columns(x), size)))


def singular(x: Parts, full: bool, wide: bool) -> tuple[Tensor, Parts, Parts]:
    """Singular values (..., p), descending, u and v, by the eigenvectors of the smaller Gram
    matrix. full: u and v are square; wide: whether the smaller Gram matrix is known to be that of
    the rows."""
    whole = embedded(x)
    first = columns(_adjoint(x) if wide else x)
    gram = matmul.matmul(whole, first, transpose_a=not wide)
    count = _lesser(x.re)
    near = Parts(*(index.reverse(part, [-1]) for part in hermitian(parted(gram))[1]))
    near = near if full else Parts(near.re[..., :count], near.im[..., :count])
    mapped = matmul.matmul(whole, columns(near), transpose_a=wide)
    s = elementwise.sqrt(reduction.reduce_sum(elementwise.square(mapped), -2))[..., :count]
    q, r = triangular(parted(mapped), full)
    # The diagonal of r has the singular values with signs that belong to the vectors.
    negative = comparison.less(matrices.matrix_diag_part(r.re), 0.0)
    signs = primitive.select(negative, scalar(-1, s.dtype), scalar(1, s.dtype))
    far = Parts(*(_with_signs(part, signs) for part in q))
    return (s, near, far) if wide else (s, far, near)


def _adjoint(x: Parts) -> Parts:
    re, im = (matmul.matrix_transpose(part) for part in x)
    return Parts(re, elementwise.negative(im))


def _with_signs(x: Tensor, signs: Tensor) -> Tensor:
    """The first columns of x times signs (..., p)."""
    count = _size(signs, -1)
    first = x[..., :count] * array.expand_dims(signs, -2)
    return array.concat([first, x[..., count:]], -1)


# ---- determinants ----


def _turns_and_diagonal(x: Tensor) -> tuple[Parts, Tensor]:
    """Of x = q r: numbers (..., n) of size 1, which multiplied are the determinant of q; and the
    diagonal of r."""
    made = columns(in_double(x))
    reduced = reflections.to_triangles(made, _size(x, -1))
    turns = reflections.determinants(reduced)
    return Parts(turns[..., 0], turns[..., 1]), matrices.matrix_diag_part(
        reduced.left[..., 0::2, :]
    )


def _multiplied(x: Parts, like: Tensor) -> Tensor:
    """The elements of vectors (..., n) multiplied, rounded to another tensor's dtype."""
    return primitive.cast(reduction.reduce_prod(joined(x.re, x.im), -1), like.dtype)


def _determinant(request: Request, name: str) -> Tensor:
    x = given(request, 0)
    turns, diagonal = _turns_and_diagonal(x)
    found = _multiplied(Parts(turns.re * diagonal, turns.im * diagonal), x)

    def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
        return _in_matrices(arriving[0] * conjugate(made[0])) * inverse_adjoint(x)

    return with_gradient(x, [found], slope, name)[0]


def _in_matrices(x: Tensor) -> Tensor:
    return array.expand_dims(array.expand_dims(x, -1), -1)


def inverse_adjoint(x: Tensor) -> Tensor:
    """The adjoint of the inverse."""
    left = embedded(_adjoint(parts_of(x)))
    unit = _unit_columns(columns(parts_of(x)), _size(x, -1))
    found = node("MatrixSolve", [left, unit], left.dtype, dims_of(unit), domain="graphio")
    return joined(*parted(found), None, dims_of(x))


def log_determinant(x: Tensor) -> tuple[Tensor, Tensor]:
    """The direction of the determinants, complex numbers of size 1 or 0, and the logarithms of
    their sizes as complex numbers."""
    turns, diagonal = _turns_and_diagonal(x)
    signs = elementwise.sign(diagonal)
    sign = _multiplied(Parts(turns.re * signs, turns.im * signs), x)
    size = reduction.reduce_sum(elementwise.log(elementwise.abs(diagonal)), -1)
    log = rounded(Parts(size, array.zeros_like(size)), x)

    def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
        # The size of the sign stays 1: the part of its gradient across it counts.
        across = parts_of(arriving[0] * conjugate(made[0])).im
        return _in_matrices(joined(parts_of(arriving[1]).re, across)) * inverse_adjoint(x)

    found = with_gradient(x, [sign, log], slope)
    return found[0], found[1]


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    ("graphio", "MatrixSolve"): _solve,
    ("graphio", "Cholesky"): _cholesky,
    ("", "Det"): _determinant,
}
