"""ONNX's pooling, channels first."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray


def windows(x: Array, rule: dict[str, Any]) -> tuple[Array, dict[Any, tuple[list[Any], int]]]:
    """For each output position the positions of its elements and their number with padding."""
    k = rule["kernel_shape"]
    n = len(k)
    s, d = rule.get("strides") or [1] * n, rule.get("dilations") or [1] * n
    pads = rule.get("pads") or [0] * 2 * n
    out = []
    for i, size in enumerate(x.shape[2:]):
        remaining = size + pads[i] + pads[i + n] - (k[i] - 1) * d[i] - 1
        count = int((np.ceil if rule.get("ceil_mode") else np.floor)(remaining / s[i])) + 1
        if rule.get("ceil_mode") and (count - 1) * s[i] >= size + pads[i]:
            count -= 1
        out.append(count)
    found = {}
    for at in itertools.product(*map(range, out)):
        inside, padded = [], 0
        for tap in itertools.product(*map(range, k)):
            position = [
                a * b - p + t * e for a, b, p, t, e in zip(at, s, pads, tap, d, strict=False)
            ]
            if all(v < m + p for v, m, p in zip(position, x.shape[2:], pads[n:], strict=True)):
                padded += 1
            if all(0 <= v < m for v, m in zip(position, x.shape[2:], strict=True)):
                inside.append(tuple(position))
        found[at] = (inside, padded)
    return np.zeros((*x.shape[:2], *out)), found


def pooled(x: Array, rule: dict[str, Any], compute: Any) -> Array:
    y, positions = windows(x, rule)
    for nc in np.ndindex(*x.shape[:2]):
        for at, (inside, padded) in positions.items():
            y[nc + at] = compute(np.array([x[nc + p] for p in inside], np.float64), padded)
    return y


def largest(x: Array, rule: dict[str, Any]) -> tuple[Array, Array]:
    y, positions = windows(x, rule)
    indices = np.zeros(y.shape, np.int64)
    for nc in np.ndindex(*x.shape[:2]):
        for at, (inside, _) in positions.items():
            values = np.array([x[nc + p] for p in inside])
            best = nc + inside[int(np.argmax(values))]
            y[nc + at] = x[best]
            indices[nc + at] = np.ravel_multi_index(best, x.shape)
            if rule.get("storage_order"):
                plane = np.ravel_multi_index(nc, x.shape[:2]) * int(np.prod(x.shape[2:]))
                indices[nc + at] = plane + np.ravel_multi_index(best[2:], x.shape[2:], order="F")
    return y.astype(x.dtype), indices


X1, X2, X3 = floats(2, 1, 9), floats(2, 3, 7, 6, seed=1), floats(1, 2, 4, 5, 6, seed=2)
TIES = integers(2, 2, 6, 5, low=-3, high=3)
RULES: list[tuple[str, Array, dict[str, Any]]] = [
    ("1-d", X1, {"kernel_shape": [3], "strides": [2]}),
    ("2-d", X2, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ("ceil", X2, {"kernel_shape": [2, 3], "strides": [3, 2], "ceil_mode": 1}),
    ("dilated", X2, {"kernel_shape": [2, 2], "dilations": [3, 2], "pads": [1, 1, 1, 1]}),
    ("3-d", X3, {"kernel_shape": [2, 3, 2], "strides": [1, 2, 2], "pads": [1, 0, 0, 0, 1, 1]}),
    ("no images", floats(0, 2, 4, 4), {"kernel_shape": [2, 2]}),
]
for name, X, rule in RULES:
    case("MaxPool", [X], rule, expect=lambda x, r=rule: largest(x, r)[0], types=FLOATS, label=name)
    case("MaxPool", [X], rule, expect=lambda x, r=rule: largest(x, r), types=FLOATS, label=name)
    for padding in (0, 1):
        case(
            "AveragePool",
            [X],
            {**rule, "count_include_pad": padding},
            expect=lambda x, r=rule, p=padding: pooled(
                x, r, lambda v, n: v.sum() / (n if p else len(v))
            ),
            types=FLOATS,
            atol=1e-7,
            label=f"{name} {padding}",
        )
    for p in (1, 2, 3):
        case(
            "LpPool",
            [X],
            {**rule, "p": p},
            expect=lambda x, r=rule, p=p: pooled(
                x, r, lambda v, n: (np.abs(v) ** p).sum() ** (1 / p)
            ),
            types=FLOATS,
            label=f"{name} {p}",
        )
for kind in ("int8", "uint8"):
    rule = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "storage_order": 1}
    X = TIES.astype(kind)
    case("MaxPool", [X], rule, expect=lambda x, r=rule: largest(x, r), label=f"ties {kind}")
case(
    "MaxPool",
    [np.array([[[1.0, np.nan, 3.0, 2.0, -np.inf]]])],
    {"kernel_shape": [2]},
    expect=(np.array([[[np.nan, np.nan, 3.0, 2.0]]]), np.array([[[1, 1, 2, 3]]])),
    types=FLOATS,
    label="NaN",
)
for auto, head in (("SAME_UPPER", 0), ("SAME_LOWER", 1), ("VALID", None)):
    pads = [0] * 4 if head is None else [head, head, 1 - head, 1 - head]
    same = {"kernel_shape": [2, 2], "pads": pads}
    case(
        "MaxPool",
        [X2],
        {"kernel_shape": [2, 2], "auto_pad": auto},
        expect=lambda x, r=same: largest(x, r)[0],
        types=FLOATS,
        label=auto,
    )
for X in (X1, X2, X3):
    axes = tuple(range(2, X.ndim))
    case(
        "GlobalAveragePool",
        [X],
        expect=lambda x, a=axes: x.mean(a, keepdims=True),
        types=FLOATS,
        atol=1e-7,
    )
    case("GlobalMaxPool", [X], expect=lambda x, a=axes: x.max(a, keepdims=True), types=FLOATS)
    for p in (1, 2, 3):
        case(
            "GlobalLpPool",
            [X],
            {"p": p},
            expect=lambda x, a=axes, p=p: (np.abs(x) ** p).sum(a, keepdims=True) ** (1 / p),
            types=FLOATS,
            label=f"{X.ndim} {p}",
        )
SMALL, POSITIONS = np.array([[[[1.0, 2.0], [3.0, 4.0]]]]), np.array([[[[5, 7], [13, 15]]]])
UNPOOL = {"kernel_shape": [2, 2], "strides": [2, 2]}
WIDE = np.zeros((1, 1, 5, 6))
WIDE[0, 0, [1, 1, 3, 3], [1, 3, 1, 3]] = [1, 2, 3, 4]
case("MaxUnpool", [SMALL, POSITIONS], UNPOOL, expect=(WIDE[..., :4, :4],), types=FLOATS)
case(
    "MaxUnpool",
    [SMALL, POSITIONS, np.array([1, 1, 5, 6])],
    UNPOOL,
    expect=(WIDE,),
    types=FLOATS,
    label="wider",
)
case(
    "AveragePoolGrad",
    [np.array([1, 1, 3]), np.array([[[2.0, 4.0]]])],
    {"kernel_shape": [2], "divisor": "window"},
    domain="graphio",
    expect=(np.array([[[1.0, 3.0, 2.0]]]),),
    types=FLOATS,
)

for label, x, attrs, words in (
    ("no window", X2, {"kernel_shape": [0, 1]}, ["kernel_shape"]),
    ("stride", X2, {"kernel_shape": [2, 2], "strides": [0, 1]}, ["strides"]),
    ("pads", X2, {"kernel_shape": [2, 2], "pads": [-1, 0, 0, 0]}, ["pads"]),
    ("list", X2, {"kernel_shape": [2, 2], "dilations": [1, 1, 1]}, ["dilations"]),
    ("large", X2, {"kernel_shape": [9, 2]}, ["window"]),
    ("rank", floats(2, 3), {"kernel_shape": [2]}, ["expected n, c"]),
    ("auto", X2, {"kernel_shape": [2, 2], "auto_pad": "MOST"}, ["auto_pad"]),
):
    for op in ("MaxPool", "AveragePool", "LpPool"):
        bad(op, [x], attrs, error=INVALID, words=words, label=label)
bad("LpPool", [X2], {"kernel_shape": [2, 2], "p": 0}, error=INVALID, words=["p is 0"], label="p")
bad(
    "MaxUnpool",
    [SMALL, POSITIONS + 1],
    UNPOOL,
    error=INVALID,
    words=["outside [0, 16)"],
    label="at",
)
