"""Arithmetic, matrix multiplications, equations, random shapes of sums."""

from __future__ import annotations

import numpy as np

from corners import D, F, corner, numbers, ones

EDGES = np.array([0.0, -0.0, 1, -1, 1e-40, 3e38, -3e38, np.inf, -np.inf, np.nan, 1e-30, 2.5], F)
WIDE = np.array(
    [0.0, -0.0, 1, -1, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan, 1e-200, 2.5, 1e150]
)
for op in (
    "Asinh", "Acosh", "Atanh", "Sinh", "Cosh", "Tan", "Atan", "Asin", "Acos", "Softplus", "Mish",
    "Softsign", "Selu", "Elu", "Gelu", "Swish", "HardSigmoid", "HardSwish", "Erf", "Log", "Exp",
    "Sqrt", "Reciprocal", "Sign", "Round", "Floor", "Ceil", "Sigmoid", "Tanh",
):  # fmt: skip
    corner(op, EDGES)
    corner(op, WIDE)
for op in ("Sin", "Cos", "Tan"):
    corner(
        op,
        np.array(
            [1e22, 1e300, 5e15, 2.0**60, -7e9, 0.7853981633974483, 1e-300, 1.5707963267948966]
        ),
    )
for op in ("Sin", "Sqrt", "Not", "Sign", "Round", "IsNaN"):
    x = numbers(100000, of=D)
    corner(op, x > 0 if op == "Not" else abs(x), outputs=[bool] if op in ("Not", "IsNaN") else None)
corner("Abs", numbers(100000, of=np.int32))
corner("Neg", numbers(100000, of=np.int64))
powers = np.array(
    [0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, 1e-310, 1e200, -1e200, 3.0], D
)
corner("Pow", np.repeat(powers, powers.size), np.tile(powers, powers.size))
with np.errstate(over="ignore"):
    singles = powers.astype(F)
corner("Pow", np.repeat(singles, singles.size), np.tile(singles, singles.size))
corner(
    "Pow",
    np.array([1.5, 1.0000001, 0.9999999, 1 + 1e-15, 2.0]),
    np.array([1e30, 1e10, -1e10, 1e18, 1e-30]),
)
for dtype in (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int32, F, D):
    corner("Pow", numbers(9, of=F), np.array(2, dtype))
    corner("Pow", np.array(2, F), np.arange(9).astype(dtype))
    corner("Pow", np.array(2, np.int32), np.arange(9).astype(dtype))
    corner("Pow", np.arange(9, dtype=np.uint32), np.arange(9).astype(dtype))
corner("Pow", numbers(30000) + F(3), numbers(30000, of=D, seed=1))
corner("Sum", numbers(3, 4))
corner("Max", numbers(3, 1), numbers(4), numbers(3, 4))
corner("Mean", numbers(3, 1, of=D), numbers(4, of=D))
# ---- matrix multiplications ----
for dtype in (F, D, np.int32, np.uint64):
    for a, b in (
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((2, 3), (3, 0)),
        ((3,), (3,)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((1, 3), (3, 1)),
        ((5, 3), (3,)),
        ((300, 2), (2, 300)),
    ):
        corner("MatMul", numbers(*a, of=dtype), numbers(*b, of=dtype))
    for transposed in range(4):
        a = numbers(*((7, 5) if transposed & 1 else (5, 7)), of=dtype)
        b = numbers(*((9, 7) if transposed & 2 else (7, 9)), of=dtype)
        corner("Gemm", a, b, transA=transposed & 1, transB=transposed >> 1)
        corner("Gemm", a, b, numbers(5, 1, of=dtype), transA=transposed & 1, transB=transposed >> 1)
corner("MatMul", numbers(256, 512), numbers(512, 256), tolerance=1e-4)
corner("MatMul", numbers(260, 500), numbers(500, 260), tolerance=1e-4)
corner("Gemm", numbers(3, 4), numbers(4, 5), None)
corner("Gemm", numbers(3, 0), numbers(0, 5), numbers(5))
corner(
    "Gemm",
    numbers(3, 4, of=np.int32),
    numbers(4, 5, of=np.int32),
    numbers(3, 5, of=np.int32),
    alpha=2.0,
    beta=-3.0,
)
for equation, shapes in (
    ("ij,jk", [(2, 3), (3, 4)]), ("...ij->...ji", [(2, 3, 4)]), ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]), ("i,i->", [(70000,), (70000,)]), ("iJ,Jk->ki", [(2, 3), (3, 4)]),
    ("ij->", [(3, 70000)]), ("->", [()]), ("ab,cd,ef->acebdf", [(2, 3), (2, 3), (2, 3)]),
    ("bij,bjk,bk->bi", [(2, 3, 4), (2, 4, 5), (2, 5)]), ("i,j,k->ijk", [(2,), (3,), (4,)]),
    ("ij,ij->ij", [(3, 4), (3, 4)]), ("i...,...->i...", [(2, 3), (3,)]),
    (" i j , j k -> i k ", [(2, 3), (3, 4)]), ("i,ij->j", [(0,), (0, 3)]),
    ("abc,cb->a", [(2, 3, 4), (4, 3)]), ("ij,j->ij", [(3, 4), (1,)]), ("aab->b", [(2, 2, 3)]),
    ("abi,abj->ij", [(2, 30, 4), (2, 30, 5)]),
):  # fmt: skip
    for dtype in (F, D, np.int64):
        corner(
            "Einsum",
            *(numbers(*s, of=dtype, seed=n) for n, s in enumerate(shapes)),
            equation=equation,
            tolerance=1e-4,
        )
