"""Operators that are linear in their complex inputs, which do the same with either part."""

from __future__ import annotations

from collections.abc import Callable

from graphio.framework.graph import Tensor
from graphio.ops.base.composing import Request
from graphio.ops.complex.parts import conjugate, given, imag_of, joined, of_parts, real_of

__all__ = ["ROWS", "by_part"]

_STANDARD = ("Add", "Sub", "Neg", "Sum", "Mean", "ReduceSum", "ReduceMean", "CumSum")
_GRAPHIO = ("SumToShape", "ScatterSum")


def by_part(request: Request, name: str) -> Tensor:
    """The operator of the real parts, and of the imaginary ones; other inputs go to both."""
    re, im = (
        of_parts(
            request,
            [part(t) if t is not None and t.dtype.is_complex else t for t in request.inputs],
        )
        for part in (real_of, imag_of)
    )
    return joined(re, im, name, request.dims)


def _conj(request: Request, name: str) -> Tensor:
    return conjugate(given(request, 0), name)


ROWS: dict[tuple[str, str], Callable[[Request, str], Tensor]] = {
    **{("", op): by_part for op in _STANDARD},
    **{("graphio", op): by_part for op in _GRAPHIO},
    ("", "Conj"): _conj,
}
