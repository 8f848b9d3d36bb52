"""Programs of elementwise operators: each alone, fused to a MatMul, several together."""

from __future__ import annotations

from corners import corner, numbers, ones

UNARY = (
    "Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Erf", "Relu", "Sigmoid", "Tanh", "Softplus",
    "Elu", "Selu", "LeakyRelu", "Gelu", "GeluTanh", "Mish", "Swish", "HardSigmoid", "HardSwish",
    "Softsign", "Clip", "Floor", "Ceil", "Round", "Sign", "Sin", "Cos", "Tan", "Asin", "Acos",
    "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh",
)  # fmt: skip
BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "ReluGrad")
x, a, b = abs(numbers(3, 70)), numbers(5, 8), numbers(8, 9)
for op in UNARY:
    attrs = {"ops": [op], "operands": [0], "numbers": [0.25, 0.5], "tolerance": 1e-5}
    corner("graphio.FusedElementwise", x, **attrs)
    corner("graphio.FusedMatMul", a, b, **attrs)
for op in BINARY:
    attrs = {"ops": [op], "operands": [0, 1], "tolerance": 1e-5}
    for other in (ones(3, 70) * 2, ones(70) * 2, ones() * 2 + ones(1), ones(3, 1) * 3):
        corner("graphio.FusedElementwise", x, other, **attrs)
    for other in (ones(5, 9) * 2, ones(9) * 2, ones(1), ones(5, 1) * 3):
        corner("graphio.FusedMatMul", a, b, other, **attrs)
# Results that several steps use: they are kept next to the tile.
several = {
    "ops": ["Exp", "Abs", "Neg", "Mul", "Add", "Max"],
    "operands": [0, 0, 0, 1, 2, 3, 4, 5, 1],
}
corner("graphio.FusedElementwise", x, tolerance=1e-5, **several)
corner("graphio.FusedMatMul", a, b, tolerance=1e-5, **several)
corner("graphio.FusedMatMul", numbers(40, 8), numbers(8, 700), tolerance=1e-4, **several)
image, filters = numbers(1, 8, 20, 20), numbers(32, 8, 3, 3)
corner("graphio.FusedConv", image, filters, None, tolerance=1e-3, **several)
corner("graphio.FusedConv", image, filters, numbers(32), tolerance=1e-3, ops=["Sin"], operands=[0])
# Convolutions whose programs run after each tile: one packed tile, long rows of pixels, planes;
# with values kept in registers, with another value added, and with both.
one = numbers(32, 8, 1, 1)
large, wide = numbers(1, 8, 25, 24), numbers(1, 16, 32, 33)
relu = {"ops": ["Add", "Relu"], "operands": [0, 1, 2]}
for extra in (ones(1, 32, 25, 24), ones(32, 1, 1) * 2, ones(1)):
    corner("graphio.FusedConv", large, one, None, extra, tolerance=1e-3, **relu)
corner("graphio.FusedConv", large, one, numbers(32), tolerance=1e-3, ops=["Tanh"], operands=[0])
corner("graphio.FusedConv", large, one, None, tolerance=1e-3, **several)
same = {"pads": [1, 1, 1, 1], "tolerance": 1e-3}
for extra in (numbers(1, 32, 32, 33), numbers(32, 1, 1)):
    corner("graphio.FusedConv", wide, numbers(32, 16, 3, 3), None, extra, **relu, **same)
fives = numbers(1, 4, 32, 33), numbers(16, 4, 5, 5), None, numbers(1, 16, 32, 33)
corner("graphio.FusedConv", *fives, pads=[2, 2, 2, 2], tolerance=1e-3, **relu)
planes = {"group": 16, **same}
corner("graphio.FusedConv", wide, numbers(16, 1, 3, 3), None, ops=["Relu"], operands=[0], **planes)
corner(
    "graphio.FusedConv", wide, numbers(16, 1, 3, 3), None, numbers(1, 16, 32, 33), **relu, **planes
)
for height in (3, 1):
    long = numbers(1, 2, height, 4200), numbers(16, 2, 1, 1), None
    corner("graphio.FusedConv", *long, tolerance=1e-3, **several)
    corner("graphio.FusedConv", *long, tolerance=1e-3, ops=["Exp"], operands=[0])
