"""The rules of compositions, solutions, adjoints, inverses and Cholesky factors of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.linear_operators.circulant import LinearOperatorCirculant
from graphio.linear_operators.composed import (
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from graphio.linear_operators.dense import LinearOperatorLowerTriangular
from graphio.linear_operators.diagonal import LinearOperatorDiag
from graphio.linear_operators.householder import LinearOperatorHouseholder
from graphio.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from graphio.linear_operators.operator import LinearOperator
from graphio.linear_operators.pairs import rule
from graphio.ops.array import surface as array
from graphio.ops.complex import parts
from graphio.ops.linalg import solving
from graphio.ops.math import elementwise

__all__: list[str] = []


# ---- hints of two operators ----


def _both(attribute: str, a: Any, b: Any) -> bool | None:
    """True where both hints are, False where one is False."""
    hints = (getattr(a, attribute), getattr(b, attribute))
    return None if None in hints and False not in hints else all(hints)


def _commuting(attribute: str, a: Any, b: Any) -> bool | None:
    """The hint of a composition of operators that commute: True where both are."""
    hints = (getattr(a, attribute), getattr(b, attribute))
    return True if all(hints) else None


def _commuting_hints(a: Any, b: Any) -> dict[str, Any]:
    return {
        "is_non_singular": _both("is_non_singular", a, b),
        "is_self_adjoint": _commuting("is_self_adjoint", a, b),
        "is_positive_definite": (
            _commuting("is_positive_definite", a, b)
            if _commuting("is_self_adjoint", a, b)
            else None
        ),
        "is_square": True,
    }


def _triangular_hints(a: Any, b: Any) -> dict[str, Any]:
    # a triangle is self-adjoint only where it is diagonal, and then it commutes
    return {**_commuting_hints(a, b), "is_positive_definite": None}


def _composed(parts_: list[Any], a: Any, b: Any) -> LinearOperatorComposition:
    square = _both("is_square", a, b)
    if not square and a.shape.ndims is not None and b.shape.ndims is not None:
        ends = a.range_dimension.value, b.domain_dimension.value
        square = None if None in ends else ends[0] == ends[1]
    if square is False:
        hints: dict[str, Any] = dict.fromkeys(
            ("is_non_singular", "is_self_adjoint", "is_positive_definite"), False
        )
    else:
        hints = {"is_non_singular": _both("is_non_singular", a, b) if square else None}
    return LinearOperatorComposition(parts_, **hints, is_square=square)


def _kept(operator: Any) -> dict[str, Any]:
    names = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
    return {name: getattr(operator, name) for name in names}


# ---- compositions and solutions ----

rule("composition", LinearOperator, LinearOperator)(lambda a, b: _composed([a, b], a, b))
rule("composition", LinearOperatorIdentity, LinearOperator)(lambda a, b: b)
rule("composition", LinearOperator, LinearOperatorIdentity)(lambda a, b: a)
rule("composition", LinearOperatorIdentity, LinearOperatorIdentity)(lambda a, b: b)
rule("solution", LinearOperator, LinearOperator)(
    lambda a, b: _composed([LinearOperatorInversion(a), b], a, b)
)
rule("solution", LinearOperatorInversion, LinearOperator)(lambda a, b: a.operator.matmul(b))
rule("solution", LinearOperatorIdentity, LinearOperator)(lambda a, b: b)


def _zeros(zeros: Any, other: Any) -> Any:
    if not zeros.is_square or not other.is_square:
        raise ValueError(
            "Matmul with non-square `LinearOperator`s or non-square `LinearOperatorZeros` not "
            "supported at this time."
        )
    return zeros


rule("composition", LinearOperatorZeros, LinearOperator)(_zeros)
rule("composition", LinearOperator, LinearOperatorZeros)(lambda a, b: _zeros(b, a))


def _entries(operator: Any) -> Any:
    """The diagonal of a diagonal operator, or the factor of a multiple of the unit matrix; one
    that broadcasts with diagonals."""
    if isinstance(operator, LinearOperatorDiag):
        return operator.diag
    return array.expand_dims(operator.multiplier, -1)


_DIAGONALS = (
    (LinearOperatorDiag, LinearOperatorDiag),
    (LinearOperatorDiag, LinearOperatorScaledIdentity),
    (LinearOperatorScaledIdentity, LinearOperatorDiag),
)
for _classes in _DIAGONALS:
    rule("composition", *_classes)(
        lambda a, b: LinearOperatorDiag(_entries(a) * _entries(b), **_commuting_hints(a, b))
    )
    rule("solution", *_classes)(
        lambda a, b: LinearOperatorDiag(_entries(b) / _entries(a), **_commuting_hints(a, b))
    )


def _triangle(build: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: LinearOperatorLowerTriangular(build(a, b), **_triangular_hints(a, b))


rule("composition", LinearOperatorDiag, LinearOperatorLowerTriangular)(
    _triangle(lambda a, b: array.expand_dims(a.diag, -1) * b.to_dense())
)
rule("composition", LinearOperatorLowerTriangular, LinearOperatorDiag)(
    _triangle(lambda a, b: a.to_dense() * array.expand_dims(b.diag, -2))
)
rule("solution", LinearOperatorDiag, LinearOperatorLowerTriangular)(
    _triangle(lambda a, b: b.to_dense() / array.expand_dims(a.diag, -1))
)


def _circulant(a: Any, b: Any, spectrum: Any) -> LinearOperatorCirculant:
    return LinearOperatorCirculant(spectrum, a.dtype, **_commuting_hints(a, b))


rule("composition", LinearOperatorCirculant, LinearOperatorCirculant)(
    lambda a, b: _circulant(a, b, a.spectrum * b.spectrum)
)
rule("solution", LinearOperatorCirculant, LinearOperatorCirculant)(
    lambda a, b: _circulant(a, b, b.spectrum / a.spectrum)
)

# ---- adjoints, inverses, factors ----


def _conjugate(x: Any) -> Any:
    return parts.conj(x) if x.dtype.is_complex else x


def _diagonal_like(operator: Any, change: Callable[[Any], Any], **hints: Any) -> Any:
    """An operator of the same class with its numbers changed."""
    hints = {**_kept(operator), **hints}
    if isinstance(operator, LinearOperatorDiag):
        return LinearOperatorDiag(change(operator.diag), **hints)
    if isinstance(operator, LinearOperatorCirculant):
        return LinearOperatorCirculant(change(operator.spectrum), operator.dtype, **hints)
    return LinearOperatorScaledIdentity(operator.num_rows, change(operator.multiplier), **hints)


def _by_parts(method: str, **changed: Any) -> Callable[[Any], Any]:
    """The combination of the parts' adjoints, inverses or factors."""

    def combine(operator: Any) -> Any:
        found = [getattr(part, method)() for part in operator.operators]
        return type(operator)(found, **{**_kept(operator), **changed})

    return combine


