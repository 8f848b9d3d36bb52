"""Sets of the values in the last dimension: of tensors, and of SparseTensors.

They are computed by Python: a model saved with one needs its function again to run it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from graphio.ops.base.emit import scope
from graphio.ops.sparse.host_parts import check_arrays
from graphio.ops.strings import python_strings
from graphio.support import api_guard, errors

__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]

Array = np.ndarray[Any, Any]
Rows = dict[tuple[int, ...], set[Any]]
#: from the values of a row of a and of b to those of the result
Way = Callable[[set[Any], set[Any]], set[Any]]
_DTYPES = (
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
    dtypes.string,
)  # fmt: skip


@api_guard.operator
def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """The number of distinct values in each row of the last dimension: int32.

    Args:
        a: SparseTensor of integers or strings, its indices sorted.
        validate_indices: False: their order is not checked.

    Raises:
        TypeError: a is not a SparseTensor, or of another dtype.
    """
    a = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {type(a).__name__}.")
    _check(a)

    def work(indices: Array, values: Array, shape: Array, checked: bool) -> Sequence[Array]:
        check_arrays(indices, values, shape)
        if checked:
            _check_order(indices)
        made = np.zeros(shape[:-1], np.int32)
        for row, found in _rows(indices, values).items():
            made[row] = len(found)
        return [made]

    dims = None if a.shape.ndims is None else tuple(a.shape.as_list()[:-1])
    with scope(None, "SetSize") as at:
        parts = [a.indices, a.values, a.dense_shape]
        made = python_strings.call(
            "SetSize", work, parts, [(dtypes.int32, dims)], at, checked=validate_indices
        )
        return made.outputs[0]


@api_guard.operator
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """The values that the rows of the last dimension of a and b have both, sorted.

    Args:
        a, b: tensors or SparseTensors of equal shape but for the last dimension.
        validate_indices: False: the order of sparse indices is not checked.

    Returns:
        A SparseTensor.

    Raises:
        TypeError: the dtypes differ, or are neither integers nor strings.
    """
    return _combined(a, b, validate_indices, "intersection", lambda x, y: x & y)


@api_guard.operator
def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """As set_intersection, of the values that a has and b has not; aminusb=False: b without a."""
    way: Way = (lambda x, y: x - y) if aminusb else (lambda x, y: y - x)
    return _combined(a, b, validate_indices, "a-b" if aminusb else "b-a", way)


@api_guard.operator
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """As set_intersection, of the values that a or b has."""
    return _combined(a, b, validate_indices, "union", lambda x, y: x | y)


def _combined(a: Any, b: Any, checked: bool, way: str, rule: Way) -> SparseTensor:
    one = convert_to_tensor_or_sparse_tensor(a, name="a")
    two = convert_to_tensor_or_sparse_tensor(b, name="b")
    _check(one)
    if one.dtype.base_dtype != two.dtype.base_dtype:
        raise TypeError(f"Types don't match, {one.dtype.name} vs {two.dtype.name}.")
    split = len(_parts(one))

    def work(*arrays: Array, way: str, split: int, checked: bool, kind: Any) -> Sequence[Array]:
        first, second = _rows_of(arrays[:split], checked), _rows_of(arrays[split:], checked)
        return _sparse(*first, *second, rule, kind)

    rank, dtype = one.shape.ndims, one.dtype.base_dtype
    with scope(None, "SetOperation") as at:
        made = python_strings.call(
            "SetOperation", work, [*_parts(one), *_parts(two)],
            [(dtypes.int64, (None, rank)), (dtype, (None,)), (dtypes.int64, (rank,))],
            at, way=way, split=split, checked=checked, kind=dtype.as_numpy_dtype,
        )  # fmt: skip
    return SparseTensor(*made.outputs)


def _parts(value: Any) -> list[Tensor]:
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    return [value]


def _check(value: Any) -> None:
    if value.dtype.base_dtype not in _DTYPES:
        raise TypeError(f"the values of sets are {value.dtype.name}, expected integers or strings")


def _check_order(indices: Array) -> None:
    rows = [tuple(row) for row in indices.tolist()]
    if any(one >= two for one, two in zip(rows, rows[1:], strict=False)):
        raise errors.InvalidArgumentError(
            message="the indices of a SparseTensor of sets are out of order or repeated; use "
            "tf.sparse_reorder"
        )


def _rows_of(arrays: Sequence[Array], checked: bool) -> tuple[Rows, tuple[int, ...]]:
    """The sets by row, and the shape of the rows."""
    if len(arrays) == 1:
        (dense,) = arrays
        made: Rows = {row: set(dense[row].tolist()) for row in np.ndindex(dense.shape[:-1])}
        return made, dense.shape[:-1]
    indices, values, shape = arrays
    check_arrays(indices, values, shape)
    if checked:
        _check_order(indices)
    return _rows(indices, values), tuple(shape[:-1].tolist())


def _rows(indices: Array, values: Array) -> Rows:
    found: Rows = defaultdict(set)
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        found[tuple(index[:-1])].add(value)
    return found


def _sparse(
    one: Rows, shape: tuple[int, ...], two: Rows, other: tuple[int, ...],
    rule: Way, kind: Any,
) -> Sequence[Array]:  # fmt: skip
    """The SparseTensor of the combined rows."""
    if shape != other:
        raise errors.InvalidArgumentError(
            message=f"Mismatched group shapes {list(shape)} vs {list(other)}."
        )
    empty: set[Any] = set()
    indices: list[list[int]] = []
    values: list[Any] = []
    widest = 0
    for row in sorted({*one, *two}):
        found = sorted(rule(one.get(row, empty), two.get(row, empty)))
        widest = max(widest, len(found))
        indices += [[*row, i] for i in range(len(found))]
        values += found
    held: Array = np.empty(len(values), kind)
    held[:] = values
    return [
        np.array(indices, np.int64).reshape(-1, len(shape) + 1),
        held,
        np.array([*shape, widest], np.int64),
    ]
