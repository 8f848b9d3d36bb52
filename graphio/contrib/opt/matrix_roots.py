"""Roots of symmetric positive matrices by iterations of matrix multiplications (Higham)."""

from __future__ import annotations

from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.array.filling import eye
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg.matmul import matmul
from graphio.ops.linalg.norms import norm
from graphio.ops.math import comparison, elementwise, reduction

__all__ = ["inverse_pth_root", "square_root"]


def square_root(matrix: Tensor, size: int, passes: int, ridge: float) -> Tensor:
    """The square root of a matrix (size, size), by the iteration of Newton and Schulz.

    Args:
        passes: largest number of iterations; they end when the error grows.
        ridge: what the diagonal gets first.
    """
    identity = eye(size, dtype=matrix.dtype)
    matrix = matrix + ridge * identity
    scale = elementwise.sqrt(reduction.reduce_sum(matrix * matrix))

    def goes_on(count: Any, y: Any, old: Any, z: Any, error: Any, before: Any) -> Tensor:
        return comparison.logical_and(
            comparison.less(count, passes), comparison.less(error, before)
        )

    def improved(count: Any, y: Any, old: Any, z: Any, error: Any, before: Any) -> Any:
        factor = 0.5 * (3.0 * identity - matmul(z, y))
        new = matmul(y, factor)
        root = new * elementwise.sqrt(scale)
        rest = matrix - matmul(root, root)
        found = elementwise.sqrt(reduction.reduce_sum(rest * rest)) / scale
        return count + 1, new, y, matmul(factor, z), found, error

    start = matrix / scale
    ended = while_loop(goes_on, improved, [0, start, start, identity, scale, scale + 1.0])
    return ended[2] * elementwise.sqrt(scale)  # type: ignore[no-any-return]


def inverse_pth_root(
    matrix: Tensor, size: int, exponent: float, passes: int, accuracy: float, ridge: float
) -> Tensor:
    """matrix^exponent, where exponent is -1 / p, by the iteration of Schur and Newton.

    Args:
        passes: largest number of iterations.
        accuracy: the largest difference from the identity that ends them.
        ridge: what the diagonal gets first.

    Raises:
        ValueError: -1 / exponent is not a positive integer.
    """
    if size == 1:
        return elementwise.pow(matrix + ridge, exponent)
    root = -1.0 / exponent
    if root != int(root) or root <= 0:
        raise ValueError(f"expected an exponent of -1 / p for an integer p > 0, got {exponent}")
    identity = eye(size, dtype=matrix.dtype)
    damped = matrix + ridge * identity
    scale = (1 - 1 / exponent) / (2 * norm(damped))

    def goes_on(count: Any, m: Any, x: Any) -> Tensor:
        far = comparison.greater(reduction.reduce_max(elementwise.abs(m - identity)), accuracy)
        return comparison.logical_and(comparison.less(count, passes), far)

    def improved(count: Any, m: Any, x: Any) -> Any:
        factor = (1 - exponent) * identity + exponent * m
        return count + 1, matmul(_integer_power(factor, int(root)), m), matmul(x, factor)

    start = [0, damped * scale, identity * elementwise.pow(scale, -exponent)]
    return while_loop(goes_on, improved, start)[2]  # type: ignore[no-any-return]


def _integer_power(matrix: Tensor, exponent: int) -> Tensor:
    """matrix^exponent for an exponent of 1 or more, by squares."""
    found: Tensor | None = None
    while True:
        if exponent % 2:
            found = matrix if found is None else matmul(matrix, found)
        exponent //= 2
        if not exponent:
            break
        matrix = matmul(matrix, matrix)
    assert found is not None
    return found
