"""Optimizer steps, by the formulas of their papers."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.support import errors

W, A, G = floats(4, 3), floats(4, 3, seed=1), floats(4, 3, seed=2)
RATE, MOMENTUM = np.float64(0.125), np.float64(0.75)


def adam(w, m, v, p1, p2, rate, b1, b2, epsilon, g):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g * g
    return w - rate * np.sqrt(1 - p2) / (1 - p1) * m / (np.sqrt(v) + epsilon), m, v


case(
    "GradientDescentStep",
    [W, RATE, G],
    domain="graphio",
    expect=lambda w, r, g: w - r * g,
    types=FLOATS,
    atol=1e-6,
)
case(
    "MomentumStep",
    [W, A, RATE, G, MOMENTUM],
    domain="graphio",
    types=FLOATS,
    atol=1e-6,
    expect=lambda w, a, r, g, m: (w - r * (m * a + g), m * a + g),
)
case(
    "NesterovMomentumStep",
    [W, A, RATE, G, MOMENTUM],
    domain="graphio",
    types=FLOATS,
    atol=1e-6,
    expect=lambda w, a, r, g, m: (w - r * (g + m * (m * a + g)), m * a + g),
)
SCALARS = [np.float64(v) for v in (0.5, 0.25, 0.125, 0.875, 0.9375, 2.0**-20)]
case(
    "AdamStep",
    [W, A, A * A, *SCALARS, G],
    domain="graphio",
    expect=adam,
    types=FLOATS,
    atol=1e-6,
    rtol=1e-5,
)
case(
    "AdamStep",
    [W[0, 0], A[0, 0], A[0, 0] ** 2, *SCALARS, G[0, 0]],
    domain="graphio",
    expect=adam,
    types=FLOATS,
    atol=1e-6,
    rtol=1e-5,
    label="scalar",
)
bad(
    "MomentumStep",
    [W, A.astype("float32"), RATE, G, MOMENTUM],
    domain="graphio",
    outputs=2,
    error=errors.InvalidArgumentError,
    words=["MomentumStep 'node'"],
    label="dtypes",
)
for label, inputs in (
    ("gradient of fewer axes", [W, A, RATE, G[0], MOMENTUM]),
    ("accumulator of more axes", [W, A[np.newaxis], RATE, G, MOMENTUM]),
    ("two rates", [W, A, np.zeros(2, W.dtype), G, MOMENTUM]),
):
    bad(
        "MomentumStep",
        inputs,
        domain="graphio",
        outputs=2,
        error=errors.InvalidArgumentError,
        words=["MomentumStep 'node'", "expected"],
        label=label,
    )
