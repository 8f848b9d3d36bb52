"""Matrices, complex numbers and Fourier transforms."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS", "SAME"]

SAME = {
    "Angle": "angle", "BatchCholesky": "cholesky", "BatchFFT": "fft", "BatchFFT2D": "fft2d",
    "BatchFFT3D": "fft3d", "BatchIFFT": "ifft", "BatchIFFT2D": "ifft2d", "BatchIFFT3D": "ifft3d",
    "BatchMatrixBandPart": "linalg.band_part", "BatchMatrixDeterminant": "matrix_determinant",
    "BatchMatrixDiag": "linalg.diag", "BatchMatrixDiagPart": "linalg.diag_part",
    "BatchMatrixSetDiag": "linalg.set_diag", "Complex": "complex", "ComplexAbs": "abs",
    "Conj": "conj", "Cross": "cross", "Diag": "diag", "DiagPart": "diag_part", "FFT": "fft",
    "FFT2D": "fft2d", "FFT3D": "fft3d", "IFFT": "ifft", "IFFT2D": "ifft2d", "IFFT3D": "ifft3d",
    "Imag": "imag", "MatrixExponential": "linalg.expm", "MatrixLogarithm": "linalg.logm",
    "MatrixSetDiag": "linalg.set_diag", "MatrixSquareRoot": "linalg.sqrtm", "Real": "real",
}  # fmt: skip


def _transformed(path: str, c: Call) -> Any:
    return getattr(tf.signal, path)(c[0], c.known(1), name=c.name)


def _solved(c: Call) -> Any:
    return tf.matrix_solve(c[0], c[1], c.flag("adjoint"), name=c.name)


def _triangular(c: Call) -> Any:
    lower, adjoint = c.flag("lower", True), c.flag("adjoint")
    return tf.matrix_triangular_solve(c[0], c[1], lower, adjoint, name=c.name)


def _least_squares(c: Call) -> Any:
    penalty = float(c.constant(2))
    return tf.matrix_solve_ls(c[0], c[1], penalty, c.flag("fast", True), name=c.name)


def _symmetric(c: Call) -> Any:
    if c.flag("compute_v", True):
        return list(tf.self_adjoint_eig(c[0], name=c.name))
    return [tf.self_adjoint_eigvals(c[0], name=c.name), tf.zeros([0], c[0].dtype)]


def _singular(c: Call) -> Any:
    if c.flag("compute_uv", True):
        return list(tf.svd(c[0], c.flag("full_matrices"), name=c.name))
    none = tf.zeros([0], c[0].dtype)
    return [tf.svd(c[0], compute_uv=False, name=c.name), none, none]


def _lu(c: Call) -> Any:
    return list(tf.linalg.lu(c[0], c.dtype("output_idx_type", tf.int32), name=c.name))


def _diagonals(c: Call) -> Any:
    rows, columns, padding = c.known(2), c.known(3), c.known(4)
    return tf.linalg.diag(c[0], c.name, c.known(1), rows, columns, padding, "LEFT_LEFT")


def _cholesky_slope(c: Call) -> Any:
    matrix = tf.matmul(c[0], c[0], adjoint_b=True)
    return tf.identity(tf.gradients(tf.cholesky(matrix), matrix, c[1])[0], name=c.name)


ROWS: dict[str, Row] = {
    "BatchMatrixInverse": lambda c: tf.matrix_inverse(c[0], c.flag("adjoint"), name=c.name),
    "BatchMatrixSolve": _solved,
    "BatchMatrixSolveLs": _least_squares,
    "BatchMatrixTriangularSolve": _triangular,
    "BatchSelfAdjointEigV2": _symmetric,
    "BatchSvd": _singular,
    "CholeskyGrad": _cholesky_slope,
    "BatchCholeskyGrad": _cholesky_slope,
    "ConjugateTranspose": lambda c: tf.transpose(c[0], c.known(1), conjugate=True, name=c.name),
    "LogMatrixDeterminant": lambda c: list(tf.linalg.slogdet(c[0], name=c.name)),
    "Lu": _lu,
    "MatrixDiagPartV2": lambda c: tf.linalg.diag_part(
        c[0], c.name, c.known(1), c.known(2), "LEFT_LEFT"
    ),
    "MatrixDiagV2": _diagonals,
    "MatrixSetDiagV2": lambda c: tf.linalg.set_diag(c[0], c[1], c.name, c.known(2), "LEFT_LEFT"),
    "MatrixSolve": _solved,
    "MatrixSolveLs": _least_squares,
    "MatrixTriangularSolve": _triangular,
    "Qr": lambda c: list(tf.qr(c[0], c.flag("full_matrices"), name=c.name)),
    "SelfAdjointEigV2": _symmetric,
    "SparseMatMul": lambda c: tf.sparse_matmul(
        c[0], c[1], c.flag("transpose_a"), c.flag("transpose_b"), name=c.name
    ),
    "Svd": _singular,
    **{
        name.upper(): partial(_transformed, name)
        for name in ("rfft", "irfft", "rfft2d", "irfft2d", "rfft3d", "irfft3d")
    },
}
