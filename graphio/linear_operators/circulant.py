"""Circulant matrices, by their spectra, and Toeplitz matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.array.index import reverse
from graphio.ops.checks import asserts
from graphio.ops.complex import parts
from graphio.ops.linalg import solving
from graphio.ops.linalg.matmul import matrix_transpose
from graphio.ops.math import elementwise, reduction
from graphio.ops.signals import fourier

__all__ = [
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorToeplitz",
]

_FORWARD: dict[int, Callable[..., Any]] = {1: fourier.fft, 2: fourier.fft2d, 3: fourier.fft3d}
_BACKWARD: dict[int, Callable[..., Any]] = {1: fourier.ifft, 2: fourier.ifft2d, 3: fourier.ifft3d}


def _to_complex(x: Any) -> Any:
    if x.dtype.is_complex:
        return x
    wide = x.dtype.base_dtype == dtypes.float64
    return elementwise.cast(x, dtypes.complex128 if wide else dtypes.complex64)


class _Circulant(LinearOperator):
    """F^-1 diag(spectrum) F with the discrete Fourier transform F of `block_depth` axes.

    Args:
        spectrum: tensor (..., N) or (..., N1, N2), (..., N1, N2, N3).
        block_depth: number of axes of a spectrum.
        input_output_dtype: dtype of the operator; of a real one the imaginary parts are dropped.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; a real spectrum's is True.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        spectrum: Any,
        block_depth: int,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        with scopes.name_scope(name, values=[spectrum]):
            self._spectrum = convert_to_tensor(spectrum, name="spectrum")
            checks.require_rank(self._spectrum, "spectrum", block_depth)
            is_self_adjoint = checks.hint_of_real(
                self._spectrum,
                is_self_adjoint,
                "A real spectrum always corresponds to a self-adjoint operator.",
            )
            checks.refuse_false(
                is_square, "A [[nested] block] circulant operator is always square."
            )
            self._complex_spectrum = _to_complex(self._spectrum)
        self._block_depth = block_depth
        super().__init__(
            input_output_dtype,
            [self._spectrum],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    @property
    def block_depth(self) -> int:
        """The number of axes of a spectrum."""
        return self._block_depth

    @property
    def spectrum(self) -> Any:
        """The eigenvalues."""
        return self._spectrum

    @property
    def block_shape(self) -> Any:
        """The shape of a spectrum."""
        return self._spectrum.shape[-self._block_depth :]

    def block_shape_tensor(self) -> Any:
        """The shape of a spectrum as an int32 vector."""
        return array.shape(self._spectrum)[-self._block_depth :]

    def _shape(self) -> Any:
        block = self.block_shape
        size = (
            math.prod(int(n) for n in block.as_list() if n is not None)
            if block.is_fully_defined()
            else None
        )
        return self._spectrum.shape[: -self._block_depth].concatenate([size, size])

    def _shape_tensor(self) -> Any:
        size = reduction.reduce_prod(self.block_shape_tensor())
        lead = array.shape(self._spectrum)[: -self._block_depth]
        return array.concat([lead, array.stack([size, size])], 0)

    def convolution_kernel(self, name: str = "convolution_kernel") -> Any:
        """The inverse transform of the spectrum: the first columns of the matrices."""
        with self._scope(name):
            return self._own(_BACKWARD[self._block_depth](self._complex_spectrum))

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """An operation that fails where the matrices are not real."""
        with self._scope(name):
            real = self.dtype.real_dtype
            size = elementwise.cast(self.domain_dimension_tensor(), real)
            imaginary = parts.imag(_BACKWARD[self._block_depth](self._complex_spectrum))
            return asserts.assert_less(
                elementwise.abs(elementwise.cast(imaginary, real)),
                np.finfo(real.as_numpy_dtype).eps * size,
                message="Spectrum was not Hermitian",
            )

    def _assert_non_singular(self) -> Any:
        return checks.assert_no_zeros(
            self._spectrum, "Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self) -> Any:
        return checks.assert_positive_real(
            self._spectrum, "Not positive definite:  Real part of spectrum was not all positive."
        )

    def _assert_self_adjoint(self) -> Any:
        return checks.assert_real(
            self._spectrum, "Not self-adjoint:  The spectrum contained non-zero imaginary part."
        )

    def _own(self, x: Any) -> Any:
        """Complex numbers as the operator's dtype."""
        x = x if self.dtype.is_complex else parts.real(x)
        return elementwise.cast(x, self.dtype)

    def _filtered(self, x: Any, factors: Any, adjoint_arg: bool) -> Any:
        """F^-1 (factors F x) for the columns of x."""
        x = elementwise.cast(solving.adjoint(x) if adjoint_arg else x, factors.dtype)
        lead = array.concat([self.batch_shape_tensor(), [1, -1]], 0)
        rows = array.reshape(factors, lead)
        columns, rows = batches.broadcast_all([matrix_transpose(x), rows])
        outer, block = array.shape(columns)[:-1], self.block_shape_tensor()
        blocks = array.reshape(columns, array.concat([outer, block], 0))
        wide = array.concat([array.shape(rows)[:-1], block], 0)
        made = _BACKWARD[self._block_depth](
            array.reshape(rows, wide) * _FORWARD[self._block_depth](blocks)
        )
        flat = array.reshape(made, array.shape(columns))
        return self._own(matrix_transpose(flat))

    def _factors(self, adjoint: bool) -> Any:
        spectrum = self._complex_spectrum
        return parts.conj(spectrum) if adjoint else spectrum

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(x, self._factors(adjoint), adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._filtered(rhs, 1.0 / self._factors(adjoint), adjoint_arg)

    def _axes(self) -> list[int]:
        return [-1 - i for i in range(self._block_depth)]

    def _determinant(self) -> Any:
        found = reduction.reduce_prod(self._complex_spectrum, axis=self._axes())
        return self._own(found)

    def _log_abs_determinant(self) -> Any:
        return checks.log_abs_sum(self._spectrum, self._axes(), self.dtype)

    def _trace(self) -> Any:
        return self._own(reduction.reduce_sum(self._complex_spectrum, axis=self._axes()))

    def _diag_part(self) -> Any:
        size = elementwise.cast(self.domain_dimension_tensor(), self.dtype)
        ones = array.ones(self.shape_tensor()[:-1], self.dtype)
        return array.expand_dims(self.trace() / size, -1) * ones


class LinearOperatorCirculant(_Circulant):
    """Circulant matrices, whose columns are cyclic shifts of the first.

    Args:
        spectrum: tensor (..., N), the transform of the first column.
        input_output_dtype: dtype of the operator; of a real one the imaginary parts are dropped.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; a real spectrum's is True.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, 1, input_output_dtype, *hints, name)


class LinearOperatorCirculant2D(_Circulant):
    """Block circulant matrices of circulant blocks.

    Args:
        spectrum: tensor (..., N1, N2).
        input_output_dtype: dtype of the operator; of a real one the imaginary parts are dropped.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; a real spectrum's is True.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant2D",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, 2, input_output_dtype, *hints, name)


class LinearOperatorCirculant3D(_Circulant):
    """Nested block circulant matrices.

    Args:
        spectrum: tensor (..., N1, N2, N3).
        input_output_dtype: dtype of the operator; of a real one the imaginary parts are dropped.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; a real spectrum's is True.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        spectrum: Any,
        input_output_dtype: Any = dtypes.complex64,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str = "LinearOperatorCirculant3D",
    ) -> None:
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(spectrum, 3, input_output_dtype, *hints, name)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices with one number along each diagonal.

    Args:
        col: tensor (..., N), the first columns.
        row: tensor (..., N), the first rows; its first element is not read.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: see LinearOperator.
        is_square: True or None.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        with scopes.name_scope(name, values=[row, col]):
            self._row = convert_to_tensor(row, name="row")
            self._col = convert_to_tensor(col, name="col")
            for word, x in (("row", self._row), ("col", self._col)):
                checks.require_rank(x, word, 1)
            sizes = [x.shape[-1:].as_list() for x in (self._row, self._col) if x.shape.ndims]
            if len(sizes) == 2 and None not in sizes[0] + sizes[1] and sizes[0] != sizes[1]:
                raise ValueError(
                    "Expected square matrix, got row and col with mismatched dimensions."
                )
            checks.refuse_false(is_square, "Only square Toeplitz operators currently supported.")
            self._circulant = self._embedded()
        super().__init__(
            self._row.dtype,
            [self._row, self._col],
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )

    def _embedded(self) -> LinearOperatorCirculant:
        """A circulant matrix of twice the size with the matrix in its corner."""
        tail = reverse(self._row[..., 1:], axis=[-1])
        column = array.concat([self._col, array.zeros_like(self._col[..., :1]), tail], -1)
        return LinearOperatorCirculant(
            fourier.fft(_to_complex(column)), input_output_dtype=self._row.dtype.base_dtype
        )

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _shape(self) -> Any:
        shape = shaping.broadcast_static_shape(self._row.shape, self._col.shape)
        return shape.concatenate(shape[-1:])

    def _shape_tensor(self) -> Any:
        sizes = shaping.broadcast_dynamic_shape(array.shape(self._row), array.shape(self._col))
        return array.concat([sizes, sizes[-1:]], 0)

    def _assert_self_adjoint(self) -> Any:
        return asserts.assert_equal(
            self._row,
            self._col,
            message="row and col are not the same, and so this operator is not self-adjoint.",
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = solving.adjoint(x) if adjoint_arg else x
        wide = array.concat([x, array.zeros_like(x)], -2)
        made = self._circulant.matmul(wide, adjoint=adjoint)
        return elementwise.cast(made[..., : self.domain_dimension_tensor(), :], self.dtype)

    def _trace(self) -> Any:
        return elementwise.cast(self.domain_dimension_tensor(), self.dtype) * self._col[..., 0]

    def _diag_part(self) -> Any:
        return self._col[..., :1] * array.ones([self.domain_dimension_tensor()], self.dtype)
