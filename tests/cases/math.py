"""Elementwise operators."""

from __future__ import annotations

import math

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case, floats, integers
from graphio.support import errors

erf = np.vectorize(math.erf, otypes=[np.float64])
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])

# (operator, numpy's function, inputs)
POSITIVE = floats(3, 5, low=0.1, high=4.0)
UNARY = (
    ("Exp", np.exp, floats(3, 5)),
    ("Log", np.log, POSITIVE),
    ("Sqrt", np.sqrt, POSITIVE),
    ("Reciprocal", np.reciprocal, POSITIVE),
    ("Floor", np.floor, floats(3, 5)),
    ("Ceil", np.ceil, floats(3, 5)),
    ("Sin", np.sin, floats(3, 5)),
    ("Cos", np.cos, floats(3, 5)),
    ("Atan", np.arctan, floats(3, 5)),
    ("Tanh", np.tanh, floats(3, 5)),
    ("Erf", erf, floats(40, low=-5, high=5)),
    ("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), floats(3, 5, low=-9, high=9)),
    ("Softplus", lambda x: np.log1p(np.exp(x)), floats(3, 5, low=-9, high=9)),
)
for op, function, x in UNARY:
    case(op, [x], expect=function, types=FLOATS, rtol=None, atol=1e-7)
    case(op, [np.float64(0.5)], expect=function, types=FLOATS, label="scalar", atol=1e-7)
    case(op, [np.zeros((0, 3))], expect=function, types=FLOATS, label="empty")

for op in ("Exp", "Sqrt", "Tanh", "Floor", "Ceil", "Sin"):
    function = {o: f for o, f, _ in UNARY}[op]
    case(op, [SPECIAL], expect=function, types=FLOATS, label="special")
case(
    "Log",
    [np.array([0.0, 1.0, np.inf, -1.0, np.nan])],
    expect=np.log,
    types=FLOATS,
    label="special",
)
case(
    "Erf",
    [SPECIAL],
    expect=[[np.nan, 1, -1, 0, 0, math.erf(1), -math.erf(1)]],
    types=FLOATS,
    label="special",
)
case(
    "Sigmoid",
    [np.array([-1000.0, 1000.0, np.inf, -np.inf, np.nan])],
    expect=[[0, 1, 1, 0, np.nan]],
    dtype="float64",
    label="extremes",
)
case(
    "Softplus",
    [np.array([-1000.0, 1000.0, np.inf, -np.inf])],
    expect=[[0, 1000, np.inf, 0]],
    dtype="float64",
    label="extremes",
)

TIES = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4999, 2.0, np.nan, np.inf])
case("Round", [TIES], expect=np.rint, types=FLOATS, label="half to even")
case("Abs", [floats(3, 5)], expect=np.abs, types=FLOATS)
case("Abs", [np.array([[-3, 4], [0, -7]])], expect=np.abs, label="int64")
case("Neg", [floats(3, 5)], expect=np.negative, types=FLOATS)
for kind in ("int8", "int16", "int32", "int64"):
    case("Neg", [np.array([1, -2, 0, 100], kind)], expect=np.negative, label=kind)
    case("Abs", [np.array([1, -2, 0, -100], kind)], expect=np.abs, label=kind)
    case("Sign", [np.array([1, -2, 0], kind)], expect=np.sign, label=kind)
case("Sign", [np.array([2.0, -0.5, 0.0, np.nan, -np.inf])], expect=np.sign, types=FLOATS)
case("IsNaN", [SPECIAL], expect=np.isnan, types=FLOATS, dtype="bool")
case("IsInf", [SPECIAL], expect=np.isinf, types=FLOATS, dtype="bool")
case(
    "IsInf",
    [SPECIAL],
    {"detect_negative": 0, "detect_positive": 1},
    expect=np.isposinf,
    types=FLOATS,
    dtype="bool",
    label="positive",
)
case(
    "IsInf",
    [SPECIAL],
    {"detect_negative": 1, "detect_positive": 0},
    expect=np.isneginf,
    types=FLOATS,
    dtype="bool",
    label="negative",
)
case("Not", [np.array([True, False])], expect=np.logical_not)
case(
    "Relu",
    [np.append(floats(3, 4).ravel(), SPECIAL)],
    expect=lambda x: np.maximum(x, 0),
    types=FLOATS,
)
case(
    "Elu",
    [floats(3, 4)],
    {"alpha": 1.5},
    expect=lambda x: np.where(x > 0, x, 1.5 * np.expm1(x)),
    types=FLOATS,
    atol=1e-7,
)
case(
    "LeakyRelu",
    [floats(3, 4)],
    {"alpha": 0.25},
    expect=lambda x: np.where(x < 0, 0.25 * x, x),
    types=FLOATS,
)
case("LeakyRelu", [floats(3, 4)], expect=lambda x: np.where(x < 0, np.float32(0.01) * x, x),
     types=FLOATS, label="default")  # fmt: skip
