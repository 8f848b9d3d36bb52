"""SparseTensors and dense tensors: conversion, matrix multiplication, Python's operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes, registered
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import filling, index, reshaping
from graphio.ops.array import surface as array
from graphio.ops.array.order import setdiff1d
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import INTEGER, describe, ints, node, require, scope, single
from graphio.ops.base.primitive import binary, cast
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import assertion
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise
from graphio.ops.sparse import parts
from graphio.ops.sparse.arranging import sparse_merge
from graphio.ops.sparse.parts import as_sparse, checked
from graphio.support import api_guard

__all__ = [
    "from_dense",
    "sparse_eye",
    "sparse_mask",
    "sparse_matmul",
    "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense",
    "sparse_to_dense",
    "sparse_to_indicator",
]

# ---- from one to the other ----


@api_guard.operator
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A dense tensor with values at some indices.

    Args:
        sparse_indices: int32 or int64: (n, rank); (n), indices of a vector; or one number.
        output_shape: integer vector (rank).
        sparse_values: (n) values, or one for all indices.
        default_value: scalar: value of all other elements.
        validate_indices: True: a run refuses indices that are out of order or repeated. Indices
            outside the shape are always refused.
        name: of the operation.

    Returns:
        A tensor of output_shape and the values' dtype.

    Raises:
        ValueError: the shapes do not fit each other.
        InvalidArgumentError: at run time, see validate_indices.
    """
    with scope(name, "SparseToDense") as at:
        values = convert_to_tensor(sparse_values, name="sparse_values")
        given = convert_to_tensor(sparse_indices, name="sparse_indices")
        require(given, INTEGER, "SparseToDense", "sparse_indices")
        default = convert_to_tensor(default_value, dtype=values.dtype, name="default_value")
        shape = ints(output_shape, "SparseToDense", "output_shape")
        where = _as_matrix(cast(given, dtypes.int64), at)
        _check_fit(where, values, shape, default, at)
        if values.shape.ndims == 0:
            rows = primitive.slice_axes(primitive.shape_of(where), [0], [1], [0])
            values = primitive.expand(values, rows)
        blank = primitive.expand(default, shape)
        inputs = [blank, checked(where, shape, validate_indices), values]
        dims = primitive.static_vector(shape)
        return node("ScatterND", inputs, values.dtype, dims, name=at, tf_type="SparseToDense")


def _as_matrix(indices: Tensor, at: str) -> Tensor:
    rank = indices.shape.ndims
    if rank == 0:
        return primitive.reshape(indices, [1, 1])
    if rank == 1:
        return primitive.unsqueeze(indices, [1])
    if rank not in (2, None):
        raise ValueError(
            f"sparse_indices has shape {shapes.text_of(indices)}, expected rank 2 or less for "
            f"{describe(at, 'SparseToDense')}"
        )
    return indices


def _check_fit(where: Tensor, values: Tensor, shape: Tensor, default: Tensor, at: str) -> None:
    what = describe(at, "SparseToDense")
    if default.shape.ndims not in (0, None):
        raise ValueError(f"default_value has shape {default.shape}, expected a scalar for {what}")
    positions, sizes = dims_of(where), dims_of(shape)
    if positions is not None and sizes is not None and None not in (positions[1], sizes[0]):
        if positions[1] != sizes[0]:
            raise ValueError(
                f"sparse_indices has {positions[1]} coordinates an element, but output_shape has "
                f"{sizes[0]} sizes for {what}"
            )
    if values.shape.ndims != 0 and positions is not None:
        shapes.merge((positions[0],), dims_of(values), what)


@api_guard.operator
def sparse_tensor_to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """The dense tensor that a SparseTensor stands for.

    Args:
        sp_input: SparseTensor.
        default_value: scalar: value where nothing is stored; None: 0, False or "".
        validate_indices: as sparse_to_dense's.
        name: of the operation.

    Raises:
        TypeError: sp_input is not a SparseTensor.
        InvalidArgumentError: at run time, see sparse_to_dense.
    """
    sp = as_sparse(sp_input)
    default = _nothing(sp.dtype) if default_value is None else default_value
    return sparse_to_dense(
        sp.indices, sp.dense_shape, sp.values, default, validate_indices, name or "SparseToDense"
    )


def _nothing(dtype: dtypes.DType) -> Any:
    return b"" if dtype == dtypes.string else np.zeros((), dtype.base_dtype.as_numpy_dtype)


