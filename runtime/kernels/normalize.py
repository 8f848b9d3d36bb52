"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_STASH = {1: np.float32, 11: np.float64}


def _standard(x: Any, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array, Array]:
    """(x - mean) / sqrt(variance + epsilon), the mean, the variance, 1 / sqrt(...)."""
    n = x.dtype.type(int(np.prod([x.shape[a] for a in axes])))
    mean = np.add.reduce(x, axes, keepdims=True) / n
    shifted = x - mean
    variance = np.add.reduce(shifted * shifted, axes, keepdims=True) / n
    inverse = 1 / np.sqrt(variance + x.dtype.type(epsilon))
    return np.multiply(shifted, inverse, out=shifted), mean, variance, inverse


def _operand(name: str, op: Any, y: Array, v: Any) -> Array:
    """y op v where v broadcasts to y."""
    shape = v.shape
    if v.ndim > y.ndim or any(
        m not in (1, n) for m, n in zip(shape[::-1], y.shape[::-1], strict=False)
    ):
        raise errors.InvalidArgumentError(
            message=f"{name} has shape {list(shape)}, which does not broadcast to x, "
            f"{list(y.shape)}"
        )
    result: Array = op(y, v, out=y)
    return result


def _stash(call: Call) -> Any:
    number = call.integer("stash_type", 1)
    if number in _STASH or (number in (10, 16) and len(call.outputs) <= 1):
        return _STASH.get(number, np.float32)
    raise errors.UnimplementedError(
        message=f"stash_type is {number}, there are kernels for 1 (float32) and 11 (float64)"
    )


@kernel("LayerNormalization", since=17, types="FFF", fresh=True)
def _layer_normalization(call: Call) -> Function:
    axis, epsilon = call.integer("axis", -1), call.number("epsilon", 1e-5)
    stash, outputs = _stash(call), len(call.outputs)

    def normalize(x: Any, scale: Any, bias: Any = None) -> Any:
        axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
        y, mean, _, inverse = _standard(x, axes, epsilon)
        y = _operand("scale", np.multiply, y, scale)
        if bias is not None:
            y = _operand("bias", np.add, y, bias)
        return (y, mean.astype(stash), inverse.astype(stash))[:outputs] if outputs > 1 else y

    return normalize


@kernel("RMSNormalization", since=23, types="FF", fresh=True)
def _rms_normalization(call: Call) -> Function:
    axis, epsilon = call.integer("axis", -1), call.number("epsilon", 1e-5)
    _stash(call)

    def normalize(x: Any, scale: Any) -> Any:
        axes = tuple(range(axis_of(axis, x.ndim), x.ndim))
        n = x.dtype.type(int(np.prod([x.shape[a] for a in axes])))
        square = np.add.reduce(x * x, axes, keepdims=True) / n
        y = x * (1 / np.sqrt(square + x.dtype.type(epsilon)))
        return _operand("scale", np.multiply, y, scale)

    return normalize


def _check_channels(x: Any, vectors: Sequence[Any]) -> None:
    if x.ndim < 2:
        raise errors.InvalidArgumentError(
            message=f"x has shape {list(x.shape)}, expected rank 2 or more: (n, channels, ...)"
        )
    for i, v in enumerate(vectors, 1):
        if v.shape != x.shape[1:2]:
            raise errors.InvalidArgumentError(
                message=f"input {i} has shape {list(v.shape)}, expected one number for each of the "
                f"{x.shape[1]} channels of x, {list(x.shape)}"
            )


def _channels(v: Any, rank: int) -> Any:
    return v.reshape(-1, *[1] * (rank - 2))


def _in_groups(x: Any, scale: Any, bias: Any, groups: int, epsilon: float) -> Any:
    if not x.size:
        return np.zeros_like(x)
    rows = x.reshape(x.shape[0], groups, -1)
    y = _standard(rows, (2,), epsilon)[0].reshape(x.shape)
    y *= _channels(scale, x.ndim)
    y += _channels(bias, x.ndim)
    return y


