"""Householder reflections of complex matrices, given as columns (graphio.ops.complex.embedding).

A reflection is H = I - tau v v^H with complex tau, so that H^H x = (.., beta, 0, ..) with real
beta, whose sign is not that of the real part of the element there before (LAPACK's). Triangles have
real diagonals, and Hermitian matrices become real tridiagonal ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import scalar
from graphio.ops.complex.embedding import beside, pairs, times_i, unpaired, zeros
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.linalg import matmul
from graphio.ops.math import comparison, elementwise, reduction

__all__ = ["Reduced", "determinants", "multiplied", "to_hessenberg", "to_triangles"]


class Reduced(NamedTuple):
    """Matrices after reflections.

    Attributes:
        left: the reduced matrices, of which the elements that became 0 are noise.
        vectors: (..., 2 m, p), a column for each reflection.
        taus: (..., 2, p).
    """

    left: Tensor
    vectors: Tensor
    taus: Tensor


def to_triangles(x: Tensor, count: Tensor) -> Reduced:
    """Columns (..., 2 m, n) to R, by count reflections H_0, H_1, ..: x = H_0 H_1 .. R."""

    def reflect(k: Tensor, left: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        v, tau = _reflection(_column(left, k), k)
        return _from_left(left, v, tau, adjoint=True), v, tau

    return _reduced(x, count, reflect)


def to_hessenberg(x: Tensor, count: Tensor) -> Reduced:
    """Matrices, embedded (..., 2 n, 2 n), to T, which has no elements below those next to the
    diagonal and is tridiagonal of a Hermitian matrix: x = H_0 .. T .. H_0^H."""

    def reflect(k: Tensor, left: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        v, tau = _reflection(_column(left, k * 2), k + 1)
        below = _from_left(left, v, tau, adjoint=True)
        wide, by = _wide(v), _wide(tau)
        right = matmul.matmul(matmul.matmul(below, wide), by)
        return below - matmul.matmul(right, wide, transpose_b=True), v, tau

    return _reduced(x, count, reflect)


def _column(x: Tensor, k: Tensor) -> Tensor:
    """Column k, (..., m)."""
    return primitive.gather(x, k, (x.shape.ndims or 0) - 1)


def _reduced(x: Tensor, count: Tensor, reflect: Any) -> Reduced:
    steps = filling.range(count)
    rows = array.shape(x, out_type=dtypes.int64)[-2]
    vectors = zeros(x, rows, count)
    taus = zeros(x, scalar(2, dtypes.int64), count)

    def body(k: Tensor, *state: Tensor) -> list[Tensor]:
        left, v, tau = reflect(k, state[0])
        here = comparison.equal(steps, k)
        kept = [
            primitive.select(here, array.expand_dims(new, -1), old)
            for new, old in zip((v, tau), state[1:], strict=True)
        ]
        for new, old in zip((left, *kept), state, strict=True):
            new.set_shape(old.shape)
        return [k + 1, left, *kept]

    start = [primitive.int_vector([0])[0], x, vectors, taus]
    return Reduced(*while_loop(lambda k, *_: comparison.less(k, count), body, start)[1:])


def _reflection(x: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """v (..., 2 m) and tau (..., 2) of the reflection of x (..., 2 m) onto its element k."""
    numbers = pairs(x)
    index = array.expand_dims(filling.range(array.shape(numbers, out_type=dtypes.int64)[-2]), -1)
    nought = array.zeros_like(numbers)
    tail = primitive.select(comparison.greater(index, k), numbers, nought)
    here = comparison.equal(index, k)
    head = reduction.reduce_sum(primitive.select(here, numbers, nought), -2)
    re, im = head[..., :1], head[..., 1:]
    rest = reduction.reduce_sum(elementwise.square(tail), [-2, -1])
    rest = array.expand_dims(rest, -1)
    # Nothing is left to do where the tail is 0 and the head is real.
    idle = comparison.equal(rest + elementwise.square(im), 0.0)
    length = elementwise.sqrt(rest + elementwise.square(re) + elementwise.square(im))
    beta = primitive.select(comparison.greater_equal(re, 0.0), elementwise.negative(length), length)
    beta = primitive.select(idle, array.ones_like(re), beta)
    tau = array.concat([beta - re, elementwise.negative(im)], -1) / beta
    tau = primitive.select(idle, array.zeros_like(tau), tau)
    apart = re - beta
    size = elementwise.square(apart) + elementwise.square(im)
    inverse = array.concat([apart, elementwise.negative(im)], -1) / size
    inverse = primitive.select(idle, array.zeros_like(inverse), inverse)
    tail = matmul.matmul(tail, _wide(inverse), transpose_b=True)
    unit = elementwise.cast(here, x.dtype) * primitive.cast(primitive.int_vector([1, 0]), x.dtype)
    return unpaired(tail + unit), tau


def _wide(x: Tensor) -> Tensor:
    """Vectors (..., 2 m) as embedded matrices (..., 2 m, 2) of one column."""
    return beside(array.expand_dims(x, -1), array.expand_dims(unpaired(times_i(pairs(x))), -1))


def _from_left(x: Tensor, v: Tensor, tau: Tensor, adjoint: bool) -> Tensor:
    """H x, or H^H x, of columns x."""
    wide = _wide(v)
    shadow = matmul.matmul(wide, x, transpose_a=True)
    return x - matmul.matmul(wide, matmul.matmul(_wide(tau), shadow, transpose_a=adjoint))


def multiplied(by: Reduced, x: Tensor) -> Tensor:
    """H_0 H_1 .. x of columns x."""

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        made = _from_left(x, _column(by.vectors, k), _column(by.taus, k), adjoint=False)
        made.set_shape(x.shape)
        return [k - 1, made]

    count = array.shape(by.taus, out_type=dtypes.int64)[-1]
    _, made = while_loop(lambda k, _: comparison.greater_equal(k, 0), body, [count - 1, x])
    return convert_to_tensor(made)


def determinants(by: Reduced) -> Tensor:
    """The determinants (..., p, 2) of the reflections, complex numbers of size 1: -tau / tau^H."""
    re, im = by.taus[..., 0, :], by.taus[..., 1, :]
    size = elementwise.square(re) + elementwise.square(im)
    idle = comparison.equal(size, 0.0)
    size = primitive.select(idle, array.ones_like(size), size)
    found_re = (elementwise.square(im) - elementwise.square(re)) / size
    found_im = -2.0 * re * im / size
    return array.stack([primitive.select(idle, array.ones_like(re), found_re), found_im], -1)
