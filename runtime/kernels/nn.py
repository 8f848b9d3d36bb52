"""Softmax and losses. Convolution and pooling are in kernels/window.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.choosing import kept
from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, can_hold, function, kernel
from graphio.support import errors


def _shifted(x: Any, axis: int) -> Any:
    return x - np.maximum.reduce(x, axis, keepdims=True)


def softmax(x: Any, axis: int) -> Any:
    """exp(x) over its sum along the axis, without overflow."""
    if not x.shape[axis]:
        return x.copy()
    e = np.exp(_shifted(x, axis))
    return np.multiply(e, 1 / np.add.reduce(e, axis, keepdims=True), out=e)


def log_softmax(x: Any, axis: int) -> Any:
    """log(softmax(x))."""
    if not x.shape[axis]:
        return x.copy()
    z = _shifted(x, axis)
    return z - np.log(np.add.reduce(np.exp(z), axis, keepdims=True))


def _register(op: str, compute: Any) -> None:
    @kernel(op, since=13, types="F", fresh=True)
    def make(call: Call) -> Function:
        axis = call.integer("axis", -1)
        return lambda x: compute(x, axis_of(axis, x.ndim))


_register("Softmax", softmax)
_register("LogSoftmax", log_softmax)


def relu_grad(y: Any, dy: Any) -> Any:
    """dy where y > 0, else 0."""
    return kept(y > 0, dy)


def _relu_grad_in_place(y: Any, dy: Any) -> Any:
    return kept(y > 0, dy, dy if can_hold(dy, y.shape) else None)


def softmax_cross_entropy(logits: Any, labels: Any) -> tuple[Array, Array]:
    """logits (n, c), labels (n, c) -> loss (n), gradient (n, c)."""
    if logits.ndim != 2 or logits.shape != labels.shape:
        raise errors.InvalidArgumentError(
            message=f"logits have shape {list(logits.shape)} and labels {list(labels.shape)}, "
            "expected one shape (n, c)"
        )
    if not logits.shape[1]:
        return np.zeros(len(logits), logits.dtype), logits.copy()
    z = _shifted(logits, 1)
    e = np.exp(z)
    s = np.add.reduce(e, 1, keepdims=True)
    loss = np.add.reduce(labels * (np.log(s) - z), 1)
    return loss, e * (1 / s) - labels


def sparse_softmax_cross_entropy(logits: Any, labels: Any) -> tuple[Array, Array]:
    """logits (n, c), labels (n) -> loss (n), gradient (n, c)."""
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise errors.InvalidArgumentError(
            message=f"logits have shape {list(logits.shape)} and labels {list(labels.shape)}, "
            "expected (n, c) and (n)"
        )
    wrong = (labels < 0) | (labels >= logits.shape[1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise errors.InvalidArgumentError(
            message=f"label {labels[row]} of row {row} is outside [0, {logits.shape[1]})"
        )
    if not len(logits):
        return np.zeros(0, logits.dtype), logits.copy()
    z = _shifted(logits, 1)
    e = np.exp(z)
    s = np.add.reduce(e, 1, keepdims=True)
    gradient = np.multiply(e, 1 / s, out=e)
    rows = np.arange(len(logits))
    gradient[rows, labels] -= 1
    return np.log(s)[:, 0] - z[rows, labels], gradient


_ONTO_GRADIENT = {1: _relu_grad_in_place}
function("ReluGrad", 1, relu_grad, "NN", domain="graphio", reuse=_ONTO_GRADIENT)
function("SoftmaxCrossEntropy", 1, softmax_cross_entropy, "FF", domain="graphio")
function("SparseSoftmaxCrossEntropy", 1, sparse_softmax_cross_entropy, "FI", domain="graphio")
