"""Operators that are made of others: compositions, adjoints, inverses, blocks, Kronecker's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework.tensor_shape import TensorShape
from graphio.linear_operators import batches, checks
from graphio.linear_operators.operator import LinearOperator
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.complex import parts
from graphio.ops.control_flow.branches import group
from graphio.ops.linalg import solving
from graphio.ops.linalg.matmul import matrix_transpose
from graphio.ops.math import elementwise
from graphio.support import errors

__all__ = [
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorComposition",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
]

_HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


def _summed(values: Sequence[Any]) -> Any:
    return functools.reduce(lambda a, b: a + b, values)


def _multiplied(values: Sequence[Any]) -> Any:
    return functools.reduce(lambda a, b: a * b, values)


class _OfOperators(LinearOperator):
    """An operator of a list of operators of one dtype, whose leading axes broadcast.

    Args:
        operators: the list.
        what: the word for the combination, in errors.
        inherited: the hints that hold where they hold of all operators.
        hints: by name.
        between: joins the operators' names to that of the combination.
        name: None: the joined names.
    """

    def __init__(
        self,
        operators: Any,
        what: str,
        inherited: Sequence[str],
        hints: dict[str, bool | None],
        between: str,
        name: str | None,
    ) -> None:
        if not hasattr(operators, "__iter__"):
            raise TypeError(f"Expected a list of operators, got {type(operators).__name__}")
        parts_ = list(operators)
        if not parts_:
            raise ValueError(f"Expected a non-empty list of operators. Found: {parts_}")
        if any(part.dtype != parts_[0].dtype for part in parts_):
            named = "   ".join(str((part.name, part.dtype)) for part in parts_)
            raise TypeError(f"Expected all operators to have the same dtype.  Found {named}")
        for attribute in inherited:
            hints[attribute] = checks.all_hints(parts_, attribute, hints[attribute], what)
        self._operators = parts_
        super().__init__(
            parts_[0].dtype,
            [parent for part in parts_ for parent in part.graph_parents],
            **hints,
            name=name or between.join(part.name for part in parts_),
        )

    @property
    def operators(self) -> list[Any]:
        """The operators, from the left to the right."""
        return self._operators

    def _lead(self) -> Any:
        found = (part.batch_shape for part in self._operators)
        return functools.reduce(shaping.broadcast_static_shape, found)

    def _lead_tensor(self) -> Any:
        found = (part.batch_shape_tensor() for part in self._operators)
        return functools.reduce(shaping.broadcast_dynamic_shape, found)

    def _each(self, what: str) -> list[Any]:
        return [getattr(part, what)() for part in self._operators]


class LinearOperatorComposition(_OfOperators):
    """Operators one after another, the last of them first.

    Args:
        operators: from the left to the right.
        is_non_singular: see LinearOperator; that of non-singular operators is True.
        is_self_adjoint: see LinearOperator.
        is_positive_definite: see LinearOperator.
        is_square: see LinearOperator.
        name: of the scope of all operations; None: the operators' names, joined by `_o_`.
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        hints = dict(zip(_HINTS, given, strict=True))
        super().__init__(operators, "composition", _HINTS[:1], hints, "_o_", name)

    def _shape(self) -> Any:
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            left.domain_dimension.assert_is_compatible_with(right.range_dimension)
        ends = self._operators[0].range_dimension, self._operators[-1].domain_dimension
        return self._lead().concatenate(TensorShape(ends))

    def _shape_tensor(self) -> Any:
        rows = self._operators[0].range_dimension_tensor()
        sizes = array.stack([rows, self._operators[-1].domain_dimension_tensor()])
        return array.concat([self._lead_tensor(), sizes], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *others = self._operators if adjoint else self._operators[::-1]
        x = first.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            x = operator.matmul(x, adjoint=adjoint)
        return x

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        first, *others = self._operators[::-1] if adjoint else self._operators
        rhs = first.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
        for operator in others:
            rhs = operator.solve(rhs, adjoint=adjoint)
        return rhs

    def _determinant(self) -> Any:
        return _multiplied(self._each("determinant"))

    def _log_abs_determinant(self) -> Any:
        return _summed(self._each("log_abs_determinant"))


class _OfOne(LinearOperator):
    """An operator of another one, whose hints it shares.

    Args:
        operator: the other.
        what: the word for the relation, in errors.
        given: the hints.
        name: of the scope of all operations.
    """

    def __init__(
        self, operator: LinearOperator, what: str, given: Sequence[bool | None], name: str
    ) -> None:
        hints = {
            attribute: checks.inherited_hint(operator, attribute, hint, what)
            for attribute, hint in zip(_HINTS, given, strict=True)
        }
        self._operator = operator
        super().__init__(operator.dtype, operator.graph_parents, **hints, name=name)

    @property
    def operator(self) -> LinearOperator:
        """The other operator."""
        return self._operator

    def _assert_non_singular(self) -> Any:
        return self._operator.assert_non_singular()

    def _assert_positive_definite(self) -> Any:
        return self._operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        return self._operator.assert_self_adjoint()


class LinearOperatorAdjoint(_OfOne):
    """The adjoint of an operator.

    Args:
        operator: the other.
        is_non_singular: as of the other.
        is_self_adjoint: as of the other.
        is_positive_definite: as of the other.
        is_square: as of the other.
        name: of the scope of all operations; None: the other's with `_adjoint`.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        super().__init__(operator, "adjoint", given, name or f"{operator.name}_adjoint")

    def _shape(self) -> Any:
        shape = self._operator.shape
        if shape.ndims is None:
            return shape
        return shape[:-2].concatenate([shape[-1], shape[-2]])

    def _shape_tensor(self) -> Any:
        sizes = self._operator.shape_tensor()
        return array.concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Any:
        return self._operator.matvec(x, adjoint=not adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Any:
        return self._operator.solvevec(rhs, adjoint=not adjoint)

    def _conjugate(self, x: Any) -> Any:
        return x if self.is_self_adjoint else parts.conj(x)

    def _determinant(self) -> Any:
        return self._conjugate(self._operator.determinant())

    def _trace(self) -> Any:
        return self._conjugate(self._operator.trace())

    def _log_abs_determinant(self) -> Any:
        return self._operator.log_abs_determinant()

    def _to_dense(self) -> Any:
        dense = self._operator.to_dense()
        return dense if self.is_self_adjoint else solving.adjoint(dense)


class LinearOperatorInversion(_OfOne):
    """The inverse of an operator.

    Args:
        operator: the other.
        is_non_singular: True or None.
        is_self_adjoint: as of the other.
        is_positive_definite: as of the other.
        is_square: True or None.
        name: of the scope of all operations; None: the other's with `_inv`.
    """

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        for attribute, hint in ((_HINTS[0], is_non_singular), (_HINTS[3], is_square)):
            own = getattr(operator, attribute)
            if own is False or hint is False:
                raise ValueError(
                    f"operator and supplied hints must have `{attribute}` equal to `True` or "
                    f"`None`.  Found {own}, {hint}"
                )
        super().__init__(operator, "inverse", given, name or f"{operator.name}_inv")

    def _shape(self) -> Any:
        return self._operator.shape

    def _shape_tensor(self) -> Any:
        return self._operator.shape_tensor()

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _determinant(self) -> Any:
        return 1.0 / self._operator.determinant()

    def _log_abs_determinant(self) -> Any:
        return -1.0 * self._operator.log_abs_determinant()


class LinearOperatorBlockDiag(_OfOperators):
    """Square blocks along the diagonal.

    Args:
        operators: the blocks, from the upper left.
        is_non_singular: see LinearOperator; that of non-singular blocks is True.
        is_self_adjoint: likewise.
        is_positive_definite: likewise.
        is_square: True.
        name: of the scope of all operations; None: the blocks' names, joined by `_ds_`.
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        operators = list(operators)
        if not (is_square and all(operator.is_square for operator in operators)):
            raise ValueError("Can only represent a block diagonal of square matrices.")
        given = (is_non_singular, is_self_adjoint, is_positive_definite, True)
        hints = dict(zip(_HINTS, given, strict=True))
        super().__init__(operators, "direct sum", _HINTS[:3], hints, "_ds_", name)

    def _shape(self) -> Any:
        size = _summed([part.domain_dimension for part in self._operators])
        return self._lead().concatenate([size, size])

    def _shape_tensor(self) -> Any:
        size = _summed(self._each("domain_dimension_tensor"))
        return array.concat([self._lead_tensor(), array.stack([size, size])], 0)

    def _by_blocks(self, method: str, x: Any, adjoint: bool, adjoint_arg: bool) -> Any:
        known = [part.domain_dimension.value for part in self._operators]
        sizes = self._each("domain_dimension_tensor") if None in known else known
        pieces = array.split(x, sizes, axis=-1 if adjoint_arg else -2)
        found = [
            getattr(part, method)(piece, adjoint=adjoint, adjoint_arg=adjoint_arg)
            for part, piece in zip(self._operators, pieces, strict=True)
        ]
        return array.concat(batches.broadcast_all(found), -2)

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_blocks("matmul", x, adjoint, adjoint_arg)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        return self._by_blocks("solve", rhs, adjoint, adjoint_arg)

    def _determinant(self) -> Any:
        return _multiplied(self._each("determinant"))

    def _log_abs_determinant(self) -> Any:
        return _summed(self._each("log_abs_determinant"))

    def _trace(self) -> Any:
        return _summed(self._each("trace"))

    def _diag_part(self) -> Any:
        columns = [array.expand_dims(part, -1) for part in self._each("diag_part")]
        return array.squeeze(array.concat(batches.broadcast_all(columns), -2), [-1])

    def _assert_non_singular(self) -> Any:
        return group(*self._each("assert_non_singular"))

    def _assert_positive_definite(self) -> Any:
        return group(*self._each("assert_positive_definite"))

    def _assert_self_adjoint(self) -> Any:
        return group(*self._each("assert_self_adjoint"))


class LinearOperatorKronecker(_OfOperators):
    """Kronecker products.

    Args:
        operators: the factors, from the left to the right.
        is_non_singular: see LinearOperator; that of non-singular factors is True.
        is_self_adjoint: likewise.
        is_positive_definite: likewise.
        is_square: see LinearOperator.
        name: of the scope of all operations; None: the factors' names, joined by `_x_`.
    """

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        given = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        hints = dict(zip(_HINTS, given, strict=True))
        super().__init__(operators, "Kronecker product", _HINTS[:3], hints, "_x_", name)

    def _shape(self) -> Any:
        rows = _multiplied([part.range_dimension for part in self._operators])
        columns = _multiplied([part.domain_dimension for part in self._operators])
        return self._lead().concatenate([rows, columns])

    def _shape_tensor(self) -> Any:
        sizes = [_multiplied(self._each(f"{end}_dimension_tensor")) for end in ("range", "domain")]
        return array.concat([self._lead_tensor(), array.stack(sizes)], 0)

    def _by_factors(self, x: Any, size: Callable[[Any], Any], apply: Callable[..., Any]) -> Any:
        """Applies each factor to its axis of x, whose rows are split into one axis a factor.

        The axis in front is the one to change, the others are the columns of a matrix: after all
        factors, the columns of x are in front.
        """
        lead = self.batch_shape_tensor()
        ones = array.concat([array.ones_like(lead), [1, 1]], 0)
        x = x + array.zeros(ones, x.dtype)
        lead = shaping.broadcast_dynamic_shape(array.shape(x)[:-2], lead)
        x = array.broadcast_to(x, array.concat([lead, array.shape(x)[-2:]], 0))
        columns = array.shape(x)[-1:]
        for part in self._operators:
            rows = array.stack([size(part), -1])
            x = array.reshape(x, array.concat([lead, rows], 0))
            made = apply(part, x)
            x = matrix_transpose(made)
        x = array.reshape(x, array.concat([lead, columns, [-1]], 0))
        return matrix_transpose(x)

    def _with_shape(self, made: Any, x: Any, adjoint: bool) -> Any:
        if x.shape.is_fully_defined() and self.shape.is_fully_defined():
            lead = shaping.broadcast_static_shape(x.shape[:-2], self.batch_shape)
            rows = self.domain_dimension if adjoint else self.range_dimension
            made.set_shape(lead.concatenate([rows, x.shape[-1]]))
        return made

    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        x = solving.adjoint(x) if adjoint_arg else x
        end = "range" if adjoint else "domain"
        made = self._by_factors(
            x,
            lambda part: getattr(part, f"{end}_dimension_tensor")(),
            lambda part, y: part.matmul(y, adjoint=adjoint),
        )
        return self._with_shape(made, x, adjoint)

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        rhs = solving.adjoint(rhs) if adjoint_arg else rhs
        made = self._by_factors(
            rhs,
            lambda part: part.domain_dimension_tensor(),
            lambda part, y: part.solve(y, adjoint=adjoint),
        )
        return self._with_shape(made, rhs, not adjoint)

    def _powers(self) -> list[Any]:
        """For each factor, the others' sizes multiplied."""
        total = self.domain_dimension_tensor()
        return [
            elementwise.cast(total // size, self.dtype)
            for size in self._each("domain_dimension_tensor")
        ]

    def _determinant(self) -> Any:
        found = zip(self._each("determinant"), self._powers(), strict=True)
        return _multiplied([elementwise.pow(value, power) for value, power in found])

    def _log_abs_determinant(self) -> Any:
        found = zip(self._each("log_abs_determinant"), self._powers(), strict=True)
        return _summed([value * power for value, power in found])

    def _trace(self) -> Any:
        return _multiplied(self._each("trace"))

    def _diag_part(self) -> Any:
        if not all(part.is_square for part in self._operators):
            return super()._diag_part()
        diagonal, *others = self._each("diag_part")
        for part in others:
            pairs = array.expand_dims(diagonal, -1) * array.expand_dims(part, -2)
            diagonal = array.reshape(pairs, array.concat([array.shape(pairs)[:-2], [-1]], 0))
        diagonal.set_shape(self.shape[:-1])
        return diagonal

    def _asserted(self, what: str, word: str) -> Any:
        if not all(part.is_square for part in self._operators):
            raise errors.InvalidArgumentError(
                message=f"All Kronecker factors must be square for the operator to be {word}."
            )
        return group(*self._each(what))

    def _assert_non_singular(self) -> Any:
        return self._asserted("assert_non_singular", "invertible")

    def _assert_self_adjoint(self) -> Any:
        return self._asserted("assert_self_adjoint", "self adjoint")
