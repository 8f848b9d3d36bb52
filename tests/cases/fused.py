"""Programs of elementwise operators, alone and fused to a MatMul, Gemm or Conv, by numpy."""

from __future__ import annotations

import numpy as np

from cases import bad, case, floats
from graphio.support import errors

X, ROW, COLUMN = floats(6, 70), floats(70, seed=1), floats(6, 1, seed=2)
ONE = np.float64(0.75)
PROGRAM = {
    "literals": [0.5, 2.0],
    "nodes": ["add", "square", "half", "scaled", "most"],
    "operands": [0, 1, 4, 0, -1, 5, 6, 2, 7, 3],
    "ops": ["Add", "Mul", "Sub", "Mul", "Max"],
}
ACTIVATIONS = {
    "numbers": [0.3, 0.0, 0.0, 0.0, -0.25, 0.5],
    "operands": [0, 1, 2],
    "ops": ["LeakyRelu", "Tanh", "Clip"],
}
LAYER = {"operands": [0, 1, 2], "ops": ["Add", "Relu"]}
RESIDUAL = {"operands": [0, 1, 2, 2], "ops": ["Add", "Mul"]}


def relu(x):
    return np.maximum(x, 0)


def five(x, row, column, one):
    return np.maximum((0.5 - (x + row) * x) * column, one)


def one(op, inputs, attrs, expect, **more):
    case(op, inputs, attrs, expect=expect, domain="graphio", types=["float32"], **more)


one("FusedElementwise", [X, ROW, COLUMN, ONE], PROGRAM, five, rtol=1e-5, atol=1e-6)
one(
    "FusedElementwise",
    [X],
    ACTIVATIONS,
    lambda x: np.clip(np.tanh(np.where(x < 0, np.float32(0.3) * x, x)), -0.25, 0.5),
    rtol=1e-5,
    atol=1e-6,
)
one("FusedElementwise", [floats(0, 3), ONE], LAYER, lambda x, y: relu(x + y), label="empty")
one(
    "FusedElementwise",
    [floats(3, 1, 5), floats(2, 1, 1, 5, seed=1), floats(4, 1, seed=2)],
    {"operands": [0, 1, 3, 2], "ops": ["Add", "Mul"]},
    lambda a, b, c: (a + b) * c,
    atol=1e-6,
    label="both ways",
)
one(
    "FusedElementwise",
    [ONE, floats(1, seed=3), floats(40, seed=1)],
    {"operands": [0, 1, 3, 4, 2], "ops": ["Add", "Exp", "Mul"]},
    lambda a, b, c: np.exp(a + b) * c,
    rtol=1e-5,
    label="numbers first",
)
A, B, C = floats(5, 9), floats(9, 17, seed=1), floats(17, seed=2)
FULL = floats(5, 17, seed=4)
one("FusedMatMul", [A, B, C], LAYER, lambda a, b, c: relu(a @ b + c), rtol=1e-5, atol=1e-5)
one(
    "FusedMatMul",
    [floats(2, 5, 9), B, FULL],
    RESIDUAL,
    lambda a, b, c: (a @ b + c) ** 2,
    rtol=1e-5,
    atol=1e-4,
)
GEMM = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1}
one(
    "FusedGemm",
    [A, floats(17, 9, seed=1), C],
    {**GEMM, "operands": [0], "ops": ["Relu"]},
    lambda a, b, c: relu(a @ b.T + c),
    rtol=1e-5,
    atol=1e-5,
)
one(
    "FusedGemm",
    [A, floats(17, 9, seed=1), None, FULL],
    {**GEMM, **RESIDUAL},
    lambda a, b, c, d: (a @ b.T + d) ** 2,
    rtol=1e-5,
    atol=1e-4,
)
IMAGE, FILTER = floats(2, 3, 4, 5), floats(6, 3, seed=1)


def points(x, w):
    return np.einsum("nchw,mc->nmhw", x, w)


one(
    "FusedConv",
    [IMAGE, FILTER[:, :, None, None], floats(6, seed=2), floats(2, 6, 4, 5, seed=3)],
    RESIDUAL,
    lambda x, w, b, c: (points(x, w[:, :, 0, 0]) + b[:, None, None] + c) ** 2,
    rtol=1e-5,
    atol=1e-5,
)
one(
    "FusedConv",
    [IMAGE, FILTER[:, :, None, None], None, floats(6, 1, 1, seed=3)],
    LAYER,
    lambda x, w, b, c: relu(points(x, w[:, :, 0, 0]) + c),
    rtol=1e-5,
    atol=1e-5,
)
one(
    "FusedConv2D",
    [np.moveaxis(IMAGE, 1, 3), FILTER.T[None, None], floats(6, seed=3)],
    {"auto_pad": "VALID", "dilations": [1, 1], "group": 1, "strides": [1, 1], **LAYER},
    lambda x, w, c: relu(x @ w[0, 0] + c),
    rtol=1e-5,
    atol=1e-5,
)


def refused(label, inputs, attrs, words, op="FusedElementwise", error=errors.InvalidArgumentError):
    given = [np.float32(x) for x in inputs]
    bad(op, given, attrs, error=error, words=words, domain="graphio", label=label)


refused("steps", [X], {"operands": [0] * 33, "ops": ["Abs"] * 33}, ["33", "1 to 32"])
refused(
    "unknown step", [X], {"operands": [0], "ops": ["Assign"]}, ["Assign", "program"],
    error=errors.UnimplementedError,
)  # fmt: skip
refused("too few operands", [X], {"operands": [0], "ops": ["Add"]}, ["operands", "step 0"])
refused("too many operands", [X], {"operands": [0, 0], "ops": ["Abs"]}, ["operands"])
refused("later result", [X], {"operands": [1], "ops": ["Abs"]}, ["operand 1", "step 0"])
refused("lost result", [X, X[:2]], {"operands": [1, 0], "ops": ["Neg", "Abs"]}, ["reads", "step 0"])
refused("lost input", [X, X[:2]], {"operands": [0], "ops": ["Abs"]}, ["reads", "input 1"])
refused("no literal", [X], {"operands": [-1], "ops": ["Abs"]}, ["operand -1", "0 literals"])
refused(
    "numbers", [X], {"numbers": [1.0], "operands": [0], "ops": ["Elu"]}, ["numbers", "two for each"]
)
refused("names", [X], {"nodes": ["a", "b"], "operands": [0], "ops": ["Abs"]}, ["nodes", "one for"])
refused(
    "shapes", [X, ROW[:3]], {"nodes": ["a"], "operands": [0, 1], "ops": ["Add"]}, ["Add 'a'", "70"]
)
refused("wider", [A, B, floats(3, 1, 1)], LAYER, ["must keep the shape"], "FusedMatMul")
