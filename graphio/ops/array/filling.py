"""Shapes as values; tensors of one number; numbers in a row; unit matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant, convert_to_tensor, node_of
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, SparseTensorValue
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    NUMERIC,
    cut,
    describe,
    ints,
    is_symbolic,
    node,
    require,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import cast, select
from graphio.ops.base.shapes import Dims, dims_of, text_of
from graphio.ops.checks import assertion, run_checks
from graphio.support import api_guard

__all__ = [
    "diag",
    "eye",
    "fill",
    "ones",
    "ones_like",
    "range",
    "rank",
    "shape",
    "shape_n",
    "size",
    "zeros",
    "zeros_like",
]

not_differentiable("Shape", "Size", "Range", "ConstantOfShape", "Constant", "OneHot")

#: as in TensorFlow, smaller tensors of zeros or ones are constants
_CONSTANT_BELOW = 1000


@api_guard.operator
def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """The shape of input as a vector.

    Args:
        input: tensor of any shape.
        name: of the operation.
        out_type: int32 or int64.
    """
    with scope(name, "Shape") as at:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            whole = convert_to_tensor(input.dense_shape, name="dense_shape")
            return primitive.cast(whole, dtypes.as_dtype(out_type), at)
        x, requested = convert_to_tensor(input, name="input"), dtypes.as_dtype(out_type)
        dims = dims_of(x)
        if dims is not None and None not in dims:
            return constant(np.asarray(dims, requested.as_numpy_dtype), name=at)
        result: Dims = (None if dims is None else len(dims),)
        if requested == dtypes.int64:
            return node("Shape", [x], requested, result, name=at)
        full = node("Shape", [x], dtypes.int64, result, name="shape")
        return node("Cast", [full], requested, result, name=at, tf_type="Shape", to=requested)


@api_guard.operator
def shape_n(
    input: Sequence[Any],
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> list[Tensor]:
    """The shapes of several tensors."""
    with scope(name, "ShapeN"):
        return [shape(value, out_type=out_type) for value in input]


@api_guard.operator
def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """The number of elements as a scalar, int32 or int64."""
    with scope(name, "Size") as at:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            whole = convert_to_tensor(input.dense_shape, name="dense_shape")
            sizes = primitive.cast(whole, dtypes.as_dtype(out_type))
            return node("ReduceProd", [sizes], sizes.dtype, (), name=at, tf_type="Prod", keepdims=0)
        x, requested = convert_to_tensor(input, name="input"), dtypes.as_dtype(out_type)
        known = shapes.num_elements(dims_of(x))
        if known is not None:
            return constant(np.asarray(known, requested.as_numpy_dtype), name=at)
        if requested == dtypes.int64:
            return node("Size", [x], requested, (), name=at)
        full = node("Size", [x], dtypes.int64, (), name="size")
        return node("Cast", [full], requested, (), name=at, tf_type="Size", to=requested)


@api_guard.operator
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes as an int32 scalar."""
    with scope(name, "Rank") as at:
        if isinstance(input, (SparseTensor, SparseTensorValue)):
            return size(input.dense_shape, name=at)
        x = convert_to_tensor(input, name="input")
        if x.shape.ndims is not None:
            return constant(np.asarray(x.shape.ndims, np.int32), name=at)
        return primitive.rank_of(x, at)


def _filled(shape: Any, value: float, dtype: Any, name: str | None, default: str) -> Tensor:
    requested = dtypes.as_dtype(dtype).base_dtype
    with scope(name, default) as at:
        shape = cut(shape)
        known = static_ints(shape)
        if known is not None and None not in known and not is_symbolic(shape):
            dims = [d for d in known if d is not None]
            if any(d < 0 for d in dims):
                raise ValueError(f"{default}: shape {dims} has a negative size; sizes start at 0")
            total = shapes.num_elements(tuple(dims))
            if total is not None and total < _CONSTANT_BELOW:
                filling = b"" if requested == dtypes.string else value
                return node_of(np.full(dims, filling, requested.as_numpy_dtype), requested, at)
        target = ints(shape, default, "shape")
        if requested == dtypes.string:
            static = primitive.static_vector(target)
            return node("Expand", [constant(b""), target], requested, static, name=at)
        single = np.asarray([value], requested.as_numpy_dtype)
        return node(
            "ConstantOfShape",
            [target],
            requested,
            primitive.static_vector(target),
            name=at,
            tf_type="Fill",
            value=single,
        )


