"""Bijectors of vectors whose parameters networks compute: MaskedAutoregressiveFlow and RealNVP."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import Bijector
from graphio.framework import scopes
from graphio.layers import core
from graphio.ops.array import surface as array
from graphio.ops.control_flow.loops import while_loop
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.elementwise import clip_by_value
from graphio.ops.nn.core import relu
from graphio.support import api_guard
from graphio.variables.initializers import glorot_normal_initializer
from graphio.variables.templates import make_template

__all__ = [
    "MaskedAutoregressiveFlow",
    "RealNVP",
    "masked_autoregressive_default_template",
    "masked_dense",
    "real_nvp_default_template",
]

_DEPTH_UNKNOWN = "Rightmost dimension must be known prior to graph execution."


def _depth(x: Any) -> int:
    """The size of the last axis.

    Raises:
        NotImplementedError: it is not known.
    """
    known = x.shape.with_rank_at_least(1)[-1].value
    if known is None:
        raise NotImplementedError(_DEPTH_UNKNOWN)
    return int(known)


def _scaled(x: Any, shift: Any, log_scale: Any) -> Any:
    x = x if log_scale is None else x * elementwise.exp(log_scale)
    return x if shift is None else x + shift


def _unscaled(y: Any, shift: Any, log_scale: Any) -> Any:
    y = y if shift is None else y - shift
    return y if log_scale is None else y * elementwise.exp(-log_scale)


def _sum_of(log_scale: Any, x: Any) -> Any:
    if log_scale is None:
        return array.zeros([], x.dtype)
    return reduction.reduce_sum(log_scale, -1)


class MaskedAutoregressiveFlow(Bijector):
    """Y_i = X_i exp(log_scale_i) + shift_i, of which shift and log_scale are a function of
    Y_1 ... Y_i-1 (Papamakarios et al., 2017).

    The inverse takes one call of the function; forward takes as many as a vector has numbers.

    Args:
        shift_and_log_scale_fn: from y to a pair of tensors or None, autoregressive.
        is_constant_jacobian: whether log_scale is always None.
        validate_args: without an effect.
        unroll_loop: whether the calls of forward are separate operations and not a loop.
        name: of the scope of its operations; None: `masked_autoregressive_flow`.
    """

    def __init__(
        self,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        unroll_loop: bool = False,
        name: str | None = None,
    ) -> None:
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        self._unroll_loop = unroll_loop
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x: Any) -> Any:
        known = x.shape.with_rank_at_least(1)[-1].value
        y = array.zeros_like(x, name="y0")
        if self._unroll_loop:
            if known is None:
                raise ValueError(
                    "The final dimension of `x` must be known at graph construction time if "
                    f"`unroll_loop=True`. `x.shape: {x.shape!r}`"
                )
            for _ in range(known):
                y = _scaled(x, *self._shift_and_log_scale_fn(y))
            return y
        self._shift_and_log_scale_fn(y)  # makes the variables, which a loop can't

        def step(index: Any, y: Any) -> tuple[Any, Any]:
            return index + 1, _scaled(x, *self._shift_and_log_scale_fn(y))

        size = array.shape(x)[-1]
        _, found = while_loop(lambda index, _: index < size, step, (0, y), maximum_iterations=known)
        return found

    def _inverse(self, y: Any) -> Any:
        return _unscaled(y, *self._shift_and_log_scale_fn(y))

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        _, log_scale = self._shift_and_log_scale_fn(y)
        return -_sum_of(log_scale, y)


class RealNVP(Bijector):
    """The first numbers of a vector stay, the others are scaled and shifted by functions of the
    first (Dinh et al., 2017), for tensors (batch, n).

    Args:
        num_masked: how many numbers stay.
        shift_and_log_scale_fn: from (batch, num_masked) and the number of the others to a pair of
            tensors (batch, others) or None.
        is_constant_jacobian: whether log_scale is always None.
        validate_args: without an effect.
        name: of the scope of its operations; None: `real_nvp`.

    Raises:
        ValueError: num_masked is not above 0; of calls, it is not below n.
        NotImplementedError: of calls, n is not known.
    """

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., Any],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked = num_masked
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=1,
            name=name or "real_nvp",
        )

    def _parts(self, x: Any) -> tuple[Any, Any, Any]:
        """The numbers that stay, the others, and their shift and log_scale."""
        depth, count = _depth(x), self._num_masked
        if count >= depth:
            raise ValueError("Number of masked units must be smaller than the event size.")
        kept = x[:, :count]
        return kept, x[:, count:], self._shift_and_log_scale_fn(kept, depth - count)

    def _forward(self, x: Any) -> Any:
        kept, others, found = self._parts(x)
        return array.concat([kept, _scaled(others, *found)], -1)

    def _inverse(self, y: Any) -> Any:
        kept, others, found = self._parts(y)
        return array.concat([kept, _unscaled(others, *found)], -1)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -self._forward_log_det_jacobian(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        _, _, (_, log_scale) = self._parts(x)
        return _sum_of(log_scale, x)


def _mask(num_blocks: int, inputs: int, outputs: int, exclusive: bool) -> Any:
    """1 where an output depends on an input: that of the same block or, exclusive, of the blocks
    before alone; (inputs, outputs)."""
    mask = np.zeros([inputs, outputs], np.float32)
    wide, high = inputs // num_blocks, outputs // num_blocks
    for block in range(num_blocks):
        first = (block + exclusive) * high
        mask[block * wide : (block + 1) * wide, first:] = 1
    return mask


@api_guard.makes_variables
def masked_dense(
    inputs: Any,
    units: int,
    num_blocks: Any = None,
    exclusive: bool = False,
    kernel_initializer: Any = None,
    reuse: bool | None = None,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A dense layer whose outputs come in blocks, and depend on the inputs up to their block.

    Args:
        inputs: tensor (..., n).
        units: number of outputs.
        num_blocks: number of blocks.
        exclusive: whether the inputs of an output's own block are left out.
        kernel_initializer: None: glorot_normal_initializer().
        reuse: see tf.layers.dense.
        name: of the layer.
        args: further arguments of tf.layers.Dense after units.
        kwargs: likewise.

    Returns:
        (..., units).

    Raises:
        NotImplementedError: n is not known.
    """
    mask = _mask(num_blocks, _depth(inputs), units, exclusive)
    initializer = kernel_initializer or glorot_normal_initializer()

    def masked(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return mask * initializer(shape, dtype, partition_info)

    with scopes.name_scope(name, "masked_dense", values=[inputs]):
        own: dict[str, Any] = {
            "kernel_initializer": masked,
            "kernel_constraint": lambda kernel: mask * kernel,
            "name": name,
            "dtype": inputs.dtype.base_dtype,
            "_scope": name,
            "_reuse": reuse,
        }
        layer: Any = functools.partial(core.Dense, units, *args)(**own, **kwargs)
        return layer.apply(inputs)


@api_guard.unguarded
def masked_autoregressive_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    log_scale_min_clip: Any = -5.0,
    log_scale_max_clip: Any = 3.0,
    log_scale_clip_gradient: bool = False,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A network for MaskedAutoregressiveFlow: masked dense layers (Germain et al., 2015).

    Args:
        hidden_layers: sizes of the layers.
        shift_only: whether log_scale is None.
        activation: of the hidden layers.
        log_scale_min_clip: the minimum of log_scale.
        log_scale_max_clip: the maximum.
        log_scale_clip_gradient: whether clipped numbers have no gradients.
        name: of the variables' scope; None: `masked_autoregressive_default_template`.
        args: further arguments of the layers.
        kwargs: likewise.

    Returns:
        A template, from (..., n) to (shift, log_scale).

    Raises:
        NotImplementedError: of a call, n is not known.
    """

    def build(x: Any) -> tuple[Any, Any]:
        depth = _depth(x)
        shape = array.shape(x)
        known = x.shape
        for i, units in enumerate(hidden_layers):
            x = masked_dense(
                x,
                units,
                depth,
                i == 0,
                *args,
                activation=activation,
                **kwargs,
            )
        outputs = (1 if shift_only else 2) * depth
        x = masked_dense(x, outputs, depth, *args, activation=None, **kwargs)
        if shift_only:
            return _with_shape(array.reshape(x, shape), known), None
        both = array.reshape(x, array.concat([shape, [2]], 0))
        shift, log_scale = (_with_shape(both[..., i], known) for i in range(2))
        clipped = clip_by_value(log_scale, log_scale_min_clip, log_scale_max_clip)
        if not log_scale_clip_gradient:
            clipped = log_scale + array.stop_gradient(clipped - log_scale)
        return shift, clipped

    return make_template(name or "masked_autoregressive_default_template", build)


def _with_shape(x: Any, shape: Any) -> Any:
    x.set_shape(shape)
    return x


@api_guard.unguarded
def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """A network for RealNVP: dense layers.

    Args:
        hidden_layers: sizes of the layers.
        shift_only: whether log_scale is None.
        activation: of the hidden layers.
        name: without an effect; the variables' scope is `real_nvp_default_template`.
        args: further arguments of tf.layers.dense.
        kwargs: likewise.

    Returns:
        A template, from (batch, n) and the number of outputs to (shift, log_scale).
    """

    dense: Callable[..., Any] = core.dense

    def build(x: Any, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = dense(x, units, *args, activation=activation, **kwargs)
        outputs = (1 if shift_only else 2) * output_units
        x = dense(x, outputs, *args, activation=None, **kwargs)
        if shift_only:
            return x, None
        shift, log_scale = array.split(x, 2, axis=-1)
        return shift, log_scale

    return make_template("real_nvp_default_template", build)
