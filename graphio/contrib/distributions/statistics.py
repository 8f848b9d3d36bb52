"""Statistics of samples, and moving averages of statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import checked
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.ops.array import surface as array
from graphio.ops.array.order import top_k
from graphio.ops.checks import asserts
from graphio.ops.complex import parts
from graphio.ops.math import elementwise, reduction
from graphio.ops.signals import fourier
from graphio.support import api_guard
from graphio.variables import variable_scope
from graphio.variables.initializers import zeros_initializer

__all__ = [
    "assign_log_moving_mean_exp",
    "assign_moving_mean_variance",
    "auto_correlation",
    "moving_mean_variance",
    "percentile",
    "reduce_weighted_logsumexp",
]

#: the index of a percentile among numbers that decrease, by the kind of interpolation
_ROUNDINGS = {
    "lower": elementwise.ceil,
    "higher": elementwise.floor,
    "nearest": elementwise.round,
}


@api_guard.operator
def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Any:
    """The numbers below which a percentage of others lies.

    Args:
        x: tensor of a known rank.
        q: scalar from 0 to 100, the percentage.
        axis: axes of the others; None: all.
        interpolation: "nearest", "lower" or "higher"; None: "nearest".
        keep_dims: whether the axes stay, with size 1.
        validate_args: whether a run checks q.
        name: of the operations.

    Raises:
        ValueError: another interpolation, q is not a scalar, or an axis is unknown or out of range.
    """
    interpolation = interpolation or "nearest"
    if interpolation not in _ROUNDINGS:
        raise ValueError(
            f"Argument 'interpolation' must be in {sorted(_ROUNDINGS)}.  Found {interpolation}"
        )
    with scopes.name_scope(name, "percentile", values=[x, q]):
        x = convert_to_tensor(x, name="x")
        q = elementwise.cast(q, dtypes.float64)
        if q.shape.ndims not in (None, 0):
            raise ValueError(f"Expected argument 'q' to be a scalar.  Found tensor {q}")
        if validate_args:
            q = checked(
                q,
                [asserts.assert_greater_equal(q, 0.0), asserts.assert_less_equal(q, 100.0)],
            )
        axes = _axes(x, axis)
        flat = array.reshape(x, [-1]) if axes is None else _at_the_end(x, axes)
        count = array.shape(flat)[-1]
        position = elementwise.cast(count - 1, dtypes.float64) * (1.0 - q / 100.0)
        index = elementwise.cast(_ROUNDINGS[interpolation](position), dtypes.int32)
        index = elementwise.clip_by_value(index, 0, count - 1)
        decreasing, _ = top_k(flat, k=count)
        found = decreasing[..., index]
        found.set_shape(flat.shape[:-1])
        if keep_dims:
            for i in range(x.shape.ndims) if axes is None else sorted(axes):
                found = array.expand_dims(found, i)
        return found


def _axes(x: Any, axis: Any) -> list[int] | None:
    if axis is None:
        return None
    known = constant_value(convert_to_tensor(axis, name="axis"))
    if known is None:
        raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
    ndims = x.shape.ndims
    if ndims is None:
        raise ValueError(f"Expected argument 'x' to have statically defined 'ndims'.  Found: {x}")
    found = []
    for i in np.reshape(known, [-1]).tolist():
        if not -ndims <= i < ndims:
            raise ValueError(f"axis {i} not in the interval [-{ndims}, {ndims - 1}].")
        found.append(i % ndims)
    return found


def _at_the_end(x: Any, axes: list[int]) -> Any:
    """x with axes joined to a last one."""
    front = [i for i in range(x.shape.ndims) if i not in axes]
    moved = array.transpose(x, [*front, *axes])
    lead = array.shape(moved)[: len(front)]
    flat = array.reshape(moved, array.concat([lead, [-1]], 0))
    flat.set_shape(moved.shape[: len(front)].concatenate([None]))
    return flat


@api_guard.operator
def auto_correlation(
    x: Any,
    axis: int = -1,
    max_lags: Any = None,
    center: bool = True,
    normalize: bool = True,
    name: str = "auto_correlation",
) -> Any:
    """The mean of a series times itself at a lag.

    Args:
        x: floating or complex tensor of a known rank.
        axis: of the series.
        max_lags: the largest lag; None: all.
        center: whether the mean is subtracted first.
        normalize: whether all are divided by that of lag 0.
        name: of the operations.

    Returns:
        A tensor with the lags 0 ... max_lags along the axis.

    Raises:
        TypeError: x is of integers.
    """
    with scopes.name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype.base_dtype
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Argument x must have either float or complex dtype found: {dtype}")
        ndims = x.shape.ndims
        axis = axis % ndims
        order = [*(i for i in range(ndims) if i != axis), axis]
        series = array.transpose(x, order)
        if center:
            series = series - reduction.reduce_mean(series, -1, keepdims=True)
        length = array.shape(series)[-1]
        lags = _at_lags(series, length)
        last = length - 1 if max_lags is None else elementwise.minimum(length - 1, max_lags)
        lags = lags[..., : last + 1]
        counts = elementwise.cast(length - array.range(last + 1), dtype.real_dtype)
        found = elementwise.cast(lags, dtype) / elementwise.cast(counts, dtype)
        if normalize:
            found = found / found[..., :1]
        found.set_shape(series.shape[:-1].concatenate([_static_lags(series, max_lags)]))
        return array.transpose(found, np.argsort(order).tolist())


def _static_lags(series: Any, max_lags: Any) -> int | None:
    length = series.shape[-1].value
    if max_lags is None or length is None:
        return None if length is None else int(length)
    known = constant_value(convert_to_tensor(max_lags))
    return None if known is None else min(length, int(known) + 1)


def _at_lags(series: Any, length: Any) -> Any:
    """The sums at each lag, by the Fourier transform of the series and as many
    zeros; complex numbers of real series are cast."""
    dtype = series.dtype.base_dtype
    wide = dtypes.complex128 if dtype.real_dtype == dtypes.float64 else dtypes.complex64
    padded = array.concat([series, array.zeros_like(series)], -1)
    transform = fourier.fft(elementwise.cast(padded, wide))
    made = fourier.ifft(transform * parts.conj(transform))
    return made if dtype.is_complex else parts.real(made)


@api_guard.operator
def reduce_weighted_logsumexp(
    logx: Any,
    w: Any = None,
    axis: Any = None,
    keep_dims: bool = False,
    return_sign: bool = False,
    name: str | None = None,
) -> Any:
    """The logarithm of the absolute value of a sum of w exp(logx).

    Args:
        logx: floating tensor.
        w: tensor that broadcasts with logx; None: ones.
        axis: of the sum; None: all.
        keep_dims: whether the axes stay, with size 1.
        return_sign: whether the sum's sign is returned, too.
        name: of the operations.

    Returns:
        The logarithm; a pair of it and the sign with return_sign.
    """
    with scopes.name_scope(name, "reduce_weighted_logsumexp", values=[logx, w]):
        logx = convert_to_tensor(logx, name="logx")
        if w is None:
            found = reduction.reduce_logsumexp(logx, axis, keepdims=keep_dims)
            return (found, array.ones_like(found)) if return_sign else found
        w = convert_to_tensor(w, logx.dtype, name="w")
        terms = logx + elementwise.log(elementwise.abs(w))
        largest = reduction.reduce_max(terms, axis, keepdims=True)
        largest = array.stop_gradient(
            array.where(elementwise.is_inf(largest), array.zeros_like(largest), largest)
        )
        scaled = elementwise.sign(w) * elementwise.exp(terms - largest)
        total = reduction.reduce_sum(scaled, axis, keepdims=keep_dims)
        if not keep_dims:
            largest = array.reshape(largest, array.shape(total))
        found = largest + elementwise.log(elementwise.abs(total))
        return (found, elementwise.sign(total)) if return_sign else found


def _require_floating(variable: Any, word: str) -> Any:
    dtype = variable.dtype.base_dtype
    if not dtype.is_floating:
        raise TypeError(f"{word}.base_dtype({dtype.name}) does not have float type `dtype`.")
    return dtype


@api_guard.operator
def assign_moving_mean_variance(
    mean_var: Any, variance_var: Any, value: Any, decay: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Moves a mean and a variance by a new value (Finch, 2009): with delta = value - mean, the
    variance becomes decay (variance + (1 - decay) delta^2) and the mean mean + (1 - decay) delta.

    Args:
        mean_var: floating variable.
        variance_var: variable of the same dtype.
        value: tensor of their shape.
        decay: what both keep of themselves.
        name: of the operations.

    Returns:
        Both after the assignment.

    Raises:
        TypeError: a dtype is not floating, or both differ.
    """
    with scopes.name_scope(
        name, "assign_moving_mean_variance", values=[variance_var, mean_var, value, decay]
    ):
        dtype = _require_floating(mean_var, "mean_var")
        other = variance_var.dtype.base_dtype
        if dtype != other:
            raise TypeError(
                f"mean_var.base_dtype({dtype.name}) != variance_var.base_dtype({other.name})"
            )
        value = convert_to_tensor(value, dtype, name="value")
        decay = convert_to_tensor(decay, dtype, name="decay")
        delta = value - mean_var
        square = decay * elementwise.square(delta)
        with scopes.control_dependencies([delta, square]):
            mean = mean_var.assign_add((1.0 - decay) * delta)
            variance = variance_var.assign_sub((1.0 - decay) * (variance_var - square))
        return mean, variance


