"""Eigenvalues, singular values and orthogonal factors of matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base import shapes
from graphio.ops.base.emit import FLOATING_OR_COMPLEX, describe, operation, require, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.complex import factors, parts
from graphio.ops.complex.parts import Parts
from graphio.ops.linalg import matmul, matrices
from graphio.ops.linalg.any_rank import of_any_rank
from graphio.ops.linalg.solving import matrix_triangular_solve
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.arithmetic import div_no_nan
from graphio.support import api_guard

__all__ = ["qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd"]

Gradients = Sequence["Tensor | None"]


class Qr(NamedTuple):
    """The results of qr."""

    q: Tensor
    r: Tensor


def _matrices(value: Any, tf_type: str, at: str) -> tuple[Tensor, tuple[int | None, ...]]:
    x = convert_to_tensor(value, name="input")
    require(x, FLOATING_OR_COMPLEX, tf_type, "input")
    dims = dims_of(x)
    if dims is None or len(dims) < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {'?' if dims is None else len(dims)} for "
            f"{describe(at, tf_type)} with input shapes: {shapes.text(dims)}."
        )
    return x, dims


@api_guard.operator
@of_any_rank("self_adjoint_eig", 2)
def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices, or Hermitian ones.

    Args:
        tensor: floating or complex (..., n, n); only the lower triangles are read.
        name: of the operation.

    Returns:
        The eigenvalues (..., n), ascending, and the eigenvectors as columns (..., n, n), both of
        tensor's dtype.

    Raises:
        ValueError: the matrices are not square.
    """
    with scope(name, "self_adjoint_eig") as at:
        x, dims = _matrices(tensor, "SelfAdjointEigV2", at)
        shapes.merge(dims[-2:-1], dims[-1:], describe(at, "SelfAdjointEigV2"))
        if x.dtype.is_complex:
            return _hermitian_eig(x)
        outputs = [(x.dtype, dims[:-1]), (x.dtype, dims)]
        made = operation("SelfAdjointEig", [x], outputs, name=at, domain="graphio")
        return made.outputs[0], made.outputs[1]


@api_guard.operator
def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """The eigenvalues of symmetric matrices; see self_adjoint_eig."""
    return self_adjoint_eig(tensor, name)[0]


