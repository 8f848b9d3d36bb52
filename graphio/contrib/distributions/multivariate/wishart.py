"""Wishart's distributions of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import checked
from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.linear_operators import LinearOperator, LinearOperatorLowerTriangular
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks import asserts
from graphio.ops.linalg import matmul, matrices, solving
from graphio.ops.math import elementwise, reduction, special
from graphio.ops.random.core import random_normal
from graphio.ops.random.more import random_gamma

__all__ = ["WishartCholesky", "WishartFull"]


class _Wishart(Distribution):
    """Wishart's distribution of p p matrices with scale S S^T, where S is an operator."""

    def __init__(
        self,
        df: Any,
        scale_operator: LinearOperator,
        cholesky_input_output_matrices: bool,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        dtype = scale_operator.dtype
        if not dtype.is_floating:
            raise TypeError(f"scale_operator.dtype={dtype} is not a floating-point type")
        if not scale_operator.is_square:
            raise ValueError("scale_operator must be square.")
        with scopes.name_scope(name) as scope, scopes.name_scope("init", values=[df]):
            df = convert_to_tensor(df, dtype, name="df")
            size = scale_operator.domain_dimension.value
            self._dimension = (
                elementwise.cast(scale_operator.domain_dimension_tensor(), dtype)
                if size is None
                else convert_to_tensor(float(size), dtype, name="dimension")
            )
            known = constant_value(df)
            words = "cannot be less than dimension of scale matrix"
            if known is not None and size is not None:
                if np.any(known < size):
                    raise ValueError(
                        f"Degrees of freedom (df = {known}) {words} (scale.dimension = {size})"
                    )
            elif validate_args:
                message = f"Degrees of freedom {words}"
                enough = asserts.assert_less_equal(self._dimension, df, message=message)
                df = checked(df, [enough])
        self._df, self._scale_operator = df, scale_operator
        self._cholesky_input_output_matrices = cholesky_input_output_matrices
        super().__init__(
            dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            None,
            [df, self._dimension, *scale_operator.graph_parents],
            scope,
        )

    @property
    def df(self) -> Any:
        """The degrees of freedom."""
        return self._df

    @property
    def scale_operator(self) -> LinearOperator:
        """The operator S."""
        return self._scale_operator

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """Whether samples and values are Cholesky factors of the matrices."""
        return self._cholesky_input_output_matrices

    @property
    def dimension(self) -> Any:
        """p, as a floating scalar."""
        return self._dimension

    def scale(self) -> Any:
        """S S^T, or S where samples are Cholesky factors."""
        if self._cholesky_input_output_matrices:
            return self._scale_operator.to_dense()
        return self._square()

    def _square(self) -> Any:
        operator = self._scale_operator
        return operator.matmul(operator.to_dense(), adjoint_arg=True)

    def _event_shape_tensor(self) -> Any:
        size = self._scale_operator.domain_dimension_tensor()
        return array.stack([size, size])

    def _event_shape(self) -> Any:
        size = self._scale_operator.domain_dimension
        return TensorShape([size, size])

    def _batch_shape_tensor(self) -> Any:
        return self._scale_operator.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self._scale_operator.batch_shape

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        """S T (S T)^T for triangles T of normal numbers, whose squared diagonals are of chi2
        (Odell and Feiveson, 1966)."""
        shape = array.concat([[n], self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        lower = matrices.matrix_band_part(random_normal(shape, dtype=self.dtype, seed=seed), -1, 0)
        halves = 0.5 * self._df * array.ones(self.batch_shape_tensor(), self.dtype)
        squares = random_gamma(
            [n],
            self._sequence(halves),
            beta=convert_to_tensor(0.5, self.dtype),
            dtype=self.dtype,
            seed=another_seed(seed, "wishart"),
        )
        lower = matrices.matrix_set_diag(lower, elementwise.sqrt(squares))
        x = self._scale_operator.matmul(lower)
        if not self._cholesky_input_output_matrices:
            x = matmul.matmul(x, x, adjoint_b=True)
        return x

    def _log_prob(self, value: Any) -> Any:
        root = value if self._cholesky_input_output_matrices else solving.cholesky(value)
        solved = self._scale_operator.solve(root)
        trace = reduction.reduce_sum(elementwise.square(solved), [-2, -1])
        logs = elementwise.log(matrices.matrix_diag_part(root))
        half_log_det = reduction.reduce_sum(logs, [-1])
        weight = self._df - self._dimension - 1.0
        found = weight * half_log_det - 0.5 * trace - self.log_normalization()
        if value.shape.ndims is not None:
            found.set_shape(value.shape[:-2])
        return found

    def _entropy(self) -> Any:
        half, df = 0.5 * self._dimension + 0.5, 0.5 * self._df
        logs = df + half * math.log(2.0)
        return (
            self._dimension * logs
            + 2.0 * half * self._scale_operator.log_abs_determinant()
            + self._multi_lgamma(df)
            + (half - df) * self._multi_digamma(df)
        )

    def _mean(self) -> Any:
        if self._cholesky_input_output_matrices:
            return _wide(elementwise.sqrt(self._df)) * self._scale_operator.to_dense()
        return _wide(self._df) * self._square()

    def _variance(self) -> Any:
        x = _wide(elementwise.sqrt(self._df)) * self._square()
        diag = array.expand_dims(matrices.matrix_diag_part(x), -1)
        found = elementwise.square(x) + matmul.matmul(diag, diag, adjoint_b=True)
        return solving.cholesky(found) if self._cholesky_input_output_matrices else found

    def _stddev(self) -> Any:
        if self._cholesky_input_output_matrices:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True does not make "
                "sense."
            )
        return solving.cholesky(self.variance())

    def _mode(self) -> Any:
        rest = self._df - self._dimension - 1.0
        rest = where_v2(rest < 0.0, array.ones_like(rest) * math.nan, rest)
        if self._cholesky_input_output_matrices:
            return _wide(elementwise.sqrt(rest)) * self._scale_operator.to_dense()
        return _wide(rest) * self._square()

    def mean_log_det(self, name: str = "mean_log_det") -> Any:
        """The mean of the logarithm of a matrix' determinant."""
        with self._name_scope(name):
            return (
                self._multi_digamma(0.5 * self._df)
                + self._dimension * math.log(2.0)
                + 2.0 * self._scale_operator.log_abs_determinant()
            )

    def log_normalization(self, name: str = "log_normalization") -> Any:
        """The logarithm of the density's normalization."""
        with self._name_scope(name):
            return (
                self._df * self._scale_operator.log_abs_determinant()
                + 0.5 * self._df * self._dimension * math.log(2.0)
                + self._multi_lgamma(0.5 * self._df)
            )

    def _sequence(self, a: Any) -> Any:
        """a, a - 1/2, ..., a - (p - 1) / 2, along a new last axis."""
        size = self._scale_operator.domain_dimension_tensor()
        steps = elementwise.cast(array.range(size), self.dtype)
        return array.expand_dims(a, -1) - 0.5 * steps

    def _multi_lgamma(self, a: Any) -> Any:
        first = 0.25 * self._dimension * (self._dimension - 1.0) * math.log(math.pi)
        return first + reduction.reduce_sum(special.lgamma(self._sequence(a)), [-1])

    def _multi_digamma(self, a: Any) -> Any:
        return reduction.reduce_sum(special.digamma(self._sequence(a)), [-1])


def _wide(x: Any) -> Any:
    """Numbers (...) with two axes of size 1, where they are not a scalar."""
    if x.shape.ndims == 0:
        return x
    return array.expand_dims(array.expand_dims(x, -1), -1)


class WishartCholesky(_Wishart):
    """Wishart's distribution by the Cholesky factor of its scale.

    Args:
        df: floating tensor (...), the degrees of freedom, not below p.
        scale: S, tensor (..., p, p) of lower triangles with positive diagonals.
        cholesky_input_output_matrices: whether samples and values are Cholesky factors.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        TypeError: scale's dtype is not floating.
        ValueError: df is known to be below p.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartCholesky",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[scale]) as scope, scopes.name_scope("init"):
            tril = convert_to_tensor(scale)
            if validate_args:
                tril = checked(
                    tril,
                    [
                        asserts.assert_positive(
                            matrices.matrix_diag_part(tril),
                            message="scale must be positive definite",
                        ),
                        asserts.assert_equal(
                            array.shape(tril)[-1],
                            array.shape(tril)[-2],
                            message="scale must be square",
                        ),
                    ],
                )
            operator = _triangle(tril)
        super().__init__(
            df, operator, cholesky_input_output_matrices, validate_args, allow_nan_stats, scope
        )
        self._parameters = parameters


class WishartFull(_Wishart):
    """Wishart's distribution by its scale.

    Args:
        df: floating tensor (...), the degrees of freedom, not below p.
        scale: tensor (..., p, p) of symmetric positive definite matrices.
        cholesky_input_output_matrices: whether samples and values are Cholesky factors.
        validate_args: whether runs check values.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        TypeError: scale's dtype is not floating.
        ValueError: df is known to be below p.
    """

    def __init__(
        self,
        df: Any,
        scale: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "WishartFull",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope, scopes.name_scope("init", values=[scale]):
            matrix = convert_to_tensor(scale)
            if validate_args:
                symmetric = asserts.assert_equal(
                    matrix, matmul.matrix_transpose(matrix), message="Matrix was not symmetric"
                )
                matrix = checked(matrix, [symmetric])
            tril = solving.cholesky(matrix)
            if validate_args:
                tril = checked(tril, [asserts.assert_positive(matrices.matrix_diag_part(tril))])
            operator = _triangle(tril)
        super().__init__(
            df, operator, cholesky_input_output_matrices, validate_args, allow_nan_stats, scope
        )
        self._parameters = parameters


def _triangle(tril: Any) -> LinearOperatorLowerTriangular:
    return LinearOperatorLowerTriangular(
        tril, is_non_singular=True, is_positive_definite=True, is_square=True
    )
