"""Functions that make their variables once and share them afterwards; partitioners."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphio import dtypes
from graphio.tensor_shape import TensorShape, as_shape
from graphio.variable_scope import VariableScope, variable_scope
from graphio.variables import Variable, global_variables, trainable_variables

__all__ = [
    "Template",
    "fixed_size_partitioner",
    "make_template",
    "min_max_variable_partitioner",
    "variable_axis_size_partitioner",
]

Partitioner = Callable[..., list[int]]


class Template:
    """A function whose get_variable makes a variable at the first call and finds it later."""

    def __init__(
        self, name: str, function: Callable[..., Any], unique_name: str | None, options: Any
    ) -> None:
        self._function, self._options = function, options
        self._name, self._unique_name = name, unique_name
        self._scope: VariableScope | None = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._scope is None:
            with variable_scope(self._unique_name, self._name) as scope:
                found = self._function(*arguments, **{**self._options, **options})
                self._scope = scope
                return found
        with variable_scope(self._scope, reuse=True):
            return self._function(*arguments, **{**self._options, **options})

    def open_scope(self) -> None:
        """Fixes the scope of the variables now instead of at the first call."""
        with variable_scope(self._unique_name, self._name) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name of the scope of the variables, as given before the first call."""
        return self._name if self._scope is None else self._scope.name

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope of the variables; None before the first call."""
        return None if self._scope is None else self._scope.name

    @property
    def variables(self) -> list[Variable]:
        """The global variables made by it."""
        return [] if self._scope is None else global_variables(self._scope.name + "/")

    @property
    def trainable_variables(self) -> list[Variable]:
        """The trainable variables made by it."""
        return [] if self._scope is None else trainable_variables(self._scope.name + "/")


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Any = None,
    **kwargs: Any,
) -> Template:
    """A function that shares its variables among its calls.

    Args:
        name_: of the variable scope, made unique.
        func_: called with each call's arguments; it must use get_variable.
        create_scope_now_: accepted: True fixes the scope's name now.
        unique_name_: the scope's name as it is.
        custom_getter_: must be None.
        kwargs: for func_, at every call.

    Raises:
        NotImplementedError: custom_getter_ is given.
    """
    if custom_getter_ is not None:
        raise NotImplementedError(
            "make_template: custom_getter_ is not supported; give a custom_getter to a "
            "variable_scope within the function"
        )
    made = Template(name_, func_, unique_name_, kwargs)
    if create_scope_now_:
        made.open_scope()
    return made


# ---- partitioners: how TensorFlow would cut a variable up; graphio keeps it whole ----


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """A partitioner that cuts one axis into so many parts."""

    def partition(shape: Any, **unused: Any) -> list[int]:
        parts = [1] * (as_shape(shape).ndims or 0)
        size = as_shape(shape).as_list()[axis]
        parts[axis] = num_shards if size is None else min(num_shards, size)
        return parts

    return partition


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """A partitioner that cuts one axis so that no part has more bytes than told.

    Raises:
        ValueError: max_shard_bytes or max_shards is below 1.
    """
    if max_shard_bytes < 1 or (max_shards is not None and max_shards < 1):
        raise ValueError("max_shard_bytes and max_shards must be at least 1")

    def partition(shape: Any, dtype: Any) -> list[int]:
        dims = as_shape(shape)
        row = _bytes(dims, dtype, bytes_per_string_element) / max(1, dims.as_list()[axis] or 1)
        most = max(1, math.floor(max_shard_bytes / max(row, 1)))
        shards = math.ceil((dims.as_list()[axis] or 1) / most)
        parts = [1] * (dims.ndims or 0)
        parts[axis] = shards if max_shards is None else min(shards, max_shards)
        return parts

    return partition


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """A partitioner that cuts one axis into parts of at least so many bytes."""

    def partition(shape: Any, dtype: Any) -> list[int]:
        dims = as_shape(shape)
        whole = _bytes(dims, dtype, bytes_per_string_element)
        parts = [1] * (dims.ndims or 0)
        parts[axis] = max(
            1, min(max_partitions, dims.as_list()[axis] or 1, int(whole // min_slice_size))
        )
        return parts

    return partition


def _bytes(shape: TensorShape, dtype: Any, string: int) -> int:
    kind = dtypes.as_dtype(dtype)
    return (shape.num_elements() or 0) * (string if kind == dtypes.string else kind.size)