@api_guard.operator
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The SparseTensor of the elements that are not 0.

    Args:
        tensor: numeric or bool, of known rank.
        name: name scope of the operations.
    """
    with scope(name, "dense_to_sparse"):
        x = convert_to_tensor(tensor, name="tensor")
        blank = convert_to_tensor(_nothing(x.dtype), dtype=x.dtype)
        stored = node("Not", [primitive.compare("Equal", x, blank)], dtypes.bool, dims_of(x))
        where = reshaping.where(stored)
        rank = x.shape.ndims
        if rank is not None:
            where.set_shape([None, rank])
        values = index.read_at(x, where)
        return SparseTensor(where, values, primitive.shape_of(x))


@api_guard.operator
def sparse_eye(
    num_rows: Any, num_columns: Any = None, dtype: Any = dtypes.float32, name: str | None = None
) -> SparseTensor:
    """A SparseTensor with ones on the diagonal.

    Args:
        num_rows: integer scalar.
        num_columns: integer scalar; None: num_rows.
        dtype: of the ones.
        name: name scope of the operations.
    """
    with scope(name, "eye"):
        sizes = [single(n, "eye", label) for n, label in
                 ((num_rows, "num_rows"), (num_rows if num_columns is None else num_columns,
                                           "num_columns"))]  # fmt: skip
        count = primitive.squeeze(binary("Min", sizes[0], sizes[1]), [0])
        line = filling.range(count)
        where = primitive.concat([primitive.unsqueeze(line, [1])] * 2, 1)
        ones = primitive.fill_like(line, 1, dtypes.as_dtype(dtype))
        return SparseTensor(where, ones, primitive.concat(sizes, 0))


@api_guard.operator
def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """The indicator matrix of the numbers in each row.

    Args:
        sp_input: SparseTensor of int32 or int64 (d0, ..., dn): numbers below vocab_size.
        vocab_size: integer scalar.
        name: of the operation.

    Returns:
        A bool tensor (d0, ..., dn-1, vocab_size).

    Raises:
        TypeError: sp_input is not a SparseTensor of integers.
    """
    sp = as_sparse(sp_input)
    with scope(name, "SparseToIndicator") as at:
        ones = primitive.fill_like(sp.values, 1, dtypes.bool)
        held = SparseTensor(sp.indices, ones, sp.dense_shape)
        merged = sparse_merge(sp, held, vocab_size)
        return sparse_tensor_to_dense(merged, default_value=False, validate_indices=False, name=at)


# ---- matrix multiplication ----


def _conjugate(x: Tensor) -> Tensor:
    return primitive.unary("Conj", x) if x.dtype.is_complex else x


@api_guard.operator
def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """A sparse matrix multiplied by a dense one. Indices come in any order; repeats are summed.

    Args:
        sp_a: SparseTensor (n, m) of numbers.
        b: tensor (m, k) of the same dtype.
        adjoint_a: True multiplies with sp_a transposed, and conjugated where it is complex.
        adjoint_b: True multiplies with b so.
        name: of the operation.

    Returns:
        A tensor (n, k).

    Raises:
        TypeError: sp_a is not a SparseTensor.
        ValueError: a rank is not 2, the inner sizes or the dtypes differ.
    """
    if isinstance(b, SparseTensor) and not isinstance(sp_a, SparseTensor):
        with scope(name, "SparseTensorDenseMatMul") as at:
            found = sparse_tensor_dense_matmul(b, sp_a, not adjoint_b, not adjoint_a)
            return primitive.transpose(_conjugate(found), [1, 0], at)
    sp = as_sparse(sp_a)
    with scope(name, "SparseTensorDenseMatMul") as at:
        dense = convert_to_tensor(b, dtype=sp.dtype, name="b")
        _check_matrices(sp, dense, at)
        if adjoint_b:
            dense = primitive.transpose(_conjugate(dense), [1, 0])
        values = _conjugate(sp.values) if adjoint_a else sp.values
        row, column = (1, 0) if adjoint_a else (0, 1)
        message = "Cannot multiply A and B because inner dimension does not match"
        inner = parts.check_equal(
            primitive.slice_axes(sp.dense_shape, [column], [column + 1], [0]),
            primitive.slice_axes(primitive.shape_of(dense), [0], [1], [0]),
            message,
            by_the_run=False,
        )
        outer = primitive.slice_axes(sp.dense_shape, [row], [row + 1], [0])
        where = checked(sp.indices, primitive.concat([outer, inner][:: 1 - 2 * row], 0))
        read = parts.picked(dense, _column(where, column), "SparseTensorDenseMatMul")
        terms = binary("Mul", primitive.unsqueeze(values, [1]), read)
        rows = primitive.squeeze(outer, [0])
        made = index.scatter_sum(_column(where, row), terms, rows, name=at)
        size, dims = primitive.static_vector(outer), dims_of(dense)
        made.set_shape([None if size is None else size[0], None if dims is None else dims[1]])
        return made


@api_guard.operator
def sparse_matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix multiplication of two dense matrices; many zeros make no difference.

    Args:
        a: tensor (n, m).
        b: tensor (m, k) of the same dtype.
        transpose_a: True multiplies with a transposed.
        transpose_b: True multiplies with b transposed.
        a_is_sparse: accepted.
        b_is_sparse: accepted.
        name: of the operation.

    Raises:
        ValueError: the inner sizes differ.
    """
    return matmul.matmul(a, b, transpose_a, transpose_b, name=name or "SparseMatMul")


