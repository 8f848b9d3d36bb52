"""LinearOperator: a batch of matrices by what they do to vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape, as_shape
from graphio.framework.variable import Variable
from graphio.linear_operators import batches, pairs
from graphio.linear_operators.functions import FUNCTIONS
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.linalg import factoring, lu, matrices, solving
from graphio.ops.linalg.operator_arguments import OperatorLike
from graphio.ops.math import elementwise, reduction

__all__ = ["LinearOperator"]


def _implied(
    is_non_singular: bool | None,
    is_self_adjoint: bool | None,
    is_positive_definite: bool | None,
    is_square: bool | None,
) -> tuple[bool | None, bool | None]:
    """Whether a matrix is non-singular and square, by all that the caller says of it."""
    if is_positive_definite:
        if is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        is_non_singular = True
    for holds, word in ((is_non_singular, "non-singular"), (is_self_adjoint, "self-adjoint")):
        if holds:
            if is_square is False:
                raise ValueError(f"A {word} matrix is always square.")
            is_square = True
    return is_non_singular, is_square


class LinearOperator(OperatorLike):
    """A batch of matrices (..., M, N), which a subclass defines by `_shape`, `_shape_tensor` and
    `_matmul`; it overrides other methods where its structure makes them cheap.

    The hints are promises of the caller: a wrong one gives wrong values, and None says nothing.

    Args:
        dtype: of the matrices' elements.
        graph_parents: tensors that the operator is made of.
        is_non_singular: whether the matrices have inverses.
        is_self_adjoint: whether they equal their adjoints.
        is_positive_definite: whether the real part of x^H A x is positive for all x but 0.
        is_square: whether they are square.
        name: of the scope of all operations.

    Raises:
        ValueError: the hints contradict each other, or a parent is not a tensor.
    """

    functions = FUNCTIONS

    def __init__(
        self,
        dtype: Any,
        graph_parents: Sequence[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        is_non_singular, is_square = _implied(
            is_non_singular, is_self_adjoint, is_positive_definite, is_square
        )
        parents = list(graph_parents or ())
        for i, parent in enumerate(parents):
            if not isinstance(parent, (Tensor, Variable)):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        self._dtype = dtypes.as_dtype(dtype).base_dtype if dtype else dtype
        self._graph_parents = parents
        self._is_non_singular = is_non_singular
        self._is_self_adjoint = is_self_adjoint
        self._is_positive_definite = is_positive_definite
        self._is_square = is_square
        self._name = name or type(self).__name__

    def __repr__(self) -> str:
        return f"<graphio.linalg.{type(self).__name__} {self.name!r} shape={self.shape}>"

    @contextmanager
    def _scope(self, name: str | None) -> Iterator[str]:
        with scopes.name_scope(f"{self.name}/{name}" if name else self.name) as scope:
            yield scope

    # ---- properties ----

    @property
    def dtype(self) -> Any:
        """The dtype of the matrices' elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name, which begins the names of all operations."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator is made of."""
        return self._graph_parents

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables among the tensors that the operator is made of."""
        return tuple(parent for parent in self._graph_parents if isinstance(parent, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those of the variables that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)

    @property
    def is_non_singular(self) -> bool | None:
        """The hint that the matrices have inverses."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """The hint that the matrices equal their adjoints."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """The hint that the matrices are positive definite."""
        return self._is_positive_definite

    @property
    def is_square(self) -> bool | None:
        """Whether the matrices are square: the hint, or what their shape says.

        Raises:
            ValueError: the hint is False and the shape is square.
        """
        by_shape: bool | None = self.domain_dimension == self.range_dimension
        if self._is_square is False and by_shape:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return by_shape if self._is_square is None else self._is_square

    # ---- shapes ----

    def _shape(self) -> Any:
        raise NotImplementedError("_shape is not implemented.")

    def _shape_tensor(self) -> Any:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The shape (..., M, N), as far as it is known."""
        found: TensorShape = as_shape(self._shape())
        return found

    def shape_tensor(self, name: str = "shape_tensor") -> Any:
        """The shape as an int32 vector."""
        with self._scope(name):
            if self.shape.is_fully_defined():
                return batches.shape_vector(self.shape)
            return self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The shape without its last two axes."""
        found: TensorShape = self.shape[:-2]
        return found

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Any:
        """The shape without its last two axes, as an int32 vector."""
        with self._scope(name):
            if self.batch_shape.is_fully_defined():
                return batches.shape_vector(self.batch_shape)
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The number of axes of the shape; None where it is unknown."""
        return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Any:
        """The number of axes as an int32 scalar."""
        with self._scope(name):
            if self.tensor_rank is not None:
                return convert_to_tensor(self.tensor_rank)
            return array.size(self.shape_tensor())

    def _dimension(self, axis: int) -> Dimension:
        dims = self.shape.dims
        return Dimension(None) if dims is None else dims[axis]

    def _dimension_tensor(self, axis: int) -> Any:
        known = self._dimension(axis).value
        return convert_to_tensor(known) if known is not None else self.shape_tensor()[axis]

    @property
    def domain_dimension(self) -> Dimension:
        """N of matrices (..., M, N)."""
        return self._dimension(-1)

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Any:
        """N of matrices (..., M, N), as an int32 scalar."""
        with self._scope(name):
            return self._dimension_tensor(-1)

    @property
    def range_dimension(self) -> Dimension:
        """M of matrices (..., M, N)."""
        return self._dimension(-2)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Any:
        """M of matrices (..., M, N), as an int32 scalar."""
        with self._scope(name):
            return self._dimension_tensor(-2)

    # ---- assertions ----

    def _assert_non_singular(self) -> Any:
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        values = factoring.svd(self.to_dense(), compute_uv=False)
        condition = reduction.reduce_max(values, -1) / reduction.reduce_min(values, -1)
        return asserts.assert_less(
            condition,
            self._max_condition_number_to_be_non_singular(),
            message="Singular matrix up to precision epsilon.",
        )

    def _max_condition_number_to_be_non_singular(self) -> Any:
        real = self.dtype.real_dtype
        sizes = [self.range_dimension_tensor(), self.domain_dimension_tensor()]
        terms = [array.ones([], real) * 100.0, *(elementwise.cast(size, real) for size in sizes)]
        return 1.0 / (reduction.reduce_max(array.stack(terms)) * np.finfo(real.as_numpy_dtype).eps)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Any:
        """An operation that fails where the condition number of a matrix is above 1 over the
        precision times the largest of 100, M and N."""
        with self._scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        return asserts.assert_positive(
            batches.real_part(matrices.matrix_diag_part(solving.cholesky(self.to_dense()))),
            message="Matrix was not positive definite.",
        )

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Any:
        """An operation that fails where a matrix is not positive definite.

        Raises:
            NotImplementedError: the operator has no such test.
        """
        with self._scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        return asserts.assert_equal(
            dense, solving.adjoint(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """An operation that fails where a matrix differs from its adjoint."""
        with self._scope(name):
            return self._assert_self_adjoint()

    # ---- multiplication ----

    def _tensor(self, value: Any, name: str) -> Tensor:
        x = convert_to_tensor(value, name=name)
        if x.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {x.dtype} in tensor {x}"
            )
        return x

    def _check_size(self, axis: int, x: Tensor, of_x: int) -> None:
        if x.shape.dims is not None:
            size, expected = x.shape.dims[of_x], self._dimension(axis)
            if not expected.is_compatible_with(size):
                raise ValueError(
                    f"Dimensions {expected} and {size} are not compatible: {self!r} takes a tensor "
                    f"whose axis {of_x} has size {expected}, found shape {x.shape}; transpose the "
                    "tensor, or use adjoint or adjoint_arg"
                )

    def _operands(
        self, other: LinearOperator, adjoint: bool, adjoint_arg: bool, word: str
    ) -> tuple[LinearOperator, LinearOperator]:
        """Two operators of a composition or a system, as they are after the adjoints."""
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        if not left.domain_dimension.is_compatible_with(right.range_dimension):
            raise ValueError(
                f"Operators are incompatible. Expected `{word}` to have dimension "
                f"{left.domain_dimension} but got {right.range_dimension}."
            )
        return left, right

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Any:
        """A x.

        Args:
            x: tensor (..., N, R) of the operator's dtype, or an operator; leading axes broadcast.
            adjoint: whether A's adjoint is taken.
            adjoint_arg: whether x's adjoint is taken.
            name: of the scope.

        Returns:
            (..., M, R); an operator where x is one.

        Raises:
            TypeError: x has another dtype.
            ValueError: the sizes don't fit.
        """
        if isinstance(x, LinearOperator):
            left, right = self._operands(x, adjoint, adjoint_arg, "x")
            with self._scope(name):
                return pairs.composition(left, right)
        with self._scope(name):
            x = self._tensor(x, "x")
            self._check_size(-2 if adjoint else -1, x, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return array.squeeze(self.matmul(array.expand_dims(x, -1), adjoint=adjoint), [-1])

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Any:
        """A times vectors.

        Args:
            x: tensor (..., N); leading axes broadcast.
            adjoint: whether A's adjoint is taken.
            name: of the scope.

        Returns:
            (..., M).
        """
        with self._scope(name):
            x = self._tensor(x, "x")
            self._check_size(-2 if adjoint else -1, x, -1)
            return self._matvec(x, adjoint=adjoint)

    # ---- determinants ----

    def _require_square(self, what: str) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                f"{what} not implemented for an operator that is expected to not be square."
            )

    def _determinant(self) -> Any:
        if self._can_use_cholesky():
            return elementwise.exp(self.log_abs_determinant())
        return matrices.matrix_determinant(self.to_dense())

    def determinant(self, name: str = "det") -> Any:
        """The determinants, (...).

        Raises:
            NotImplementedError: the matrices are not square.
        """
        self._require_square("Determinant")
        with self._scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Any:
        if self._can_use_cholesky():
            return batches.twice_log_diagonal(solving.cholesky(self.to_dense()))
        return lu.slogdet(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Any:
        """The logarithms of the determinants' absolute values, (...).

        Raises:
            NotImplementedError: the matrices are not square.
        """
        self._require_square("Determinant")
        with self._scope(name):
            return self._log_abs_determinant()

    # ---- systems ----

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = solving.adjoint(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            return batches.cholesky_solve(solving.cholesky(self.to_dense()), rhs)
        return batches.solve(self.to_dense(), rhs, adjoint=adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Any:
        """X with A X = rhs.

        Args:
            rhs: tensor (..., M, R) of the operator's dtype, or an operator; leading axes broadcast.
            adjoint: whether A's adjoint is taken.
            adjoint_arg: whether rhs' adjoint is taken.
            name: of the scope.

        Returns:
            (..., N, R); an operator where rhs is one.

        Raises:
            NotImplementedError: the hints say that the matrices have no inverses.
            ValueError: the sizes don't fit.
        """
        if self.is_non_singular is False:
            raise NotImplementedError(
                "Exact solve not implemented for an operator that is expected to be singular."
            )
        self._require_square("Exact solve")
        if isinstance(rhs, LinearOperator):
            left, right = self._operands(rhs, adjoint, adjoint_arg, "rhs")
            with self._scope(name):
                return pairs.solution(left, right)
        with self._scope(name):
            rhs = self._tensor(rhs, "rhs")
            self._check_size(-1 if adjoint else -2, rhs, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return array.squeeze(self.solve(array.expand_dims(rhs, -1), adjoint=adjoint), [-1])

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Any:
        """x with A x = rhs for vectors.

        Args:
            rhs: tensor (..., M); leading axes broadcast.
            adjoint: whether A's adjoint is taken.
            name: of the scope.

        Returns:
            (..., N).
        """
        with self._scope(name):
            rhs = self._tensor(rhs, "rhs")
            self._check_size(-1 if adjoint else -2, rhs, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    # ---- other operators ----

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator of the adjoint matrices: transposed and conjugate."""
        if self.is_self_adjoint is True:
            return self
        with self._scope(name):
            found: LinearOperator = pairs.adjoint(self)
            return found

    @property
    def H(self) -> LinearOperator:
        """The operator of the adjoint matrices."""
        return self.adjoint()

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the inverse matrices.

        Raises:
            ValueError: the hints say that there are none.
        """
        for hint, word in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {word} matrix."
                )
        with self._scope(name):
            found: LinearOperator = pairs.inverse(self)
            return found

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The operator of the lower triangles L with L L^H = A.

        Raises:
            ValueError: the hints don't say that A is self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._scope(name):
            found: LinearOperator = pairs.cholesky(self)
            return found

    def _can_use_cholesky(self) -> bool:
        return bool(self.is_self_adjoint and self.is_positive_definite)

    # ---- tensors ----

    def _to_dense(self) -> Any:
        known = self.domain_dimension.value
        rows = self.domain_dimension_tensor() if known is None else known
        lead = self.batch_shape
        shape = lead.as_list() if lead.is_fully_defined() else self.batch_shape_tensor()
        return self.matmul(array.eye(rows, batch_shape=shape, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Any:
        """The matrices as a tensor (..., M, N)."""
        with self._scope(name):
            return self._to_dense()

    def _diag_part(self) -> Any:
        return matrices.matrix_diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Any:
        """The diagonals, (..., min(M, N))."""
        with self._scope(name):
            return self._diag_part()

    def _trace(self) -> Any:
        return reduction.reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Any:
        """The sums of the diagonals, (...)."""
        with self._scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Any:
        """A + x, for x of a shape that broadcasts to the operator's."""
        with self._scope(name):
            return self._add_to_tensor(self._tensor(x, "x"))