A, G = float(np.float32(1.67326319217681884765625)), float(np.float32(1.05070102214813232421875))
case(
    "Selu",
    [floats(3, 4)],
    {"alpha": A, "gamma": G},
    expect=lambda x: G * np.where(x > 0, x, A * np.expm1(x)),
    types=FLOATS,
    atol=1e-7,
)

# ---- two operands ----

BROADCASTS = (
    ("same", (3, 4), (3, 4)),
    ("scalar", (3, 4), ()),
    ("row", (3, 4), (4,)),
    ("column", (3, 4), (3, 1)),
    ("both", (3, 1, 4), (5, 1)),
    ("empty", (0, 4), (4,)),
    ("rank 6", (2, 1, 3, 1, 2, 1), (3, 1, 2, 1, 3)),
)
ARITHMETIC = (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide))
for op, function in ARITHMETIC:
    for label, a, b in BROADCASTS:
        case(
            op,
            [floats(*a), floats(*b, seed=1, low=0.5)],
            expect=function,
            types=FLOATS,
            label=label,
        )
    if op != "Div":
        for kind in ALL_NUMBERS:
            x, y = np.array([1, 2, 100], kind), np.array([3, 1, 50], kind)
            case(op, [x, y], expect=function, label=f"{kind}, wraps")
MIN32 = np.iinfo(np.int32).min
case(
    "Div",
    [np.array([7, -7, 7, -7, 5, MIN32], "int32"), np.array([2, 2, -2, -2, 0, -1], "int32")],
    expect=[np.array([3, -3, -3, 3, 0, MIN32], "int32")],
    label="integers truncate",
)
case(
    "Div",
    [np.array([7, 200], "uint8"), np.array([2, 0], "uint8")],
    expect=[np.array([3, 0], "uint8")],
    label="uint8",
)
case(
    "Div",
    [np.array([1.0, -1.0, 0.0]), np.zeros(3)],
    expect=[[np.inf, -np.inf, np.nan]],
    dtype="float64",
    label="by zero",
)
for kind in ("int32", "int64", "int8"):
    case(
        "Mod",
        [np.array([7, -7, 7, -7, 5], kind), np.array([3, 3, -3, -3, 0], kind)],
        {"fmod": 0},
        expect=[np.array([1, 2, -2, -1, 0], kind)],
        label=f"{kind}, divisor's sign",
    )
    case(
        "Mod",
        [np.array([7, -7, 7, -7, 5], kind), np.array([3, 3, -3, -3, 0], kind)],
        {"fmod": 1},
        expect=[np.array([1, -1, 1, -1, 0], kind)],
        label=f"{kind}, dividend's sign",
    )
case("Mod", [floats(6), floats(6, seed=1)], {"fmod": 1}, expect=np.fmod, types=FLOATS, atol=1e-7)
case("Pow", [POSITIVE, floats(3, 5, seed=1)], expect=np.power, types=FLOATS, rtol=1e-5)
case("Pow", [floats(3, 5), np.float64(2.0)], expect=np.power, types=FLOATS, label="squares")
case(
    "Pow", [floats(4), np.array([0, 1, 2, 3])], expect=np.power, types=FLOATS, label="int exponents"
)
case(
    "Pow",
    [np.array([2, -3, 5], "int32"), np.array([3, 3, 0], "int32")],
    expect=[np.array([8, -27, 1], "int32")],
    label="integers",
)

