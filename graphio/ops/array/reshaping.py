"""The same elements in another shape or order, repeated, or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.composite import Composite
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import run_axis
from graphio.ops.base import primitive, registered, shapes
from graphio.ops.base.emit import (
    cut,
    describe,
    int_value,
    ints,
    node,
    operands,
    renamed,
    scope,
    static_ints,
    whole,
)
from graphio.ops.base.primitive import select, unbroadcast
from graphio.ops.base.shapes import Dims, dims_of
from graphio.support import api_guard, errors

__all__ = [
    "broadcast_to",
    "expand_dims",
    "identity",
    "identity_n",
    "reshape",
    "squeeze",
    "stop_gradient",
    "transpose",
    "where",
]

Gradients = Sequence["Tensor | None"]

not_differentiable("NonZero")
not_differentiable("Placeholder", "Variable", "Assign", domain="graphio")
not_differentiable("IsInitialized", "NoOp", domain="graphio")


@gradient("ReadVariable", domain="graphio", takes_slices=True)
def _read_variable_grad(op: Operation, dy: Tensor) -> Gradients:
    return [dy]


@api_guard.operator
def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor with the value of input: any dtype and shape. Of a SparseTensor or IndexedSlices
    another such with the same values."""
    if isinstance(input, Composite):
        copied: Tensor = input.with_parts([identity(part) for part in input.parts()])
        return copied
    with scope(name, "Identity") as at:
        return primitive.unary("Identity", convert_to_tensor(input, name="input"), at)


@api_guard.operator
def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """A list of tensors with the values of input."""
    with scope(name, "IdentityN"):
        return [identity(value) for value in input]


@api_guard.operator
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The value of input, which gradients take for a constant."""
    with scope(name, "StopGradient") as at:
        x = convert_to_tensor(input, name="input")
        return node("StopGradient", [x], x.dtype, dims_of(x), name=at, domain="graphio")


@api_guard.operator
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of tensor, in row-major order, in another shape.

    Args:
        tensor: any.
        shape: the new sizes; one may be -1 and follows from the rest.
        name: of the operation.

    Raises:
        ValueError: the numbers of elements do not agree.
    """
    with scope(name, "Reshape") as at:
        x = convert_to_tensor(tensor, name="tensor")
        target = ints(cut(shape), "Reshape", "shape")
        sizes = constant_value(target)
        if sizes is not None and np.any(sizes < -1):
            raise ValueError(
                f"Invalid value in tensor used for shape: {int(sizes.min())} for "
                f"{describe(at, 'Reshape')}; a size is 0 or more, one may be -1"
            )
        requested = primitive.static_vector(target)
        dims = shapes.reshaped(dims_of(x), requested, describe(at, "Reshape"))
        if requested is not None and 0 in requested and None in requested and sizes is not None:
            found = [d for d in dims or () if d is not None]
            if len(found) == len(requested):  # next to a size of 0 the engines take no -1
                target = primitive.int_vector(found)
        return primitive.reshape_to(x, target, dims, at)


