"""Errors of float64's elementary functions against 200-bit arithmetic, and docs/numerics.md's.

    python tools/numerics_errors.py [--count 20000] [--seed 0]

Needs the package mpmath. Prints the largest error of each function in ULP and exits with 1 where
it is above what the page says. Those of float32 are checked against double by
cinfer/tests/test_math.c (-v prints them).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import graphio as tf  # noqa: E402
import graphio.onnx as tfonnx  # noqa: E402

Array = np.ndarray[Any, Any]
mpmath.mp.prec = 200


def softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


#: by the page's name: operator, exact function, ends of the arguments
FUNCTIONS: dict[str, tuple[str, Callable[[Any], Any], float, float]] = {
    "exp": ("Exp", mpmath.exp, -700, 700),
    "expm1": ("Elu", mpmath.expm1, -30, 0),
    "log": ("Log", mpmath.log, 1e-300, 1e3),
    "softplus": ("Softplus", softplus, -40, 40),
    "sigmoid": ("Sigmoid", sigmoid, -40, 40),
    "tanh": ("Tanh", mpmath.tanh, -20, 20),
    "erf": ("Erf", mpmath.erf, -6, 6),
    "sin": ("Sin", mpmath.sin, -1e6, 1e6),
    "cos": ("Cos", mpmath.cos, -1e6, 1e6),
    "tan": ("Tan", mpmath.tan, -1e6, 1e6),
    "atan": ("Atan", mpmath.atan, -50, 50),
    "asin": ("Asin", mpmath.asin, -1, 1),
    "acos": ("Acos", mpmath.acos, -1, 1),
    "sinh": ("Sinh", mpmath.sinh, -30, 30),
    "cosh": ("Cosh", mpmath.cosh, -30, 30),
    "asinh": ("Asinh", mpmath.asinh, -1e3, 1e3),
    "acosh": ("Acosh", mpmath.acosh, 1, 1e3),
    "atanh": ("Atanh", mpmath.atanh, -1, 1),
}


def documented() -> dict[str, float]:
    """The two tables of the page's section on float64."""
    text = (ROOT / "docs" / "numerics.md").read_text()
    text = text[text.index("**float64** functions") :]
    rows = [re.findall(r"[\w.]+", line) for line in text.splitlines() if line.startswith("| ")]
    names, values = rows[0] + rows[2], rows[1] + rows[3]
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def computed(op: str, x: Array) -> Array:
    """The results of the C library."""
    with tf.Graph().as_default() as graph:
        given = tf.placeholder(tf.float64, [None])
        result = tfonnx.call(op, given)
    with tf.Session("cinfer", graph=graph) as session:
        return np.asarray(session.run(result, {given: x}))


def worst(op: str, exact: Callable[[Any], Any], x: Array) -> float:
    """The largest error in ULP of the exact result."""
    largest = 0.0
    for argument, y in zip(x.tolist(), computed(op, x).tolist(), strict=True):
        right = exact(mpmath.mpf(argument))
        if not np.isfinite(y) or abs(right) < 2.0**-1022:
            continue
        unit = mpmath.ldexp(1, int(mpmath.floor(mpmath.log(abs(right), 2))) - 52)
        largest = max(largest, float(abs(mpmath.mpf(y) - right) / unit))
    return largest


def arguments_of(low: float, high: float, count: int, random: np.random.RandomState) -> Array:
    """Half of them even over the interval, half near its smaller numbers."""
    x = random.uniform(low, high, count)
    x[::2] *= 2.0 ** -random.randint(0, 12, x[::2].shape).astype(float)
    return np.clip(x, low, high)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random = np.random.RandomState(arguments.seed)
    page, wrong = documented(), 0
    for name, (op, exact, low, high) in FUNCTIONS.items():
        error = worst(op, exact, arguments_of(low, high, arguments.count, random))
        above = round(error, 2) > page[name]
        wrong += above
        print(f"{name:10} {error:.2f} ulp, the page says {page[name]}{' !' if above else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
