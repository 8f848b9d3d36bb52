"""The stages of docs/numerics.md, "Fourier transforms", in numpy: bit by bit what cinfer gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engines
import numpy as np
import pytest

Array = np.ndarray[Any, Any]


def dft(x: Array, **attrs: int) -> Array:
    """The transform of complex numbers (lanes, n) in cinfer, float64."""
    pairs = np.stack([x.real, x.imag], -1)
    data, fed = engines.one_node("DFT", [pairs], attrs, [np.float64], version=20)
    made: Array = engines.run("cinfer", data, fed)[0]
    return made[..., 0] + 1j * made[..., 1]


def factors(n: int) -> list[int]:
    found = []
    for p in (4, *range(2, 62)):
        while n % p == 0:
            found.append(p)
            n //= p
    return found


def times(a: Array, w: complex) -> Array:
    return (a.real * w.real - a.imag * w.imag) + 1j * (a.real * w.imag + a.imag * w.real)


def transposed(a: Array) -> Array:
    """-i a, exactly."""
    return a.imag - 1j * a.real


def sums(a: list[Array], root: Callable[[int, int], complex]) -> list[Array]:
    """The factor's own transform."""
    p = len(a)
    if p == 2:
        return [a[0] + a[1], a[0] - a[1]]
    if p == 4:
        e, o, low, h = a[0] + a[2], a[1] + a[3], a[0] - a[2], transposed(a[1] - a[3])
        return [e + o, low + h, e - o, low - h]
    found = []
    for t in range(p):
        total = a[0]
        for r in range(1, p):
            total = total + times(a[r], root(r, t))
        found.append(total)
    return found


def stages(x: Array, roots: Array) -> Array:
    """roots[position, k]: the contribution of a 1 at a position to k: a root of unity that is
    rounded once wherever a stage takes it from here."""
    length, stride = x.shape[-1], 1
    for p in factors(length):
        m, y = length // p, np.empty_like(x)
        for j in range(m):
            parts = [x[:, stride * (j + m * r) :][:, :stride] for r in range(p)]
            own = sums(parts, lambda r, t, m=m, stride=stride: roots[r * m, t * stride])
            for t, b in enumerate(own):
                at = stride * (p * j + t)
                y[:, at : at + stride] = times(b, roots[j, t * stride])
        x, length, stride = y, m, stride * p
    return x


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12, 15, 16, 49, 61, 64, 90, 128])
def test_a_transform_goes_through_the_stages_in_their_order(n: int) -> None:
    x = np.random.RandomState(n).randn(3, n, 2).view(np.complex128)[..., 0]
    roots = dft(np.eye(n) + 0j)
    np.testing.assert_allclose(roots, np.fft.fft(np.eye(n)), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(dft(x), stages(x, roots))


@pytest.mark.parametrize("n", [67, 134, 997])
def test_a_large_prime_takes_a_convolution(n: int) -> None:
    x = np.random.RandomState(n).randn(3, n, 2).view(np.complex128)[..., 0]
    np.testing.assert_allclose(dft(x), np.fft.fft(x), rtol=0, atol=1e-12 * n)
    np.testing.assert_allclose(dft(x, inverse=1), np.fft.ifft(x), rtol=0, atol=1e-13)
