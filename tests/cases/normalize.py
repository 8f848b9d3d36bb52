"""Normalizations and activation functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
UNIMPLEMENTED = errors.UnimplementedError
Array = np.ndarray
SPECIAL = np.array([-np.inf, -200.0, -30.0, -3.0, -1e-6, -0.0, 0.0, 0.5, 3.0, 30.0, 200.0])
TAIL = np.array([np.inf, np.nan])


def row(x: Array) -> Array:
    """A vector without its mean and with variance 1, plainly."""
    return (x - x.mean()) / math.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)


# ---- activations ----

ERF = np.vectorize(math.erf, otypes=[float])


def sigmoid(x: Array) -> Array:
    return np.where(x > -700, 1 / (1 + np.exp(-np.maximum(x, -700))), 0.0)


def hard(x: Array, alpha: float, beta: float) -> Array:
    return np.minimum(1, np.maximum(0, alpha * x + beta))


ACTIVATIONS: list[tuple[str, dict[str, Any], Any]] = [
    ("Gelu", {}, lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2)))),
    (
        "Gelu",
        {"approximate": "tanh"},
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    ("Mish", {}, lambda x: x * np.tanh(np.log1p(np.exp(np.minimum(x, 50))))),
    ("Swish", {}, lambda x: x * sigmoid(x)),
    ("Swish", {"alpha": 1.5}, lambda x: x * sigmoid(1.5 * x)),
    ("HardSigmoid", {}, lambda x: hard(x, float(np.float32(0.2)), 0.5)),
    ("HardSigmoid", {"alpha": 0.5, "beta": 0.25}, lambda x: hard(x, 0.5, 0.25)),
    ("HardSwish", {}, lambda x: x * hard(x, 1 / 6, 0.5)),
    ("Softsign", {}, lambda x: x / (1 + np.abs(x))),
]
for op, attrs, expect in ACTIVATIONS:
    for label, x in (
        ("values", floats(3, 41, low=-6, high=6)),
        ("special", np.concatenate([SPECIAL[1:], TAIL])),
        ("empty", floats(0, 3)),
    ):
        case(
            op,
            [x],
            attrs,
            expect=expect,
            types=FLOATS,
            atol=4e-7 if op in ("Gelu", "Swish") else 3e-8,
            rtol=6e-6 if op == "Mish" else 2e-6,
            label=f"{label} {attrs or ''}",
        )
bad(
    "Gelu",
    [floats(2)],
    {"approximate": "erf"},
    error=INVALID,
    words=["Gelu 'node'", "approximate", "erf", "tanh"],
    label="approximate",
)
bad("Mish", [integers(3, low=0, high=5)], error=UNIMPLEMENTED, words=["Mish"], label="integers")


def prelu(x: Array, slope: Array) -> Array:
    return np.where(x < 0, slope * x, x)


for label, shape in (
    ("scalar", ()),
    ("channel", (3, 1, 1)),
    ("last", (5,)),
    ("all", (2, 3, 4, 5)),
):
    inputs = [floats(2, 3, 4, 5), floats(*shape, seed=1)]
    case("PRelu", inputs, expect=prelu, types=FLOATS, label=label)
case("PRelu", [floats(0, 3), floats(3)], expect=lambda x, s: x, types=FLOATS, label="empty")
case("PRelu", [TAIL, np.array([0.5])], expect=prelu, types=FLOATS, label="nan")
for kind in ("int32", "int64", "uint32", "uint64"):
    low = 0 if kind[0] == "u" else -9
    case(
        "PRelu",
        [integers(3, 4, low=low, high=9, dtype=kind), integers(4, low=0, high=5, dtype=kind)],
        expect=prelu,
        label=kind,
    )
bad("PRelu", [floats(3), floats(2, 3)], error=INVALID, words=["PRelu", "slope"], label="wide")
bad("PRelu", [floats(3), floats(2)], error=INVALID, words=["PRelu"], label="shapes")


def hardmax(x: Array, axis: int) -> Array:
    y = np.zeros_like(x)
    for at in np.ndindex(*np.delete(x.shape, axis)):
        column = list(at)
        column.insert(axis % x.ndim, slice(None))
        y[tuple(column)][int(np.argmax(x[tuple(column)]))] = 1
    return y


for axis in (-1, 0, 1):
    case(
        "Hardmax",
        [integers(3, 4, 5, low=0, high=3).astype(np.float64)],
        {"axis": axis},
        expect=lambda x, a=axis: hardmax(x, a),
        types=FLOATS,
        label=f"axis {axis}, ties",
    )
case(
    "Hardmax",
    [np.array([[1.0, np.nan, np.nan, 5.0], [-np.inf] * 4])],
    {"axis": 1},
    expect=[np.array([[0.0, 1, 0, 0], [1, 0, 0, 0]])],
    types=FLOATS,
    label="nan",
)
case("Hardmax", [floats(0, 3)], {"axis": 0}, expect=lambda x: x, types=FLOATS, label="empty")
bad("Hardmax", [floats(3)], {"axis": 1}, error=INVALID, words=["axis 1"], label="axis")

# ---- rows ----


def layer(x: Array, axis: int, *operands: Array) -> Array:
    axis %= x.ndim
    y = np.array([row(r) for r in x.reshape(math.prod(x.shape[:axis]), -1)]).reshape(x.shape)
    y = y * operands[0]
    return y + operands[1] if len(operands) > 1 else y


def statistics(x: Array, scale: Array) -> tuple[Array, ...]:
    mean = x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - mean) * inverse * scale, np.float32(mean), np.float32(inverse)


LOOSE = {"rtol": 2e-5, "atol": 2e-6, "types": FLOATS}
for n in (1, 5, 16, 100, 300, 5000):
    case(
        "LayerNormalization",
        [floats(3, n), floats(n, seed=1), floats(n, seed=2)],
        expect=lambda x, s, b: layer(x, -1, s, b),
        label=f"rows of {n}",
        **LOOSE,
    )
case(
    "LayerNormalization",
    [floats(2, 70000), floats(1, seed=1)],
    expect=lambda x, s: layer(x, -1, s),
    label="long rows",
    rtol=1e-4,
    atol=1e-5,
    types=FLOATS,
)
OPERANDS = {
    "vector": (4, 5),
    "scalar": (),
    "of the last axis": (5,),
    "of another axis": (4, 1),
    "of all": (2, 3, 4, 5),
    "of a leading axis": (3, 1, 1),
}
for label, shape in OPERANDS.items():
    inputs = [floats(2, 3, 4, 5), floats(*shape, seed=1), floats(*shape, seed=2)]
    for other, bias in (("scalar", ()), ("vector", (4, 5))):
        case(
            "LayerNormalization",
            [*inputs[:2], floats(*bias, seed=2)],
            {"axis": 2},
            expect=lambda x, s, b: layer(x, 2, s, b),
            label=f"{label}, bias {other}",
            **LOOSE,
        )
    case(
        "LayerNormalization",
        inputs,
        {"axis": 2},
        expect=lambda x, s, b: layer(x, 2, s, b),
        label=label,
        **LOOSE,
    )
    case(
        "RMSNormalization",
        inputs[:2],
        {"axis": -2},
        expect=lambda x, s: x / np.sqrt((x * x).mean((2, 3), keepdims=True) + 1e-5) * s,
        label=label,
        **LOOSE,
    )
case(
    "LayerNormalization",
    [floats(2, 3, 7) + 50, floats(7, seed=1)],
    expect=statistics,
    label="statistics",
    rtol=1e-4,
    atol=1e-4,
    types=FLOATS,
)
case(
    "LayerNormalization",
    [floats(2, 0), floats(0)],
    expect=lambda x, s: (x, *[np.full((2, 1), np.nan, np.float32)] * 2),
    label="rows of nothing",
    types=FLOATS,
)
for op in ("LayerNormalization", "RMSNormalization"):
    case(op, [floats(0, 4), floats(4)], expect=lambda x, s: x, types=FLOATS, label="no rows")
    bad(op, [floats(2, 3), floats(3)], {"axis": 2}, error=INVALID, words=["axis 2"], label="axis")
    bad(op, [floats(2, 3), floats(2)], error=INVALID, words=[op, "scale"], label="scale")
    bad(op, [floats(3), floats(2, 3)], error=INVALID, words=[op, "scale"], label="wide")
    bad(
        op,
        [floats(2, 3), floats(3).astype(np.float32)],
        error=INVALID,
        words=[op, "float32", "float64"],
        label="types",
    )
bad(
    "LayerNormalization",
    [floats(2, 3), floats(3)],
    {"stash_type": 7},
    error=UNIMPLEMENTED,
    words=["stash_type is 7"],
    label="stash_type",
)

# ---- channels ----


def grouped(x: Array, groups: int, scale: Array, bias: Array) -> Array:
    y = np.array([row(r) for r in x.reshape(x.shape[0] * groups, -1)]).reshape(x.shape)
    shape = (-1, *[1] * (x.ndim - 2))
    return y * scale.reshape(shape) + bias.reshape(shape)


IMAGES = floats(3, 4, 5, 6)
PER_CHANNEL = [floats(4, seed=1), floats(4, seed=2)]
for groups in (1, 2, 4):
    case(
        "GroupNormalization",
        [IMAGES, *PER_CHANNEL],
        {"num_groups": groups},
        expect=lambda x, s, b, g=groups: grouped(x, g, s, b),
        label=f"{groups} groups",
        **LOOSE,
    )
for label, x in (("images", IMAGES), ("lines", floats(2, 4, 33))):
    case(
        "InstanceNormalization",
        [x, *PER_CHANNEL],
        expect=lambda x, s, b: grouped(x, 4, s, b),
        label=label,
        **LOOSE,
    )
NOTHING = [floats(0, 4, 3), *PER_CHANNEL]
case("InstanceNormalization", NOTHING, expect=lambda x, s, b: x, types=FLOATS, label="empty")
case(
    "GroupNormalization",
    NOTHING,
    {"num_groups": 2},
    expect=lambda x, s, b: x,
    types=FLOATS,
    label="empty",
)
for groups in (0, -1, 3, 8):
    bad(
        "GroupNormalization",
        [IMAGES, *PER_CHANNEL],
        {"num_groups": groups},
        error=INVALID,
        words=[f"num_groups is {groups}", "4 channels"],
        label=f"{groups} groups",
    )
bad(
    "InstanceNormalization",
    [IMAGES, floats(4), floats(3)],
    error=INVALID,
    words=["input 2", "4 channels"],
    label="bias",
)
bad("InstanceNormalization", [floats(4)] * 3, error=INVALID, words=["rank 2"], label="rank")

MOMENTS = [floats(4, seed=3), floats(4, seed=4, low=0.5, high=2)]


def channels(v: Array, x: Array) -> Array:
    return v.reshape(-1, *[1] * (x.ndim - 2))


def batch(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Array:
    s, b, m, v = (channels(p, x) for p in (scale, bias, mean, variance))
    return (x - m) / np.sqrt(v + 1e-5) * s + b


def train(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> tuple[Array, ...]:
    axes = (0, *range(2, x.ndim))
    now = x.mean(axes), x.var(axes)
    y = batch(x, scale, bias, *now)
    return y, mean * 0.9 + now[0] * 0.1, variance * 0.9 + now[1] * 0.1


for label, x in (
    ("images", IMAGES),
    ("rows", floats(7, 4)),
    ("large planes", floats(1, 4, 5000)),
    ("one", floats(1, 4, 1, 1)),
):
    inputs = [x, *PER_CHANNEL, *MOMENTS]
    case("BatchNormalization", inputs, expect=batch, label=label, **LOOSE)
    case(
        "BatchNormalization",
        inputs,
        {"training_mode": 1},
        expect=train,
        label=f"{label}, training",
        rtol=1e-4 if label == "large planes" else 2e-5,
        atol=2e-5,
        types=FLOATS,
    )
case(
    "BatchNormalization",
    [floats(0, 4, 2), *PER_CHANNEL, *MOMENTS],
    expect=lambda x, *_: x,
    types=FLOATS,
    label="empty",
)
case(
    "BatchNormalization",
    [floats(0, 4, 2), *PER_CHANNEL, *MOMENTS],
    {"training_mode": 1},
    expect=lambda x, *_: (x, np.full(4, np.nan), np.full(4, np.nan)),
    types=FLOATS,
    label="empty, training",
)
bad(
    "BatchNormalization",
    [IMAGES, *PER_CHANNEL, MOMENTS[0], floats(3)],
    error=INVALID,
    words=["input 4", "4 channels"],
    label="variance",
)
bad(
    "BatchNormalization",
    [IMAGES, *PER_CHANNEL, *MOMENTS],
    outputs=3,
    error=INVALID,
    words=["3 outputs", "training_mode"],
    label="outputs",
)

# ---- LpNormalization, LRN ----

for p in (1, 2):
    for axis in (-1, 0, 1):
        case(
            "LpNormalization",
            [floats(4, 5, 6)],
            {"axis": axis, "p": p},
            expect=lambda x, p=p, a=axis: x / np.linalg.norm(x, p, a, keepdims=True),
            label=f"p {p} axis {axis}",
            **LOOSE,
        )
    case(
        "LpNormalization",
        [np.array([[0.0, -0.0], [-3.0, 4.0]])],
        {"p": p},
        expect=[np.array([[0.0, 0.0], [-3.0, 4.0]]) / (7 if p == 1 else 5)],
        types=FLOATS,
        label=f"p {p} of zeros",
    )
case("LpNormalization", [floats(3, 0)], expect=lambda x: x, types=FLOATS, label="empty")
for p in (0, 3, -1):
    bad("LpNormalization", [floats(3)], {"p": p}, error=INVALID, words=[f"is {p}"], label=f"p {p}")


def lrn(x: Array, size: int, alpha: float, beta: float, bias: float) -> Array:
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        first, end = max(0, c - (size - 1) // 2), min(x.shape[1], c + math.ceil((size - 1) / 2) + 1)
        total = (x[:, first:end] ** 2).sum(1)
        y[:, c] = x[:, c] / (bias + alpha / size * total) ** beta
    return y


for size, beta, x in (
    (3, 0.75, IMAGES),
    (4, 0.5, IMAGES),
    (1, 0.75, floats(2, 7)),
    (99, 0.25, floats(2, 7, 200)),
):
    case(
        "LRN",
        [x],
        {"size": size, "alpha": 0.25, "beta": beta, "bias": 2.0},
        expect=lambda x, n=size, b=beta: lrn(x, n, 0.25, b, 2.0),
        label=f"size {size}",
        **LOOSE,
    )
case("LRN", [floats(2, 0, 3)], {"size": 3}, expect=lambda x: x, types=FLOATS, label="empty")
case(
    "LRN",
    [IMAGES],
    {"size": 2**62, "bias": 2.0},
    expect=lambda x: lrn(x, 21, 1e-4 * 21 / 2**62, 0.75, 2.0),
    types=FLOATS,
    label="huge size",
)
for size in (0, -1, -(2**63)):
    bad("LRN", [IMAGES], {"size": size}, error=INVALID, words=[f"size is {size}"], label=str(size))
bad("LRN", [floats(3)], {"size": 3}, error=INVALID, words=["rank 2"], label="rank")