@api_guard.operator
def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (empty strings, False).

    Args:
        shape: an integer (a vector of that length), a list, or an integer tensor.
        dtype: of the elements.
        name: of the operation.

    Raises:
        TypeError: a size is None.
        ValueError: a size is negative.
    """
    return _filled(shape, 0, dtype, name, "zeros")


@api_guard.operator
def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True); see zeros."""
    return _filled(shape, 1, dtype, name, "ones")


def _filled_like(
    tensor: Any, value: float, dtype: Any, name: str | None, optimize: bool, default: str
) -> Tensor:
    with scope(name, default) as at:
        x = convert_to_tensor(tensor, name="tensor")
        requested = dtypes.as_dtype(dtype).base_dtype if dtype is not None else x.dtype.base_dtype
        dims = dims_of(x)
        if optimize and dims is not None and None not in dims:
            return _filled(list(dims), value, requested, at, default)
        blank = b"" if requested == dtypes.string else value
        filling = np.asarray([blank], requested.as_numpy_dtype)
        target = node("Shape", [x], dtypes.int64, (None if dims is None else len(dims),))
        return node(
            "ConstantOfShape",
            [target],
            requested,
            dims,
            name=at,
            tf_type="ZerosLike" if value == 0 else "OnesLike",
            value=filling,
        )


@api_guard.operator
def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros of tensor's shape.

    Args:
        tensor: any.
        dtype: of the result; None: tensor's.
        name: of the operation.
        optimize: take the static shape where it is known.
    """
    return _filled_like(tensor, 0, dtype, name, optimize, "zeros_like")


@api_guard.operator
def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones of tensor's shape; see zeros_like."""
    return _filled_like(tensor, 1, dtype, name, optimize, "ones_like")


