"""TypeSpec: what a program says of a value without having one."""

from __future__ import annotations

import abc
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape, as_shape

__all__ = ["ShapedSpec", "TypeSpec", "type_spec_of"]


class TypeSpec(abc.ABC):
    """Base of TensorSpec, SparseTensorSpec and the other descriptions of values.

    A subclass has `_serialize`, a tuple of the arguments of its class: two specs of one class are
    equal, compatible, or have a common spec, where these do. A tuple and a dict are compared part
    by part.
    """

    __slots__ = ()

    @property
    @abc.abstractmethod
    def value_type(self) -> Any:
        """The class of the values."""

    @abc.abstractmethod
    def _serialize(self) -> tuple[Any, ...]:
        """Arguments that make an equal spec."""

    @classmethod
    def _deserialize(cls, serialization: tuple[Any, ...]) -> Any:
        """The spec of what _serialize gave."""
        return cls(*serialization)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a value, or a value of a spec, may be one of this spec.

        Raises:
            TypeError: there is no spec of the value.
        """
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = type_spec_of(other)
        return type(self) is type(other) and _compatible(self._serialize(), other._serialize())

    def most_specific_compatible_type(self, other: TypeSpec) -> Any:
        """The narrowest spec that values of both have: shapes that differ become unknown.

        Raises:
            ValueError: the specs differ in something else.
        """
        if type(self) is not type(other):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return self._deserialize(_merged(self._serialize(), other._serialize()))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        assert isinstance(other, TypeSpec)
        return bool(_key(self._serialize()) == _key(other._serialize()))

    def __hash__(self) -> int:
        return hash((type(self), _key(self._serialize())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._serialize()

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._serialize()!r}"


class ShapedSpec(TypeSpec):
    """Base of the specs of values that have one shape and one dtype.

    Args:
        shape: sizes, None where one is unknown; None: any rank.
        dtype: of the elements.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self) -> TensorShape:
        """The static shape; of a SparseTensor, that of the dense tensor."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype


@functools.singledispatch
def type_spec_of(value: Any) -> TypeSpec:
    """The spec of a value; one that has none is converted to a tensor.

    Raises:
        TypeError: it cannot become a tensor.
    """
    try:
        tensor = convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Could not build a TypeSpec for {value!r} with type {type(value).__name__}: {error}"
        ) from error
    return type_spec_of(tensor)


def _key(value: Any) -> Any:
    """A hashable value, equal for equal parts of specs."""
    if isinstance(value, TensorShape):
        return TensorShape, value.sizes
    if isinstance(value, Mapping):
        return tuple((_key(name), _key(value[name])) for name in sorted(value))
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def _compatible(one: Any, two: Any) -> bool:
    if type(one) is not type(two):
        return False
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(_compatible, one, two))
    if isinstance(one, Mapping):
        return set(one) == set(two) and all(_compatible(one[k], two[k]) for k in one)
    if isinstance(one, (TypeSpec, TensorShape, DType)):
        return one.is_compatible_with(two)
    return bool(_key(one) == _key(two))


def _merged(one: Any, two: Any) -> Any:
    """The narrowest part that both fit. Raises ValueError where they differ in more than shapes."""
    if type(one) is type(two):
        if isinstance(one, tuple) and len(one) == len(two):
            merged = [_merged(a, b) for a, b in zip(one, two, strict=True)]
            return type(one)(*merged) if hasattr(one, "_fields") else tuple(merged)
        if isinstance(one, Mapping) and set(one) == set(two):
            return {key: _merged(one[key], two[key]) for key in one}
        if isinstance(one, TensorShape):
            return one.most_specific_compatible_shape(two)
        if isinstance(one, TypeSpec):
            return one.most_specific_compatible_type(two)
        if _key(one) == _key(two):
            return one
    raise ValueError(f"Types are not compatible: {one!r} vs {two!r}")
