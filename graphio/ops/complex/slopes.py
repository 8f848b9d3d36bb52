"""Gradients of analytic functions: dy times the conjugate of the derivative.

They hold for the composition that they are given for. A model that is read from a file has the
composition's nodes alone, through which its gradient goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.base.composing import Request
from graphio.ops.base.primitive import binary, unbroadcast
from graphio.ops.complex.parts import conjugate, given

__all__ = ["Slope", "analytic"]

#: from the inputs and the result to the derivative by each input
Slope = Callable[..., Sequence[Tensor]]


def analytic(
    build: Callable[[Request, str], Tensor], slope: Slope
) -> Callable[[Request, str], Tensor]:
    """A composition with a separate gradient.

    Args:
        build: the composition, of one or two complex inputs that broadcast.
        slope: its derivatives; it is called as slope(*inputs, result).
    """

    def composition(request: Request, name: str) -> Tensor:
        result = build(request, name)
        inputs = [given(request, i) for i in range(len(request.inputs))]

        def differentiate(arriving: Sequence[Tensor | None]) -> list[Tensor | None]:
            (dy,) = arriving
            if dy is None:
                return [None] * len(inputs)
            found = (binary("Mul", dy, conjugate(d)) for d in slope(*inputs, result))
            return [
                unbroadcast(dx, x, *(t for t in inputs if t is not x))
                for dx, x in zip(found, inputs, strict=True)
            ]

        region = Region([result.op], inputs, [result], differentiate)
        REGIONS.of(result.graph)[result.op] = region
        return result

    return composition
