"""Gradients of elementwise operators, and of norms and determinants without a builder."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, select, unary, unbroadcast
from graphio.ops.base.shapes import dims_of
from graphio.ops.math.elementwise import (
    add,
    cos,
    exp,
    log,
    multiply,
    negative,
    pow,
    realdiv,
    reciprocal,
    sign,
    sin,
    square,
    subtract,
)
from graphio.ops.math.reduction import to_input

__all__: list[str] = []

Gradients = Sequence["Tensor | None"]

not_differentiable("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor")


# ---- operators of elementwise.py: one operand ----


not_differentiable("Floor", "Ceil", "Round", "IsNaN", "IsInf")
not_differentiable("NonZeroDivisor", "StopGradient", domain="graphio")


@gradient("Abs")
def _abs_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy sign(x)."""
    return [multiply(dy, sign(op.inputs[0]))]


@gradient("Neg")
def _neg_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy."""
    return [negative(dy)]


@gradient("Sign")
def _sign_gradient(op: Operation, dy: Tensor) -> Gradients:
    """0, and connected."""
    return [primitive.fill_like(dy, 0)]


@gradient("Exp")
def _exp_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy exp(x)."""
    return [multiply(dy, op.outputs[0])]


@gradient("Log")
def _log_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / x."""
    return [realdiv(dy, op.inputs[0])]


@gradient("Sqrt")
def _sqrt_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / (2 sqrt(x))."""
    return [realdiv(multiply(dy, 0.5), op.outputs[0])]


@gradient("Reciprocal")
def _reciprocal_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy / x^2."""
    y = op.outputs[0]
    return [negative(multiply(dy, multiply(y, y)))]


@gradient("Sin")
def _sin_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy cos(x)."""
    return [multiply(dy, cos(op.inputs[0]))]


@gradient("Atan")
def _atan_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / (1 + x^2)."""
    x = op.inputs[0]
    return [multiply(dy, reciprocal(add(multiply(x, x), 1.0)))]


@gradient("Cos")
def _cos_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy sin(x)."""
    return [negative(multiply(dy, sin(op.inputs[0])))]


@gradient("Tanh")
def _tanh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (1 - tanh(x)^2)."""
    y = op.outputs[0]
    return [multiply(dy, subtract(scalar(1, y.dtype), multiply(y, y)))]


@gradient("Sigmoid")
def _sigmoid_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy s (1 - s), s = sigmoid(x)."""
    s = op.outputs[0]
    return [multiply(dy, multiply(s, subtract(scalar(1, s.dtype), s)))]


@gradient("Erf")
def _erf_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy 2 / sqrt(pi) exp(-x^2)."""
    bell = exp(negative(square(op.inputs[0])))
    return [multiply(dy, multiply(bell, 2.0 / math.sqrt(math.pi)))]


@gradient("Identity", takes_slices=True)
@gradient("PlaceholderWithDefault", domain="graphio", takes_slices=True)
def _identity_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy."""
    return [dy]


@gradient("Cast")
def _cast_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy in x's dtype, if both are floating; of a float of 8 or 4 bits dy as it is."""
    x = op.inputs[0]
    if x.dtype.name.startswith(("float8", "float4")):
        return [dy]
    return [primitive.cast(dy, x.dtype) if x.dtype.is_floating else None]


@gradient("CastLike")
def _cast_like_gradient(op: Operation, dy: Tensor) -> Gradients:
    """As Cast's; nothing flows to the tensor that gives the type."""
    return [*_cast_gradient(op, dy), None]


# ---- two operands: each gradient is summed over the axes that broadcasting repeated ----


@gradient("Add")
def _add_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy, dy."""
    x, y = op.inputs
    return [unbroadcast(dy, x, y), unbroadcast(dy, y, x)]


@gradient("Sub")
def _sub_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy, -dy."""
    x, y = op.inputs
    return [unbroadcast(dy, x, y), negative(unbroadcast(dy, y, x))]


@gradient("Mul")
def _mul_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy y, dy x; a square gives 2 dy x at once."""
    x, y = op.inputs
    if x is y:
        return [multiply(dy, add(x, x)), None]
    return [unbroadcast(multiply(dy, y), x, y), unbroadcast(multiply(dy, x), y, x)]


@gradient("Div")
def _div_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / y, -dy (x / y) / y."""
    x, y = op.inputs
    along = realdiv(dy, y)
    across = negative(multiply(along, op.outputs[0]))
    return [unbroadcast(along, x, y), unbroadcast(across, y, x)]