# ---- equations ----
spread = np.stack([np.eye(3), np.ones((3, 3)) + np.eye(3) * 2])
for dtype in (F, D):
    a = spread.astype(dtype)
    corner("graphio.Cholesky", a, tolerance=1e-4)
    corner(
        "graphio.SelfAdjointEig",
        np.diag([3.0, 1, 2])[None].astype(dtype),
        outputs=[dtype] * 2,
        tolerance=1e-4,
    )
    corner("graphio.SelfAdjointEig", numbers(2, 0, 0, of=dtype), outputs=[dtype] * 2)
    corner("graphio.MatrixSolve", a, numbers(2, 3, 2, of=dtype), tolerance=1e-4)
    corner("graphio.MatrixSolve", numbers(2, 0, 0, of=dtype), numbers(2, 0, 2, of=dtype))
    corner("graphio.Cholesky", numbers(2, 0, 0, of=dtype))
    corner(
        "graphio.Qr", numbers(2, 3, of=dtype), full_matrices=1, outputs=[dtype] * 2, tolerance=1e-4
    )
    corner("Det", numbers(70, 70, of=dtype) * dtype(0.2), tolerance=1e-2)
    corner("Det", numbers(2, 0, 0, of=dtype))
    corner(
        "graphio.SoftmaxCrossEntropy",
        numbers(3, 0, of=dtype),
        numbers(3, 0, of=dtype),
        outputs=[dtype] * 2,
    )
    corner(
        "graphio.SoftmaxCrossEntropy",
        numbers(0, 3, of=dtype),
        numbers(0, 3, of=dtype),
        outputs=[dtype] * 2,
    )
    corner(
        "graphio.SoftmaxCrossEntropy",
        numbers(5000, 40, of=dtype),
        abs(numbers(5000, 40, of=dtype)),
        outputs=[dtype] * 2,
        tolerance=1e-4,
    )
    corner("Softmax", numbers(3, 0, of=dtype))
    corner("Softmax", numbers(2, 70000, of=dtype), tolerance=1e-5)
    corner(
        "graphio.PairwiseCoupling",
        np.tile(dtype(0.5), (2, 120 * 119 // 2)),
        classes=120,
        tolerance=1e-5,
    )
    corner("graphio.PairwiseCoupling", abs(numbers(4, 3, of=dtype)) / 4, classes=3, tolerance=1e-3)
corner("DFT", numbers(1, 5, 1), None, np.array(1))
corner("DFT", numbers(1, 6, 2), np.array(8), None)
corner("DFT", numbers(1, 6, 1), np.array(5, np.int32), np.array(-2))
corner("STFT", numbers(1, 12, 1), np.array(3), None, np.array(4), tolerance=1e-5)
corner("STFT", numbers(1, 12, 1), np.array(3), ones(4), tolerance=1e-5)
corner("graphio.BelowLimit", np.array(3, np.int32), limit=9)
corner("graphio.NonZeroDivisor", np.array([3, -1]))
corner("Einsum", numbers(2, 1), numbers(3, 4), equation="ij,jk->ik", tolerance=1e-4)
corner("Einsum", numbers(2, 1, 3), numbers(4, 3), equation="i...,...->i...", tolerance=1e-4)