NAN = np.array([1.0, np.nan, 3.0, -0.0, np.inf])
OTHER = np.array([2.0, 1.0, np.nan, 0.0, -np.inf])
case("Max", [NAN, OTHER], expect=np.maximum, types=FLOATS, label="NaN stays")
case("Min", [NAN, OTHER], expect=np.minimum, types=FLOATS, label="NaN stays")
case(
    "Max",
    [floats(3, 1), floats(4, seed=1), floats(2, 3, 4, seed=2)],
    expect=lambda a, b, c: np.maximum(np.maximum(a, b), c),
    types=FLOATS,
    label="three",
)
case("Min", [floats(3, 4)], expect=lambda a: a, types=FLOATS, label="one")
for kind in ALL_NUMBERS:
    x, y = np.array([1, 7, 100], kind), np.array([3, 1, 50], kind)
    case("Max", [x, y], expect=np.maximum, label=kind)
    case("Min", [x, y], expect=np.minimum, label=kind)

COMPARISONS = (
    ("Equal", np.equal),
    ("Less", np.less),
    ("Greater", np.greater),
    ("LessOrEqual", np.less_equal),
    ("GreaterOrEqual", np.greater_equal),
)
for op, function in COMPARISONS:
    case(
        op,
        [NAN, np.array([1.0, np.nan, 2.0, 0.0, np.inf])],
        expect=function,
        types=FLOATS,
        dtype="bool",
    )
    case(
        op,
        [integers(3, 4, low=0, high=3), integers(4, low=0, high=3, seed=1)],
        expect=function,
        label="int64",
    )
    case(
        op,
        [integers(3, 1, low=0, high=3, dtype="int32"), integers(4, low=0, high=3, dtype="int32")],
        expect=function,
        label="int32",
    )
P, Q = np.array([[True], [False]]), np.array([True, False])
for op, function in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
    case(op, [P, Q], expect=function)
case("Equal", [P, Q], expect=np.equal, label="bool")

# ---- choosing and converting ----

case("Where", [P, floats(2, 3), floats(3, seed=1)], expect=np.where, types=FLOATS)
case("Where", [np.array(True), np.array([1, 2]), np.array([3])], expect=np.where, label="int64")
case("Where", [np.array([True, False]), Q, ~Q], expect=np.where, label="bool")
X = floats(4, 5)
case(
    "Clip",
    [X, np.float64(-1), np.float64(0.5)],
    expect=lambda x, a, b: np.clip(x, a, b),
    types=FLOATS,
)
case(
    "Clip",
    [X, None, np.float64(0.5)],
    expect=lambda x, a, b: np.minimum(x, b),
    types=FLOATS,
    label="above",
)
case("Clip", [X, np.float64(0)], expect=np.maximum, types=FLOATS, label="below")
case(
    "Clip",
    [SPECIAL, np.float64(-1), np.float64(1)],
    expect=lambda x, a, b: np.clip(x, a, b),
    types=FLOATS,
    label="special",
)

WIDE = np.array([1.9, -1.9, 300.0, -300.0, 3e9, -3e9, 1e20, np.nan, np.inf, -np.inf])
NUMBER = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
}


def saturate(x: np.ndarray, kind: str) -> np.ndarray:
    """x cut off to whole numbers that the type has, one by one."""
    limits = np.iinfo(kind)
    whole = [0 if np.isnan(v) else v for v in x.tolist()]
    whole = [
        limits.max if v > limits.max else limits.min if v < limits.min else int(v) for v in whole
    ]
    return np.array(whole, kind)


for kind in ("uint8", "int8", "uint16", "int16", "int32", "int64", "uint32", "uint64"):
    for source in FLOATS:
        case(
            "Cast",
            [WIDE.astype(source)],
            {"to": NUMBER[kind]},
            expect=[saturate(WIDE.astype(source).astype(float), kind)],
            label=f"{source} to {kind}",
        )
    case(
        "Cast",
        [np.array([0, 1, 100], kind)],
        {"to": 1},
        expect=lambda x: x,
        dtype="float32",
        label=f"{kind} to float32",
    )
    case(
        "Cast",
        [np.array([0, 1, 100], kind)],
        {"to": 11},
        expect=lambda x: x,
        dtype="float64",
        label=f"{kind} to float64",
    )
