"""Parts of the gamma and beta distributions: the twin of `cinfer/src/math/gamma_parts.c`."""

from __future__ import annotations

import numpy as np

from graphio.runtime.special import exact
from graphio.runtime.special.exact import Array, exp, log, polynomial

HALF_LOG_2PI = 0.9189385332046728
ROOT_2PI = 2.5066282746310007
_PI = float.fromhex("0x1.921fb54442d18p+1")
#: (-1)^k (zeta(k) - 1) / k, k from 27 down to 2: the logarithm of gamma around 2
_AROUND_2 = (
    -2.7595228851242334e-10, 5.731367241678862e-10, -1.1921401405860912e-09, 2.4836745438024785e-09,
    -5.183475041970047e-09, 1.0838659214896955e-08, -2.2711094608943164e-08, 4.7698101693639804e-08,
    -1.0043224823968099e-07, 2.1207184805554665e-07, -4.492469198764566e-07, 9.55141213040742e-07,
    -2.039215753801366e-06, 4.374866789907488e-06, -9.439488275268397e-06, 2.050721277567069e-05,
    -4.492623673813314e-05, 9.945751278180853e-05, -0.00022315475845357939, 0.0005096695247430425,
    -0.001192753911703261, 0.0028905103307415234, -0.007385551028673986, 0.020580808427784546,
    -0.0673523010531981, 0.3224670334241132,
)  # fmt: skip
_ONE_LESS_EULER = 0.42278433509846713
#: Stirling's series, B(2k) / (2k (2k - 1)), k from 10 down to 1
_STIRLING = (
    -174611.0 / 125400.0, 43867.0 / 244188.0, -3617.0 / 122400.0, 1.0 / 156.0, -691.0 / 360360.0,
    1.0 / 1188.0, -1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0,
)  # fmt: skip
#: the series of digamma, B(2k) / (2k), k from 10 down to 1
_DIGAMMA = (
    -174611.0 / 6600.0, 43867.0 / 14364.0, -3617.0 / 8160.0, 1.0 / 12.0, -691.0 / 32760.0,
    1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0,
)  # fmt: skip
#: (1 + 2 z) erfcx(z) in Chebyshev polynomials of (z - 3.75) / (z + 3.75), the highest first
_ERFCX = (
    5.068148904796111e-17, 7.418235256624044e-17, -1.2507950530688648e-15, -1.864562880419313e-15,
    3.3478119482868056e-14, 3.25254814814874e-14, -9.65469674843344e-13, 1.9455868545777347e-13,
    2.86879501093067e-11, -6.318088340886684e-11, -7.754400208831351e-10, 4.521959811218287e-09,
    1.076499946567091e-08, -2.1886401049234397e-07, 7.74038306619849e-07, 4.13902798607301e-06,
    -6.916973302501207e-05, 0.0004907758365258086, -0.002413163540417608, 0.009074997670705265,
    -0.026658668435305753, 0.05920993999819189, -0.08424913336651792, -0.004590054580646478,
    1.1775789345674017,
)  # fmt: skip
_SHIFTED, _DIGAMMA_SHIFTED = 8.0, 10.0
_SIN = (
    1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
    1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0,
)  # fmt: skip
_COS = (
    -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
    -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0,
)  # fmt: skip


def lgamma1p(a: Array) -> Array:
    """log(gamma(1 + a)), 0 <= a <= 3/2."""
    low = a < 0.5
    b = np.where(low, a, a - 1.0)
    around = b * (_ONE_LESS_EULER + b * polynomial(_AROUND_2, b))
    return np.where(low, around - exact.log1p(np.where(low, a, 0.0)), around)


def stirling_error(a: Array) -> Array:
    """log(gamma(a)) - (a - 1/2) log(a) + a - log(2 pi) / 2, a > 0."""
    small = a < 1.0
    near = ((lgamma1p(np.where(small, a, 0.5)) - (a + 0.5) * log(a)) + a) - HALF_LOG_2PI
    z, prod = np.where(small, 1.0, a), np.ones_like(a)
    start = z
    for _ in range(7):
        below = z < _SHIFTED
        prod, z = np.where(below, prod * z, prod), np.where(below, z + 1.0, z)
    w = 1.0 / z
    series = w * polynomial(_STIRLING, w * w)
    moved = (((z - 0.5) * log(z) - (start - 0.5) * log(start)) - (z - start)) - log(prod)
    return np.where(small, near, np.where(z > start, moved + series, series))


