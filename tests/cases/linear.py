"""MatMul, Gemm and their variants."""

from __future__ import annotations

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
for label, a, b in (
    ("matrices", (5, 7), (7, 3)),
    ("wide", (4, 33), (33, 40)),
    ("one column", (6, 50), (50, 1)),
    ("one row", (1, 64), (64, 32)),
    ("batch", (2, 3, 4, 5), (2, 3, 5, 6)),
    ("broadcast batch", (2, 1, 4, 5), (3, 5, 6)),
    ("matrix and batch", (4, 5), (3, 5, 2)),
    ("row vector", (5,), (5, 3)),
    ("column vector", (4, 5), (5,)),
    ("dot", (5,), (5,)),
    ("no inner", (3, 0), (0, 2)),
    ("no rows", (0, 4), (4, 2)),
):
    case(
        "MatMul",
        [floats(*a), floats(*b, seed=1)],
        expect=np.matmul,
        types=FLOATS,
        atol=1e-5,
        rtol=1e-5,
        label=label,
    )
case(
    "MatMul",
    [integers(3, 4, low=-9, high=9, dtype="int32"), integers(4, 2, low=-9, high=9, dtype="int32")],
    expect=np.matmul,
    version=9,
    label="int32",
)
bad(
    "MatMul",
    [floats(2, 3), floats(2, 3)],
    error=INVALID,
    words=["MatMul 'node'", "float64[2,3]"],
    label="inner",
)
bad(
    "MatMul",
    [floats(2, 4, 3), floats(3, 3, 2)],
    error=INVALID,
    words=["MatMul 'node'"],
    label="batch",
)
bad("MatMul", [np.float64(1), floats(2, 2)], error=INVALID, words=["MatMul 'node'"], label="scalar")

A, B, C = floats(5, 7), floats(7, 3, seed=1), floats(3, seed=2)
case("Gemm", [A, B, C], expect=lambda a, b, c: a @ b + c, types=FLOATS, atol=1e-5)
case(
    "Gemm",
    [A.T, B.T, C],
    {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0},
    expect=lambda a, b, c: 0.5 * (a.T @ b.T) + 2 * c,
    types=FLOATS,
    atol=1e-5,
    label="transposed and scaled",
)
case(
    "Gemm",
    [A, B],
    version=11,
    expect=lambda a, b: a @ b,
    types=FLOATS,
    atol=1e-5,
    label="no addend",
)
case(
    "Gemm",
    [A, B, floats(5, 1, seed=3)],
    expect=lambda a, b, c: a @ b + c,
    types=FLOATS,
    atol=1e-5,
    label="column addend",
)
bad("Gemm", [A, A, C], error=INVALID, words=["Gemm 'node'"], label="inner")
bad("Gemm", [A, B, floats(4)], error=INVALID, words=["Gemm 'node'"], label="addend")

# ---- integers and corners ----

for kind in ("int32", "int64", "uint32", "uint64"):
    x, y, z = (
        integers(*s, low=0, high=9, seed=i).astype(kind)
        for i, s in enumerate(((3, 4), (4, 2), (2,)))
    )
    case("MatMul", [x, y], expect=np.matmul, version=13, label=f"{kind}, wraps")
    case("MatMul", [x, y[:, 0]], expect=np.matmul, version=13, label=f"{kind} vector")
    case(
        "Gemm",
        [x, y, z],
        {"alpha": 3.0, "beta": 2.0},
        expect=lambda a, b, c: (3 * (a @ b) + 2 * c).astype(a.dtype),
        version=13,
        label=kind,
    )
    bad(
        "Gemm",
        [x, y, z],
        {"alpha": 0.5},
        error=INVALID,
        words=["Gemm 'node'", "whole"],
        version=13,
        label=f"{kind} alpha",
    )
for label, shape in (
    ("scalar", ()),
    ("one", (1,)),
    ("ones", (1, 1)),
    ("row", (1, 3)),
    ("full", (5, 3)),
):
    case(
        "Gemm",
        [A, B, floats(*shape, seed=3)],
        {"beta": 0.5},
        expect=lambda a, b, c: a @ b + 0.5 * c,
        types=FLOATS,
        atol=1e-5,
        label=f"{label} addend",
    )
case(
    "Gemm",
    [A, B, np.full(3, np.nan)],
    {"beta": 0.0},
    expect=lambda a, b, c: a @ b,
    types=FLOATS,
    atol=1e-5,
    label="beta 0",
)
case(
    "Gemm", [floats(2, 0), floats(0, 3), C], expect=lambda a, b, c: np.tile(c, (2, 1)), types=FLOATS
)
bad("Gemm", [floats(2), B, C], error=INVALID, words=["Gemm 'node'"], label="rank")
for number in ("nan", "inf", "1e300"):
    bad(
        "Gemm",
        [np.ones((2, 2), "int32")] * 3,
        {"beta": float(number)},
        error=errors.InvalidArgumentError,
        words=["Gemm 'node'"],
        version=13,
        label=f"whole numbers by {number}",
    )