@gradient("Pow")
def _pow_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy y x^(y-1), 0 where y is 0; dy x^y log(x) where x > 0, else 0.

    Each term begins with dy: where that is 0, so is the gradient, though the rest overflows.
    """
    x, y = op.inputs
    if y.dtype != x.dtype:  # the exponent's type is its own
        dx, rise = _pow_slopes(x, primitive.cast(y, x.dtype), op.outputs[0], dy)
        return [dx, primitive.cast(rise, y.dtype) if y.dtype.is_floating else None]
    return _pow_slopes(x, y, op.outputs[0], dy)


def _pow_slopes(x: Tensor, y: Tensor, power: Tensor, dy: Tensor) -> list[Tensor]:
    known = constant_value(y)
    zero, one = scalar(0, x.dtype), scalar(1, x.dtype)
    if known is not None and known.shape == () and known == 2:
        along = multiply(dy, add(x, x))
    else:
        along = multiply(multiply(dy, y), pow(x, subtract(y, scalar(1, y.dtype))))
    if known is None or not known.all():  # 0 times infinity where x is 0 as well
        along = select(compare("Equal", y, zero), zero, along)
    positive = compare("Greater", x, zero)
    logarithm = select(positive, log(select(positive, x, one)), zero)
    rise = multiply(multiply(dy, power), logarithm)
    return [unbroadcast(along, x, y), unbroadcast(rise, y, x)]


@gradient("Mod")
def _mod_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy, -dy (x - mod) / y, the quotient being a whole number."""
    x, y = op.inputs
    quotient = realdiv(subtract(x, op.outputs[0]), y)
    rounded = unary("Round", quotient)
    return [unbroadcast(dy, x, y), unbroadcast(negative(multiply(dy, rounded)), y, x)]


@gradient("Max")
def _max_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy to the first argument that is the largest."""
    return _to_the_winner(op, dy, "GreaterOrEqual")


@gradient("Min")
def _min_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy to the first argument that is the smallest."""
    return _to_the_winner(op, dy, "LessOrEqual")


def _to_the_winner(op: Operation, dy: Tensor, better: str) -> Gradients:
    inputs, zero = list(op.inputs), scalar(0, dy.dtype)
    if len(inputs) == 2:
        wins = compare(better, inputs[0], inputs[1])
        parts = [select(wins, dy, zero), select(wins, zero, dy)]
    else:
        parts, rest = [], dy
        for x in inputs:
            wins = compare("Equal", x, op.outputs[0])
            parts.append(select(wins, rest, zero))
            rest = select(wins, zero, rest)
    return [
        unbroadcast(part, x, *(o for o in inputs if o is not x))
        for part, x in zip(parts, inputs, strict=True)
    ]


@gradient("Clip")
def _clip_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy within the bounds, they included; beyond them it goes to the bound."""
    x, low, high = [*op.inputs, None, None][:3]
    zero = scalar(0, dy.dtype)
    kept = dy
    gradients: list[Tensor | None] = []
    for bound, beyond in ((low, "Less"), (high, "Greater")):
        if bound is None:
            gradients.append(None)
            continue
        out = compare(beyond, x, bound)
        gradients.append(primitive.reduce_sum(select(out, dy, zero), None, keepdims=False))
        kept = select(out, zero, kept)
    return [kept, *gradients][: len(op.inputs)]


# ---- operators without a builder ----


@gradient("Tan")
def _tan_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (1 + y^2)."""
    return [binary("Mul", dy, add(square(op.outputs[0]), 1.0))]


@gradient("Asin")
def _asin_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / sqrt(1 - x^2)."""
    return [binary("Div", dy, unary("Sqrt", _one_minus_square(op.inputs[0])))]


@gradient("Acos")
def _acos_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy / sqrt(1 - x^2)."""
    return [negative(binary("Div", dy, unary("Sqrt", _one_minus_square(op.inputs[0]))))]


@gradient("Atanh")
def _atanh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / (1 - x^2)."""
    return [binary("Div", dy, _one_minus_square(op.inputs[0]))]


def _one_minus_square(x: Tensor) -> Tensor:
    """(1 - x) (1 + x), which keeps its digits near 1."""
    one = scalar(1, x.dtype)
    return binary("Mul", binary("Sub", one, x), binary("Add", one, x))


@gradient("Sinh")
def _sinh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy cosh(x)."""
    return [binary("Mul", dy, unary("Cosh", op.inputs[0]))]


@gradient("Cosh")
def _cosh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy sinh(x)."""
    return [binary("Mul", dy, unary("Sinh", op.inputs[0]))]


@gradient("Asinh")
def _asinh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / sqrt(x^2 + 1)."""
    return [binary("Div", dy, unary("Sqrt", add(square(op.inputs[0]), 1.0)))]


