"""The composition of each operator on complex numbers.

A composition makes the nodes that replace an operator. It gets the request and the name of the last
node, and works inside of that name's scope.
"""

from __future__ import annotations

from collections.abc import Callable

from graphio.framework.graph import Tensor
from graphio.ops.base import registered
from graphio.ops.base.composing import Request
from graphio.ops.base.emit import scope
from graphio.ops.complex import (
    arithmetic,
    contractions,
    elementary,
    factors,
    inverse,
    linear,
    polar,
)
from graphio.schema import operators

__all__ = ["COMPOSITIONS", "composed"]

#: (domain, operator) -> its composition
COMPOSITIONS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    **linear.ROWS,
    **arithmetic.ROWS,
    **polar.ROWS,
    **elementary.ROWS,
    **inverse.ROWS,
    **contractions.ROWS,
    **factors.ROWS,
}
_NEWEST = 1 << 30  # of an operator's versions
#: what to do where numbers would have to be ordered
_UNORDERED = "complex numbers have no order: use tf.abs, tf.math.real or tf.math.imag"


@registered.composed.register
def composed(request: Request, name: str | None) -> Tensor | None:
    """The nodes of an operator, None where the engines' kernels take complex numbers.

    Raises:
        TypeError: the operator takes none.
    """
    build = COMPOSITIONS.get((request.domain, request.op))
    if build is not None and len(request.outputs) == 1:
        with scope(name, request.op) as at:
            return build(request, at)
    _check(request)
    return None


def _check(request: Request) -> None:
    row = operators.find(request.domain, request.op, _NEWEST)
    found = next((t for t in request.inputs if t is not None and t.dtype.is_complex), None)
    if row is not None and found is not None and not row.takes(found.dtype.number):
        raise TypeError(
            f"{request.op} takes no {found.dtype.base_dtype.name} ('{found.name}'): {_UNORDERED}"
        )
