"""Unit matrices, their multiples, and matrices of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import Variable
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.checks import assert_shapes, asserts
from graphio.ops.complex import parts
from graphio.ops.control_flow.branches import no_op
from graphio.ops.linalg import matrices, solving
from graphio.ops.math import elementwise, reduction
from graphio.support import errors

__all__ = ["LinearOperatorIdentity", "LinearOperatorScaledIdentity", "LinearOperatorZeros"]


class _Size:
    """A size or a shape that an operator is given: a tensor, and its value where it is known.

    Args:
        value: ints.
        name: of the argument.
        rank: 0 for a size, 1 for a shape.
        check: whether a value that only the run knows is checked there.

    Raises:
        TypeError: no ints, or a variable.
        ValueError: another rank, or a number below 0.
    """

    def __init__(self, value: Any, name: str, rank: int, check: bool) -> None:
        if isinstance(value, Variable):
            raise TypeError(f"Argument {name} cannot be reference type. Found: {type(value)}")
        empty = isinstance(value, (list, tuple)) and not value
        if isinstance(value, TensorShape):
            value = value.as_list()
        tensor = convert_to_tensor(value, dtypes.int32 if empty else None, name=name)
        if not tensor.dtype.is_integer:
            raise TypeError(f"Argument {name} must be integer type.  Found: {tensor}")
        self.known = constant_value(tensor)
        if self.known is not None and self.known.ndim != rank:
            raise ValueError(f"Argument {name} must be a {rank}-D Tensor.  Found: {self.known}")
        if self.known is not None and np.any(self.known < 0):
            raise ValueError(f"Argument {name} must be non-negative.  Found: {self.known}")
        if check and self.known is None:
            message = f"Argument {name} must be non-negative."
            needed = [asserts.assert_non_negative(tensor, message=message)]
            if tensor.shape.ndims is None:
                message = f"Argument {name} must be a {rank}-D Tensor."
                needed.append(assert_shapes.assert_rank(tensor, rank, message=message))
            with scopes.control_dependencies(needed):
                tensor = array.identity(tensor)
        self.tensor = tensor


class _Regular(LinearOperator):
    """Matrices of a given size with one number on their diagonals."""

    _rows: _Size
    _columns: _Size
    _lead: _Size | None = None
    _assert_shapes = False

    def _set_sizes(self, rows: Any, columns: Any, lead: Any, check: bool) -> None:
        self._assert_shapes = check
        self._rows = _Size(rows, "num_rows", 0, check)
        self._columns = self._rows if columns is None else _Size(columns, "num_columns", 0, check)
        self._lead = None if lead is None else _Size(lead, "batch_shape", 1, check)

    @property
    def num_rows(self) -> Any:
        """The number of rows, as it was given."""
        return self._rows.tensor

    def _shape(self) -> Any:
        sizes = [None if s.known is None else int(s.known) for s in (self._rows, self._columns)]
        if self._lead is None:
            return TensorShape(sizes)
        known = self._lead.known
        lead = TensorShape(None if known is None else known.tolist())
        return lead.concatenate(sizes)

    def _shape_tensor(self) -> Any:
        sizes = array.stack([self._rows.tensor, self._columns.tensor])
        return sizes if self._lead is None else array.concat([self._lead.tensor, sizes], 0)

    def _wide(self, x: Any) -> Any:
        """x with the leading axes of the operator."""
        if self._lead is None:
            return x
        if self.batch_shape.is_fully_defined() and x.shape.ndims is not None:
            shape = self.batch_shape.concatenate([1, 1])
            if shaping.broadcast_static_shape(x.shape, shape).as_list() == x.shape.as_list():
                return x
        ones = array.concat([self.batch_shape_tensor(), [1, 1]], 0)
        return x + array.zeros(ones, self.dtype)

    def _checked(self, x: Any, adjoint_arg: bool) -> Any:
        """x or its adjoint, whose size is checked in the run on request."""
        x = solving.adjoint(x) if adjoint_arg else x
        if not self._assert_shapes:
            return x
        fits = asserts.assert_equal(
            array.shape(x)[-2],
            self.domain_dimension_tensor(),
            message="Dimensions are not compatible.  shape[-2] of argument to be the same as this "
            "operator",
        )
        with scopes.control_dependencies([fits]):
            return array.identity(x)

    def _assert_self_adjoint(self) -> Any:
        return no_op("assert_self_adjoint")

    def _smallest(self) -> Any:
        """min(M, N) as a tensor of the operator's dtype."""
        return elementwise.cast(reduction.reduce_min(self.shape_tensor()[-2:]), self.dtype)

    def _ones_diagonal(self) -> Any:
        least = reduction.reduce_min(self.shape_tensor()[-2:], keepdims=True)
        known = self.shape
        if known.is_fully_defined():
            sizes = [n for n in known.as_list() if n is not None]
            return array.ones([*sizes[:-2], min(sizes[-2:])], self.dtype)
        return array.ones(array.concat([self.batch_shape_tensor(), least], 0), self.dtype)

    def _lead_ones(self) -> Any:
        return array.ones(self.batch_shape_tensor(), self.dtype)