def deviance(a: Array, x: Array) -> Array:
    """a log(a / x) + x - a, without cancellation where they are near; both > 0 and finite."""
    gap = a - x
    v = (0.5 * a - 0.5 * x) / (0.5 * a + 0.5 * x)
    total, part, square = gap * v, 2.0 * (a * v), v * v
    for j in range(1, 10):
        part = part * square
        total = total + part / (2.0 * j + 1.0)
    ratio = a / x
    plain = (ratio > 1e-300) & (ratio < 1e300)
    logarithm = np.where(plain, log(ratio), log(a) - log(x))
    return np.where(np.abs(v) < 0.1, total, a * logarithm - gap)


def gamma_term(a: Array, x: Array) -> Array:
    """x^a exp(-x) / gamma(a + 1), a and x > 0 and finite."""
    small = a < 1.0
    near = exp(a * log(x) - x - lgamma1p(np.where(small, a, 0.5)))
    far = exp(-stirling_error(a) - deviance(a, x)) / (ROOT_2PI * np.sqrt(a))
    return np.where(small, near, far)


def erfcx(z: Array) -> Array:
    """exp(z z) erfc(z), z >= 0."""
    t = (z - 3.75) / (z + 3.75)
    twice = t + t
    last, total = np.zeros_like(z), np.full_like(z, _ERFCX[0])
    for factor in _ERFCX[1:-1]:
        last, total = total, (twice * total - last) + factor
    return ((t * total - last) + _ERFCX[-1]) / (1.0 + 2.0 * z)


def digamma(x: Array) -> Array:
    """The derivative of log(gamma); nan at 0 and the negative whole numbers."""
    low = x <= 0.0
    z = np.where(low, 1.0 - x, x)
    total = np.zeros_like(x)
    for _ in range(10):
        below = z < _DIGAMMA_SHIFTED
        total, z = np.where(below, total + 1.0 / z, total), np.where(below, z + 1.0, z)
    w = 1.0 / z
    square = w * w
    value = ((log(z) - 0.5 * w) - square * polynomial(_DIGAMMA, square)) - total
    part = x - np.floor(x)
    mirrored = value - _pi_cotangent(np.where(low & (part > 0.0), part, 0.5))
    return np.where(low, np.where(part > 0.0, mirrored, np.nan), value)


def _pi_cotangent(part: Array) -> Array:
    """pi / tan(pi part), 0 < part < 1."""
    size = np.where(part > 0.5, 1.0 - part, part)
    near = size <= 0.25
    r = _PI * np.where(near, size, 0.5 - size)
    z = r * r
    sine = r + r * z * polynomial(_SIN, z)
    cosine = (1.0 - 0.5 * z) + z * z * polynomial(_COS, z)
    value = np.where(near, _PI * cosine / sine, _PI * sine / cosine)
    return np.where(part > 0.5, -value, value)


def uniform_tail(t: Array, p: Array, k: Array, w: Array) -> tuple[Array, Array, Array]:
    """The sum by which a share differs from that of the normal distribution, where the parameters
    are large (Temme 1979, 1987).

    With g the series of g g + t g g' = 1 + k t g - w t t g g, the sum is b0 + b1 t + b2 t^2 + ...
    over 1 + p b1, where b(n - 1) is the coefficient n of 1 / g and p (n + 1) b(n + 1) more.

    Returns:
        The sum, and its derivatives by t and by p.
    """
    one = np.ones_like(t)
    squares, g, f = [one], [one], [one]
    for n in range(1, _TERMS):
        h = k * g[n - 1]
        if n > 1:
            h = h - w * squares[n - 2]
        h = h / (1.0 + 0.5 * n)
        squares.append(h)
        for i in range(1, n):
            h = h - g[i] * g[n - i]
        g.append(0.5 * h)
        inverse = np.zeros_like(t)
        for i in range(1, n + 1):
            inverse = inverse - g[i] * f[n - i]
        f.append(inverse)
    zero = np.zeros_like(t)
    b, by_p = [zero] * (_TERMS + 1), [zero] * (_TERMS + 1)
    for n in range(_TERMS - 1, 0, -1):
        b[n - 1] = f[n] + (n + 1.0) * p * b[n + 1]
        by_p[n - 1] = (n + 1.0) * (p * by_p[n + 1] + b[n + 1])
    total, by_t, p_total = zero, zero, zero
    for n in range(_TERMS - 2, -1, -1):
        by_t = by_t * t + total
        total = total * t + b[n]
        p_total = p_total * t + by_p[n]
    below = 1.0 + p * b[1]
    value = total / below
    return value, by_t / below, (p_total - value * (b[1] + p * by_p[1])) / below


_TERMS = 27
