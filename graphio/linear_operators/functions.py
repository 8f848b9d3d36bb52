"""Functions of matrices, of linear operators: tf.matmul, tf.linalg.inv and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphio.ops.linalg import solving
from graphio.ops.linalg.operator_arguments import OperatorLike

__all__ = ["FUNCTIONS"]


def _matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,
    adjoint_b: bool = False, a_is_sparse: bool = False, b_is_sparse: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    if transpose_a or transpose_b:
        raise ValueError(
            "Transposing not supported at this time: matmul of a linear operator takes adjoint_a "
            "and adjoint_b"
        )
    if a_is_sparse or b_is_sparse:
        raise ValueError(
            "Sparse methods not supported at this time: leave a_is_sparse and b_is_sparse of a "
            "matmul of a linear operator False"
        )
    scope = name or "matmul"
    if isinstance(a, OperatorLike):
        operator: Any = a
        return operator.matmul(b, adjoint=adjoint_a, adjoint_arg=adjoint_b, name=scope)
    # the adjoint of B* A* is A B
    return solving.adjoint(
        b.matmul(a, adjoint=not adjoint_b, adjoint_arg=not adjoint_a, name=scope)
    )


def _solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Any:
    if not isinstance(matrix, OperatorLike):
        raise ValueError(
            "Passing in `matrix` as a Tensor and `rhs` as a LinearOperator is not supported: give "
            "rhs.to_dense(), or the matrix as a LinearOperatorFullMatrix"
        )
    operator: Any = matrix
    return operator.solve(rhs, adjoint=adjoint, name=name or "solve")


def _inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Any:
    found = input.inverse(name or "inverse")
    return found.adjoint() if adjoint else found


def _logdet(matrix: Any, name: str | None = None) -> Any:
    if not (matrix.is_positive_definite and matrix.is_self_adjoint):
        raise ValueError(
            f"Expected matrix to be self-adjoint positive definite: {matrix!r} has "
            f"is_self_adjoint={matrix.is_self_adjoint} and "
            f"is_positive_definite={matrix.is_positive_definite}; give it both hints, or use its "
            "log_abs_determinant"
        )
    return matrix.log_abs_determinant(name or "log_abs_det")


def _diag_part(input: Any, name: str | None = None, **options: Any) -> Any:
    if options:
        raise ValueError(
            f"diag_part of a linear operator gives the main diagonal; found {', '.join(options)}: "
            "use to_dense()"
        )
    return input.diag_part(name or "diag_part")


#: name of a function of matrices -> that of operators
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "adjoint": lambda matrix, name=None: matrix.adjoint(name or "adjoint"),
    "cholesky": lambda input, name=None: input.cholesky(name or "cholesky"),
    "logdet": _logdet,
    "matmul": _matmul,
    "matrix_determinant": lambda input, name=None: input.determinant(name or "det"),
    "matrix_diag_part": _diag_part,
    "matrix_inverse": _inverse,
    "matrix_solve": _solve,
    "trace": lambda x, name=None: x.trace(name or "trace"),
}
