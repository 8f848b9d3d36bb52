"""How numbers from a gamma distribution change with its parameters.

The share of the distribution below a number is kept, so the number is a function of the parameters:
implicit reparameterization (Figurnov, Mohamed and Mnih 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.primitive import unbroadcast
from graphio.ops.control_flow.loops import kernel_loop
from graphio.ops.math import comparison, elementwise, reduction
from graphio.ops.math.special import digamma

__all__ = ["differentiable", "series", "slope"]

#: terms of the series up to this part of their sum are left out
_LEAST = 1e-17


def differentiable(drawn: Tensor, form: Tensor, rate: Tensor) -> Tensor:
    """Numbers drawn from a gamma distribution, with gradients by its shape and its inverse scale.

    Args:
        drawn: the result of a separate operation, of the parameters' dtype.
        form: the shape.
        rate: the inverse scale.
    """

    def differentiate(arriving: Sequence[Any]) -> list[Tensor]:
        if arriving[0] is None:
            return [array.zeros_like(form), array.zeros_like(rate)]
        dy, y, scale = (elementwise.cast(t, dtypes.float64) for t in (arriving[0], drawn, rate))
        by_form = dy * slope(elementwise.cast(form, dtypes.float64), y * scale) / scale
        by_rate = -dy * y / scale
        return [
            unbroadcast(elementwise.cast(slope, drawn.dtype), operand, other)
            for slope, operand, other in ((by_form, form, rate), (by_rate, rate, form))
        ]

    region = Region([drawn.op], [form, rate], [drawn], differentiate)
    REGIONS.of(drawn.graph)[drawn.op] = region
    return drawn


def slope(form: Tensor, z: Tensor) -> Tensor:
    """The slope of a number by the shape: the derivative of P(form, z) by its first argument over
    the density, with P by its series (Moore 1982)."""
    total, by_form = series(form + array.zeros_like(z), z)
    positive = comparison.greater(z, 0.0)
    logarithm = elementwise.log(array.where(positive, z, array.ones_like(z)))
    slope = -(z / form) * (total * (logarithm - digamma(form + 1.0)) + by_form)
    return array.where(positive, slope, array.zeros_like(slope))


def series(form: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of z^n / ((form + 1) ... (form + n)), and its derivative by form."""
    one, nothing = array.ones_like(z), array.zeros_like(z)

    def step(
        divisor: Tensor, term: Tensor, reciprocals: Tensor, total: Tensor, slope: Tensor
    ) -> list[Tensor]:
        divisor = divisor + 1.0
        term, reciprocals = term * z / divisor, reciprocals + 1.0 / divisor
        return [divisor, term, reciprocals, total + term, slope - term * reciprocals]

    found = kernel_loop(
        lambda divisor, term, reciprocals, total, slope: reduction.reduce_any(
            comparison.greater(term, _LEAST * total)
        ),
        step,
        [form, one, nothing, one, nothing],
    )
    return found[3], found[4]
