"""TensorArraySpec: what a program says of a TensorArray without having one."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.specs.type_spec import TypeSpec, type_spec_of
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.control_flow.tensor_array import TensorArray

__all__ = ["TensorArraySpec"]


class TensorArraySpec(TypeSpec):
    """The shape and the dtype of a TensorArray's elements, and whether it grows.

    Args:
        element_shape: of an element, None where a size is unknown; None: any rank.
        dtype: of the elements.
        dynamic_size: whether writes beyond the end add rows.
        infer_shape: whether the first write fixes the shape of all elements.
    """

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape")

    def __init__(
        self,
        element_shape: Any = None,
        dtype: Any = dtypes.float32,
        dynamic_size: bool | None = False,
        infer_shape: bool | None = True,
    ) -> None:
        self._element_shape = as_shape(element_shape)
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic_size = dynamic_size
        self._infer_shape = infer_shape

    @staticmethod
    def from_value(value: Any) -> TensorArraySpec:
        """The spec of a TensorArray.

        Raises:
            TypeError: it is something else.
        """
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but saw: {type(value).__name__}")
        return _of_array(value)

    @property
    def value_type(self) -> type[TensorArray]:
        """tf.TensorArray."""
        return TensorArray

    @property
    def element_shape(self) -> TensorShape:
        """The shape of an element."""
        return self._element_shape

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool | None:
        """Whether writes beyond the end add rows; None: unknown."""
        return self._dynamic_size

    @property
    def infer_shape(self) -> bool | None:
        """Whether the first write fixes the shape of all elements; None: unknown."""
        return self._infer_shape

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """As TypeSpec's; infer_shape may differ."""
        other = spec_or_value
        if not isinstance(other, TypeSpec):
            other = type_spec_of(other)
        return (
            isinstance(other, TensorArraySpec)
            and self._dtype.is_compatible_with(other._dtype)
            and self._element_shape.is_compatible_with(other._element_shape)
            and self._dynamic_size == other._dynamic_size
        )

    def most_specific_compatible_type(self, other: TypeSpec) -> TensorArraySpec:
        """As TypeSpec's; infer_shape is true where both infer.

        Raises:
            ValueError: shapes or dtypes clash, or one grows.
        """
        if not isinstance(other, TensorArraySpec) or not self.is_compatible_with(other):
            raise ValueError(f"Types are not compatible: {self!r} vs {other!r}")
        return TensorArraySpec(
            self._element_shape.most_specific_compatible_shape(other._element_shape),
            self._dtype,
            self._dynamic_size,
            self._infer_shape and other._infer_shape,
        )

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_shape, self._dtype, self._dynamic_size, self._infer_shape


@type_spec_of.register
def _of_array(value: TensorArray) -> TensorArraySpec:
    return TensorArraySpec(value.element_shape, value.dtype, value.dynamic_size, value._infer)
