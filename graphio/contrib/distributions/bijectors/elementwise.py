"""Bijectors of numbers without parameters that are tensors."""

from __future__ import annotations

import math
from typing import Any

from graphio.contrib.distributions.bijectors.base import Bijector, checked
from graphio.distributions.parameters import softplus_inverse
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.ops.array import surface as array
from graphio.ops.checks import asserts
from graphio.ops.math import elementwise
from graphio.ops.nn.core import softplus

__all__ = [
    "AbsoluteValue",
    "Exp",
    "Identity",
    "PowerTransform",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Square",
]


class Identity(Bijector):
    """Y = X.

    Args:
        validate_args: without an effect.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "identity") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return array.zeros([], y.dtype)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return array.zeros([], x.dtype)


class AbsoluteValue(Bijector):
    """Y = |X|, of which two X have a Y: `inverse` returns the pair (-y, y).

    Args:
        validate_args: whether runs check that no y is negative.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "absolute_value") -> None:
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def _is_injective(self) -> bool:
        return False

    def _valid(self, x: Any, y: Any) -> Any:
        """x, after a check of y."""
        if not self.validate_args:
            return x
        return checked(x, [asserts.assert_non_negative(y, message="Argument y was negative")])

    def _forward(self, x: Any) -> Any:
        return elementwise.abs(x)

    def _inverse(self, y: Any) -> Any:
        y = self._valid(y, y)
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = self._valid(array.zeros([], y.dtype), y)
        return zero, zero


class PowerTransform(Bijector):
    """Y = (1 + X power)^(1 / power), or exp(X) where power is 0.

    Args:
        power: number, 0 or more, that is known.
        validate_args: whether runs check values.
        name: of the scope of its operations.

    Raises:
        ValueError: power is negative or not known.
    """

    def __init__(
        self, power: Any = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        known = constant_value(convert_to_tensor(power, name="power"))
        if known is None or known < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = known
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def power(self) -> Any:
        """The power."""
        return self._power

    def _valid_x(self, x: Any) -> Any:
        if not self.validate_args or self._power == 0.0:
            return x
        message = f"Forward transformation input must be at least {-1.0 / self._power}."
        valid = asserts.assert_non_negative(1.0 + self._power * x, message=message)
        return checked(x, [valid])

    def _valid_y(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        message = "Inverse transformation input must be greater than 0."
        return checked(y, [asserts.assert_positive(y, message=message)])

    def _forward(self, x: Any) -> Any:
        x = self._valid_x(x)
        if self._power == 0.0:
            return elementwise.exp(x)
        return elementwise.exp(elementwise.log1p(x * self._power) / self._power)

    def _inverse(self, y: Any) -> Any:
        y = self._valid_y(y)
        if self._power == 0.0:
            return elementwise.log(y)
        return elementwise.expm1(elementwise.log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return (self._power - 1.0) * elementwise.log(self._valid_y(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._valid_x(x)
        if self._power == 0.0:
            return x
        return (1.0 / self._power - 1.0) * elementwise.log1p(x * self._power)


class Exp(PowerTransform):
    """Y = exp(X).

    Args:
        validate_args: whether runs check that every y is positive.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(validate_args=validate_args, name=name)


class Sigmoid(Bijector):
    """Y = 1 / (1 + exp(-X)).

    Args:
        validate_args: without an effect.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Any:
        return elementwise.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return elementwise.log(y) - elementwise.log1p(-y)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -elementwise.log(y) - elementwise.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x) - softplus(x)


class Softplus(Bijector):
    """Y = c log(1 + exp(X / c)).

    Args:
        hinge_softness: c, tensor that broadcasts with x and is not 0; None: 1.
        validate_args: whether runs check that c is not 0.
        name: of the scope of its operations.
    """

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        with scopes.name_scope(name, values=[hinge_softness]):
            self._hinge_softness = hinge_softness
            if hinge_softness is not None:
                softness = convert_to_tensor(hinge_softness, name="hinge_softness")
                if validate_args:
                    nonzero = asserts.assert_none_equal(
                        array.zeros([], softness.dtype),
                        softness,
                        message="hinge_softness must be non-zero",
                    )
                    softness = checked(softness, [nonzero])
                self._hinge_softness = softness
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def hinge_softness(self) -> Any:
        """c, or None."""
        return self._hinge_softness

    def _softness(self, x: Any) -> Any:
        return (
            1.0 if self._hinge_softness is None else elementwise.cast(self._hinge_softness, x.dtype)
        )

    def _forward(self, x: Any) -> Any:
        return self._softness(x) * softplus(x / self._softness(x))

    def _inverse(self, y: Any) -> Any:
        return self._softness(y) * softplus_inverse(y / self._softness(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -elementwise.log(-elementwise.expm1(-y / self._softness(y)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -softplus(-x / self._softness(x))


class Softsign(Bijector):
    """Y = X / (1 + |X|).

    Args:
        validate_args: whether runs check that every y is within -1 and 1.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _valid_y(self, y: Any) -> Any:
        if not self.validate_args:
            return y
        one, words = array.ones([], y.dtype), "Inverse transformation input must be"
        return checked(
            y,
            [
                asserts.assert_greater(y, -one, message=f"{words} greater than -1."),
                asserts.assert_less(y, one, message=f"{words} less than 1."),
            ],
        )

    def _forward(self, x: Any) -> Any:
        return x / (1.0 + elementwise.abs(x))

    def _inverse(self, y: Any) -> Any:
        y = self._valid_y(y)
        return y / (1.0 - elementwise.abs(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -2.0 * elementwise.log1p(elementwise.abs(x))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -2.0 * elementwise.log1p(-elementwise.abs(self._valid_y(y)))


class Square(Bijector):
    """Y = X^2 for X that are not negative.

    Args:
        validate_args: whether runs check that no number is negative.
        name: of the scope of its operations.
    """

    def __init__(self, validate_args: bool = False, name: str = "square") -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    def _valid(self, t: Any) -> Any:
        if not self.validate_args:
            return t
        message = "All elements must be non-negative."
        return checked(t, [asserts.assert_non_negative(t, message=message)])

    def _forward(self, x: Any) -> Any:
        return elementwise.square(self._valid(x))

    def _inverse(self, y: Any) -> Any:
        return elementwise.sqrt(self._valid(y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return math.log(2.0) + elementwise.log(self._valid(x))