class LinearOperatorIdentity(_Regular):
    """Unit matrices.

    Args:
        num_rows: their size.
        batch_shape: shape of the leading axes; None: there are none, and the operator broadcasts.
        dtype: None: float32.
        is_non_singular: True.
        is_self_adjoint: True.
        is_positive_definite: True.
        is_square: True.
        assert_proper_shapes: whether the run checks sizes that are unknown before.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for hint, word in (
            (is_self_adjoint, "self adjoint"),
            (is_non_singular, "non-singular"),
            (is_positive_definite, "positive-definite"),
            (is_square, "square"),
        ):
            if not hint:
                raise ValueError(f"An identity operator is always {word}.")
        super().__init__(dtype or dtypes.float32, None, True, True, True, True, name)
        with scopes.name_scope(name):
            self._set_sizes(num_rows, None, batch_shape, assert_proper_shapes)

    def _assert_non_singular(self) -> Any:
        return no_op("assert_non_singular")

    def _assert_positive_definite(self) -> Any:
        return no_op("assert_positive_definite")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._wide(self._checked(x, adjoint_arg))

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._matmul(rhs, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return self._lead_ones()

    def _log_abs_determinant(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        return self._smallest() * self._lead_ones()

    def _diag_part(self) -> Any:
        return self._ones_diagonal()

    def _add_to_tensor(self, x: Any) -> Any:
        return matrices.matrix_set_diag(x, 1.0 + matrices.matrix_diag_part(x))


class LinearOperatorScaledIdentity(_Regular):
    """Multiples of the unit matrix.

    Args:
        num_rows: their size.
        multiplier: floating or complex tensor (...), the factors.
        is_non_singular: see LinearOperator.
        is_self_adjoint: see LinearOperator; that of real factors is True.
        is_positive_definite: see LinearOperator.
        is_square: True.
        assert_proper_shapes: whether the run checks sizes that are unknown before.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        with scopes.name_scope(name, values=[multiplier, num_rows]):
            self._multiplier = batches.operand(multiplier, "multiplier")
        is_self_adjoint = checks.hint_of_real(
            self._multiplier, is_self_adjoint, "A real diagonal operator is always self adjoint."
        )
        if not is_square:
            raise ValueError("A ScaledIdentity operator is always square.")
        super().__init__(
            self._multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
        )
        with scopes.name_scope(name):
            self._set_sizes(num_rows, None, None, assert_proper_shapes)

    @property
    def multiplier(self) -> Any:
        """The factors."""
        return self._multiplier

    def _shape(self) -> Any:
        return self._multiplier.shape.concatenate(super()._shape())

    def _shape_tensor(self) -> Any:
        return array.concat([array.shape(self._multiplier), super()._shape_tensor()], 0)

    def _factor(self, axes: int, adjoint: bool = False) -> Any:
        """The factors with further axes of size 1."""
        factor = self._multiplier
        factor = parts.conj(factor) if adjoint and self.dtype.is_complex else factor
        for _ in range(axes):
            factor = array.expand_dims(factor, -1)
        return factor

    def _assert_non_singular(self) -> Any:
        return asserts.assert_positive(
            elementwise.abs(self._multiplier), message="LinearOperator was singular"
        )

    def _assert_positive_definite(self) -> Any:
        return checks.assert_positive_real(
            self._multiplier, "LinearOperator was not positive definite."
        )

    def _assert_self_adjoint(self) -> Any:
        return checks.assert_real(self._multiplier, "LinearOperator was not self-adjoint")

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._checked(x, adjoint_arg) * self._factor(2, adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._checked(rhs, adjoint_arg) / self._factor(2, adjoint)

    def _determinant(self) -> Any:
        return elementwise.pow(self._multiplier, self._smallest())

    def _log_abs_determinant(self) -> Any:
        size = elementwise.cast(self._rows.tensor, self.dtype.real_dtype)
        found = size * elementwise.log(elementwise.abs(self._multiplier))
        return elementwise.cast(found, self.dtype)

    def _trace(self) -> Any:
        return self._multiplier * self._smallest() * self._lead_ones()

    def _diag_part(self) -> Any:
        return self._ones_diagonal() * self._factor(1)

    def _add_to_tensor(self, x: Any) -> Any:
        return matrices.matrix_set_diag(x, self._factor(1) + matrices.matrix_diag_part(x))


class LinearOperatorZeros(_Regular):
    """Matrices of zeros.

    Args:
        num_rows: number of rows.
        num_columns: number of columns; None: as many as rows.
        batch_shape: shape of the leading axes; None: there are none, and the operator broadcasts.
        dtype: None: float32.
        is_non_singular: False.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: False.
        is_square: see LinearOperator.
        assert_proper_shapes: whether the run checks sizes that are unknown before.
        name: of the scope of all operations.
    """

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if not is_self_adjoint and is_square:
            raise ValueError("A zero operator is always self adjoint.")
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is always not positive-definite.")
        super().__init__(
            dtype or dtypes.float32, None, False, is_self_adjoint, False, is_square, name
        )
        with scopes.name_scope(name):
            self._set_sizes(num_rows, num_columns, batch_shape, assert_proper_shapes)
        rows, columns = self._rows.known, self._columns.known
        if is_square and rows is not None and columns is not None and rows != columns:
            raise ValueError(
                "LinearOperatorZeros initialized as is_square=True, but got "
                f"num_rows({rows}) != num_columns({columns})"
            )

    def _assert_non_singular(self) -> Any:
        raise errors.InvalidArgumentError(message="Zero operators are always non-invertible.")

    def _assert_positive_definite(self) -> Any:
        raise errors.InvalidArgumentError(
            message="Zero operators are always non-positive definite."
        )

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = self._checked(x, adjoint_arg)
        if not self.is_square:
            sizes, rows = array.shape(x), (self._columns if adjoint else self._rows).tensor
            shape = array.concat([sizes[:-2], array.expand_dims(rows, 0), sizes[-1:]], 0)
            return self._wide(array.zeros(shape, x.dtype))
        return self._wide(array.zeros_like(x))

    def _determinant(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _trace(self) -> Any:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _diag_part(self) -> Any:
        return array.zeros_like(self._ones_diagonal())

    def _add_to_tensor(self, x: Any) -> Any:
        return self._wide(x)