case(
    "Cast",
    [np.array([300, -1, 2**40 + 5])],
    {"to": 2},
    expect=lambda x: x.astype(np.uint8),
    label="wraps",
)
case(
    "Cast",
    [np.array([2**60 + 2**36 + 1])],
    {"to": 1},
    expect=lambda x: x.astype(np.float32),
    label="rounds once",
)
case("Cast", [SPECIAL.astype("float32")], {"to": 9}, expect=lambda x: x != 0, label="to bool")
case("Cast", [Q], {"to": 1}, expect=lambda x: x, dtype="float32", label="bool to float")
case("Cast", [floats(3)], {"to": 1}, expect=lambda x: x, dtype="float32", label="double to float")
case(
    "Cast",
    [floats(3).astype("float32")],
    {"to": 1},
    expect=lambda x: x,
    dtype="float32",
    label="to itself",
)
case(
    "CastLike",
    [np.array([1, 2]), floats(1).astype("float32")],
    expect=lambda x, y: x,
    dtype="float32",
)
case(
    "CastLike",
    [floats(3), np.array(1, "int32")],
    expect=lambda x, y: np.trunc(x),
    dtype="int32",
    label="to int32",
)

# ---- refusals ----

INVALID = errors.InvalidArgumentError
bad(
    "Add",
    [floats(2, 3), floats(4)],
    error=INVALID,
    words=["Add 'node'", "float64[2,3]", "float64[4]"],
    label="shapes",
)
bad(
    "Add",
    [floats(2), floats(2).astype("float32")],
    error=INVALID,
    words=["Add 'node'", "float32", "float64"],
    label="dtypes",
)
bad("Where", [P, floats(3), floats(2)], error=INVALID, words=["Where 'node'"], label="shapes")
bad("Max", [floats(2), floats(3)], error=INVALID, words=["Max 'node'"], label="shapes")
NO_KERNEL = errors.UnimplementedError
bad("And", [floats(2), floats(2)], error=NO_KERNEL, words=["And 'node'", "float64"], label="floats")
bad("Exp", [np.array([1])], error=NO_KERNEL, words=["Exp 'node'", "int64"], label="integers")

# ---- inverse and hyperbolic functions ----

INVERSES = (
    ("Asin", np.arcsin, floats(3, 7, low=-1, high=1)),
    ("Acos", np.arccos, floats(3, 7, low=-1, high=1)),
    ("Atanh", np.arctanh, floats(3, 7, low=-0.99, high=0.99)),
    ("Tan", np.tan, floats(3, 7)),
    ("Sinh", np.sinh, floats(3, 7, low=-5, high=5)),
    ("Cosh", np.cosh, floats(3, 7, low=-5, high=5)),
    ("Asinh", np.arcsinh, floats(3, 7, low=-50, high=50)),
    ("Acosh", np.arccosh, floats(3, 7, low=1, high=50)),
)
for op, function, x in INVERSES:
    case(op, [x], expect=function, types=FLOATS, rtol=2e-6)
    case(op, [x[:, :1]], expect=function, types=("float64",), rtol=5e-15, label="close")
    case(op, [np.zeros((2, 0))], expect=function, types=FLOATS, label="empty")
    case(op, [SPECIAL], expect=function, types=FLOATS, rtol=2e-6, label="special")
    bad(
        op,
        [np.array([1])],
        error=NO_KERNEL,
        words=[f"{op} 'node'", "int64"],
        label="integers",
    )
TINY = np.array([1e-30, -1e-12, 3e-5, 0.4999, 0.5001, -0.99999])
for op, function in (("Asin", np.arcsin), ("Atanh", np.arctanh), ("Sinh", np.sinh)):
    case(op, [TINY], expect=function, types=("float64",), rtol=1e-14, label="tiny")
case("Asinh", [np.array([1e-30, 1e-9, 1e9, 1e300, -1e200])], expect=np.arcsinh, rtol=1e-14)
case("Acosh", [np.array([1 + 1e-15, 1 + 1e-9, 1e9, 1e300])], expect=np.arccosh, rtol=1e-14)
case("Sinh", [np.array([700.0, 710.4, -720.0])], expect=np.sinh, rtol=1e-12, label="large")
case("Cosh", [np.array([700.0, 710.4, -720.0])], expect=np.cosh, rtol=1e-12, label="large")

# ---- bits ----

