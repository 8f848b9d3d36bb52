"""Special functions against scipy's, and at the ends of their ranges as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from cases import FLOATS, Array, bad, case
from graphio.support import errors

NAN, INF = np.nan, np.inf
_DRAW = np.random.default_rng(11)


def _between(low: float, high: float, n: int = 60) -> Array:
    """Numbers that float32 has, with logarithms at random."""
    drawn = np.exp(_DRAW.uniform(np.log(low), np.log(high), n))
    return drawn.astype(np.float32).astype(np.float64)


def _row(op: str, function: Callable[..., Any], inputs: list[Any], rtol: float, label: str) -> None:
    for kind, most in (("float32", 2e-6), ("float64", rtol)):
        case(
            op, inputs, domain="graphio", expect=function, types=[kind], rtol=most, atol=1e-37,
            label=label,
        )  # fmt: skip


def _ends(op: str, *rows: tuple[float, ...]) -> None:
    """Rows of arguments, and the value there."""
    *inputs, values = (np.array(column, np.float64) for column in zip(*rows, strict=True))
    case(op, inputs, domain="graphio", expect=[values], types=FLOATS, label="ends")


_SHAPE, _LARGE = _between(1e-3, 60.0), _between(30.0, 1e6)
_AWAY, _NEAR = _between(0.2, 5.0), np.exp(_DRAW.normal(0.0, 1.5, 60) / np.sqrt(_LARGE))
_LARGE_X = (_LARGE * _NEAR).astype(np.float32).astype(np.float64)
for _op, _function in (("Igamma", special.gammainc), ("Igammac", special.gammaincc)):
    _row(_op, _function, [_SHAPE, _SHAPE * _AWAY], 2e-13, "moderate")
    _row(_op, _function, [_LARGE, _LARGE_X], 2e-12, "large")
    _row(_op, _function, [_SHAPE[:6].reshape(3, 1, 2), _AWAY[:4].reshape(4, 1)], 2e-13, "broadcast")
    _row(_op, _function, [np.float64(2.5), _AWAY], 2e-13, "a scalar")
    _row(_op, _function, [np.zeros((0, 3)), np.ones(3)], 0.0, "empty")
_row("Igammac", special.gammaincc, [_between(1e-30, 1e-3), _between(1e-3, 1.1)], 2e-13, "small")
_row("Igamma", special.gammainc, [_between(1e-30, 1e-3), _between(1e-30, 1.1)], 2e-13, "small")
_GAMMA_ENDS = (
    (0, 1), (1, 0), (-1, 1), (1, -1), (0, 0), (-1, 0), (NAN, 0), (NAN, 1), (1, NAN), (INF, 1),
    (1, INF), (INF, INF), (0, INF), (INF, 0), (INF, -1), (-INF, 1), (1, -INF), (2, -0.0),
)  # fmt: skip
for _op, _values in (
    ("Igamma", "n 0 n n 0 0 0 n n 0 1 0 n 0 n n n 0"),
    ("Igammac", "n 1 n n n n n n n 1 0 0 n 1 n n n 1"),
    ("IgammaGradA", "n 0 n n 0 0 0 n n 0 0 0 n 0 n n n 0"),
):
    _found = [NAN if v == "n" else float(v) for v in _values.split()]
    _ends(_op, *((*ends, value) for ends, value in zip(_GAMMA_ENDS, _found, strict=True)))


def _slope(a: Array, x: Array) -> Array:
    """The derivative of gammainc by a: a central difference of five points."""
    step = 1e-3 * a
    ends = (special.gammainc(a + k * step, x) for k in (-2, -1, 1, 2))
    first, second, third, fourth = ends
    made: Array = (first - 8.0 * second + 8.0 * third - fourth) / (12.0 * step)
    return made


for _label, _inputs in (
    ("below", [_between(0.5, 25.0), _between(0.5, 5.0)]),
    ("above", [_between(0.5, 25.0), _between(5.0, 30.0)]),
    ("large", [_LARGE[:20] ** 0.5 + 30.0, _LARGE[:20] ** 0.5 + 28.0]),
):
    for _kind in FLOATS:
        case(
            "IgammaGradA", _inputs, domain="graphio", expect=_slope, types=[_kind], rtol=2e-6,
            atol=1e-10, label=_label,
        )  # fmt: skip

_A, _B, _PART = _between(1e-2, 50.0), _between(1e-2, 50.0), _DRAW.uniform(0.0, 1.0, 60)
_row("Betainc", special.betainc, [_A, _B, np.float64(np.float32(_PART))], 3e-13, "moderate")
_MEAN = _LARGE / (_LARGE + 500.0)
_AT = np.float64(np.float32(_MEAN + _DRAW.normal(0.0, 0.3, 60) * _MEAN * (1 - _MEAN)))
_row("Betainc", special.betainc, [_LARGE, np.float64(500.0), _AT], 3e-12, "large")
_row("Betainc", special.betainc, [_A[:3].reshape(3, 1), _B[:4], np.float64(0.25)], 3e-13, "spread")
_row("Betainc", special.betainc, [_A, _between(1e-30, 1e-3), np.float64(0.75)], 3e-13, "small b")
_ends(
    "Betainc",
    (1, 1, 0, 0), (1, 1, 1, 1), (1, 1, -1, NAN), (1, 1, 2, NAN), (0, 1, 0.5, NAN),
    (1, 0, 0.5, NAN), (0, 1, 0, NAN), (1, 0, 1, NAN), (-1, 1, 0.5, NAN), (NAN, 1, 0.5, NAN),
    (1, NAN, 0.5, NAN), (1, 1, NAN, NAN), (INF, 1, 0.5, NAN), (1, INF, 0.5, NAN), (INF, 1, 0, 0),
    (INF, 1, 1, 1), (1, INF, 0, 0), (1, 1, INF, NAN), (1, 1, -INF, NAN),
)  # fmt: skip

_row("Zeta", special.zeta, [1.0 + _between(1e-3, 30.0), _between(1e-3, 1e3)], 1e-14, "positive")
_WHOLE, _BELOW = np.float64(_DRAW.integers(2, 9, 60)), -_between(0.01, 9.0)


def _mirrored(x: Array, q: Array) -> Array:
    """Zeta of a negative q from that of q + 12, which is positive."""
    terms = [1.0 / (q + k) ** x for k in range(12)]
    made: Array = special.zeta(x, q + 12.0) + np.sum(terms[::-1], axis=0)
    return made


_row("Zeta", _mirrored, [_WHOLE, _BELOW], 1e-12, "negative")
_ends(
    "Zeta",
    (1, 1, INF), (0.5, 1, NAN), (-1, 1, NAN), (2, 0, INF), (3, 0, NAN), (2.5, 0, NAN),
    (2, -1, INF), (3, -1, NAN), (2.5, -0.5, NAN), (2, INF, 0), (INF, 2, 0), (INF, 1, 1),
    (INF, 0.5, INF), (NAN, 1, NAN), (2, NAN, NAN), (2, -INF, INF), (1, NAN, INF), (1, -1, INF),
    (0.5, NAN, NAN), (INF, 0, INF), (INF, -0.5, INF), (2, -1e9, INF), (1e30, 2, 0),
)  # fmt: skip

_ORDER = np.float64(_DRAW.integers(0, 12, 60))
_row("Polygamma", lambda n, x: special.polygamma(np.int64(n), x),
     [_ORDER, _between(0.05, 50.0)], 3e-14, "positive")  # fmt: skip
_row("Polygamma", lambda n, x: special.digamma(x), [np.float64(0.0), _BELOW], 2e-12, "digamma")
_ends(
    "Polygamma",
    (0, 0, NAN), (0, -1, NAN), (0, INF, INF), (0, -INF, NAN), (0, NAN, NAN), (1, 0, INF),
    (1, -1, INF), (2, -1, NAN), (0.5, 1, NAN), (-1, 1, NAN), (1, INF, 0), (2, INF, 0),
    (NAN, 1, NAN), (INF, 1, INF), (1, NAN, NAN), (1, -INF, INF), (200, 1, -INF), (3, 0, INF),
)  # fmt: skip

_SIGNED = np.concatenate([_between(1e-6, 80.0), -_between(1e-6, 80.0), [24.9, 25.0, 25.1, 0.0]])
_EXPONENTIAL = np.concatenate([_SIGNED, [1e4, -1e6, 1e30]])
for _op, _function, _inputs, _end in (
    ("BesselI0", special.i0, _SIGNED, (1.0, NAN, NAN)),
    ("BesselI0e", special.i0e, _EXPONENTIAL, (1.0, 0.0, 0.0)),
    ("BesselI1", special.i1, _SIGNED, (0.0, NAN, NAN)),
    ("BesselI1e", special.i1e, _EXPONENTIAL, (0.0, 0.0, 0.0)),
):
    _row(_op, _function, [_inputs], 5e-15, "")
    _ends(_op, *zip((0.0, INF, -INF), _end, strict=True), (NAN, NAN))

_NEXT = np.array([0.0, -0.0, 0.0, 1.0, -1.0, 1.0, INF, -INF, 1.0, INF, NAN, 1.0, 2.0, 5e-324])
_TOWARDS = np.array([1.0, -1.0, 0.0, 2.0, INF, -INF, 1.0, 0.0, 1.0, INF, 1.0, NAN, 1.0, 0.0])
for _kind in FLOATS:
    _pair = [_NEXT.astype(_kind), _TOWARDS.astype(_kind)]
    case("NextAfter", _pair, domain="graphio", expect=[np.nextafter(*_pair)], rtol=0.0, label=_kind)

for _op, _inputs, _error, _words in (
    ("Igamma", [np.ones(2), np.ones(3)], errors.InvalidArgumentError, ["Incompatible shapes"]),
    ("Betainc", [np.ones(2), np.ones(2), np.ones(3)], errors.InvalidArgumentError,
     ["Incompatible shapes"]),
    ("Zeta", [np.ones(2), np.ones(2, np.float32)], errors.InvalidArgumentError, ["float32"]),
    ("Polygamma", [np.ones(2, np.int64)] * 2, errors.UnimplementedError, ["int64", "floats"]),
    ("NextAfter", [np.ones(2, np.float16)] * 2, errors.UnimplementedError, ["float16"]),
):  # fmt: skip
    bad(_op, _inputs, domain="graphio", error=_error, words=_words, label="refused")
