"""Gradients of product reductions whose groups only the run knows."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework.graph import Tensor
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import binary, cast, compare, select

__all__ = ["Factors", "shares"]


class Factors:
    """Factors, of which some may be 0.

    Attributes:
        zeros: 1 for each that is 0, else 0.
        nonzero: 1 in the place of each that is 0.
        vanishing: 0 everywhere, but the gradient leads to the factors that are 0.
    """

    def __init__(self, x: Tensor) -> None:
        zero = scalar(0, x.dtype)
        self._is_zero = compare("Equal", x, zero)
        self.zeros = cast(self._is_zero, x.dtype)
        self.nonzero = select(self._is_zero, scalar(1, x.dtype), x)
        self.vanishing = select(self._is_zero, x, zero)

    def owed(self, found: Sequence[Tensor]) -> Tensor:
        """The gradient of each, from the results of `shares`, gathered for the elements."""
        to_others, to_one, to_two, vanishing = found
        other = binary("Sub", vanishing, self.vanishing)
        at_zero = binary("Add", to_one, binary("Mul", to_two, other))
        return select(self._is_zero, at_zero, binary("Div", to_others, self.nonzero))


def shares(dy: Tensor, prod: Tensor, zeros: Tensor, vanishing: Tensor) -> list[Tensor]:
    """The gradients of each reduction by its elements.

    A factor that is 0 is kept as one until the second derivative; from the third on, terms are
    missing where two or more are.

    Args:
        dy: the gradient of each reduction.
        prod: the reduction of the elements' `nonzero`.
        zeros: the sum of their `zeros`.
        vanishing: the sum of their `vanishing`.

    Returns:
        What a factor that is not 0 gets, times itself; what the only 0 gets; what one of two gets,
        by the other; and vanishing.
    """
    nothing, flow = scalar(0, dy.dtype), binary("Mul", dy, prod)

    def where(count: int, value: Tensor, otherwise: Tensor) -> Tensor:
        return select(compare("Equal", zeros, scalar(count, dy.dtype)), value, otherwise)

    to_others = where(0, flow, where(1, binary("Mul", flow, vanishing), nothing))
    return [to_others, where(1, flow, nothing), where(2, flow, nothing), vanishing]
