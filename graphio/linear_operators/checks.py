"""Checks and sums that several operators share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.linear_operators import batches
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.complex import parts
from graphio.ops.control_flow.branches import no_op
from graphio.ops.math import elementwise, reduction

__all__ = [
    "all_hints",
    "assert_no_zeros",
    "assert_positive_real",
    "assert_real",
    "hint_of_real",
    "inherited_hint",
    "log_abs_sum",
    "refuse_false",
    "require_rank",
]


def refuse_false(hint: bool | None, message: str) -> None:
    """Raises ValueError where a hint denies what always holds."""
    if hint is False:
        raise ValueError(message)


def require_rank(x: Any, name: str, least: int) -> None:
    """Raises ValueError where a tensor is known to have too few axes."""
    if x.shape.ndims is not None and x.shape.ndims < least:
        axes = "1 dimension" if least == 1 else f"{least} dimensions"
        raise ValueError(f"Argument {name} must have at least {axes}.  Found: {x}")


def hint_of_real(x: Any, is_self_adjoint: bool | None, message: str) -> bool | None:
    """The hint is_self_adjoint of an operator that is self-adjoint where x is real."""
    if x.dtype.is_complex:
        return is_self_adjoint
    refuse_false(is_self_adjoint, message)
    return True


def all_hints(operators: Sequence[Any], attribute: str, hint: bool | None, what: str) -> Any:
    """The hint of an operator that has a property where all of its parts have it."""
    if not all(getattr(operator, attribute) for operator in operators):
        return hint
    word = attribute.removeprefix("is_").replace("_", "-")
    refuse_false(hint, f"The {what} of {word} operators is always {word}.")
    return True


def inherited_hint(operator: Any, attribute: str, hint: bool | None, what: str) -> bool | None:
    """The hint of an operator that has a property if and only if another one has it."""
    own = getattr(operator, attribute)
    if None not in (own, hint) and own != hint:
        word = attribute.removeprefix("is_").replace("_", "-")
        raise ValueError(f"An operator is {word} if and only if its {what} is {word}.")
    return hint if own is None else bool(own)


def assert_no_zeros(x: Any, message: str) -> Any:
    """An operation that fails where an element is 0."""
    size = elementwise.abs(convert_to_tensor(x))
    return asserts.assert_less(array.zeros([], size.dtype), size, message=message)


def assert_positive_real(x: Any, message: str) -> Any:
    """An operation that fails where the real part of an element is not positive."""
    return asserts.assert_positive(batches.real_part(x), message=message)


def assert_real(x: Any, message: str) -> Any:
    """An operation that fails where an element has an imaginary part."""
    if not x.dtype.is_complex:
        return no_op()
    imaginary = parts.imag(x)
    return asserts.assert_equal(array.zeros([], imaginary.dtype), imaginary, message=message)


def log_abs_sum(x: Any, axis: Any, dtype: Any) -> Any:
    """The sums of the logarithms of absolute values."""
    found = reduction.reduce_sum(elementwise.log(elementwise.abs(x)), axis)
    return elementwise.cast(found, dtype)
