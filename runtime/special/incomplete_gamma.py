"""The incomplete gamma functions: the twin of `cinfer/src/math/incomplete_gamma.c`."""

from __future__ import annotations

import numpy as np

from graphio.runtime.special import gamma_parts as parts
from graphio.runtime.special.exact import (
    EPSILON,
    STEPS,
    TINY,
    Array,
    Function,
    Step,
    apart,
    continued_fraction,
    exp,
    expm1,
    log,
    not_0,
    repeat,
)
from graphio.runtime.special.gamma_parts import digamma, gamma_term

_LARGE = 30.0


def igamma(a: Array, x: Array) -> Array:
    """The share of the gamma distribution below x."""
    inside = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    known = (x == 0.0) | ((a == np.inf) & (x > 0.0))
    over = (a > 0.0) & (a < np.inf) & (x == np.inf)
    return apart([(inside, lambda a, x: _shares(a, x, False)), (known, _zero), (over, _one)], a, x)


def igammac(a: Array, x: Array) -> Array:
    """The share above x."""
    inside = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    nothing = (a > 0.0) & (x == np.inf)
    everything = (a > 0.0) & ((x == 0.0) | (a == np.inf)) & (x >= 0.0) & ~nothing
    return apart(
        [(inside, lambda a, x: _shares(a, x, True)), (nothing, _zero), (everything, _one)], a, x
    )


def igamma_grad_a(a: Array, x: Array) -> Array:
    """The derivative of igamma by a."""
    inside = (a > 0.0) & (x > 0.0) & (a < np.inf) & (x < np.inf)
    known = (x == 0.0) | ((a > 0.0) & (x > 0.0) & ((a == np.inf) | (x == np.inf)))
    uniform = _is_uniform(a, x)
    series = (x <= 1.1) | (x <= a)
    return apart(
        [
            (inside & uniform, _uniform_slope),
            (inside & ~uniform & series, _series_slope),
            (inside & ~uniform & ~series, _fraction_slope),
            (known, _zero),
        ],
        a,
        x,
    )


def _zero(a: Array, x: Array) -> Array:
    return np.zeros_like(a)


def _one(a: Array, x: Array) -> Array:
    return np.ones_like(a)


def _is_uniform(a: Array, x: Array) -> Array:
    return (a >= _LARGE) & (x >= 0.6 * a) & (0.6 * x <= a)


def _shares(a: Array, x: Array, upper: bool) -> Array:
    uniform = _is_uniform(a, x)
    # below: the upper share is the small one, and 1 - P would lose its digits
    bound = np.where(x > 0.5, 1.1 * x, -0.4 / log(np.minimum(x, 0.5)))
    alternating = (x <= 1.1) & (a <= bound)
    series = ~alternating & ((x <= 1.1) | (x <= a))

    return apart(
        [
            (uniform, lambda a, x: _uniform(a, x, upper)),
            (~uniform & alternating, _alternating if upper else _rest(_alternating)),
            (~uniform & series, _rest(_series) if upper else _series),
            (~uniform & ~alternating & ~series, _fraction if upper else _rest(_fraction)),
        ],
        a,
        x,
    )


def _rest(fn: Function) -> Function:
    """The other share."""
    return lambda a, x: 1.0 - fn(a, x)


def _series(a: Array, x: Array) -> Array:
    """P: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ... times its first term."""

    def step(n: float, divisor: Array, term: Array, total: Array) -> Step:
        divisor = divisor + 1.0
        term = term * x / divisor
        new = total + term
        return new != total, (divisor, term, new)

    one = np.ones_like(a)
    return gamma_term(a, x) * repeat(step, (a, one, one), STEPS)[2]


def _alternating(a: Array, x: Array) -> Array:
    """Q for x and a up to about 1."""
    factor, total = np.ones_like(a), np.zeros_like(a)
    for n in range(1, 25):
        factor = factor * -x / float(n)
        total = total + factor / (a + float(n))
    logarithm = a * log(x) - parts.lgamma1p(a)
    made: Array = -expm1(logarithm) - exp(logarithm) * a * total
    return made


