"""Gradients of activation functions beyond those of graphio.nn."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence

from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.emit import scalar
from graphio.ops.base.primitive import binary, compare, select, unary
from graphio.ops.base.recompute import by_parts

Gradients = Sequence["Tensor | None"]

not_differentiable("Hardmax")


def _gelu(x: Tensor, approximate: str) -> Tensor:
    def number(value: float) -> Tensor:
        return scalar(value, x.dtype)

    if approximate == "tanh":
        twice = 2 * numbers.sqrt(2 / numbers.pi)
        slope = binary("Mul", binary("Mul", x, x), number(twice * 0.044715))
        inner = binary("Mul", x, binary("Add", slope, number(twice)))
        return binary("Mul", x, unary("Sigmoid", inner))
    share = unary("Erf", binary("Mul", x, number(numbers.sqrt(0.5))))
    half = binary("Mul", x, number(0.5))
    return binary("Mul", half, binary("Add", share, number(1)))


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    zero, one = scalar(0, x.dtype), scalar(1, x.dtype)
    line = binary("Add", binary("Mul", x, scalar(alpha, x.dtype)), scalar(beta, x.dtype))
    above = select(compare("Less", line, one), line, one)
    return select(compare("Greater", line, zero), above, zero)


@gradient("Gelu")
def _gelu_gradient(op: Operation, dy: Tensor) -> Gradients:
    approximate = op.attrs.get("approximate", "none")
    text = approximate.decode() if isinstance(approximate, bytes) else str(approximate)
    return by_parts(op, [dy], lambda x: _gelu(x, text))


@gradient("Mish")
def _mish_gradient(op: Operation, dy: Tensor) -> Gradients:
    return by_parts(op, [dy], lambda x: binary("Mul", x, unary("Tanh", unary("Softplus", x))))


@gradient("Swish")
def _swish_gradient(op: Operation, dy: Tensor) -> Gradients:
    alpha = scalar(float(op.attrs.get("alpha", 1.0)), dy.dtype)
    return by_parts(op, [dy], lambda x: binary("Mul", x, unary("Sigmoid", binary("Mul", x, alpha))))


@gradient("HardSigmoid")
def _hard_sigmoid_gradient(op: Operation, dy: Tensor) -> Gradients:
    """alpha dy within the bounds, 0 at and beyond them."""
    alpha, beta = float(op.attrs.get("alpha", 0.2)), float(op.attrs.get("beta", 0.5))
    return by_parts(op, [dy], lambda x: _hard_sigmoid(x, alpha, beta))


@gradient("HardSwish")
def _hard_swish_gradient(op: Operation, dy: Tensor) -> Gradients:
    return by_parts(op, [dy], lambda x: binary("Mul", x, _hard_sigmoid(x, 1 / 6, 0.5)))


@gradient("Softsign")
def _softsign_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / (1 + |x|)^2"""
    [x] = op.inputs
    assert x is not None
    size = binary("Add", unary("Abs", x), scalar(1, x.dtype))
    return [binary("Div", dy, binary("Mul", size, size))]


@gradient("PRelu")
def _prelu_gradient(op: Operation, dy: Tensor) -> Gradients:
    def parts(x: Tensor, slope: Tensor) -> Tensor:
        below = compare("Less", x, scalar(0, x.dtype))
        return select(below, binary("Mul", x, slope), x)

    return by_parts(op, [dy], parts)
