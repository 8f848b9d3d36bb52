"""Conversions of objects to tensors, which classes and programs register."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.support import api_guard

__all__ = ["converted", "is_convertible", "of_dtype", "register_tensor_conversion_function"]

#: the priorities at which lists and tuples, and then all other objects, become constants
_OF_LISTS, _OF_OBJECTS = 100, 200


class _Conversion(NamedTuple):
    base_types: tuple[type, ...]
    function: Callable[..., Any]
    priority: int


class _Registry:
    """The conversions by priority, and all of their classes."""

    rows: list[_Conversion] = []
    classes: tuple[type, ...] = ()


@api_guard.guarded
def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Makes convert_to_tensor take objects of base_type.

    Args:
        base_type: a class, or a tuple of classes.
        conversion_func: called as f(value, dtype=None, name=None, as_ref=False); it may give
            NotImplemented, then the next conversion is tried.
        priority: the lowest is tried first; of equal ones the first that was registered. Lists
            and tuples convert themselves at 100, all other objects at 200.

    Raises:
        TypeError: base_type is not a class, or is one of numbers or arrays; conversion_func cannot
            be called.
    """
    base_types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not base_types or not all(isinstance(one, type) for one in base_types):
        raise TypeError(
            f"Argument `base_type` must be a type or a tuple of types. Obtained: {base_type}"
        )
    if any(issubclass(one, (int, float, np.generic, np.ndarray)) for one in base_types):
        raise TypeError(
            "Cannot register conversions for Python numeric types and NumPy scalars and arrays."
        )
    if not callable(conversion_func):
        raise TypeError(f"Argument `conversion_func` must be callable. Received {conversion_func}.")
    made = _Conversion(base_types, conversion_func, priority)
    bisect.insort(_Registry.rows, made, key=lambda one: one.priority)
    _Registry.classes += base_types


def is_convertible(value: Any) -> bool:
    """Whether a conversion is registered for a value's class."""
    return isinstance(value, _Registry.classes)


def converted(
    value: Any, requested: DType | None, preferred: DType | None, name: str | None
) -> Tensor | None:
    """The tensor of the first conversion of a value; None if there is none."""
    if not is_convertible(value):
        return None
    limit = _OF_LISTS if isinstance(value, (list, tuple)) else _OF_OBJECTS
    for one in _Registry.rows:
        if one.priority >= limit:
            return None
        if isinstance(value, one.base_types):
            found = _called(one, value, requested, preferred, name)
            if found is not NotImplemented:
                return found  # type: ignore[no-any-return]
    return None


def _called(
    one: _Conversion, value: Any, requested: DType | None, preferred: DType | None, name: Any
) -> Any:
    """The result of a conversion; the preferred dtype is tried where none is requested."""
    if requested is None and preferred is not None:
        try:
            found = one.function(value, dtype=preferred, name=name, as_ref=False)
        except (TypeError, ValueError):
            pass
        else:
            if found is not NotImplemented:
                return _fitting(one, found, preferred, value)
    return _fitting(
        one, one.function(value, dtype=requested, name=name, as_ref=False), requested, value
    )


def _fitting(one: _Conversion, found: Any, requested: DType | None, value: Any) -> Any:
    if found is NotImplemented:
        return found
    of = f"Conversion function {one.function!r} for type {type(value)} returned"
    if not isinstance(found, Tensor):
        raise RuntimeError(f"{of} non-Tensor: {found!r}")
    if requested is not None and found.dtype.base_dtype != requested:
        raise RuntimeError(
            f"{of} incompatible dtype: requested = {requested.name}, actual = {found.dtype.name}"
        )
    return found


def of_dtype(tensor: Tensor, requested: DType | None) -> Tensor:
    """A tensor that has the requested dtype.

    Raises:
        ValueError: it has another one.
    """
    if requested is not None and tensor.dtype != requested:
        raise ValueError(
            f"Tensor conversion requested dtype {requested.name} for Tensor with dtype "
            f"{tensor.dtype.name}: {tensor!r}"
        )
    return tensor