BIT_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def shifted(x: int, by: int, left: bool, kind: str) -> int:
    """A shift of one number by Python's own integers."""
    limits = np.iinfo(kind)
    if by < 0 or by >= limits.bits:
        return -1 if x < 0 and not left else 0
    whole = (x << by if left else x >> by) & (2**limits.bits - 1)
    return whole - 2**limits.bits if whole > limits.max else whole


for kind in BIT_TYPES:
    x = integers(3, 4, low=-100, high=100).astype(kind)
    y = integers(4, low=-100, high=100, seed=1).astype(kind)
    for op, function in (
        ("BitwiseAnd", np.bitwise_and),
        ("BitwiseOr", np.bitwise_or),
        ("BitwiseXor", np.bitwise_xor),
    ):
        case(op, [x, y], expect=function, label=kind)
        case(op, [y, y[:1].reshape(())], expect=function, label=f"{kind} scalar")
    case("BitwiseNot", [x], expect=np.invert, label=kind)
    by = np.array([0, 1, 7, 8, 15, 63, 64, 100, -1 if kind[0] == "i" else 3], "int64").astype(kind)
    for direction in ("LEFT", "RIGHT"):
        numbers = x.ravel()[:9]
        case(
            "BitShift",
            [numbers, by],
            {"direction": direction},
            expect=[
                np.array(
                    [
                        shifted(int(a), int(b), direction == "LEFT", kind)
                        for a, b in zip(numbers, by, strict=True)
                    ],
                    kind,
                )
            ],
            version=28 if kind[0] == "i" else None,
            label=f"{kind} {direction.lower()}",
        )
bad(
    "BitShift",
    [np.array([1], "uint8"), np.array([1], "uint8")],
    {"direction": "UP"},
    error=INVALID,
    words=["BitShift 'node'", "UP"],
    label="direction",
)
bad("BitwiseAnd", [floats(2), floats(2)], error=NO_KERNEL, words=["float64"], label="floats")
bad("BitwiseNot", [np.array([True])], error=NO_KERNEL, words=["bool"], label="bool")
bad(
    "BitwiseOr",
    [np.array([1], "int8"), np.array([1], "uint8")],
    error=INVALID,
    words=["int8", "uint8"],
    label="mixed",
)

# ---- Sum, Mean ----

for op, count in (("Sum", 1), ("Mean", 3)):
    case(
        op,
        [floats(3, 1), floats(4, seed=1), floats(2, 3, 4, seed=2)],
        expect=lambda a, b, c, n=count: (a + b + c) / n,
        types=FLOATS,
        atol=1e-6,
        label="broadcast",
    )
    case(
        op,
        [floats(3, 1), floats(1, seed=1), floats(2, 3, 4, seed=2)],
        expect=lambda a, b, c, n=count: (a + b + c) / n,
        types=FLOATS,
        atol=1e-6,
        label="the first two lack the last axis",
    )
    case(op, [floats(3, 1)], expect=lambda a: a, types=FLOATS, label="one")
    case(op, [floats(0, 2), floats(2)], expect=np.add, types=FLOATS, label="empty")
    case(op, [np.float16([1, -2, 3])], expect=lambda a: a, label="one")
    bad(op, [floats(2), floats(3)], error=INVALID, words=[f"{op} 'node'"], label="shapes")
for kind in ALL_NUMBERS[2:]:
    x, y = np.array([1, 7, 100], kind), np.array([3, 1, 90], kind)
    case("Sum", [x, y, x], expect=lambda a, b, c: a + b + c, label=kind)
    columns, label = [x[:, None], y[:, None], x], f"{kind}, the last is broadcast least"
    case("Sum", columns, expect=lambda a, b, c: a + b + c, label=label)
    case(
        "Mean",
        [x, y],
        expect=lambda a, b: np.trunc((a + b).astype(float) / 2).astype(a.dtype),
        label=kind,
    )

# ---- every type ----


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([int(x / y) if y else 0 for x, y in pairs], a.dtype).reshape(a.shape)


def _rest(a: np.ndarray, b: np.ndarray, truncated: bool) -> np.ndarray:
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    rest = [(math.fmod(x, y) if truncated else x % y) if y else 0 for x, y in pairs]
    return np.array(rest).astype(a.dtype).reshape(a.shape)