@kernel("InstanceNormalization", since=6, types="FFF", fresh=True)
def _instance_normalization(call: Call) -> Function:
    epsilon = call.number("epsilon", 1e-5)

    def normalize(x: Any, scale: Any, bias: Any) -> Any:
        _check_channels(x, (scale, bias))
        return _in_groups(x, scale, bias, x.shape[1], epsilon)

    return normalize


@kernel("GroupNormalization", since=21, types="FFF", fresh=True)
def _group_normalization(call: Call) -> Function:
    epsilon, groups = call.number("epsilon", 1e-5), call.integer("num_groups", 0)
    _stash(call)

    def normalize(x: Any, scale: Any, bias: Any) -> Any:
        _check_channels(x, (scale, bias))
        if groups < 1 or x.shape[1] % groups:
            raise errors.InvalidArgumentError(
                message=f"num_groups is {groups}, expected a number of groups that divides "
                f"{x.shape[1]} channels"
            )
        return _in_groups(x, scale, bias, groups, epsilon)

    return normalize


@kernel("BatchNormalization", since=15, types="FFFFF", fresh=True)
def _batch_normalization(call: Call) -> Function:
    epsilon, momentum = call.number("epsilon", 1e-5), call.number("momentum", 0.9)
    training, outputs = call.integer("training_mode", 0), len(call.outputs)
    if not training and outputs > 1:
        raise errors.InvalidArgumentError(
            message=f"there are {outputs} outputs, expected 1 without training_mode"
        )

    def infer(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        _check_channels(x, (scale, bias, mean, variance))
        factor = 1 / np.sqrt(variance + x.dtype.type(epsilon)) * scale
        y = x - _channels(mean, x.ndim)
        y *= _channels(factor, x.ndim)
        y += _channels(bias, x.ndim)
        return y

    def train(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
        _check_channels(x, (scale, bias, mean, variance))
        axes = (0, *range(2, x.ndim))
        y, batch_mean, batch_variance, _ = _standard(x, axes, epsilon)
        y *= _channels(scale, x.ndim)
        y += _channels(bias, x.ndim)
        kept = x.dtype.type(momentum)
        both = ((mean, batch_mean), (variance, batch_variance))
        running = [old * kept + new.reshape(-1) * (1 - kept) for old, new in both]
        return (y, *running)[:outputs] if outputs > 1 else y

    return train if training else infer


@kernel("LpNormalization", since=1, types="F", fresh=True)
def _lp_normalization(call: Call) -> Function:
    axis, p = call.integer("axis", -1), call.integer("p", 2)
    if p not in (1, 2):
        raise errors.InvalidArgumentError(message=f"attribute 'p' is {p}, expected 1 or 2")

    def normalize(x: Any) -> Any:
        at = axis_of(axis, x.ndim)
        terms = np.abs(x) if p == 1 else x * x
        norm = np.add.reduce(terms, at, keepdims=True)
        norm = norm if p == 1 else np.sqrt(norm)
        zero = norm == 0
        return np.where(zero, x.dtype.type(0), x / np.where(zero, x.dtype.type(1), norm))

    return normalize


@kernel("LRN", since=1, types="F", fresh=True)
def _lrn(call: Call) -> Function:
    size, alpha = call.integer("size", 0), call.number("alpha", 1e-4)
    beta, bias = call.number("beta", 0.75), call.number("bias", 1.0)
    if size < 1:
        raise errors.InvalidArgumentError(message=f"size is {size}, expected 1 or more")

    def normalize(x: Any) -> Any:
        if x.ndim < 2:
            raise errors.InvalidArgumentError(
                message=f"x has shape {list(x.shape)}, expected rank 2 or more: (n, channels, ...)"
            )
        if x.size == 0:  # of any number of channels
            return x
        channels, wide = x.shape[1], x.astype(np.float64, copy=False)
        squares, total = wide * wide, np.zeros(x.shape)
        below = min((size - 1) // 2, channels)
        above = min(size - 1 - (size - 1) // 2, channels)
        for shift in range(-below, above + 1):
            to = slice(max(0, -shift), max(0, channels - max(0, shift)))
            start = slice(max(0, shift), max(0, channels + min(0, shift)))
            total[:, to] += squares[:, start]
        return (wide / (bias + alpha / size * total) ** beta).astype(x.dtype)

    return normalize
