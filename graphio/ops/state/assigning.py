"""Assigning to parts of a variable: scatters, v[1:3].assign(...), counting.

Each reads the variable at its position in the order, makes the complete new value, and assigns it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.framework.handle_reads import by_handle
from graphio.framework.variable import Variable, variable_behind
from graphio.ops.array import index, slicing
from graphio.ops.array import surface as array
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import INTEGER, describe, node, require, scope
from graphio.ops.base.primitive import cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.ops.math.arithmetic import truncatediv
from graphio.ops.math.elementwise import divide
from graphio.support import api_guard, errors

__all__ = [
    "batch_scatter_update",
    "count_up_to",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_sub",
    "scatter_update",
]

not_differentiable("BelowLimit", domain="graphio")

#: how a scatter combines with the old element -> (ScatterND's reduction, its version)
_REDUCTIONS = {
    "update": ("none", 16), "add": ("add", 16), "sub": ("add", 16), "mul": ("mul", 16),
    "div": ("mul", 16), "min": ("min", 18), "max": ("max", 18),
}  # fmt: skip


def _scatter(
    ref: Variable, indices: Any, updates: Any, action: str, name: str | None, nd: bool = False
) -> Tensor:
    """The variable after its rows (nd: elements or slices) at indices met updates."""
    tf_type = f"Scatter{'Nd' if nd else ''}{action.capitalize()}"
    ref = variable_behind(ref)
    if not isinstance(ref, Variable):
        raise TypeError(f"{tf_type}: ref is {ref!r}, expected a Variable")
    with scope(name, tf_type) as at:
        positions = convert_to_tensor(indices, name="indices")
        require(positions, INTEGER, tf_type, "indices")
        values = convert_to_tensor(updates, dtype=ref.dtype, name="updates")
        coordinates = cast(positions, dtypes.int64)
        if nd:
            coordinates = run_checks.in_range(coordinates)
        else:
            rows = ref.shape[0].value if ref.shape.ndims else None
            coordinates = array.expand_dims(run_checks.in_range(coordinates, rows), -1)
        values = _shaped(ref, coordinates, values, describe(at, tf_type), spread=not nd)
        old = by_handle(ref.read_value(), ref.use_resource)
        if action == "div":
            # Divisors that meet are multiplied: rows that none meets stay as they are, by 1.
            divisor = _written(array.ones_like(old), coordinates, values, action)
            quotient = truncatediv if ref.dtype.is_integer else divide
            new = quotient(old, divisor)
        else:
            signed = primitive.unary("Neg", values) if action == "sub" else values
            new = _written(old, coordinates, signed, action)
        made: Tensor = ref.after(ref._assign(new, at, tf_type))
        return made


def _written(data: Tensor, coordinates: Tensor, values: Tensor, action: str) -> Tensor:
    reduction, version = _REDUCTIONS[action]
    return node(
        "ScatterND", [data, coordinates, values], data.dtype, dims_of(data), version=version,
        reduction=reduction,
    )  # fmt: skip


def _shaped(ref: Variable, coordinates: Tensor, values: Tensor, what: str, spread: bool) -> Tensor:
    """The updates, one number of which serves all rows (spread); refuses other shapes."""
    rows, dims = dims_of(coordinates), dims_of(ref.shape)
    if rows is None or dims is None or rows[-1] is None:
        return values
    if rows[-1] > len(dims):
        raise errors.InvalidArgumentError(
            message=f"the last size of indices {shapes.text(rows)} is more than the rank of "
            f"{shapes.text(dims)} for {what}"
        )
    expected = (*rows[:-1], *dims[rows[-1] :])
    if spread and values.shape.ndims == 0 and expected:
        full = [primitive.shape_of(coordinates), primitive.int_vector(_known(dims))]
        lead = primitive.slice_axes(full[0], [0], [len(rows) - 1], [0])
        tail = primitive.slice_axes(full[1], [rows[-1]], [len(dims)], [0])
        return array.fill(primitive.concat([lead, tail], 0), values)
    shapes.merge(dims_of(values), expected, what)
    return values


def _known(dims: tuple[int | None, ...]) -> list[int]:
    if None in dims:
        raise ValueError(f"a single update needs a variable of known shape, not {dims}")
    return [d for d in dims if d is not None]


@api_guard.operator
def scatter_update(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replaces rows of a variable: ref[indices] = updates.

    Args:
        ref: the variable, or its tensor "v:0".
        indices: integer tensor of row numbers.
        updates: tensor of shape indices.shape + ref.shape[1:], or a scalar for all of them; where
            an index comes twice, the last one stays.
        use_locking: accepted; a run has no races.
        name: of the operation.

    Returns:
        The variable's new value.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: ref is not a variable, or a dtype differs.
        InvalidArgumentError: of the run, an index is out of range.
    """
    return _scatter(ref, indices, updates, "update", name)