for kind in ALL_NUMBERS[2:]:
    lowest = 0 if kind[0] == "u" else -50
    x, y = (integers(3, 4, low=lowest, high=50, seed=seed).astype(kind) for seed in (0, 1))
    for op, function in COMPARISONS:
        case(op, [x, y], expect=function, label=f"{kind}, all types")
    case("Div", [x, y], expect=lambda a, b: _quotient(a, b), label=f"{kind}, all types")
    case("Mod", [x, y], {"fmod": 1}, expect=lambda a, b: _rest(a, b, True), label=f"{kind} fmod")
    case("Mod", [x, y], expect=lambda a, b: _rest(a, b, False), label=f"{kind}, all types")
    case(
        "Clip",
        [x, np.array(3, kind), np.array(20, kind)],
        expect=lambda a, b, c: np.minimum(np.maximum(a, b), c),
        label=kind,
    )
    case(
        "Clip",
        [x, np.array(20, kind), np.array(3, kind)],
        expect=lambda a, b, c: np.full_like(a, 3),
        label=f"{kind} crossed",
    )
    case("Relu", [x], expect=lambda a: np.maximum(a, 0), label=kind, version=14)
    case("Abs", [x], expect=np.abs, label=f"{kind}, all types")
    case("Sign", [x], expect=np.sign, label=f"{kind}, all types")


case(
    "Clip",
    [SPECIAL, np.float64(1), np.float64(-1)],
    expect=[[np.nan, -1, -1, -1, -1, -1, -1]],
    dtype="float64",
    label="crossed",
)
case("Clip", [SPECIAL, None, None], expect=lambda x, a, b: x, types=FLOATS, label="no bounds")
bad(
    "Clip",
    [floats(3), floats(2)],
    error=INVALID,
    words=["Clip 'node'"],
    label="bound",
)
case(
    "Mod",
    [
        np.array([0.0, -0.0, 5, -5, np.inf, 5, 2, -2, np.nan]),
        np.array([3, 3, -3, 3, 3, 0, np.inf, np.inf, 1]),
    ],
    expect=[[0, 0, -1, 1, np.nan, np.nan, 2, np.inf, np.nan]],
    version=28,
    dtype="float64",
    label="floor, special",
)
case(
    "Mod",
    [np.array([5, -5, np.inf, 5, 2, -2, np.nan]), np.array([-3, 3, 3, 0, np.inf, np.inf, 1])],
    {"fmod": 1},
    expect=[[2, -2, np.nan, np.nan, 2, -2, np.nan]],
    dtype="float64",
    label="truncated, special",
)
bad(
    "Mod",
    [np.array([1]), np.array([2])],
    {"fmod": 2},
    error=INVALID,
    words=["Mod 'node'", "fmod"],
    label="fmod",
)

# ---- Pow of mixed types ----

for base in ("int32", "int64", "int8", "uint8"):
    for exponent in ("int8", "int32", "int64", "uint16", "uint64"):
        x, y = np.array([2, 3, 1, 7, 0, 5], base), np.array([3, 2, 9, 0, 5, 41], exponent)
        case(
            "Pow",
            [x, y],
            expect=[
                np.array(
                    [pow(int(a), int(b), 2**64) for a, b in zip(x, y, strict=True)], "uint64"
                ).astype(base)
            ],
            version=15,
            label=f"{base} by {exponent}",
        )
case(
    "Pow",
    [np.array([2, 1, -1, -1, 0, -3]), np.array([-1, -5, -3, -2, -1, -1], "int32")],
    expect=[np.array([0, 1, -1, 1, 0, 0])],
    label="negative exponents",
)
for exponent in ("int32", "int64", "uint8", "float32", "float64"):
    case(
        "Pow",
        [POSITIVE, np.array([[2], [0], [3]], exponent)],
        expect=lambda x, y: np.power(x, y.astype(float)),
        types=FLOATS,
        rtol=2e-6,
        label=f"by {exponent}",
    )
case(
    "Pow",
    [np.array([4, 9, -2], "int32"), np.array([0.5, 0.5, 3], "float32")],
    expect=[np.array([2, 3, -8], "int32")],
    label="int by float",
)

for kind in ("float16", "float32"):
    for op in ("Sum", "Mean", "Max"):
        case(op, [np.array([1, 2, 3], kind)], expect=lambda x: x, dtype=kind, label=f"one {kind}")