@api_guard.operator
def assign_log_moving_mean_exp(
    log_mean_exp_var: Any, log_value: Any, decay: Any, name: str | None = None
) -> Any:
    """Moves the logarithm of a mean of exponentials by a new logarithm.

    Args:
        log_mean_exp_var: floating variable.
        log_value: tensor of its shape.
        decay: what the mean keeps of itself.
        name: of the operations.

    Returns:
        The variable after the assignment.

    Raises:
        TypeError: the variable's dtype is not floating.
    """
    with scopes.name_scope(
        name, "assign_log_moving_mean_exp", values=[log_mean_exp_var, log_value, decay]
    ):
        dtype = _require_floating(log_mean_exp_var, "log_mean_exp_var")
        log_value = convert_to_tensor(log_value, dtype, name="log_value")
        decay = convert_to_tensor(decay, dtype, name="decay")
        delta = log_value - log_mean_exp_var
        kept = elementwise.log(decay) * array.ones_like(delta)
        terms = array.stack([kept, delta + elementwise.log1p(-decay)], 0)
        return log_mean_exp_var.assign_add(reduction.reduce_logsumexp(terms, 0))


@api_guard.makes_variables
def moving_mean_variance(
    value: Any, decay: Any, collections: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Moves the variables `moving_mean` and `moving_variance`, which begin with 0.

    Args:
        value: floating tensor of a known shape.
        decay: what both keep of themselves.
        collections: of the variables; None: GLOBAL_VARIABLES.
        name: of the variables' scope.

    Returns:
        Both after the assignment.

    Raises:
        TypeError: the dtype is not floating.
    """
    with variable_scope.variable_scope(name, "moving_mean_variance", [value, decay]):
        value = convert_to_tensor(value, name="value")
        dtype = _require_floating(value, "value")
        decay = convert_to_tensor(decay, dtype, name="decay")
        variance, mean = (
            variable_scope.get_variable(
                f"moving_{word}",
                shape=value.shape,
                dtype=dtype,
                initializer=zeros_initializer(),
                trainable=False,
                collections=[GraphKeys.GLOBAL_VARIABLES] if collections is None else collections,
            )
            for word in ("variance", "mean")
        )
        return assign_moving_mean_variance(mean, variance, value, decay)
