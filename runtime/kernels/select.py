"""Elements kept, left out or put elsewhere: unique, compressed, reversed, triangles, caches."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.kernels.array import along, axis_of
from graphio.runtime.kernels.index import check_range
from graphio.runtime.registry import Array, Call, Function, kernel, numpy_dtype
from graphio.support import errors


def _number(x: Any, what: str) -> int:
    """The one integer in an array."""
    array = np.asarray(x)
    if array.size != 1:
        raise errors.InvalidArgumentError(
            message=f"{what} has shape {list(array.shape)}, expected one number"
        )
    return int(array.reshape(-1)[0])


@kernel("Unique", since=11, types="P", fresh=True)
def _unique(call: Call) -> Function:
    axis, by_value = call.attrs.get("axis"), call.integer("sorted", 1)
    requested = len(call.outputs)

    def unique(x: Any) -> Any:
        if axis is None:
            at, flat = 0, x.reshape(-1)
            items = _codes(x).reshape(x.size, -1 if x.size else 0)
        else:
            at, flat = axis_of(call.integer("axis", 0), x.ndim), x
            if x.size == 0 and x.shape[at] > 0:
                raise errors.InvalidArgumentError(
                    message=f"shape {list(x.shape)} has no elements, but {x.shape[at]} slices "
                    f"along axis {at} to compare"
                )
            items = np.moveaxis(_codes(x), at, 0).reshape(x.shape[at], -1 if x.size else 0)
        first, group, count = _groups(items)
        if not by_value:
            order = np.argsort(first, kind="stable")
            rank = np.empty_like(order)
            rank[order] = np.arange(order.size)
            first, group, count = first[order], rank[group], count[order]
        results = (np.take(flat, first, at), *(v.astype(np.int64) for v in (first, group, count)))
        return results[0] if requested == 1 else results[:requested]

    return unique


def _codes(x: Any) -> Array:
    """An integer for each element, ordered as they are; NaN is last and equal to NaN. Of complex
    numbers one for each part, in a new last axis."""
    plain = x.astype(np.float32) if x.dtype.name == "bfloat16" else x
    if x.dtype.kind == "c":
        plain = np.stack([x.real, x.imag], -1)
    _, _, codes = np.unique(plain.reshape(-1), return_index=True, return_inverse=True)
    result: Array = codes.reshape(plain.shape)
    return result


def _groups(items: Array) -> tuple[Array, Array, Array]:
    """First row, number of each row's group, size, of the groups of equal rows in order."""
    if not items.size:
        none = np.zeros(0, np.int64)
        return none, none, none
    _, first, group, count = np.unique(
        items, return_index=True, return_inverse=True, return_counts=True, axis=0
    )
    return first, group.reshape(-1), count


@kernel("Compress", since=9, types="AB", fresh=True)
def _compress(call: Call) -> Function:
    flat = call.attrs.get("axis") is None
    axis = call.integer("axis", 0)

    def compress(x: Any, condition: Any) -> Any:
        source = x.reshape(-1) if flat else x
        at = axis_of(axis, source.ndim)
        if condition.ndim != 1 or condition.size > source.shape[at]:
            raise errors.InvalidArgumentError(
                message=f"condition has shape {list(condition.shape)}, expected a vector of at "
                f"most {source.shape[at]} bools"
            )
        return np.take(source, np.flatnonzero(condition), at)

    return compress


@kernel("ReverseSequence", since=10, types="AL", fresh=True)
def _reverse_sequence(call: Call) -> Function:
    batch, time = call.integer("batch_axis", 1), call.integer("time_axis", 0)

    def reverse_sequence(x: Any, lengths: Any) -> Any:
        if x.ndim < 2 or batch not in (0, 1) or time != 1 - batch:
            raise errors.InvalidArgumentError(
                message=f"input has rank {x.ndim}, batch_axis {batch} and time_axis {time}: "
                "expected rank 2 or more and the axes 0 and 1"
            )
        if lengths.shape != (x.shape[batch],):
            raise errors.InvalidArgumentError(
                message=f"sequence_lens has shape {list(lengths.shape)}, expected "
                f"{[x.shape[batch]]}"
            )
        check_range(lengths, x.shape[time] + 1, 0)
        steps = np.arange(x.shape[time])
        ends = lengths[:, np.newaxis]
        source = np.where(steps < ends, ends - 1 - steps, steps)
        rows = np.arange(x.shape[batch])[:, np.newaxis]
        return x[rows, source] if batch == 0 else x[source.T, rows.T]

    return reverse_sequence


