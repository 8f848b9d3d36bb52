"""exp, log and powers as `cinfer/src/math/scalar_math.c` has them, and pieces for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Function = Callable[..., Array]
Step = tuple[Array, tuple[Array, ...]]  # which elements go on, and the new state

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
_LOG2_E = float.fromhex("0x1.71547652b82fep+0")
_ROUND = 1.5 * 2.0**52
_EXP = (
    1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
    1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5,
)  # fmt: skip
_LOG = tuple(2.0 / odd for odd in range(25, 1, -2))
_THIRD_LOW = float.fromhex("0x1.5555555555555p-55")


def polynomial(factors: Sequence[float], x: Array) -> Array:
    """The highest power first."""
    y = np.full_like(x, factors[0])
    for factor in factors[1:]:
        y = y * x + factor
    return y


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b, rounded, and what is lost."""
    total = a + b
    b_part = total - a
    a_part = total - b_part
    return total, (a - a_part) + (b - b_part)


def two_product(a: Array, b: Array | float) -> tuple[Array, Array]:
    """a * b, rounded, and what is lost."""
    prod = a * b
    a_wide, b_wide = a * 134217729.0, b * 134217729.0
    a_high, b_high = a_wide - (a_wide - a), b_wide - (b_wide - b)
    a_low, b_low = a - a_high, b - b_high
    return prod, ((a_high * b_high - prod) + a_high * b_low + a_low * b_high) + a_low * b_low


def exp(x: Array, low: Array | float = 0.0) -> Array:
    """exp(x + low), where low is a correction far below x."""
    inside = (x <= 709.79) & (x >= -745.14)
    z = np.where(inside, x, 0.0)
    n = (z * _LOG2_E + _ROUND) - _ROUND
    high = z - n * LN2_HIGH
    shift = n * LN2_LOW - low
    r = high - shift
    lost = (high - r) - shift
    y = 1.0 + (r + (r * r * polynomial(_EXP, r) + lost))
    k = n.astype(np.int64)
    half = k >> 1
    found = y * _power_of_two(half) * _power_of_two(k - half)
    return np.where(inside, found, np.where(x > 0.0, np.inf, np.where(x < 0.0, 0.0, x)))


def _power_of_two(k: Array) -> Array:
    made: Array = ((k + 1023) << 52).view(np.float64)
    return made


def expm1(x: Array) -> Array:
    """exp(x) - 1."""
    near = np.abs(x) <= 0.34
    z = np.where(near, x, 0.0)
    return np.where(near, z + z * z * polynomial(_EXP, z), exp(x) - 1.0)


def log(x: Array) -> Array:
    """The natural logarithm."""
    inside = (x > 0.0) & (x < np.inf)
    k, f = _split(np.where(inside, x, 1.0))
    found = k * LN2_HIGH + _log1p_near(f, k * LN2_LOW)
    outside = np.where(x == 0.0, -np.inf, np.where(x < 0.0, np.nan, x))
    return np.where(inside, found, outside)


def _split(x: Array) -> tuple[Array, Array]:
    """x = 2^k (1 + f), f in [-0.293, 0.415]; k as a float."""
    small = x < 2.0**-1022
    bits = np.where(small, x * 2.0**54, x).view(np.int64)
    offset = bits - 0x3FE6A09E00000000
    k = (offset >> 52) - np.where(small, 54, 0)
    return k.astype(np.float64), (bits - (offset >> 52 << 52)).view(np.float64) - 1.0


def _log1p_near(f: Array, low: Array) -> Array:
    s = f / (2.0 + f)
    z, h = s * s, 0.5 * f * f
    return f - (h - (s * (h + z * polynomial(_LOG, z)) + low))


def log1p(x: Array) -> Array:
    """log(1 + x) for x from 0 to 1."""
    u = 1.0 + x
    lost = x - (u - 1.0)
    return np.where(x < 2.0**-60, x, log(u) + lost / u)


def power(x: Array, y: Array) -> Array:
    """x^y, x > 0, both finite."""
    high, low = _log_pair(x)
    guess = y * high
    rounded = (np.abs(y) > 2.0**100) | (np.abs(y) < 2.0**-100)
    prod, prod_low = two_product(y, high)
    found = np.where(rounded, 1.0 + guess, exp(prod, prod_low + y * low))
    return np.where(guess > 710.0, np.inf, np.where(guess < -746.0, 0.0, found))


def _log_pair(x: Array) -> tuple[Array, Array]:
    """log x as a sum, to about 2^-65 of its size; x > 0 finite."""
    k, f = _split(x)
    u = 2.0 + f
    u_low = f - (u - 2.0)
    s = f / u
    prod, low = two_product(s, u)
    s_low = ((f - prod) - low - s * u_low) / u
    z, z_low = two_product(s, s)
    z_tail = z_low + 2.0 * s * s_low
    third, third_low = two_product(z, 2.0 / 3.0)
    g, g_low = two_sum(third, z * z * polynomial(_LOG[:-1], z))
    g_tail = g_low + (third_low + (z_tail * (2.0 / 3.0) + z * _THIRD_LOW))
    sg, sg_low = two_product(s, g)
    total, sum_low = two_sum(2.0 * s, sg)
    tail = sum_low + (sg_low + (s * g_tail + s_low * g) + 2.0 * s_low)
    total, total_low = two_sum(k * LN2_HIGH, total)
    rest = total_low + (tail + k * LN2_LOW)
    high = total + rest
    return high, (total - high) + rest


def apart(regions: Sequence[tuple[Array, Function]], *args: Array) -> Array:
    """The value of the function whose mask has the element; nan where none has it."""
    found = np.full(args[0].shape, np.nan)
    for mask, fn in regions:
        if mask.any():
            found[mask] = fn(*(x[mask] for x in args))
    return found


def repeat(step: Callable[..., Step], state: tuple[Array, ...], most: int) -> tuple[Array, ...]:
    """State after step(n, *state), n = 1, 2, ..., of which each element stops by itself.

    Args:
        step: gives which elements go on, and the new state.
        state: arrays.
        most: steps at most.
    """
    going = np.ones(state[0].shape, bool)
    for n in range(1, most + 1):
        more, new = step(float(n), *state)
        state = tuple(np.where(going, b, a) for a, b in zip(state, new, strict=True))
        going = going & more
        if not going.any():
            break
    return state


#: stands for a denominator of 0
TINY = 1e-300
#: of a series or fraction whose value changes by less
EPSILON = 2.0**-52
STEPS = 400


def continued_fraction(first: Array, factors: Callable[[float], tuple[Array, Array]]) -> Array:
    """A continued fraction by Lentz's method.

    Args:
        first: the reciprocal of its first denominator.
        factors: gives numerator and denominator of step n.
    """

    def step(n: float, c: Array, d: Array, total: Array) -> Step:
        top, bottom = factors(n)
        d = 1.0 / not_0(bottom + top * d)
        c = not_0(bottom + top / c)
        change = c * d
        return np.abs(change - 1.0) > EPSILON, (c, d, total * change)

    return repeat(step, (np.full_like(first, 1.0 / TINY), first, first), STEPS)[2]


def not_0(x: Array) -> Array:
    """x, and next to nothing where it is less."""
    return np.where(np.abs(x) < TINY, TINY, x)
