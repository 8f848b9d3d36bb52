"""TensorSpec: what a program says of a tensor without having one."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.framework.type_spec import TypeSpec, type_spec_of

__all__ = ["TensorSpec"]


class TensorSpec(TypeSpec):
    """A dtype, a static shape and a name; two are equal that say the same.

    Args:
        shape: sizes, None where one is unknown; None: any rank.
        dtype: of the elements.
        name: of the tensor, or None.
    """

    __slots__ = ("_dtype", "_name", "_shape")

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._name = name

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Of another's shape and dtype; name None: its name."""
        return cls(spec.shape, spec.dtype, name or spec.name)

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Of a tensor's shape and dtype; name None: that of its operation.

        Raises:
            ValueError: it is not a tensor.
        """
        if not isinstance(tensor, Tensor):
            raise ValueError(f"tensor is {type(tensor).__name__}, expected a Tensor")
        return cls(tensor.shape, tensor.dtype, name or tensor.op.name)

    @property
    def value_type(self) -> type[Tensor]:
        """tf.Tensor."""
        return Tensor

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a spec, or a tensor or what becomes one, has this dtype and may have this
        shape."""
        other = spec_or_tensor
        if not isinstance(other, (TensorSpec, Tensor)):
            other = convert_to_tensor(other)
        same = bool(self._dtype == other.dtype.base_dtype)
        return same and self._shape.is_compatible_with(other.shape)

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """The narrowest spec that tensors of both have: sizes that differ become unknown.

        Raises:
            ValueError: other is something else, or has another dtype or name.
        """
        if type(self) is not type(other) or (self._dtype, self._name) != (
            other._dtype,
            other._name,
        ):
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        shape = self._shape.most_specific_compatible_shape(other._shape)
        return TensorSpec(shape, self._dtype, self._name)

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._name

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r})"


@type_spec_of.register
def _of_tensor(value: Tensor) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)
