"""tf.assert_type and its relatives: what is decided while the graph is built."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.sparse_tensor import SparseTensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.control_flow import branches
from graphio.support import api_guard

__all__ = [
    "assert_integer",
    "assert_proper_iterable",
    "assert_same_float_dtype",
    "assert_type",
    "assert_variables_initialized",
    "is_numeric_tensor",
    "is_tensor",
]


@api_guard.operator
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """An operation that does nothing, if x is an integer tensor.

    Raises:
        TypeError: it is none.
    """
    with scope(name, "assert_integer"):
        tensor = convert_to_tensor(x, name="x")
        if not tensor.dtype.is_integer:
            raise TypeError(
                f'{message or ""}  Expected "x" to be integer type.  Found: {tensor.dtype.name} in '
                f"{tensor.name}"
            )
        return branches.no_op("statically_determined_was_integer")


@api_guard.operator
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> Operation:
    """An operation that does nothing, if the tensor, or SparseTensor, has the dtype.

    Raises:
        TypeError: it has another one.
    """
    with scope(name, "assert_type"):
        given = tensor.values if isinstance(tensor, SparseTensor) else tensor
        found, expected = convert_to_tensor(given, name="tensor"), dtypes.as_dtype(tf_type)
        if found.dtype.base_dtype != expected.base_dtype:
            raise TypeError(
                f"{message or ''}  {found.name} is {found.dtype.name}, must be of type "
                f"{expected.name}"
            )
        return branches.no_op("statically_determined_correct_type")


@api_guard.operator
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The floating dtype that all tensors have; float32 where neither they nor dtype say any.

    Args:
        tensors: list of tensors; None entries count for nothing.
        dtype: that they must have; None: that of the first.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """
    expected = None if dtype is None else dtypes.as_dtype(dtype)
    for tensor in [t for t in tensors or () if t is not None]:
        found = tensor.dtype.base_dtype
        if expected is not None and found != expected:
            raise ValueError(
                f"Tensor {getattr(tensor, 'name', tensor)}, type={found.name}, must be of the same "
                f"type ({expected.name})."
            )
        expected = found
    expected = dtypes.float32 if expected is None else expected
    if not expected.is_floating:
        raise ValueError(f"Expected floating point type, got {expected.name}.")
    return expected


@api_guard.operator
def is_tensor(x: Any) -> bool:
    """Whether x is a tensor, a variable, or a sparse tensor or slices of tensors."""
    return Tensor.is_like(x) or isinstance(x, (SparseTensor, IndexedSlices))


@api_guard.operator
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers: integers, floats or complex ones."""
    if not isinstance(tensor, Tensor):
        return False
    return tensor.dtype.is_integer or tensor.dtype.is_floating or tensor.dtype.is_complex


@api_guard.operator
def assert_proper_iterable(values: Any) -> None:
    """Refuses what can be iterated over though it is one value: a tensor, an array, text.

    Raises:
        TypeError: values is that, or cannot be iterated over.
    """
    if isinstance(values, (Tensor, np.ndarray, bytes, str)) or hasattr(values, "initial_value"):
        raise TypeError(
            f'Expected argument "values" to be a "proper" iterable.  Found: {type(values).__name__}'
        )
    if not hasattr(values, "__iter__"):
        raise TypeError(
            f'Expected argument "values" to be iterable.  Found: {type(values).__name__}'
        )


@api_guard.operator
def assert_variables_initialized(var_list: Collection[Any] | None = None) -> Tensor | None:
    """A tensor that fails with FailedPreconditionError if a variable has no value.

    Args:
        var_list: variables; None: the global and local ones.

    Returns:
        The ranks of the variables (a scalar of one variable), None if there are none.
    """
    chosen = _of_the_graph() if var_list is None else list(var_list)
    if not chosen:
        return None
    ranks = np.asarray([v.shape.ndims or 0 for v in chosen], np.int32)
    with scopes.control_dependencies(chosen):
        return array.identity(constant(ranks[0] if len(chosen) == 1 else ranks))


def _of_the_graph() -> list[Any]:
    graph = scopes.get_default_graph()
    keys = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
    return [variable for key in keys for variable in graph.get_collection(key)]