def _fraction(a: Array, x: Array) -> Array:
    """Q: Legendre's continued fraction."""
    start = x + 1.0 - a
    total = continued_fraction(1.0 / start, lambda n: (n * (a - n), start + 2.0 * n))
    return gamma_term(a, x) * a * total


def _uniform(a: Array, x: Array, upper: bool) -> Array:
    """Both shares for a large a and x near it."""
    above = x >= a
    far = parts.deviance(a, x)
    eta = np.sqrt(2.0 * far / a)
    one = np.ones_like(a)
    t = np.where(above, eta, -eta)
    rest = parts.uniform_tail(t, 1.0 / a, one, one * 0.0)[0] / (parts.ROOT_2PI * np.sqrt(a))
    half = 0.5 * parts.erfcx(np.sqrt(far))
    share = exp(-far) * np.where(above, half + rest, half - rest)
    return np.where(above == upper, share, 1.0 - share)


# ---- the derivative by a ----


def _uniform_slope(a: Array, x: Array) -> Array:
    far = parts.deviance(a, x)
    size = np.sqrt(2.0 * far / a)
    t = np.where(x >= a, size, -size)
    one, p = np.ones_like(a), 1.0 / a
    total, by_t, by_p = parts.uniform_tail(t, p, one, one * 0.0)
    # a times the derivative of t, which is -1 / (t / (x / a - 1)); next to t = 0 by its series
    near = np.abs(t) < 1e-4
    turn = np.where(near, -(1.0 + t / 3.0), -(((x - a) / a) / np.where(near, 1.0, t)))
    by_total = (-0.5 * t * t - t * turn - 0.5 * p) * total
    slope = ((-turn - 0.5 * t) + by_total) + (by_t * turn * p - by_p * p * p)
    made: Array = -(exp(-far) / (parts.ROOT_2PI * np.sqrt(a)) * slope)
    return made


def _series_slope(a: Array, x: Array) -> Array:
    def step(
        n: float, divisor: Array, term: Array, reciprocals: Array, total: Array, slope: Array
    ) -> Step:
        divisor = divisor + 1.0
        term = term * x / divisor
        reciprocals = reciprocals + 1.0 / divisor
        new = slope - term * reciprocals
        return new != slope, (divisor, term, reciprocals, total + term, new)

    one = np.ones_like(a)
    found = repeat(step, (a, one, one * 0.0, one, one * 0.0), STEPS)
    made: Array = gamma_term(a, x) * (found[3] * (log(x) - digamma(a + 1.0)) + found[4])
    return made


def _fraction_slope(a: Array, x: Array) -> Array:
    start = x + 1.0 - a

    def step(
        n: float, c: Array, d: Array, total: Array, c_slope: Array, d_slope: Array, slope: Array
    ) -> Step:
        top, bottom = n * (a - n), start + 2.0 * n
        d_new = 1.0 / not_0(bottom + top * d)
        d_slope = -(d_new * d_new) * ((n * d + top * d_slope) - 1.0)
        c_new = not_0(bottom + top / c)
        c_slope = (n - top * c_slope / c) / c - 1.0
        change = c_new * d_new
        new = slope * change + total * (c_slope * d_new + c_new * d_slope)
        total = total * change
        going = np.abs(new - slope) > EPSILON * np.abs(new)
        return going, (c_new, d_new, total, c_slope, d_slope, new)

    first = 1.0 / start
    zero = np.zeros_like(a)
    state = (np.full_like(a, 1.0 / TINY), first, first, zero, first * first, first * first)
    found = repeat(step, state, STEPS)
    total, slope = found[2], found[5]
    inner = total * (log(x) - digamma(a + 1.0)) + slope
    made: Array = -(gamma_term(a, x) * (a * inner + total))
    return made
