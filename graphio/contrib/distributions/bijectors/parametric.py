"""Bijectors of numbers with parameters that are tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import Bijector, checked
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks import asserts
from graphio.ops.checks.assert_types import assert_same_float_dtype
from graphio.ops.math import elementwise

__all__ = ["AffineScalar", "Gumbel", "Kumaraswamy", "SinhArcsinh", "Weibull"]

_WORDS = "transformation input must be"


def _positive(x: Any, validate_args: bool, message: str) -> Any:
    return checked(x, [asserts.assert_positive(x, message=message)]) if validate_args else x


class AffineScalar(Bijector):
    """Y = X scale + shift.

    Args:
        shift: tensor that broadcasts with x; None: 0.
        scale: tensor that broadcasts with x and is not 0; None: 1.
        validate_args: whether runs check that scale is not 0.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        with scopes.name_scope(name), scopes.name_scope("init", values=[scale, shift]):
            self._shift = None if shift is None else convert_to_tensor(shift, name="shift")
            self._scale = None if scale is None else convert_to_tensor(scale, name="scale")
            if self._scale is not None and validate_args:
                zero = array.zeros([], self._scale.dtype)
                self._scale = checked(self._scale, [asserts.assert_none_equal(self._scale, zero)])
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        """The shift, or None."""
        return self._shift

    @property
    def scale(self) -> Any:
        """The scale, or None."""
        return self._scale

    def _forward(self, x: Any) -> Any:
        y = array.identity(x)
        y = y if self._scale is None else y * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Any) -> Any:
        x = array.identity(y)
        x = x if self._shift is None else x - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        if self._scale is None:
            return array.zeros([], x.dtype)
        return elementwise.log(elementwise.abs(self._scale))


