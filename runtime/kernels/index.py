"""Gathering and scattering by index. Negative indices count from the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.kernels.array import axis_of
from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.support import errors

_REDUCTIONS: dict[str, Any] = {
    "none": None,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def check_range(indices: Any, size: int, low: int | None = None) -> None:
    """Refuses indices outside low to size - 1; low is -size if not given."""
    first = -size if low is None else low
    array = np.asarray(indices)
    wrong = (array < first) | (array >= size)
    if wrong.any():
        at_fault = np.argwhere(wrong)[0].tolist() if array.ndim else []
        found = f"indices{at_fault} = {array[tuple(at_fault)]}"
        allowed = f"is outside {first} to {size - 1}"
        raise errors.InvalidArgumentError(
            message=f"{found} {allowed if size else 'selects from an axis that is empty'}"
        )


@kernel("IndexRange", domain="graphio", types="I")
def _index_range(call: Call) -> Function:
    limit = call.integer("limit", -1)

    def check(indices: Any) -> Any:
        wrong = np.asarray(indices < 0 if limit < 0 else (indices < 0) | (indices >= limit))
        if wrong.any():
            at_fault = np.argwhere(wrong)[0].tolist() if wrong.ndim else []
            allowed = "negative" if limit < 0 else f"not in [0, {limit})"
            raise errors.InvalidArgumentError(
                message=f"indices{at_fault} = {np.asarray(indices)[tuple(at_fault)]} is {allowed}"
            )
        return indices

    return check


@kernel("Gather", types="AI", fresh=True)
def _gather(call: Call) -> Function:
    axis = call.integer("axis", 0)

    def gather(x: Any, indices: Any) -> Any:
        at = axis_of(axis, x.ndim)
        try:
            # A list of arrays of objects keeps scalars that are bytes in an array.
            taken = x.take(indices, at) if x.dtype.kind != "O" else _take_objects(x, indices, at)
        except IndexError:
            check_range(indices, x.shape[at])
            raise
        if not taken.size:  # numpy does not look at the indices where another axis is empty
            check_range(indices, x.shape[at])
        return taken

    return gather


def _take_objects(x: Any, indices: Any, axis: int) -> Array:
    result = np.empty(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], object)
    result[...] = x.take(indices, axis)
    return result


@kernel("GatherElements", since=11, types="AI", fresh=True)
def _gather_elements(call: Call) -> Function:
    axis = call.integer("axis", 0)

    def gather_elements(x: Any, indices: Any) -> Any:
        return x[_element_index(x, indices, axis)]

    return gather_elements


def _element_index(x: Any, indices: Any, axis: int) -> tuple[Any, ...]:
    """The index of x in which each index replaces its own coordinate along the axis."""
    at = axis_of(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise errors.InvalidArgumentError(
            message=f"indices have rank {indices.ndim}, data rank {x.ndim}; they must agree"
        )
    for i, (n, m) in enumerate(zip(indices.shape, x.shape, strict=True)):
        if i != at and n > m:
            raise errors.InvalidArgumentError(
                message=f"indices of shape {list(indices.shape)} exceed data of shape "
                f"{list(x.shape)} along axis {i}"
            )
    check_range(indices, x.shape[at])
    index: list[Any] = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    index[at] = indices
    return tuple(index)


@kernel("GatherND", since=11, types="AI")
def _gather_nd(call: Call) -> Function:
    batch = call.integer("batch_dims", 0)

    def gather_nd(x: Any, indices: Any) -> Any:
        source, positions = _with_an_axis(x, indices, batch)
        return source[_nd_index(source, positions, batch)]

    return gather_nd


def _with_an_axis(x: Any, indices: Any, batch: int = 0) -> tuple[Any, Any]:
    """Empty coordinates, which name all of x, as those of an axis of size 1."""
    if indices.ndim and not indices.shape[-1] and 0 <= batch <= x.ndim:
        return np.expand_dims(x, batch), np.zeros((*indices.shape[:-1], 1), np.int64)
    return x, indices


def _nd_index(x: Any, indices: Any, batch: int = 0) -> tuple[Any, ...]:
    """The index of the slices that the last axis of indices points at."""
    if (
        not 0 <= batch < max(indices.ndim, 1)
        or indices.shape[:batch] != x.shape[:batch]
        or not indices.ndim
    ):
        raise errors.InvalidArgumentError(
            message=f"indices of shape {list(indices.shape)} do not go with data of shape "
            f"{list(x.shape)} and batch_dims {batch}"
        )
    depth = indices.shape[-1]
    if batch + depth > x.ndim:
        raise errors.InvalidArgumentError(
            message=f"indices point into {depth} axes after {batch}, data has {x.ndim}"
        )
    for k in range(depth):
        check_range(indices[..., k], x.shape[batch + k])
    lead = np.ogrid[tuple(slice(n) for n in indices.shape[:batch])] if batch else []
    spread = indices.ndim - 1 - batch
    fronts = [g.reshape(g.shape + (1,) * spread) for g in lead]
    return (*fronts, *(indices[..., k] for k in range(depth)), ...)


def _reduction(call: Call) -> Any:
    name = call.text("reduction", "none")
    if name not in _REDUCTIONS:
        raise errors.InvalidArgumentError(
            message=f"reduction is {name!r}, expected one of {sorted(_REDUCTIONS)}"
        )
    return _REDUCTIONS[name]


def _scatter(x: Any, index: tuple[Any, ...], updates: Any, combine: Any) -> Array:
    if x.dtype == object and combine not in (None, np.add):
        raise errors.UnimplementedError(message=f"reduction {combine.__name__} of string")
    result = np.array(x, order="C")
    if combine is None:
        result[index] = updates
    else:
        combine.at(result, index, updates)
    return result


@kernel("ScatterElements", since=11, types="AIA", fresh=True)
def _scatter_elements(call: Call) -> Function:
    axis, combine = call.integer("axis", 0), _reduction(call)

    def scatter_elements(x: Any, indices: Any, updates: Any) -> Array:
        if indices.shape != updates.shape:
            raise errors.InvalidArgumentError(
                message=f"indices have shape {list(indices.shape)}, updates "
                f"{list(updates.shape)}; they must agree"
            )
        return _scatter(x, _element_index(x, indices, axis), updates, combine)

    return scatter_elements


@kernel("ScatterND", since=11, types="AIA", fresh=True)
def _scatter_nd(call: Call) -> Function:
    combine = _reduction(call)

    def scatter_nd(x: Any, indices: Any, updates: Any) -> Array:
        source, positions = _with_an_axis(x, indices)
        index = _nd_index(source, positions)
        expected = indices.shape[:-1] + x.shape[indices.shape[-1] :]
        if updates.shape != expected:
            raise errors.InvalidArgumentError(
                message=f"updates have shape {list(updates.shape)}, expected {list(expected)}"
            )
        result: Array = _scatter(source, index, updates, combine).reshape(x.shape)
        return result

    return scatter_nd


def scatter_sum(indices: Any, values: Any, rows: Any) -> Array:
    """(rows, rest) with result[indices[i]] += values[i]."""
    count = int(np.asarray(rows).reshape(-1)[0])
    if values.shape[: indices.ndim] != indices.shape:
        raise errors.InvalidArgumentError(
            message=f"values have shape {list(values.shape)}, expected it to start with the shape "
            f"of indices, {list(indices.shape)}"
        )
    check_range(indices, count, 0)
    rest = values.shape[indices.ndim :]
    result = np.zeros((count, *rest), values.dtype)
    np.add.at(result, indices.reshape(-1), values.reshape(indices.size, *rest))
    return result


function("ScatterSum", 1, scatter_sum, "INI", domain="graphio")


@kernel("NonZero", since=9, types="A", fresh=True)
def _non_zero(call: Call) -> Function:
    return lambda x: np.array(np.nonzero(np.atleast_1d(x)), np.int64)


@kernel("TopK", since=11, types="NI", fresh=True)
def _top_k(call: Call) -> Function:
    axis, largest = call.integer("axis", -1), call.integer("largest", 1)

    def top_k(x: Any, k: Any) -> tuple[Array, Array]:
        at, counts = axis_of(axis, x.ndim), np.asarray(k).reshape(-1).tolist()
        count = counts[0] if len(counts) == 1 else -1
        if not 0 <= count <= x.shape[at]:
            raise errors.InvalidArgumentError(
                message=f"k is {counts}, expected one number from 0 to "
                f"{x.shape[at]}, the size of axis {at}"
            )
        order = _order(np.moveaxis(x, at, -1), bool(largest))[..., :count]
        positions = np.moveaxis(order, -1, at)
        return np.take_along_axis(x, positions, at), positions.astype(np.int64)

    return top_k


def _order(x: Any, largest: bool) -> Array:
    """Positions along the last axis from best to worst; of equal ones the first comes first.

    NaN counts as larger than every number, -0 is equal to +0.
    """
    if not largest:
        return np.argsort(x, -1, kind="stable")
    backwards = np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]
    return np.asarray(x.shape[-1] - 1 - backwards)
