"""Functions of matrices, of their singular values and their powers."""

from __future__ import annotations

import math as _math
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base import shapes
from graphio.ops.base.emit import FLOATING, FLOATING_OR_COMPLEX, describe, require, scalar, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg import matmul, solving
from graphio.ops.linalg.factoring import svd
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["expm", "matrix_rank", "pinv"]


def _matrices(
    value: Any, name: str, op: str, at: str, any_rank: bool = False, kind: str = FLOATING
) -> Tensor:
    x = convert_to_tensor(value, name=name)
    require(x, kind, op, name)
    if x.shape.ndims is None and any_rank:
        return run_checks.matrices(x, op)
    if x.shape.ndims is None or x.shape.ndims < 2:
        raise ValueError(
            f"Shape must be at least rank 2 but is rank {x.shape.ndims} for {describe(at, op)}"
        )
    return x


@api_guard.operator
def expm(input: Any, name: str | None = None) -> Tensor:
    """The exponential of square matrices: I + A + A^2 / 2 + A^3 / 6 + ...

    By Pade's approximation of order 13 of A / 2^s, squared s times (Higham 2005); one s serves all
    matrices.

    Args:
        input: floating or complex tensor (..., n, n), n known.
        name: of the operation.

    Raises:
        ValueError: the matrices are not square.
    """
    with scope(name, "matrix_exponential") as at:
        x = _matrices(input, "input", "matrix_exponential", at, kind=FLOATING_OR_COMPLEX)
        dims = dims_of(x)
        assert dims is not None
        (size,) = shapes.merge(dims[-2:-1], dims[-1:], describe(at, "matrix_exponential")) or (
            None,
        )
        if size is None:
            raise ValueError(f"expm: the size of the matrices {shapes.text(dims)} must be known")
        norm = reduction.reduce_max(
            reduction.reduce_sum(elementwise.abs(array.stop_gradient(x)), -2)
        )
        # 5.37 is the largest norm for which the approximation is exact in double.
        exponent = elementwise.ceil(
            elementwise.log(elementwise.maximum(norm / 5.37, 1.0)) / _math.log(2.0)
        )
        # Squaring what is not finite does not change it.
        exponent = array.where(
            elementwise.is_finite(exponent), exponent, array.zeros_like(exponent)
        )
        scale = elementwise.pow(convert_to_tensor(2.0, exponent.dtype), exponent)
        upper, lower = _pade(x / elementwise.cast(scale, x.dtype), size)
        first = solving.matrix_solve(lower, upper)
        result = while_loop(
            lambda i, m: comparison.less(i, exponent),
            lambda i, m: [i + 1.0, matmul.matmul(m, m)],
            [convert_to_tensor(0.0, exponent.dtype), first],
        )[1]
        return array.identity(result, name=at)


#: the coefficients of Pade's approximation of order 13
_PADE = [
    _math.comb(13, k) * _math.factorial(26 - k) / _math.factorial(26) for k in range(14)
]  # fmt: skip


def _pade(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Numerator and denominator: the even powers plus and minus the odd ones."""
    one = array.eye(size, dtype=x.dtype)
    square = matmul.matmul(x, x)
    even, odd, power = one * _PADE[0], one * _PADE[1], one + array.zeros_like(x)
    for k in range(2, 14, 2):
        power = matmul.matmul(power, square)
        even, odd = even + power * _PADE[k], odd + power * _PADE[k + 1]
    odd = matmul.matmul(x, odd + array.zeros_like(x))
    return even + odd, even - odd


@api_guard.operator
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The Moore-Penrose inverse of matrices, by their singular values.

    Args:
        a: floating tensor (..., m, n).
        rcond: singular values up to this part of the largest count as 0: a scalar, or one for
            each matrix; None: ten times the larger size times the dtype's precision.
        validate_args: accepted; shapes are always checked.
        name: of the operation.

    Returns:
        A tensor (..., n, m).

    Raises:
        ValueError: the rank is known and below 2.
    """
    with scope(name, "pinv") as at:
        x = _matrices(a, "a", "pinv", at, any_rank=True)
        s, u, v = svd(x)
        part = _precision(x, 10.0) if rcond is None else convert_to_tensor(rcond, x.dtype)
        cutoff = part * reduction.reduce_max(s, -1)
        kept = comparison.greater(s, array.expand_dims(cutoff, -1))
        safe = array.where(kept, s, array.ones_like(s))
        inverse = array.where(kept, elementwise.reciprocal(safe), array.zeros_like(s))
        return matmul.matmul(v * array.expand_dims(inverse, -2), u, transpose_b=True, name=at)


@api_guard.operator
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """The rank of matrices, the number of singular values that are not 0: int32.

    Args:
        a: floating tensor (..., m, n).
        tol: up to this a singular value counts as 0; None: the larger size times the dtype's
            precision times the largest singular value.
        validate_args: accepted; shapes are always checked.
        name: of the operation.

    Raises:
        ValueError: the rank is known and below 2.
    """
    with scope(name, "matrix_rank") as at:
        x = _matrices(a, "a", "matrix_rank", at, any_rank=True)
        s = svd(x, compute_uv=False)
        if tol is None:
            limit = _precision(x, 1.0) * reduction.reduce_max(s, -1, keepdims=True)
        else:
            limit = convert_to_tensor(tol, x.dtype)
        return reduction.reduce_sum(
            elementwise.cast(comparison.greater(s, limit), dtypes.int32), -1, name=at
        )


def _precision(x: Tensor, factor: float) -> Tensor:
    """The larger size of the matrices times the dtype's precision times a factor."""
    unit = factor * float(np.finfo(x.dtype.as_numpy_dtype).eps)
    dims = dims_of(x)
    if dims is not None and None not in dims[-2:]:
        return scalar(max(size or 0 for size in dims[-2:]) * unit, x.dtype)
    largest = reduction.reduce_max(array.shape(x)[-2:])
    return elementwise.cast(largest, x.dtype) * scalar(unit, x.dtype)