class Gumbel(Bijector):
    """Y = exp(-exp(-(X - loc) / scale)), the distribution function of Gumbel.

    Args:
        loc: floating tensor.
        scale: floating tensor of the same dtype, positive.
        validate_args: whether runs check values.
        name: of the scope of its operations.
    """

    def __init__(
        self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool = False, name: str = "gumbel"
    ) -> None:
        with scopes.name_scope(name), scopes.name_scope("init", values=[loc, scale]):
            self._loc = convert_to_tensor(loc, name="loc")
            self._scale = convert_to_tensor(scale, name="scale")
            assert_same_float_dtype([self._loc, self._scale])
            self._scale = _positive(self._scale, validate_args, "Argument scale was not positive")
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def loc(self) -> Any:
        """The loc."""
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    def _valid_y(self, y: Any) -> Any:
        return _within_one(y) if self.validate_args else y

    def _forward(self, x: Any) -> Any:
        z = (x - self._loc) / self._scale
        return elementwise.exp(-elementwise.exp(-z))

    def _inverse(self, y: Any) -> Any:
        y = self._valid_y(y)
        return self._loc - self._scale * elementwise.log(-elementwise.log(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = self._valid_y(y)
        return elementwise.log(self._scale / (-elementwise.log(y) * y))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        z = (x - self._loc) / self._scale
        return -z - elementwise.exp(-z) - elementwise.log(self._scale)


def _within_one(y: Any) -> Any:
    """y, which is to be between 0 and 1."""
    return checked(
        y,
        [
            asserts.assert_non_negative(y, message=f"Inverse {_WORDS} greater than 0."),
            asserts.assert_less_equal(
                y, array.ones([], y.dtype), message=f"Inverse {_WORDS} less than or equal to 1."
            ),
        ],
    )


class Weibull(Bijector):
    """Y = 1 - exp(-(X / scale)^concentration), the distribution function of Weibull.

    Args:
        scale: floating tensor, positive.
        concentration: floating tensor of the same dtype, positive.
        validate_args: whether runs check values.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        scale: Any = 1.0,
        concentration: Any = 1.0,
        validate_args: bool = False,
        name: str = "weibull",
    ) -> None:
        with scopes.name_scope(name), scopes.name_scope("init", values=[scale, concentration]):
            found = [
                convert_to_tensor(scale, name="scale"),
                convert_to_tensor(concentration, name="concentration"),
            ]
            assert_same_float_dtype(found)
            self._scale, self._concentration = (
                _positive(x, validate_args, f"Argument {word} was not positive")
                for x, word in zip(found, ("scale", "concentration"), strict=True)
            )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def scale(self) -> Any:
        """The scale."""
        return self._scale

    @property
    def concentration(self) -> Any:
        """The concentration."""
        return self._concentration

    def _valid_x(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        message = f"Forward {_WORDS} at least 0."
        return checked(x, [asserts.assert_non_negative(x, message=message)])

    def _valid_y(self, y: Any) -> Any:
        return _within_one(y) if self.validate_args else y

    def _forward(self, x: Any) -> Any:
        x = self._valid_x(x)
        return -elementwise.expm1(-elementwise.pow(x / self._scale, self._concentration))

    def _inverse(self, y: Any) -> Any:
        y = self._valid_y(y)
        power = 1.0 / self._concentration
        return self._scale * elementwise.pow(-elementwise.log1p(-y), power)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = self._valid_y(y)
        hazard = -elementwise.log1p(-y)
        power = 1.0 / self._concentration - 1.0
        scale = elementwise.log(self._scale / self._concentration)
        return hazard + power * elementwise.log(hazard) + scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        x = self._valid_x(x)
        return (
            -elementwise.pow(x / self._scale, self._concentration)
            + (self._concentration - 1.0) * elementwise.log(x)
            + elementwise.log(self._concentration)
            - self._concentration * elementwise.log(self._scale)
        )


class Kumaraswamy(Bijector):
    """Y = (1 - (1 - X)^(1 / b))^(1 / a), the quantiles of Kumaraswamy's distribution.

    Args:
        concentration1: a, floating tensor, positive.
        concentration0: b, floating tensor, positive.
        validate_args: whether runs check values.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        name: str = "kumaraswamy",
    ) -> None:
        given = [concentration1, concentration0]
        with scopes.name_scope(name), scopes.name_scope("init", values=given):
            self._concentration1, self._concentration0 = (
                _positive(
                    convert_to_tensor(value, name=f"concentration{1 - i}"),
                    validate_args,
                    "Concentration parameter must be positive.",
                )
                for i, value in enumerate(given)
            )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def concentration1(self) -> Any:
        """a."""
        return self._concentration1

    @property
    def concentration0(self) -> Any:
        """b."""
        return self._concentration0

    def _valid(self, x: Any) -> Any:
        if not self.validate_args:
            return x
        least = asserts.assert_non_negative(x, message="sample must be non-negative")
        most = asserts.assert_less_equal(
            x, array.ones([], x.dtype), message="sample must be no larger than `1`."
        )
        return checked(x, [least, most])

    def _forward(self, x: Any) -> Any:
        x = self._valid(x)
        rest = elementwise.exp(elementwise.log1p(-x) / self._concentration0)
        return elementwise.exp(elementwise.log1p(-rest) / self._concentration1)

    def _inverse(self, y: Any) -> Any:
        y = self._valid(y)
        rest = elementwise.pow(1.0 - elementwise.pow(y, self._concentration1), self._concentration0)
        return elementwise.exp(elementwise.log1p(-rest))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        y = self._valid(y)
        a, b = self._concentration1, self._concentration0
        return (
            elementwise.log(a)
            + elementwise.log(b)
            + (a - 1.0) * elementwise.log(y)
            + (b - 1.0) * elementwise.log1p(-elementwise.pow(y, a))
        )


class SinhArcsinh(Bijector):
    """Y = sinh((arcsinh(X) + skewness) tailweight).

    Args:
        skewness: floating tensor; None: 0.
        tailweight: floating tensor, positive; None: 1.
        validate_args: whether runs check tailweight.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        skewness: Any = None,
        tailweight: Any = None,
        validate_args: bool = False,
        name: str = "SinhArcsinh",
    ) -> None:
        skewness = 0.0 if skewness is None else skewness
        tailweight = 1.0 if tailweight is None else tailweight
        with scopes.name_scope(name), scopes.name_scope("init", values=[skewness, tailweight]):
            self._skewness = convert_to_tensor(skewness, name="skewness")
            self._tailweight = convert_to_tensor(
                tailweight, self._skewness.dtype, name="tailweight"
            )
            assert_same_float_dtype([self._skewness, self._tailweight])
            self._tailweight = _positive(
                self._tailweight, validate_args, "Argument tailweight was not positive"
            )
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)

    @property
    def skewness(self) -> Any:
        """The skewness."""
        return self._skewness

    @property
    def tailweight(self) -> Any:
        """The tailweight."""
        return self._tailweight

    def _inner(self, x: Any) -> Any:
        return (elementwise.asinh(x) + self._skewness) * self._tailweight

    def _outer(self, y: Any) -> Any:
        return elementwise.asinh(y) / self._tailweight - self._skewness

    def _forward(self, x: Any) -> Any:
        return elementwise.sinh(self._inner(x))

    def _inverse(self, y: Any) -> Any:
        return elementwise.sinh(self._outer(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        slope = elementwise.cosh(self._outer(y)) / _hypotenuse(y)
        return elementwise.log(slope) - elementwise.log(self._tailweight)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        slope = elementwise.cosh(self._inner(x)) / _hypotenuse(x)
        return elementwise.log(slope) + elementwise.log(self._tailweight)


def _hypotenuse(x: Any) -> Any:
    """sqrt(x^2 + 1), without an overflow."""
    least = float(np.sqrt(np.finfo(x.dtype.as_numpy_dtype).eps))
    size = elementwise.abs(x)
    small = size * least <= 1.0
    squares = elementwise.square(where_v2(small, x, array.zeros_like(x)))
    return where_v2(small, elementwise.sqrt(squares + 1.0), size)
