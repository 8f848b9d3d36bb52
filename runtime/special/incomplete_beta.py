"""The incomplete beta function: the twin of `cinfer/src/math/incomplete_beta.c`."""

from __future__ import annotations

import numpy as np

from graphio.runtime.special import gamma_parts as parts
from graphio.runtime.special.exact import Array, apart, continued_fraction, exp, not_0

_LARGE = 30.0


def betainc(a: Array, b: Array, x: Array) -> Array:
    """The share of the beta distribution below x."""
    inside = (a > 0.0) & (b > 0.0) & (x > 0.0) & (x < 1.0) & (a < np.inf) & (b < np.inf)
    known = (a > 0.0) & (b > 0.0) & ((x == 0.0) | (x == 1.0))
    return apart([(inside, _share), (known, lambda a, b, x: x + 0.0)], a, b, x)


def _share(a: Array, b: Array, x: Array) -> Array:
    y, both = 1.0 - x, a + b
    far = parts.deviance(a, both * x) + parts.deviance(b, both * y)
    kurt = (b - a) / np.sqrt(a) / np.sqrt(b)
    scale = np.where(np.abs(kurt) > 1.0, np.abs(kurt), 1.0)
    eta = np.sqrt(2.0 * far / both)
    below = a * y >= b * x
    t = np.where(below, -eta, eta) * scale
    uniform = (a >= _LARGE) & (b >= _LARGE) & (np.abs(t) <= 0.5)
    # the fraction converges fast below the mean; above it 1 - the other share loses digits where
    # this one is small, which a small b makes it
    straight = (x < (a + 1.0) / (both + 2.0)) | ((b < 1.0) & (x <= 0.999))
    return apart(
        [
            (uniform, _uniform),
            (~uniform & straight, lambda a, b, x, y, *rest: _fraction(a, b, x, y, rest[0])),
            (
                ~uniform & ~straight,
                lambda a, b, x, y, *rest: 1.0 - _fraction(b, a, y, x, rest[0]),
            ),
        ],
        a,
        b,
        x,
        y,
        far,
        kurt,
        scale,
        t,
    )


def _fraction(a: Array, b: Array, x: Array, y: Array, far: Array) -> Array:
    """The contraction of the fraction 8.17.22 of the Digital Library of Mathematical Functions."""
    both = a + b
    errors = (parts.stirling_error(both) - parts.stirling_error(a)) - parts.stirling_error(b)
    scale = np.sqrt(a) * (np.sqrt(b) / np.sqrt(both)) * exp(errors - far) / parts.ROOT_2PI
    gap = a * y - b * x + 1.0

    def factors(n: float) -> tuple[Array, Array]:
        under = a + (2.0 * n - 1.0)
        turn = n * ((b - n) * x)
        top = ((a + (n - 1.0)) / under) * ((both + (n - 1.0)) * x / under) * turn
        bottom = (n + turn / under) + (a + n) / (a + (2.0 * n + 1.0)) * (gap + n * (2.0 - x))
        return top, bottom

    total = continued_fraction(1.0 / not_0(a / (a + 1.0) * gap), factors)
    share = np.where(scale > 0.0, scale * total, 0.0)
    return np.where(share > 1.0, 1.0, share)  # by rounding, where a is next to 0


def _uniform(
    a: Array, b: Array, x: Array, y: Array, far: Array, kurt: Array, scale: Array, t: Array
) -> Array:
    """For large a and b and x near the mean."""
    both = a + b
    total = parts.uniform_tail(t, scale * scale / both, kurt / scale, 1.0 / (scale * scale))[0]
    rest = total * scale / (parts.ROOT_2PI * np.sqrt(both))
    half = 0.5 * parts.erfcx(np.sqrt(far))
    low = t <= 0.0
    share = exp(-far) * np.where(low, half - rest, half + rest)
    made: Array = np.where(low, share, 1.0 - share)
    return made
