"""Eigenvalues of tridiagonal matrices."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index, joining
from graphio.ops.base import shapes
from graphio.ops.base.emit import FLOATING_OR_COMPLEX, describe, like, require, scope
from graphio.ops.complex import parts
from graphio.ops.linalg import matrices
from graphio.ops.linalg.factoring import self_adjoint_eig
from graphio.ops.math import comparison
from graphio.support import api_guard

__all__ = ["eigh_tridiagonal"]


@api_guard.operator
def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """Eigenvalues of a Hermitian tridiagonal matrix, by self_adjoint_eig of the complete matrix.

    Args:
        alpha: floating or complex vector (n), the diagonal, of which only real parts count.
        beta: vector (n - 1) of the same dtype, the elements above the diagonal; those below are
            their conjugates.
        eigvals_only: False also gives eigenvectors.
        select: "a" for all; "i" for those from one number to another in ascending order, "v" for
            those of values from one to another, the ends included.
        select_range: for "i" and "v", a pair.
        tol: accepted; the result has the precision of the dtype.
        name: of the operations.

    Returns:
        The eigenvalues, ascending, of the real dtype. With eigvals_only=False a pair: these, and
        the eigenvectors as columns.

    Raises:
        ValueError: alpha or beta is not a vector, or select or select_range is none of these.

    Example:
        >>> tf.Session().run(tf.linalg.eigh_tridiagonal([2.0, 2.0], [1.0]))
        array([1., 3.], dtype=float32)
    """
    with scope(name, "eigh_tridiagonal") as at:
        diagonal = convert_to_tensor(alpha, name="alpha")
        require(diagonal, FLOATING_OR_COMPLEX, "eigh_tridiagonal", "alpha")
        upper = like(beta, diagonal, "eigh_tridiagonal", ("alpha", "beta"))
        for vector in (diagonal, upper):
            shapes.merge(shapes.dims_of(vector), (None,), describe(at, "eigh_tridiagonal"))
        if select not in ("a", "i", "v") or (select != "a" and len(select_range or ()) != 2):
            raise ValueError(
                f"eigh_tridiagonal: select is {select!r} and select_range {select_range!r}, "
                "expected 'a', or 'i' or 'v' with a pair"
            )
        lower = joining.pad(matrices.matrix_diag(parts.conj(upper)), [[1, 0], [0, 1]])
        above = joining.pad(matrices.matrix_diag(upper), [[0, 1], [1, 0]])
        values, vectors = self_adjoint_eig(matrices.matrix_diag(diagonal) + lower + above)
        values, vectors = _selected(parts.real(values), vectors, select, select_range)
        return values if eigvals_only else (values, vectors)


def _selected(values: Tensor, vectors: Tensor, select: str, ends: Any) -> tuple[Tensor, Tensor]:
    if select == "a":
        return values, vectors
    if select == "i":
        first, after = ends[0], ends[1] + 1
        return values[first:after], vectors[:, first:after]
    low, high = (convert_to_tensor(end, values.dtype) for end in ends)
    kept = comparison.logical_and(
        comparison.greater_equal(values, low), comparison.less_equal(values, high)
    )
    return index.boolean_mask(values, kept), index.boolean_mask(vectors, kept, axis=1)
