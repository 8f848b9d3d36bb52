"""Activation functions beyond those of kernels/math.py, and Hardmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.choosing import chosen
from graphio.runtime.erf import erf
from graphio.runtime.kernels.array import axis_of
from graphio.runtime.kernels.math import sigmoid
from graphio.runtime.registry import Call, Function, function, kernel
from graphio.support import errors


def gelu(x: Any) -> Any:
    """x (1 + erf(x / sqrt(2))) / 2."""
    return x * (erf(x * x.dtype.type(0.5**0.5)) + 1) * x.dtype.type(0.5)


def gelu_tanh(x: Any) -> Any:
    """Gelu with tanh(sqrt(2 / pi) (x + 0.044715 x^3)) for the erf."""
    return x * sigmoid(x * (x * x * x.dtype.type(2 * _ROOT * 0.044715) + x.dtype.type(2 * _ROOT)))


_ROOT = (2 / np.pi) ** 0.5


def mish(x: Any) -> Any:
    """x tanh(log(1 + exp(x))), by n / (n + 2) with n = e (e + 2), e = exp(x)."""
    e = np.exp(np.minimum(x, 20))
    n = e * (e + 2)
    return x * (n / (n + 2))


def hard_sigmoid(x: Any, alpha: Any, beta: Any) -> Any:
    """alpha x + beta within [0, 1]."""
    kind = x.dtype.type
    return np.clip(x * kind(alpha) + kind(beta), kind(0), kind(1)) + kind(0)


def prelu(x: Any, slope: Any) -> Any:
    """x, times slope where it is below 0; slope broadcasts to x."""
    y = chosen(x < 0, x * slope, x)
    if y.shape != x.shape:
        raise errors.InvalidArgumentError(
            message=f"slope has shape {list(slope.shape)}, which does not broadcast to x, "
            f"{list(x.shape)}"
        )
    return y


function("Mish", 18, mish, "F")
function("HardSwish", 14, lambda x: x * hard_sigmoid(x, 1 / 6, 0.5), "F")
function("PRelu", 9, prelu, "WW")


@kernel("Gelu", since=20, types="F", fresh=True)
def _gelu(call: Call) -> Function:
    method = call.text("approximate", "none")
    if method not in ("none", "tanh"):
        raise errors.InvalidArgumentError(
            message=f"attribute 'approximate' is {method!r}, expected 'none' or 'tanh'"
        )
    return gelu_tanh if method == "tanh" else gelu


@kernel("HardSigmoid", since=6, types="F", fresh=True)
def _hard_sigmoid(call: Call) -> Function:
    alpha, beta = call.number("alpha", 0.2), call.number("beta", 0.5)
    return lambda x: hard_sigmoid(x, alpha, beta)


@kernel("Swish", since=24, types="F", fresh=True)
def _swish(call: Call) -> Function:
    alpha = call.number("alpha", 1.0)
    return lambda x: x * sigmoid(x * x.dtype.type(alpha))


@kernel("Hardmax", since=13, types="F", fresh=True)
def _hardmax(call: Call) -> Function:
    axis = call.integer("axis", -1)

    def hardmax(x: Any) -> Any:
        at, y = axis_of(axis, x.ndim), np.zeros_like(x)
        if x.size:
            np.put_along_axis(y, np.expand_dims(np.argmax(x, at), at), x.dtype.type(1), at)
        return y

    return hardmax