def _check_matrices(sp: SparseTensor, dense: Tensor, at: str) -> None:
    for rank, label in ((sp.shape.ndims, "a"), (dense.shape.ndims, "b")):
        if rank not in (2, None):
            raise ValueError(
                f"Shape must be rank 2 but is rank {rank}: tensor '{label}' is not a matrix for "
                f"{describe(at, 'SparseTensorDenseMatMul')}"
            )
    if dense.shape.ndims is None:
        dense.set_shape([None, None])


def _column(where: Tensor, axis: int) -> Tensor:
    return primitive.squeeze(primitive.slice_axes(where, [axis], [axis + 1], [1]), [1])


# ---- Python's operators ----


def _read_at(sp: SparseTensor, dense: Tensor, at: str) -> Tensor:
    """The elements of a dense tensor, broadcast to the shape of a sparse one, at its indices."""
    if dense.shape.ndims == 0:
        return dense
    what = describe(at, "SparseDenseCwise")
    message = "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes"
    wide = dims_of(sp.shape)
    dims = dims_of(dense)
    if wide is None or dims is None or None in wide or wide != dims:
        if wide is not None and dims is not None and not _broadcasts(wide, dims):
            nothing = array.zeros_like(sp.values, dense.dtype)
            words = f"{message} for {what}: {shapes.text(wide)} and {shapes.text(dims)}"
            return assertion.never(nothing, words)
        dense = node("Expand", [dense, sp.dense_shape], dense.dtype, wide)
        shape = node("Shape", [dense], dtypes.int64, dims_of(sp.dense_shape))
        shape = parts.check_equal(shape, sp.dense_shape, message)
        return index.read_at(dense, checked(sp.indices, shape))
    return index.read_at(dense, checked(sp.indices, sp.dense_shape))


def _broadcasts(wide: tuple[int | None, ...], narrow: tuple[int | None, ...]) -> bool:
    aligned = wide[len(wide) - len(narrow) :]
    return len(narrow) <= len(wide) and all(
        n in (1, None) or m is None or m == n for m, n in zip(aligned, narrow, strict=True)
    )


@registered.multiplied.register
def multiplied(sp: SparseTensor, y: Any) -> SparseTensor:
    """sparse * dense, whose shape broadcasts to the sparse one's."""
    with scope(None, "mul") as at:
        dense = convert_to_tensor(y, dtype=sp.dtype, name="y")
        values = binary("Mul", sp.values, _read_at(sp, dense, at), at)
        return SparseTensor(sp.indices, values, sp.dense_shape)


@registered.divided.register
def divided(sp: SparseTensor, y: Any) -> SparseTensor:
    """sparse / dense; integers become float64, those of 16 bits or less float32."""
    with scope(None, "truediv") as at:
        dense = convert_to_tensor(y, dtype=sp.dtype, name="y")
        values = elementwise.truediv(sp.values, _read_at(sp, dense, at), name=at)
        return SparseTensor(sp.indices, values, sp.dense_shape)


# ---- IndexedSlices ----


@api_guard.operator
def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> Any:
    """The slices of an IndexedSlices but for those of some indices.

    Args:
        a: IndexedSlices.
        mask_indices: vector of the indices to leave out, of the dtype of a's.
        name: name scope of the operations.
    """
    with scope(name, "sparse_mask"):
        left = convert_to_tensor(mask_indices, dtype=a.indices.dtype, name="mask_indices")
        kept, at = setdiff1d(a.indices, left)
        rows = index.gather(a.values, at, validate_indices=False)
        return IndexedSlices(rows, kept, a.dense_shape)