@gradient("Acosh")
def _acosh_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / sqrt(x^2 - 1), as dy / sinh(y): nan below 1, where y is."""
    return [binary("Div", dy, unary("Sinh", op.outputs[0]))]


@gradient("Sum")
def _sum_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy for each."""
    inputs = list(op.inputs)
    return [unbroadcast(dy, x, *(o for o in inputs if o is not x)) for x in inputs]


@gradient("Mean")
def _mean_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / n for each of n."""
    return _sum_gradient(op, binary("Div", dy, scalar(len(op.inputs), dy.dtype)))


# ---- norms ----


def _results(op: Operation, dx: Tensor) -> Gradients:
    return [dx, *[None] * (len(op.inputs) - 1)]


@gradient("ReduceL1")
def _l1_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy sign(x)."""
    return _results(op, binary("Mul", to_input(op, dy), unary("Sign", op.inputs[0])))


@gradient("ReduceL2")
def _l2_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy x / y; 0 where y is 0."""
    y = op.outputs[0]
    safe = select(compare("Equal", y, scalar(0, y.dtype)), scalar(1, y.dtype), y)
    return _results(op, binary("Mul", op.inputs[0], to_input(op, binary("Div", dy, safe))))


@gradient("ReduceSumSquare")
def _sum_square_gradient(op: Operation, dy: Tensor) -> Gradients:
    """2 dy x."""
    x = op.inputs[0]
    return _results(op, binary("Mul", to_input(op, dy), binary("Add", x, x)))


@gradient("ReduceLogSum")
def _log_sum_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / sum(x)."""
    return _results(op, to_input(op, binary("Div", dy, exp(op.outputs[0]))))


@gradient("ReduceLogSumExp")
def _log_sum_exp_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy exp(x - y); 0 where all x are -inf."""
    y = op.outputs[0]
    none = compare("Equal", y, scalar(-np.inf, y.dtype))
    safe = select(none, scalar(0, y.dtype), y)
    share = exp(binary("Sub", op.inputs[0], to_input(op, safe)))
    return _results(op, binary("Mul", to_input(op, dy), share))


# ---- determinants ----


@gradient("Det")
def _det_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy times the cofactors, each the determinant of a minor: also of singular matrices."""
    x = op.inputs[0]
    dims = dims_of(x)
    if dims is None:
        raise ValueError(f"the gradient of Det '{op.name}' needs the rank of its input")
    batch = len(dims) - 2
    spread = primitive.unsqueeze(dy, [batch, batch + 1])
    if dims[-1] == 1:
        return [spread]
    rest = _all_but_one(x, batch, dims[-1])
    rows = primitive.gather(x, rest, batch)  # (..., i, n - 1, n)
    minors = primitive.gather(rows, rest, batch + 2)  # (..., i, n - 1, j, n - 1)
    order = [*range(batch), batch, batch + 2, batch + 1, batch + 3]
    size = (*dims[:-2], dims[-1], dims[-1])
    cofactors = node("Det", [primitive.transpose(minors, order)], x.dtype, size)
    signed = binary("Mul", cofactors, _chessboard(x, batch))
    return [binary("Mul", spread, signed)]


def _size_along(x: Tensor, axis: int) -> Tensor:
    index = constant(np.asarray(axis, np.int64))
    return node("Gather", [primitive.shape_of(x), index], dtypes.int64, (), axis=0)


def _numbers(n: Tensor, axis: int) -> Tensor:
    """0 to n - 1 with a new axis of size 1."""
    zero, one = (constant(np.asarray(v, np.int64)) for v in (0, 1))
    return primitive.unsqueeze(node("Range", [zero, n, one], dtypes.int64, (None,)), [axis])


def _all_but_one(x: Tensor, axis: int, n: int | None) -> Tensor:
    """(n, n - 1) indices: row i is 0 to n - 1 without i."""
    one = constant(np.asarray(1, np.int64))
    size = _size_along(x, axis)
    row, column = _numbers(size, 1), _numbers(binary("Sub", size, one), 0)
    behind = primitive.cast(compare("GreaterOrEqual", column, row), dtypes.int64)
    indices = binary("Add", column, behind)
    return indices if n is None else primitive.reshape(indices, [n, n - 1], (n, n - 1))


def _chessboard(x: Tensor, axis: int) -> Tensor:
    """(n, n) of 1 where row + column is even, -1 elsewhere."""
    size = _size_along(x, axis)
    two = constant(np.asarray(2, np.int64))
    total = binary("Add", _numbers(size, 1), _numbers(size, 0))
    odd = primitive.cast(binary("Mod", total, two), x.dtype)
    return binary("Sub", scalar(1, x.dtype), binary("Add", odd, odd))