@kernel("Trilu", since=14, types="AL", fresh=True)
def _trilu(call: Call) -> Function:
    upper = call.integer("upper", 1)

    def trilu(x: Any, k: Any = None) -> Any:
        if x.ndim < 2:
            raise errors.InvalidArgumentError(
                message=f"input has rank {x.ndim}, expected 2 or more"
            )
        diagonal = 0 if k is None else _number(k, "k")
        rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
        distance = columns - rows
        kept = distance >= diagonal if upper else distance <= diagonal
        return np.where(kept, x, np.array(b"" if x.dtype.kind == "O" else 0).astype(x.dtype))

    return trilu


@kernel("EyeLike", since=9, types="A", fresh=True)
def _eye_like(call: Call) -> Function:
    diagonal, given = call.integer("k", 0), call.attrs.get("dtype")
    dtype = None if given is None else numpy_dtype(call.integer("dtype", 0))

    def eye_like(x: Any) -> Any:
        if x.ndim != 2:
            raise errors.InvalidArgumentError(message=f"input has rank {x.ndim}, expected 2")
        rows, columns = np.ogrid[: x.shape[0], : x.shape[1]]
        return (columns - rows == diagonal).astype(dtype or x.dtype)

    return eye_like


@kernel("CumProd", since=26, types="NI", fresh=True)
def _cum_prod(call: Call) -> Function:
    exclusive, reverse = call.integer("exclusive", 0), call.integer("reverse", 0)

    def cum_prod(x: Any, axis: Any) -> Any:
        at = axis_of(_number(axis, "axis"), x.ndim)
        forward = np.flip(x, at) if reverse else x
        result = np.cumprod(forward, at, dtype=x.dtype)
        if exclusive:
            shifted = np.ones_like(result)
            shifted[along(at, slice(1, None))] = result[along(at, slice(-1))]
            result = shifted
        return np.flip(result, at) if reverse else result

    return cum_prod


@kernel("TensorScatter", since=24, types="AAL", fresh=True)
def _tensor_scatter(call: Call) -> Function:
    axis, mode = call.integer("axis", -2), call.text("mode", "linear")
    if mode not in ("linear", "circular"):
        raise errors.InvalidArgumentError(message=f"mode is {mode!r}, expected linear or circular")

    def tensor_scatter(cache: Any, update: Any, starts: Any = None) -> Any:
        at = axis_of(axis, cache.ndim)
        if at == 0:
            raise errors.InvalidArgumentError(
                message="axis is 0, which is the batch; expected another"
            )
        _check_update(cache, update, at)
        batches, size, steps = cache.shape[0], cache.shape[at], update.shape[at]
        first = np.zeros(batches, np.int64) if starts is None else starts
        if first.shape != (batches,):
            raise errors.InvalidArgumentError(
                message=f"write_indices has shape {list(first.shape)}, expected {[batches]}"
            )
        if mode == "linear":
            check_range(first, size - steps + 1, 0)
        result = np.array(cache, order="C")
        first = first % size if size else first
        positions = first[:, np.newaxis] + np.arange(steps)
        positions = positions % size if size else positions
        rows = np.arange(batches)[:, np.newaxis]
        np.moveaxis(result, at, 1)[rows, positions] = np.moveaxis(update, at, 1)
        return result

    return tensor_scatter


def _check_update(cache: Any, update: Any, axis: int) -> None:
    sizes = list(zip(cache.shape, update.shape, strict=False))
    fits = cache.ndim == update.ndim and all(
        m <= n if i == axis else m == n for i, (n, m) in enumerate(sizes)
    )
    if not fits:
        raise errors.InvalidArgumentError(
            message=f"update has shape {list(update.shape)}, past_cache {list(cache.shape)}: only "
            f"axis {axis} may differ, and be smaller"
        )
