"""The complementary error function, without the cancellation of 1 - erf(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import REGIONS, Region
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.base.emit import FLOATING, require, scope
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["erfc"]

#: Chebyshev's coefficients of exp(z^2) erfc(z) / t by 2 t - 1, where t = 2 / (2 + z), z >= 0; they
#: were computed with 40 digits
_TERMS = (
    0.5770337386164697, 0.3554369212704985, 0.06509515882878653, 0.003671142395836639,
    -0.0011128447433526325, -0.0001607582991537808, 3.278031574173137e-05, 5.442441645505016e-06,
    -1.5154665553171482e-06, -1.4297608181169865e-07, 8.234608827419493e-08,
    -1.2962846852306563e-09, -4.154721631015199e-09, 6.347058278362811e-10,
    1.4320822712256225e-10, -6.160390105204585e-11, 2.0612138554721698e-12,
    3.5714931488477042e-12, -8.586422843251796e-13, -6.14560021379063e-14, 7.418725748596617e-14,
    -1.2895042755032325e-14, -2.358726385710632e-15, 1.5729349381685912e-15,
    -2.2782966239546465e-16, -6.31233045075643e-17,
)  # fmt: skip


@api_guard.operator
def erfc(x: Any, name: str | None = None) -> Tensor:
    """1 - erf(x), with all its digits where that is next to 0; floating."""
    with scope(name, "Erfc") as at:
        given = convert_to_tensor(x, name="x")
        require(given, FLOATING, "Erfc")
        wide = elementwise.cast(given, dtypes.float64)
        found = elementwise.cast(_erfc(wide), given.dtype, name=at)

        def differentiate(arriving: Sequence[Any]) -> list[Tensor]:
            slope = -2.0 / math.sqrt(math.pi) * elementwise.exp(-elementwise.square(given))
            return [arriving[0] * slope]

        REGIONS.of(found.graph)[found.op] = Region([found.op], [given], [found], differentiate)
        return found


def _erfc(x: Tensor) -> Tensor:
    z = elementwise.abs(x)
    t = 2.0 / (2.0 + z)
    twice = 4.0 * t - 2.0
    after, total = array.zeros_like(z), array.zeros_like(z) + _TERMS[-1]
    for term in reversed(_TERMS[1:-1]):
        after, total = total, twice * total - after + term
    series = 0.5 * twice * total - after + _TERMS[0]
    tail = t * elementwise.exp(-elementwise.square(z)) * series
    return where_v2(x < 0.0, 2.0 - tail, tail)
