"""Sums, means, extremes along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime.kernels.array import along, axes_of, axis_of, ints
from graphio.runtime.kernels.math import cast, divide
from graphio.runtime.registry import Call, Function, kernel
from graphio.support import errors

Reduce = Callable[[Any, "tuple[int, ...]", bool], Any]
_add: Any = np.add.reduce
_multiply: Any = np.multiply.reduce


def _sum(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return _add(x, axes, dtype=x.dtype, keepdims=keep)


def _prod(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return _multiply(x, axes, dtype=x.dtype, keepdims=keep)


def _mean(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """Sum over count; of nothing NaN, of no integers 0."""
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    return divide(_sum(x, axes, keep), x.dtype.type(count))


def _empty(dtype: np.dtype[Any], infinity: float) -> Any:
    """The extreme of nothing: an infinity, or what comes closest to it."""
    if dtype.kind == "f":
        return infinity
    if dtype.kind == "b":
        return infinity > 0
    return np.iinfo(dtype).max if infinity > 0 else np.iinfo(dtype).min


def _extreme(reduce: Any, of_nothing: float) -> Reduce:
    def extreme(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
        if x.size:
            result = reduce(x, axes, keepdims=keep)
        else:
            result = reduce(x, axes, keepdims=keep, initial=_empty(x.dtype, of_nothing))
        return result + x.dtype.type(0) if x.dtype.kind == "f" else result

    return extreme


def _square_sum(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return _sum(x * x, axes, keep)


def _root_of_squares(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    """The root of the sum of squares; of integers cut to a whole number."""
    total = _square_sum(x, axes, keep)
    return (
        np.sqrt(total) if x.dtype.kind == "f" else cast(np.sqrt(total, dtype=np.float64), x.dtype)
    )


def _log_sum_exp(x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    top = np.maximum.reduce(x, axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    total = np.log(_sum(np.exp(x - top), axes, True)) + top
    return total if keep else total.reshape(_sum(x, axes, False).shape)


#: (operator, first version with axes as an input, function, types)
_ROWS: tuple[tuple[str, int, Reduce, str], ...] = (
    ("ReduceSum", 13, _sum, "NI"),
    ("ReduceMean", 18, _mean, "NI"),
    ("ReduceMax", 18, _extreme(np.maximum.reduce, -np.inf), "XI"),
    ("ReduceMin", 18, _extreme(np.minimum.reduce, np.inf), "XI"),
    ("ReduceProd", 18, _prod, "NI"),
    ("ReduceSumSquare", 18, _square_sum, "NI"),
    ("ReduceLogSumExp", 18, _log_sum_exp, "FI"),
    ("ReduceL1", 18, lambda x, axes, keep: _sum(np.abs(x), axes, keep), "NI"),
    ("ReduceL2", 18, _root_of_squares, "NI"),
    ("ReduceLogSum", 18, lambda x, axes, keep: np.log(_sum(x, axes, keep)), "FI"),
)


def _register(op: str, since: int, reduce: Reduce, types: str) -> None:
    """Both forms: axes as an input, and, before that, as an attribute."""

    @kernel(op, since=since, types=types)
    def by_input(call: Call) -> Function:
        keep = bool(call.integer("keepdims", 1))
        nothing = bool(call.integer("noop_with_empty_axes", 0))
        known = call.constant(1)
        fixed = None if known is None else ints(known)

        def run(x: Any, axes: Any = None) -> Any:
            given = fixed if fixed is not None or axes is None else ints(axes)
            if not given and nothing:
                return reduce(x, (), keep)
            return reduce(x, _axes(given, x.ndim), keep)

        return run

    @kernel(op, since=1, until=since - 1, types=types)
    def by_attribute(call: Call) -> Function:
        keep, given = bool(call.integer("keepdims", 1)), call.integers("axes")
        return lambda x: reduce(x, _axes(given, x.ndim), keep)


def _axes(given: list[int] | None, rank: int) -> tuple[int, ...]:
    """None and no axes mean all."""
    return tuple(axes_of(given, rank)) if given else tuple(range(rank))


for _row in _ROWS:
    _register(*_row)


def _register_arg(op: str, find: Any) -> None:
    @kernel(op, since=1, types="N", fresh=True)
    def arg(call: Call) -> Function:
        axis, keep = call.integer("axis", 0), bool(call.integer("keepdims", 1))
        last = call.integer("select_last_index", 0)

        def run(x: Any) -> Any:
            at = axis_of(axis, x.ndim)
            if x.shape[at] == 0:
                sizes = [n if i != at else 1 for i, n in enumerate(x.shape) if keep or i != at]
                if 0 in sizes:  # the result is empty
                    return np.zeros(sizes, np.int64)
                raise errors.InvalidArgumentError(message=f"axis {at} has no elements")
            if not last:
                return find(x, at, keepdims=keep)
            position = x.shape[at] - 1 - find(np.flip(x, at), at, keepdims=keep)
            if x.dtype.kind != "f":
                return position
            unknown = np.isnan(x)  # the first NaN beats all, whichever of equals is selected
            first = np.argmax(unknown, at, keepdims=keep)
            return np.where(unknown.any(at, keepdims=keep), first, position)

        return run


@kernel("SumToShape", domain="graphio", types="NI")
def _sum_to_shape(call: Call) -> Function:
    return lambda x, shape: sum_to(x, tuple(shape.tolist()))


def sum_to(x: Any, target: tuple[int, ...]) -> Any:
    """x summed over what broadcasting repeated."""
    if target == x.shape:
        return x
    lead = x.ndim - len(target)
    pairs = zip(x.shape[max(lead, 0) :], target, strict=False)
    if lead < 0 or any(m != n and n != 1 for m, n in pairs):
        raise errors.InvalidArgumentError(
            message=f"shape {list(target)} does not broadcast to x's {list(x.shape)}"
        )
    spread = [i for i, n in enumerate(target, lead) if n != x.shape[i]]
    return _sum(x, (*range(lead), *spread), True).reshape(target)


_register_arg("ArgMax", np.argmax)
_register_arg("ArgMin", np.argmin)


@kernel("CumSum", since=11, types="NI", fresh=True)
def _cum_sum(call: Call) -> Function:
    exclusive, reverse = call.integer("exclusive", 0), call.integer("reverse", 0)

    def cum_sum(x: Any, axis: Any) -> Any:
        at = axis_of(int(np.asarray(axis).reshape(-1)[0]), x.ndim)
        forward = np.flip(x, at) if reverse else x
        result = np.cumsum(forward, at, dtype=x.dtype)
        if exclusive:
            shifted = np.zeros_like(result)
            shifted[along(at, slice(1, None))] = result[along(at, slice(-1))]
            result = shifted
        return np.flip(result, at) if reverse else result

    return cum_sum