def _hermitian_eig(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = factors.hermitian(factors.in_double(x))
    e = factors.rounded(Parts(values, array.zeros_like(values)), x)
    v = factors.rounded(vectors, x)
    made = factors.with_gradient(x, [e, v], lambda y, dy: _slope_of_eig(y[0], y[1], dy[0], dy[1]))
    return made[0], made[1]


@gradient("SelfAdjointEig", domain="graphio")
def _eig_gradient(op: Operation, de: Tensor | None, dv: Tensor | None) -> Gradients:
    return [_slope_of_eig(op.outputs[0], op.outputs[1], de, dv)]


def _slope_of_eig(values: Tensor, vectors: Tensor, de: Tensor | None, dv: Tensor | None) -> Tensor:
    """v (diag(de) + f (v^H dv)) v^H, made Hermitian; f is 1 / (e_j - e_i) off the diagonal.

    Of complex matrices in the lower triangle, which is what is read.
    """
    inner = matrices.matrix_diag(array.zeros_like(values) if de is None else de)
    if dv is not None:
        apart = array.expand_dims(values, -2) - array.expand_dims(values, -1)
        transposed = matmul.matmul(vectors, dv, adjoint_a=True)
        inner = inner + _over_real(transposed, apart)
    whole = matmul.matmul(vectors, matmul.matmul(inner, vectors, adjoint_b=True))
    if not whole.dtype.is_complex:
        return 0.5 * (whole + _adjoint(whole))
    low = matrices.matrix_band_part(whole + _adjoint(whole), -1, 0)
    return matrices.matrix_set_diag(low, 0.5 * matrices.matrix_diag_part(low))


def _over_real(x: Tensor, y: Tensor) -> Tensor:
    """x / y, 0 where y is; y is real, also where its dtype is complex."""
    if not x.dtype.is_complex:
        return div_no_nan(x, y)
    re, im = (div_no_nan(part, parts.real_of(y)) for part in parts.parts_of(x))
    return parts.joined(re, im)


def _adjoint(x: Tensor) -> Tensor:
    return matmul.matrix_transpose(x, conjugate=True)


@api_guard.operator
@of_any_rank("Qr", 2)
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """The QR factorization of matrices: an orthogonal and an upper triangular factor.

    Of complex matrices q is unitary, and the diagonal of r real.

    Args:
        input: floating or complex (..., m, n).
        full_matrices: whether q is (..., m, m) instead of (..., m, min(m, n)).
        name: of the operation.

    Returns:
        q and r.
    """
    with scope(name, "Qr") as at:
        x, dims = _matrices(input, "Qr", at)
        rows, columns = dims[-2:]
        if x.dtype.is_complex:
            return _complex_qr(x, full_matrices, at)
        wide = rows if full_matrices else _lesser(rows, columns)
        outputs = [(x.dtype, (*dims[:-1], wide)), (x.dtype, (*dims[:-2], wide, columns))]
        made = operation(
            "Qr", [x], outputs, name=at, domain="graphio",
            attrs={"full_matrices": int(full_matrices)},
        )  # fmt: skip
        return Qr(*made.outputs)


def _lesser(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else min(a, b)


def _complex_qr(x: Tensor, full: bool, name: str) -> Qr:
    q, r = (factors.rounded(f, x) for f in factors.triangular(factors.in_double(x), full))

    def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
        return _slope_of_qr(x, made[0], made[1], full, name, arriving[0], arriving[1])

    return Qr(*factors.with_gradient(x, [q, r], slope))


@gradient("Qr", domain="graphio")
def _qr_gradient(op: Operation, dq: Tensor | None, dr: Tensor | None) -> Gradients:
    q, r = op.outputs
    full = bool(op.attrs["full_matrices"])
    return [_slope_of_qr(op.inputs[0], q, r, full, op.name, dq, dr)]


def _slope_of_qr(
    x: Tensor, q: Tensor, r: Tensor, full: bool, name: str, dq: Tensor | None, dr: Tensor | None
) -> Tensor:
    """Walter and Lehmann 2018; of a wide matrix the first columns make q, the others are q times
    those of r."""
    dims = dims_of(x)
    if dims is None or None in dims[-2:]:
        raise NotImplementedError(
            f"the gradient of Qr '{name}' needs matrices of known sizes, got {shapes.text(dims)}"
        )
    rows, columns = (size or 0 for size in dims[-2:])
    if full and rows > columns:
        raise NotImplementedError(f"the gradient of Qr '{name}' needs full_matrices=False")
    by_q = array.zeros_like(q) if dq is None else dq
    by_r = array.zeros_like(r) if dr is None else dr
    if rows >= columns:
        return _slope_of_tall_qr(q, r, by_q, by_r)
    by_rest = by_r[..., rows:]
    by_q = by_q + matmul.matmul(x[..., rows:], by_rest, adjoint_b=True)
    first = _slope_of_tall_qr(q, r[..., :rows], by_q, by_r[..., :rows])
    return array.concat([first, matmul.matmul(q, by_rest)], -1)


def _slope_of_tall_qr(q: Tensor, r: Tensor, by_q: Tensor, by_r: Tensor) -> Tensor:
    transposed = matmul.matmul(q, by_q, adjoint_a=True)
    square = matmul.matmul(r, by_r, adjoint_b=True)
    odd = transposed - _adjoint(transposed) + square - _adjoint(square)
    low = matrices.matrix_band_part(odd, -1, 0)
    if q.dtype.is_complex:
        # The diagonal of r stays real, which halves what is imaginary.
        low = matrices.matrix_set_diag(low, 0.5 * matrices.matrix_diag_part(low))
    first = matmul.matmul(q, by_r + _divided(low, r))
    return first + _divided(by_q - matmul.matmul(q, transposed), r)


def _divided(x: Tensor, r: Tensor) -> Tensor:
    """x r^-H."""
    return _adjoint(matrix_triangular_solve(r, _adjoint(x), lower=False))


@api_guard.operator
@of_any_rank("Svd", 2)
def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Singular values and vectors, by the eigenvectors of the smaller Gram matrix in double.

    Of several singular values below about 1e-8 of the largest the single ones are not
    distinguished; the left (or right) vectors of those that are 0 are 0, but of complex matrices
    they are of length 1, too.

    Args:
        tensor: floating or complex (..., m, n).
        full_matrices: whether u is (..., m, m) and v (..., n, n), which then have no gradient.
        compute_uv: False gives the values alone.
        name: of the operations.

    Returns:
        s (..., p), real, descending, p the lesser of m and n; u (..., m, p) and v (..., n, p), so
        that the matrix is u diag(s) v^H. Only s without compute_uv.

    Raises:
        NotImplementedError: full_matrices of real matrices whose sizes are not known.
    """
    with scope(name, "Svd") as at:
        given, dims = _matrices(tensor, "Svd", at)
        rows, columns = dims[-2:]
        is_open = rows is None or columns is None
        if given.dtype.is_complex:
            found = _complex_svd(given, full_matrices and compute_uv, at)
            return found if compute_uv else found[0]
        if full_matrices and compute_uv and is_open:
            raise NotImplementedError("svd: full_matrices needs matrices of known sizes")
        x = elementwise.cast(given, dtypes.float64)
        wide = rows is not None and columns is not None and rows < columns
        gram = matmul.matmul(x, x, transpose_a=not wide, transpose_b=wide)
        values, vectors = self_adjoint_eig(gram)
        values = elementwise.maximum(index.reverse(values, [-1]), 0.0)
        if is_open:
            sizes = array.shape(x)
            count = elementwise.minimum(sizes[-2], sizes[-1])
            values = values[..., :count]
        # The root's slope at 0 is infinite: there it is taken of 1.
        nought = comparison.equal(values, 0.0)
        root = elementwise.sqrt(array.where(nought, array.ones_like(values), values))
        s = array.where(nought, values, root)
        near = index.reverse(vectors, [-1])
        if is_open:
            near = near[..., :count]
        multiplied = matmul.matmul(x, near, transpose_a=wide)
        # A root of noise is large; the length of what the matrix makes of a vector is not.
        lengths = elementwise.sqrt(reduction.reduce_sum(elementwise.square(multiplied), -2))
        s = s + array.stop_gradient(lengths - s)
        if not compute_uv:
            return elementwise.cast(s, given.dtype, name=at)
        far = div_no_nan(multiplied, array.expand_dims(s, -2) + array.zeros_like(multiplied))
        if full_matrices and rows != columns:
            more = qr(far, full_matrices=True).q[..., _lesser(rows, columns) :]
            far = array.concat([far, more], -1)
        u, v = (near, far) if wide else (far, near)
        return tuple(elementwise.cast(t, given.dtype) for t in (s, u, v))


def _complex_svd(x: Tensor, full: bool, name: str) -> tuple[Tensor, Tensor, Tensor]:
    dims = dims_of(x)
    assert dims is not None
    rows, columns = dims[-2:]
    wide = rows is not None and columns is not None and rows < columns
    found = factors.singular(factors.in_double(x), full, wide)
    s = elementwise.cast(found[0], x.dtype.base_dtype.real_dtype)
    u, v = (factors.rounded(part, x) for part in found[1:])

    def slope(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
        if full and (rows is None or rows != columns):
            raise NotImplementedError(f"the gradient of Svd '{name}' needs full_matrices=False")
        return _slope_of_svd(made, arriving)

    made = factors.with_gradient(x, [s, u, v], slope)
    return made[0], made[1], made[2]


def _slope_of_svd(made: Sequence[Tensor], arriving: Sequence[Any]) -> Tensor:
    """u (diag(ds) + w S + S z) v^H and what leaves the vectors' spaces; w and z are the parts of
    u^H du and v^H dv against their adjoints, over s_j^2 - s_i^2. As a vector turns by a complex
    number of size 1, so does its partner; a function of both must not depend on that number."""
    s, u, v = made
    ds, du, dv = arriving
    dtype = u.dtype.base_dtype
    squares = elementwise.square(s)
    apart = array.expand_dims(squares, -2) - array.expand_dims(squares, -1)
    over = elementwise.cast(div_no_nan(array.ones_like(apart), apart), dtype)
    wide = elementwise.cast(s, dtype)
    inverse = elementwise.cast(div_no_nan(array.ones_like(s), s), dtype)
    by_u, by_v = (matmul.matmul(t, dt, adjoint_a=True) for t, dt in ((u, du), (v, dv)))
    inner = matrices.matrix_diag(elementwise.cast(ds, dtype))
    inner += over * (by_u - _adjoint(by_u)) * array.expand_dims(wide, -2)
    inner += array.expand_dims(wide, -1) * (over * (by_v - _adjoint(by_v)))
    turning = matrices.matrix_diag_part(by_u - _adjoint(by_u))
    inner += 0.5 * matrices.matrix_diag(turning * inverse)
    inner = matmul.matmul(u, matmul.matmul(inner, v, adjoint_b=True))
    outside_u = (du - matmul.matmul(u, by_u)) * array.expand_dims(inverse, -2)
    outside_v = (dv - matmul.matmul(v, by_v)) * array.expand_dims(inverse, -2)
    inner += matmul.matmul(outside_u, v, adjoint_b=True)
    return inner + matmul.matmul(u, outside_v, adjoint_b=True)
