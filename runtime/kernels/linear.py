"""Matrix multiplication."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Call, Function, function, kernel
from graphio.support import errors


def matmul(a: Any, b: Any) -> Any:
    """numpy's matmul: the last two axes, the others broadcast; vectors are rows or columns."""
    try:
        return np.matmul(a, b)
    except ValueError:
        raise errors.InvalidArgumentError(message=_why(a.shape, b.shape)) from None


def _why(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    if not a or not b:
        return f"shapes {list(a)} and {list(b)}: a scalar has no rows and columns"
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] != inner:
        return f"the first operand has {a[-1]} columns, the second {inner} rows; they must agree"
    return f"the leading dimensions of {list(a)} and {list(b)} do not broadcast"


function("MatMul", 1, matmul, "WW")


@kernel("Gemm", since=7, types="WWW", fresh=True)
def _gemm(call: Call) -> Function:
    alpha, beta = call.number("alpha", 1.0), call.number("beta", 1.0)
    for factor in (alpha, beta):
        if (
            call.dtypes
            and call.dtypes[0] in WHOLE
            and not (abs(factor) <= 1e15 and factor == int(factor))
        ):
            raise errors.InvalidArgumentError(
                message=f"alpha {alpha:g} and beta {beta:g} must be whole numbers for integers"
            )
    turn_a, turn_b = call.integer("transA", 0), call.integer("transB", 0)

    def gemm(a: Any, b: Any, c: Any = None) -> Any:
        if a.ndim != 2 or b.ndim != 2:
            raise errors.InvalidArgumentError(
                message=f"operands have ranks {a.ndim} and {b.ndim}, expected matrices"
            )
        result = matmul(a.T if turn_a else a, b.T if turn_b else b)
        if alpha != 1.0:
            result = _scale(result, alpha)
        if c is None:
            return result
        if np.broadcast_shapes(result.shape, c.shape) != result.shape:
            raise errors.InvalidArgumentError(
                message=f"C of shape {list(c.shape)} does not broadcast to {list(result.shape)}"
            )
        if beta == 0.0:
            return result
        return np.add(result, c if beta == 1.0 else _scale(c, beta), out=result)

    return gemm


#: numbers of the integer types
WHOLE = frozenset((2, 3, 4, 5, 6, 7, 12, 13))


def _scale(x: Any, factor: float) -> Any:
    return x * x.dtype.type(factor)