@api_guard.operator
def expand_dims(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """input with one more axis, of size 1.

    Args:
        input: any tensor.
        axis: the index of the new axis in the result; negative counts from the end.
        name: of the operation.
        dim: the old name of axis.

    Raises:
        ValueError: axis is out of range, or neither or both of axis and dim are given.
    """
    position = renamed("axis", axis, "dim", dim)
    if position is None:
        raise ValueError("expand_dims: give axis, the index of the new axis")
    with scope(name, "ExpandDims") as at:
        x = convert_to_tensor(input, name="input")
        if run_axis.is_open(position):
            axes = primitive.reshape(whole(position, "ExpandDims", "axis"), [1])
            wide = primitive.unsqueeze(x, axes, at)
            wide.set_shape(None if x.shape.ndims is None else [None] * (x.shape.ndims + 1))
            return wide
        number = int_value(position, "expand_dims", "axis")
        if x.shape.ndims is not None:
            number = shapes.normalize_axis(number, x.shape.ndims + 1, describe(at, "ExpandDims"))
        return primitive.unsqueeze(x, [number], at)


@api_guard.operator
def squeeze(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """input without axes of size 1.

    Args:
        input: any tensor.
        axis: which axes to drop; None: all of size 1.
        name: of the operation.
        squeeze_dims: the old name of axis.

    Raises:
        ValueError: an axis is out of range or known not to be of size 1, or both axis and
            squeeze_dims are given.
    """
    given = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    with scope(name, "Squeeze") as at:
        x = convert_to_tensor(input, name="input")
        dims = dims_of(x)
        if given is None or (isinstance(given, (list, tuple)) and not given):
            if dims is None or None in dims:
                return node("Squeeze", [x], x.dtype, None, name=at)
            return primitive.squeeze(x, [i for i, d in enumerate(dims) if d == 1], at)
        positions = [int_value(a, "squeeze", "axis") for a in _listed(given)]
        positions = shapes.normalize_axes(
            positions, None if dims is None else len(dims), describe(at, "Squeeze")
        )
        for position in positions if dims is not None else []:
            assert dims is not None
            if dims[position] not in (1, None):
                raise ValueError(
                    f"Can not squeeze dim[{position}], expected a dimension of 1, got "
                    f"{dims[position]} for {describe(at, 'Squeeze')} with input shapes: "
                    f"{shapes.text(dims)}."
                )
        return primitive.squeeze(x, positions, at)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@api_guard.operator
def transpose(a: Any, perm: Any = None, name: str | None = None, conjugate: bool = False) -> Tensor:
    """a with its axes in another order.

    Args:
        a: any tensor.
        perm: old axis of each new one, numbers or a tensor; None: reversed.
        name: of the operation.
        conjugate: True gives the conjugates, which differ of complex numbers.

    Raises:
        InvalidArgumentError: perm is not a permutation of a's axes.
        ValueError: not even their number is known.
    """
    with scope(name, "transpose") as at:
        x = convert_to_tensor(a, name="a")
        if conjugate and x.dtype.is_complex:
            x = primitive.unary("Conj", x)
        dims = dims_of(x)
        if perm is None:
            if dims is None:
                return node("Transpose", [x], x.dtype, None, name=at)
            return primitive.transpose(x, list(reversed(range(len(dims)))), at)
        order = static_ints(perm)
        if order is None or None in order:
            return registered.transposed(x, ints(perm, "Transpose", "perm"), at)
        positions = [p for p in order if p is not None]
        count = len(positions) if dims is None else len(dims)
        if sorted(p % count if -count <= p < count else -1 for p in positions) != list(
            range(count)
        ):
            raise errors.InvalidArgumentError(
                message=f"perm {positions} is not a permutation of the {count} axes for "
                f"{describe(at, 'Transpose')} with input shapes: {shapes.text(dims)}."
            )
        return primitive.transpose(x, [p % count for p in positions], at)


@api_guard.operator
def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """input repeated to shape.

    Raises:
        ValueError: input's shape does not broadcast to it.
    """
    with scope(name, "BroadcastTo") as at:
        x = convert_to_tensor(input, name="input")
        target = ints(cut(shape), "BroadcastTo", "shape")
        requested = primitive.static_vector(target)
        if requested is not None:
            what = describe(at, "BroadcastTo")
            merged = shapes.broadcast(dims_of(x), requested, what)
            shapes.merge(merged, requested, what)
        return node("Expand", [x, target], x.dtype, requested, name=at, tf_type="BroadcastTo")


@api_guard.operator
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """x where condition holds, else y.

    Args:
        condition: bool tensor of x's shape, or a scalar, or a vector that chooses complete rows.
            Where a rank is known only to the run, that decides.
        x: any tensor.
        y: tensor of the same dtype and shape.
        name: of the operation.

    Without x and y: the coordinates (count, rank) int64 of the elements that hold.

    Raises:
        ValueError: the shapes do not fit, or only one of x and y is given.
        TypeError: condition is not bool, or the dtypes differ.
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    default = "Where" if x is None else "Select"
    with scope(name, default) as at:
        chosen = convert_to_tensor(condition, dtypes.bool, name="condition")
        if x is None:
            return _coordinates(chosen, at)
        a, b = operands(x, y, "Select", ("t", "e"))
        dims = shapes.merge(dims_of(a), dims_of(b), describe(at, "Select"))
        return select(_of_rows(chosen, a, dims), a, b, at)


def _of_rows(condition: Tensor, x: Tensor, dims: Dims) -> Tensor:
    """A vector with an axis of size 1 for each of x's after the first, so that it chooses rows;
    another condition as it is. Of an unknown rank the run tells. dims: what is known of x's."""
    rank = None if dims is None else len(dims)
    if condition.shape.ndims not in (None, 1) or (rank is not None and rank < 2):
        return condition
    if condition.shape.ndims == 1 and rank is not None:
        return primitive.unsqueeze(condition, list(range(1, rank)))
    sizes = primitive.shape_of(condition)
    if rank is None:
        further = _lengths(primitive.slice_axes(primitive.shape_of(x), [1], [primitive.last], [0]))
    else:
        further = primitive.int_vector([rank - 1])
    if condition.shape.ndims is None:
        is_vector = primitive.compare("Equal", _lengths(sizes), primitive.int_vector([1]))
        further = primitive.binary("Mul", further, primitive.cast(is_vector, dtypes.int64))
    ones = node("ConstantOfShape", [further], dtypes.int64, (None,), value=np.ones(1, np.int64))
    return primitive.reshape(condition, primitive.concat([sizes, ones], 0))


def _lengths(vector: Tensor) -> Tensor:
    """The number of elements of a vector, as a vector of one."""
    return node("Shape", [vector], dtypes.int64, (1,))


def _coordinates(condition: Tensor, name: str) -> Tensor:
    rank = condition.shape.ndims
    found = node("NonZero", [condition], dtypes.int64, (rank, None))
    return primitive.transpose(found, [1, 0], name)


# ---- gradients ----


@gradient("Reshape")
def _reshape_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy in x's shape."""
    return [_back_to(op.inputs[0], dy), None]


@gradient("Squeeze")
def _squeeze_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy in x's shape."""
    return [_back_to(op.inputs[0], dy), *[None] * (len(op.inputs) - 1)]


@gradient("Unsqueeze")
def _unsqueeze_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy in x's shape."""
    return [_back_to(op.inputs[0], dy), None]


def _back_to(x: Tensor, dy: Tensor) -> Tensor:
    return primitive.reshape(dy, primitive.shape_of(x), dims_of(x))


@gradient("Transpose")
def _transpose_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy with the axes in their old order."""
    perm = op.attrs.get("perm")
    if perm is None:
        return [transpose(dy)]
    return [primitive.transpose(dy, [int(p) for p in np.argsort(np.asarray(perm))])]


@gradient("Expand")
def _expand_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy summed over what was repeated."""
    return [unbroadcast(dy, op.inputs[0], op.outputs[0]), None]


@gradient("Where")
def _where_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy where condition holds to x, where not to y."""
    condition, x, y = op.inputs
    nought = constant(np.asarray(0, dy.dtype.base_dtype.as_numpy_dtype))
    to_x, to_y = select(condition, dy, nought), select(condition, nought, dy)
    return [None, unbroadcast(to_x, x, condition, y), unbroadcast(to_y, y, condition, x)]