@api_guard.operator
def scatter_add(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds to rows of a variable; repeated rows add up. See scatter_update."""
    return _scatter(ref, indices, updates, "add", name)


@api_guard.operator
def scatter_sub(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts from rows of a variable; repeated rows add up. See scatter_update."""
    return _scatter(ref, indices, updates, "sub", name)


@api_guard.operator
def scatter_mul(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Multiplies rows of a variable. See scatter_update."""
    return _scatter(ref, indices, updates, "mul", name)


@api_guard.operator
def scatter_div(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Divides rows of a variable, integers towards 0. See scatter_update."""
    return _scatter(ref, indices, updates, "div", name)


@api_guard.operator
def scatter_min(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Takes the lesser of each element and its update. See scatter_update."""
    return _scatter(ref, indices, updates, "min", name)


@api_guard.operator
def scatter_max(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Takes the greater of each element and its update. See scatter_update."""
    return _scatter(ref, indices, updates, "max", name)


@api_guard.operator
def scatter_nd_update(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replaces elements or slices of a variable at coordinates.

    Args:
        ref: the variable.
        indices: integer tensor (..., k) of coordinates of the first k axes.
        updates: tensor of shape indices.shape[:-1] + ref.shape[k:].
        use_locking: accepted; a run has no races.
        name: of the operation.

    Returns:
        The variable's new value.

    Raises:
        as scatter_update.
    """
    return _scatter(ref, indices, updates, "update", name, nd=True)


@api_guard.operator
def scatter_nd_add(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds to elements or slices of a variable at coordinates. See scatter_nd_update."""
    return _scatter(ref, indices, updates, "add", name, nd=True)


@api_guard.operator
def scatter_nd_sub(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts from elements or slices of a variable. See scatter_nd_update."""
    return _scatter(ref, indices, updates, "sub", name, nd=True)


@api_guard.operator
def batch_scatter_update(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replaces rows within each batch: ref[b, indices[b, i]] = updates[b, i].

    Args:
        ref: the variable (batches, n, ...), with as many axes of batches as indices has before
            its last.
        indices: integer tensor (batches, m) of row numbers, of known rank.
        updates: tensor (batches, m, ...).
        use_locking: accepted; a run has no races.
        name: of the operation.

    Returns:
        The variable's new value.

    Raises:
        ValueError: the rank of indices is 0 or not known.
    """
    with scopes.name_scope(name, "batch_scatter_update"):
        positions = cast(convert_to_tensor(indices, name="indices"), dtypes.int64)
        rank = positions.shape.ndims
        if not rank:
            raise ValueError(
                f"batch_scatter_update: indices have shape {positions.shape}, expected a known "
                "rank of 1 or more"
            )
        sizes = array.shape(positions, out_type=dtypes.int64)
        batches = [
            array.zeros_like(positions)
            + array.reshape(
                array.range(sizes[axis], dtype=dtypes.int64), [-1] + [1] * (rank - axis - 1)
            )
            for axis in range(rank - 1)
        ]
        return scatter_nd_update(ref, array.stack([*batches, positions], -1), updates)


# ---- v[1:3].assign(...) ----


def _getitem(variable: Variable, item: Any) -> Tensor:
    """See graphio.ops.array.slicing.getitem; the part can be assigned to."""
    part = slicing.getitem(variable, item)
    part.assign = functools.partial(_assign_part, variable, item)
    return part


def _assign_part(variable: Variable, item: Any, value: Any, name: str | None = None) -> Tensor:
    """Assigns to variable[item]; the new value of the complete variable.

    Raises:
        ValueError: value does not have the part's shape.
    """
    with scope(name, "strided_slice/_assign") as at:
        new = convert_to_tensor(value, dtype=variable.dtype, name="value")
        old = by_handle(variable.read_value(), variable.use_resource)
        shape = primitive.shape_of(old)
        size = primitive.count(old, dtypes.int64)
        zero, one = (constant(np.asarray(v, np.int64)) for v in (0, 1))
        count = variable.shape.num_elements()
        numbers = primitive.reshape(
            node("Range", [zero, size, one], dtypes.int64, (count,)), shape, dims_of(old)
        )
        positions = slicing.getitem(numbers, item)
        shapes.merge(dims_of(new), dims_of(positions), describe(at, "StridedSliceAssign"))
        column = array.expand_dims(primitive.reshape(positions, [-1]), -1)
        flat = _written(
            primitive.reshape(old, [-1]), column, primitive.reshape(new, [-1]), "update"
        )
        whole = primitive.reshape(flat, shape, dims_of(old))
        made: Tensor = variable.after(variable._assign(whole, at, "StridedSliceAssign"))
        return made


# ---- counting ----


@api_guard.operator
def count_up_to(ref: Variable, limit: int, name: str | None = None) -> Tensor:
    """Increments an integer scalar variable up to a limit.

    Args:
        ref: the variable, int32 or int64.
        limit: the variable never passes it.
        name: of the operation.

    Returns:
        The value before.

    Raises:
        TypeError: the variable is not of integers.
        ValueError: it is not a scalar.
        OutOfRangeError: of the run, the limit is reached.
    """
    ref = variable_behind(ref)
    with scope(name, "CountUpTo") as at:
        if ref.dtype.name not in ("int32", "int64"):
            raise TypeError(
                f"Value passed to parameter 'ref' has DataType {ref.dtype.name} not in list of "
                "allowed values: int32, int64"
            )
        if not ref.shape.is_compatible_with([]):
            raise ValueError(
                f"Shape must be rank 0 but is rank {ref.shape.ndims} for "
                f"{describe(at, 'CountUpTo')} with input shapes: {shapes.text_of(ref.value())}."
            )
        now = by_handle(ref.read_value(), ref.use_resource)
        before = node("BelowLimit", [now], ref.dtype, (), domain="graphio", limit=int(limit))
        step = ref._assign(before + 1, "Assign")
        with scopes.control_dependencies([step]):
            return node("Identity", [before], ref.dtype, (), name=at, tf_type="CountUpTo")


# ---- methods of variables ----


def _of_slices(function: Any) -> Any:
    """The method that takes IndexedSlices, from a scatter."""

    def method(
        self: Variable, sparse_delta: Any, use_locking: bool = False, name: str | None = None
    ) -> Tensor:
        return function(  # type: ignore[no-any-return]
            self, sparse_delta.indices, sparse_delta.values, use_locking, name
        )

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _of_coordinates(function: Any) -> Any:
    """The method that takes coordinates and updates, from a scatter."""

    def method(self: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return function(self, indices, updates, name=name)  # type: ignore[no-any-return]

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _sparse_read(self: Variable, indices: Any, name: str | None = None) -> Tensor:
    """The rows at indices."""
    return index.gather(self, indices, name=name)


def _gather_nd(self: Variable, indices: Any, name: str | None = None) -> Tensor:
    """The elements or slices at coordinates."""
    return index.gather_nd(self, indices, name=name)


_METHODS = {
    "__getitem__": _getitem, "sparse_read": _sparse_read, "gather_nd": _gather_nd,
    "count_up_to": count_up_to,
    **{f.__name__: _of_slices(f) for f in (
        scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul, scatter_sub,
        scatter_update, batch_scatter_update,
    )},
    **{f.__name__: _of_coordinates(f) for f in (
        scatter_nd_add, scatter_nd_sub, scatter_nd_update,
    )},
}  # fmt: skip
for _name, _method in _METHODS.items():
    setattr(Variable, _name, _method)