@api_guard.operator
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape dims whose elements are all the scalar value.

    Raises:
        ValueError: value is not a scalar, or a size is negative.
    """
    with scope(name, "Fill") as at:
        filling = convert_to_tensor(value, name="value")
        if filling.shape.ndims not in (None, 0):
            raise ValueError(
                f"Shape must be rank 0 but is rank {filling.shape.ndims} for {describe(at, 'Fill')}"
                f" with input shapes: value {text_of(filling)}; value must be a scalar"
            )
        target = ints(cut(dims), "Fill", "dims")
        sizes = constant_value(target)
        if sizes is not None and np.any(sizes < 0):
            raise ValueError(
                f"Fill dimensions must be >= 0, got {sizes.tolist()} for {describe(at, 'Fill')}"
            )
        result = primitive.static_vector(target)
        return node("Expand", [filling, target], filling.dtype, result, name=at, tf_type="Fill")


@api_guard.operator
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = None
) -> Tensor:
    """The numbers start, start + delta, ... before limit; range(n) starts at 0.

    Args:
        start: scalar; the limit if limit is None.
        limit: scalar, not included.
        delta: scalar, not 0.
        dtype: of the result; None: the widest of int32, int64, float32, float64 given.
        name: of the operation.

    Returns:
        A vector.

    Raises:
        ValueError: delta is 0, or points away from limit.
    """
    if limit is None:
        start, limit = 0, start
    with scope(name, "range") as at:
        given = (("start", start), ("limit", limit), ("delta", delta))
        requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if requested is None:
            found = [_natural_dtype(v) for _, v in given]
            requested = max(found, key=_RANGE_ORDER.index)
        for key, value in given:
            if is_symbolic(value):
                require(convert_to_tensor(value), NUMERIC, "Range", key)
        parts = [
            cast(convert_to_tensor(v, name=k), requested)
            if is_symbolic(v)
            else convert_to_tensor(v, dtype=requested, name=k)
            for k, v in given
        ]
        first, stop, step = (constant_value(p) for p in parts)
        length = None
        if step is not None and step.item() == 0:
            raise ValueError(f"Requires delta != 0: {step.item()} for {describe(at, 'Range')}")
        if first is not None and stop is not None and step is not None:
            length = _range_length(first.item(), stop.item(), step.item())
        return node("Range", parts, requested, (length,), name=at)


def _range_length(first: float, stop: float, step: float) -> int:
    if (stop - first) * step < 0:
        order = "<=" if step > 0 else ">="
        raise ValueError(
            f"range: requires start {order} limit when delta is {step}, but start is {first} and "
            f"limit is {stop}"
        )
    if isinstance(first, int) and isinstance(stop, int) and isinstance(step, int):
        return max(0, -((first - stop) // step))
    return max(0, math.ceil((stop - first) / step))  # as numpy.arange counts


_RANGE_ORDER = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]


def _natural_dtype(value: Any) -> dtypes.DType:
    if is_symbolic(value):
        return value.dtype.base_dtype  # type: ignore[no-any-return]
    if isinstance(value, (np.ndarray, np.generic)):
        return dtypes.as_dtype(value.dtype)
    return dtypes.float32 if isinstance(value, float) else dtypes.int32


@api_guard.operator
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """The identity matrix, or a batch of them.

    Args:
        num_rows: how many rows.
        num_columns: how many columns; None: as many.
        batch_shape: integers before the last two axes.
        dtype: of the elements.
        name: of the operation.

    Raises:
        ValueError: a count is negative.
        InvalidArgumentError: at run time: a count that is a tensor is negative.
    """
    with scope(name, "eye") as at:
        if is_symbolic(num_rows):
            rows = convert_to_tensor(num_rows)
            num_rows = run_checks.not_negative(rows, "eye: num_rows must be >= 0, but is")
        if is_symbolic(num_columns):
            wide = convert_to_tensor(num_columns)
            num_columns = run_checks.not_negative(wide, "eye: num_columns must be >= 0, but is")
        columns = num_rows if num_columns is None else num_columns
        kind = None if is_symbolic(num_rows) or is_symbolic(columns) else dtypes.int32
        for count in (num_rows, columns):
            if isinstance(count, int) and count < 0:
                raise ValueError(f"Dimension {count} must be >= 0 for {describe(at, 'eye')}")
        row = primitive.unsqueeze(range(num_rows, dtype=kind), [1])
        on = primitive.compare("Equal", row, primitive.unsqueeze(range(columns, dtype=kind), [0]))
        if batch_shape is None:
            return cast(on, dtypes.as_dtype(dtype), at)
        square = cast(on, dtypes.as_dtype(dtype))
        sizes = [ints(batch_shape, "eye", "batch_shape"), primitive.shape_of(square)]
        target = primitive.concat(sizes, 0)
        dims = primitive.static_vector(target)
        return node("Expand", [square, target], square.dtype, dims, name=at)


@api_guard.operator
def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """The square matrix with a vector as its diagonal and zeros elsewhere.

    Args:
        diagonal: a vector (n), or a tensor of rank k of which each element is put where the
            first k coordinates and the last k are its own.
        name: of the operation.

    Returns:
        A tensor (n, n), or one of diagonal's sizes twice.

    Raises:
        ValueError: the rank is 0; where only the run knows it, an InvalidArgumentError of the run.
    """
    with scope(name, "Diag") as at:
        x = convert_to_tensor(diagonal, name="diagonal")
        if x.shape.ndims == 0:
            raise ValueError(f"diag: diagonal has shape {text_of(x)}, expected rank 1 or more")
        if x.shape.ndims != 1:
            sizes, dims = primitive.shape_of(x), dims_of(x)
            if dims is None:
                many = primitive.compare("Greater", size(sizes), constant(0))
                sizes = assertion.once(sizes, many, "diag: expected rank 1 or more, got the shape")
            square = diag(primitive.reshape(x, [-1]))
            twice = primitive.concat([sizes, sizes], 0)
            return primitive.reshape_to(square, twice, None if dims is None else dims * 2, at)
        n = shape(x)
        index = range(primitive.squeeze(n, [0]))
        on = primitive.compare(
            "Equal", primitive.unsqueeze(index, [1]), primitive.unsqueeze(index, [0])
        )
        nought = constant(np.asarray(0, x.dtype.base_dtype.as_numpy_dtype))
        return select(on, primitive.unsqueeze(x, [1]), nought, at)
