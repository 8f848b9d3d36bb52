"""Complex numbers as pairs of real ones in a last axis, for operators that take these: views."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework import dtypes
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of

__all__ = ["numbers", "pairs"]


def pairs(z: Tensor) -> Tensor:
    """The parts of complex numbers: (..., 2)."""
    dims = dims_of(z)
    made = None if dims is None else (*dims, 2)
    return node("ComplexToPairs", [z], z.dtype.real_dtype, made, domain="graphio")


def numbers(x: Tensor, name: str | None = None) -> Tensor:
    """The complex numbers of pairs (..., 2)."""
    dims = dims_of(x)
    made = None if dims is None else dims[:-1]
    dtype = dtypes.complex64 if x.dtype == dtypes.float32 else dtypes.complex128
    return node("PairsToComplex", [x], dtype, made, name=name, domain="graphio")


@gradient("ComplexToPairs", domain="graphio")
def _pairs_gradient(op: Operation, dy: Tensor) -> Sequence[Tensor | None]:
    return [numbers(dy)]


@gradient("PairsToComplex", domain="graphio")
def _numbers_gradient(op: Operation, dy: Tensor) -> Sequence[Tensor | None]:
    return [pairs(dy)]