rule("adjoint", LinearOperator)(lambda a: LinearOperatorAdjoint(a, **_kept(a)))
rule("adjoint", LinearOperatorAdjoint)(lambda a: a.operator)
rule("inverse", LinearOperator)(lambda a: LinearOperatorInversion(a, **_kept(a)))
rule("inverse", LinearOperatorInversion)(lambda a: a.operator)
rule("cholesky", LinearOperator)(
    lambda a: LinearOperatorLowerTriangular(
        solving.cholesky(a.to_dense()), is_non_singular=True, is_self_adjoint=False
    )
)
for _class in (LinearOperatorIdentity, LinearOperatorHouseholder):
    rule("adjoint", _class)(lambda a: a)
    rule("inverse", _class)(lambda a: a)
rule("cholesky", LinearOperatorIdentity)(lambda a: a)
for _diagonal in (LinearOperatorDiag, LinearOperatorScaledIdentity, LinearOperatorCirculant):
    rule("adjoint", _diagonal)(lambda a: _diagonal_like(a, _conjugate))
    rule("inverse", _diagonal)(lambda a: _diagonal_like(a, lambda x: 1.0 / x))
for _root in (LinearOperatorDiag, LinearOperatorScaledIdentity):
    rule("cholesky", _root)(lambda a: _diagonal_like(a, elementwise.sqrt, is_self_adjoint=True))
for _combination in (LinearOperatorBlockDiag, LinearOperatorKronecker):
    rule("adjoint", _combination)(_by_parts("adjoint"))
    rule("inverse", _combination)(_by_parts("inverse"))
    rule("cholesky", _combination)(
        _by_parts("cholesky", is_non_singular=True, is_self_adjoint=None, is_positive_definite=None)
    )
