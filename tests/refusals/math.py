"""Arithmetic, sums, products and equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.support.errors import InvalidArgumentError, UnimplementedError
from refusals import DOUBLE, FLOAT, f, i, of, refused, texts

refused("Abs", [texts(2)], "no kernel", UnimplementedError)
refused("Add", [texts(2), texts(2)], "no kernel", UnimplementedError)
refused("Add", [f(2), of(DOUBLE, 2)], "equal")
refused("Sum", [texts(2), texts(2)], "no kernel", UnimplementedError)
refused("Max", [texts(2), texts(2)], "no kernel", UnimplementedError)
refused("PRelu", [f(2), f(3)], "Incompatible shapes")
refused("PRelu", [f(2), f(1, 2)], "slope")
refused("Gelu", [f(2)], "approximate", approximate="a" * 60)
refused("BitShift", [of(np.uint8, 2)] * 2, "direction", direction="a" * 60)
refused("Pow", [texts(2), f(2)], "no kernel", UnimplementedError)
refused("Pow", [f(2), texts(2)], "no kernel", UnimplementedError)
refused("Pow", [f(2), of(np.bool_, 2)], "no kernel", UnimplementedError)
refused("ReduceSum", [texts(2)], "no kernel", UnimplementedError)
refused("ReduceMean", [of(np.bool_, 2)], "no kernel", UnimplementedError)
refused("ReduceSum", [f(2), f(1)], "has no kernel; it takes", UnimplementedError)
refused("Cast", [f(2)], "cast", UnimplementedError, to=0)
refused("Cast", [f(2)], "cast", UnimplementedError, to=99)
refused(
    "Cast", [of(np.complex64, 2)], "cast", UnimplementedError, to=17, outputs=[FLOAT], runtime=None
)
refused("Cast", [f(2)], "round_mode", to=24, round_mode="a" * 99, outputs=[FLOAT])
refused("BitCast", [f(2)], "BitCast", to=0, runtime=UnimplementedError)
refused("BitCast", [f(2)], "BitCast", to=99, runtime=UnimplementedError)
refused("BitCast", [texts(2)], "BitCast", to=7, outputs=[np.int64])
refused("MatMul", [f(2, 2), of(DOUBLE, 2, 2)], "they must be equal: cast one")
refused(
    "MatMul",
    [of(np.bool_, 2, 2), of(np.bool_, 2, 2)],
    "has no kernel; it takes",
    UnimplementedError,
)
refused("MatMul", [f(2), f()], "b ")
refused("MatMul", [f(), f(2)], "a ")
refused("Gemm", [f(2, 2), f(2)], "rank")
refused("Gemm", [f(2, 2), f(2, 2), of(DOUBLE, 2)], "they must be equal: cast one")
refused("Gemm", [f(2, 2), f(2, 2), f(1, 1, 2)], "c is")
refused("Gemm", [f(2, 2), f(2, 2), f(3, 1)], "c is")
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", alpha=1.5)
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", beta=1.5)
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", alpha=1e16)
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", alpha=-1e16)
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", beta=1e16)
refused("Gemm", [of(np.int32, 2, 2)] * 2, "whole", beta=-1e16)
refused("Einsum", [f(2, 2)], "neither letter nor ellipsis", equation="i.->i")
refused("Einsum", [f(2, 2)], "neither letter nor ellipsis", equation="i..j->i")
refused("Einsum", [f(2, 2)], "neither letter nor ellipsis", equation="....->i")
refused("Einsum", [f(2, 2)], "neither letter nor ellipsis", equation="{i->i")
refused("Einsum", [f(2, 2)], "labels", equation="i" * 40 + "->i")
refused("Einsum", [f(2), f(3)], "I", equation="I,I->I")
refused("Einsum", [f(2, 2), f(3, 3)], "...", equation="...,...->...")
refused("Einsum", [f(2)], "more terms than", equation="i,j->ij")
refused("Einsum", [f(2), f(2)], "fewer terms than", equation="i->i")
refused(
    "Einsum",
    [f(*[1] * 9), f(*[1] * 9)],
    "axes",
    equation="abcdefghi,jklmnopqr->abcdefghijklmnopqr",
    runtime=None,
)
refused("Einsum", [f(2), of(DOUBLE, 2)], "must be equal", equation="i,i->i")
refused("Einsum", [texts(2)], "no kernel", UnimplementedError, equation="i->i")
refused("Det", [f(2, 3)], "square")
for op, results, wanted, attrs in (
    ("graphio.Cholesky", 1, "expected square matrices", {}),
    ("graphio.SelfAdjointEig", 2, "expected square matrices", {}),
    ("graphio.Qr", 2, "expected matrices", {"full_matrices": 0}),
):
    kinds = [np.int32] * results
    refused(op, [of(np.int32, 2, 2)], "no kernel", UnimplementedError, outputs=kinds, **attrs)
    refused(op, [f(2)], wanted, outputs=[FLOAT] * results, **attrs)
refused("graphio.MatrixSolve", [of(np.int32, 2, 2)] * 2, "no kernel", UnimplementedError)
refused("graphio.MatrixSolve", [f(2), f(2)], "expected square matrices")
refused("graphio.MatrixSolve", [f(2, 2), of(DOUBLE, 2, 2)], "they must be equal: cast one")
refused("graphio.MatrixSolve", [f(2, 2), f(1, 2, 2)], "as many rows of each")
refused("DFT", [f(1, 4, 1), of(np.int32, 1, 1)], "length")
refused("DFT", [f(1, 4, 1), f()], "has no kernel; it takes", UnimplementedError)
refused("STFT", [f(1, 8, 1), np.array(2), of(DOUBLE, 4)], "they must be equal: cast one")
refused("graphio.GradientDescentStep", [of(np.int32, 2)] * 3, "no kernel", UnimplementedError)
refused(
    "graphio.PairwiseCoupling", [of(np.int32, 1, 1)], "no kernel", UnimplementedError, classes=2
)
refused("graphio.PairwiseCoupling", [f(1)], "r is", classes=2)
refused("graphio.PairwiseCoupling", [f(1, 1)], "classes", classes=2**31)
refused("graphio.PairwiseCoupling", [f(1, 1)], "classes", classes=1)
refused(
    "graphio.IndexOf", [of(np.float16, 2)] * 2, "no kernel", UnimplementedError, outputs=[np.int64]
)
refused(
    "graphio.IndexOf",
    [of(np.complex64, 2)] * 2,
    "no kernel",
    UnimplementedError,
    outputs=[np.int64],
)
refused("graphio.IndexOf", [f(2), i(2)], "they must be equal: cast one", outputs=[np.int64])
refused("graphio.IndexOf", [f(2), f(2, 2)], "keys", outputs=[np.int64])
refused(
    "graphio.CheckNumerics",
    [of(np.int32, 2)],
    "it takes float",
    UnimplementedError,
    runtime=InvalidArgumentError,
)
refused("graphio.CheckNumerics", [f(2) * FLOAT(np.nan)], "Tensor had NaN", message="m" * 500)
refused("graphio.BelowLimit", [f()], "has no kernel; it takes", UnimplementedError, limit=3)
refused("graphio.EnsureShape", [f(2)], "shape", dims=[1] * 20)
refused(
    "graphio.RandomUniform",
    [[2]],
    "float32 (1)",
    UnimplementedError,
    dtype=6,
    generator="g",
    runtime=InvalidArgumentError,
)
for dtype in (FLOAT, np.int32):
    refused(
        "graphio.RandomInteger",
        [[2], of(dtype), of(dtype)],
        "int32 (6)",
        UnimplementedError,
        dtype=1,
        generator="g",
        runtime=InvalidArgumentError,
    )
refused(
    "graphio.RandomInteger",
    [[2], of(np.int64), of(np.int32)],
    "they must be equal: cast one",
    dtype=6,
    generator="g",
)
refused(
    "graphio.RandomInteger",
    [[2], of(np.int32), of(np.int32, 2)],
    "high must be",
    dtype=6,
    generator="g",
)
refused("graphio.StatelessRandomUniform", [[2], of(np.int64, 3)], "expected two integers", dtype=1)
refused(
    "graphio.StatelessRandomInteger",
    [[2], of(np.int64, 2), of(np.int32)],
    "give both or none",
    dtype=6,
    runtime=InvalidArgumentError,
)
refused(
    "graphio.StatelessRandomInteger",
    [[2], of(np.int64, 2)],
    "uint64 (13)",
    UnimplementedError,
    dtype=1,
    runtime=InvalidArgumentError,
)
refused("ReduceSum", [f(2), [3]], "axis")
refused("Softmax", [of(np.int32, 2)], "no kernel", UnimplementedError)
for op in ("SoftmaxCrossEntropy", "SparseSoftmaxCrossEntropy"):
    refused(
        f"graphio.{op}",
        [of(np.int32, 2, 2), i(2)],
        "no kernel",
        UnimplementedError,
        outputs=[FLOAT] * 2,
    )
refused("graphio.SoftmaxCrossEntropy", [f(2), f(2)], "(n, c)", outputs=[FLOAT] * 2)
refused("graphio.SparseSoftmaxCrossEntropy", [f(2), i(2)], "(n, c)", outputs=[FLOAT] * 2)
refused("graphio.SoftmaxCrossEntropy", [f(2, 2), f(2)], "(n, c)", outputs=[FLOAT] * 2)
refused("graphio.SoftmaxCrossEntropy", [f(2, 2), f(2, 3)], "(n, c)", outputs=[FLOAT] * 2)
refused(
    "graphio.SoftmaxCrossEntropy",
    [f(2, 2), of(DOUBLE, 2, 2)],
    "they must be equal: cast one",
    outputs=[FLOAT] * 2,
)
refused("graphio.SparseSoftmaxCrossEntropy", [f(2, 2), i(2, 2)], "(n, c)", outputs=[FLOAT] * 2)
refused(
    "graphio.SparseSoftmaxCrossEntropy",
    [f(2, 2), f(2)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[FLOAT] * 2,
)
refused("Einsum", [f(2, 2)], "Einsum", equation="ij->i.")
refused("Einsum", [f(2, 2)], "Einsum", equation="ij-")
refused("Einsum", [f(2, 2)], "Einsum", equation="ij>i")
refused("Einsum", [f(2, 2)], "Einsum", equation="ij->ii")
refused("Einsum", [f(2, 2)], "Einsum", equation="ij->k")
refused("Einsum", [f(2, 2)], "Einsum", equation="ijk->k")
refused("graphio.ReluGrad", [f(2, 3), f(3, 2)], "ReluGrad")
refused("graphio.ReluGrad", [f(2, 3), f(6)], "ReluGrad")
refused("Pad", [f(2), [1, 1]], "expected constant", mode="x", runtime=UnimplementedError)
fused = {"operands": [0, 1], "ops": ["Add"]}
for attrs, words in (
    ({"operands": [], "ops": []}, "ops"), ({"operands": [0, 1] * 40, "ops": ["Add"] * 40}, "ops"),
    ({"operands": [0], "ops": ["Add"]}, "operands"),
    ({"operands": [0, 7], "ops": ["Add"]}, "operand"),
    ({"operands": [0, -1], "ops": ["Add"]}, "operand"),
    ({"operands": [0, 1], "ops": ["Add"], "nodes": ["a", "b", "c"]}, "nodes"),
    ({"operands": [0, 1], "ops": ["Add"], "numbers": [1.0]}, "numbers"),
):  # fmt: skip
    refused("graphio.FusedElementwise", [f(2), f(2)], words, **attrs)
refused(
    "graphio.FusedMatMul",
    [f(2, 2), f(2, 2), f(2)],
    "nodes",
    operands=[0, 1],
    ops=["Add"],
    nodes=["a", "b", "c"],
)
refused(
    "graphio.FusedMatMul",
    [f(2, 2), f(2, 2), f(3, 1, 1)],
    "FusedMatMul",
    operands=[0, 1],
    ops=["Add"],
)
refused(
    "graphio.FusedMatMul",
    [of(DOUBLE, 2, 2), of(DOUBLE, 2, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    operands=[0],
    ops=["Relu"],
)
refused(
    "graphio.FusedElementwise",
    [f(2), f(2)],
    "a" * 40,
    UnimplementedError,
    operands=[0, 1],
    ops=["a" * 60],
)
refused(
    "graphio.FusedElementwise",
    [f(2), f(2)],
    "literals has 200",
    literals=[1.0] * 200,
    runtime=None,
    **fused,
)
refused(
    "graphio.FusedElementwise",
    [f(2), of(DOUBLE, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    **fused,
)
refused(
    "graphio.FusedElementwise",
    [f(2), None, f(2)],
    "absent",
    UnimplementedError,
    runtime=InvalidArgumentError,
    **fused,
)
refused("graphio.FusedElementwise", [f(2), f(3)], "Incompatible shapes", **fused)
refused(
    "graphio.CheckNumerics", [np.array([np.inf, np.nan, 1, 2], FLOAT)], "Inf and NaN", message="m"
)
refused("graphio.NonZeroDivisor", [texts(2)], "no kernel", UnimplementedError)
spread: dict[str, list[Any]] = {"operands": [0] * 15 + [1, 2], "ops": ["Exp"] * 15 + ["Add"]}
for n in range(3, 16):
    spread["operands"] += [n + 13, n]  # the sum so far, and the next of the fifteen
    spread["ops"] += ["Add"]
refused(
    "graphio.FusedElementwise",
    [f(2)],
    "at the same time",
    UnimplementedError,
    runtime=None,
    **spread,
)
# Of an equation all of whose 48 letters are needed until the end.
letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
one, two, three = letters[:16], letters[16:32], letters[32:]
refused(
    "Einsum",
    [f(*[2] * 16)] * 5,
    "more than 32 axes",
    UnimplementedError,
    equation=f"{one},{two},{three},{two},{three}->{one}",
    runtime=None,
)
