"""Gradients of elementwise operators, norms and determinants that have no separate builder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import binary, compare, select, unary, unbroadcast
from graphio.ops.base.shapes import dims_of
from graphio.ops.math import elementwise
from graphio.ops.math.reduction import to_input

__all__: list[str] = []

Gradients = Sequence["Tensor | None"]

not_differentiable("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor")


@gradient("Tan")
def _tan_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy (1 + y^2)."""
    return [binary("Mul", dy, elementwise.add(elementwise.square(op.outputs[0]), 1.0))]


@gradient("Asin")
def _asin_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / sqrt(1 - x^2)."""
    return [binary("Div", dy, unary("Sqrt", _one_minus_square(op.inputs[0])))]


@gradient("Acos")
def _acos_gradient(op: Operation, dy: Tensor) -> Gradients:
    """-dy / sqrt(1 - x^2)."""
    return [elementwise.negative(binary("Div", dy, unary("Sqrt", _one_minus_square(op.inputs[0]))))]


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
    return [
        binary("Div", dy, unary("Sqrt", elementwise.add(elementwise.square(op.inputs[0]), 1.0)))
    ]


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
    return _results(op, to_input(op, binary("Div", dy, elementwise.exp(op.outputs[0]))))


@gradient("ReduceLogSumExp")
def _log_sum_exp_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy exp(x - y); 0 where all x are -inf."""
    y = op.outputs[0]
    none = compare("Equal", y, scalar(-np.inf, y.dtype))
    safe = select(none, scalar(0, y.dtype), y)
    share = elementwise.exp(binary("Sub", op.inputs[0], to_input(op, safe)))
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
    place = constant(np.asarray(axis, np.int64))
    return node("Gather", [primitive.shape_of(x), place], dtypes.int64, (), axis=0)


def _numbers(n: Tensor, axis: int) -> Tensor:
    """0 to n - 1 with an axis of size 1 at the given index."""
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
    place = binary("Add", _numbers(size, 1), _numbers(size, 0))
    odd = primitive.cast(binary("Mod", place, two), x.dtype)
    return binary("Sub", scalar(1, x.dtype), binary("Add", odd, odd))
