"""tf.linalg: matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.linear_operators import (
    LinearOperator,
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
    LinearOperatorComposition,
    LinearOperatorDiag,
    LinearOperatorFullMatrix,
    LinearOperatorHouseholder,
    LinearOperatorIdentity,
    LinearOperatorInversion,
    LinearOperatorKronecker,
    LinearOperatorLowerTriangular,
    LinearOperatorLowRankUpdate,
    LinearOperatorScaledIdentity,
    LinearOperatorToeplitz,
    LinearOperatorZeros,
)
from graphio.ops.array.filling import diag as tensor_diag
from graphio.ops.array.filling import eye
from graphio.ops.linalg.factoring import qr, svd
from graphio.ops.linalg.factoring import self_adjoint_eig as eigh
from graphio.ops.linalg.factoring import self_adjoint_eigvals as eigvalsh
from graphio.ops.linalg.general_eigen import eig, eigvals
from graphio.ops.linalg.lu import lu, lu_matrix_inverse, lu_reconstruct, lu_solve, slogdet
from graphio.ops.linalg.matmul import matmul, matrix_transpose, tensordot
from graphio.ops.linalg.matmul import matrix_transpose as transpose
from graphio.ops.linalg.matrices import diag_part as tensor_diag_part
from graphio.ops.linalg.matrices import matrix_band_part as band_part
from graphio.ops.linalg.matrices import matrix_determinant as det
from graphio.ops.linalg.matrices import matrix_diag as diag
from graphio.ops.linalg.matrices import matrix_diag_part as diag_part
from graphio.ops.linalg.matrices import matrix_set_diag as set_diag
from graphio.ops.linalg.matrices import trace
from graphio.ops.linalg.matrix_functions import expm, matrix_rank, pinv
from graphio.ops.linalg.norms import norm, normalize
from graphio.ops.linalg.roots import logm, sqrtm
from graphio.ops.linalg.solving import (
    adjoint,
    cholesky,
    cholesky_solve,
    logdet,
    matvec,
)
from graphio.ops.linalg.solving import matrix_inverse as inv
from graphio.ops.linalg.solving import matrix_solve as solve
from graphio.ops.linalg.solving import matrix_solve_ls as lstsq
from graphio.ops.linalg.solving import matrix_triangular_solve as triangular_solve
from graphio.ops.linalg.tridiagonal import eigh_tridiagonal
from graphio.ops.linalg.tridiagonal_systems import tridiagonal_matmul, tridiagonal_solve
from graphio.ops.math.arithmetic import cross, einsum
from graphio.ops.math.clip import global_norm
from graphio.ops.nn.core import l2_normalize

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "einsum",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
