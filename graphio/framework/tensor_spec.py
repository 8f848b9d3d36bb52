"""TensorSpec: what a program says of a tensor without having one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.specs.type_spec import ShapedSpec, TypeSpec, type_spec_of
from graphio.framework.tensor import Tensor

__all__ = ["BoundedTensorSpec", "TensorSpec"]

Array = np.ndarray[Any, Any]


class TensorSpec(ShapedSpec):
    """A dtype, a static shape and a name; two are equal that say the same.

    Args:
        shape: sizes, None where one is unknown; None: any rank.
        dtype: of the elements.
        name: of the tensor, or None.
    """

    __slots__ = ("_name",)

    def __init__(self, shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> None:
        super().__init__(shape, dtype)
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
    def name(self) -> str | None:
        """The name, or None."""
        return self._name

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Whether a spec, or a tensor or what becomes one, has this dtype and may have this
        shape."""
        other = spec_or_tensor
        if not isinstance(other, TypeSpec):
            other = type_spec_of(other)
        return (
            isinstance(other, TensorSpec)
            and bool(self._dtype == other.dtype.base_dtype)
            and self._shape.is_compatible_with(other.shape)
        )

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


class BoundedTensorSpec(TensorSpec):
    """A TensorSpec with the minimum and the maximum of the elements, both included.

    Args:
        shape, dtype, name: see TensorSpec.
        minimum, maximum: numbers, or arrays that broadcast to shape.

    Raises:
        ValueError: a bound is None, or does not broadcast.
    """

    __slots__ = ("_maximum", "_minimum")

    def __init__(
        self, shape: Any, dtype: Any, minimum: Any, maximum: Any, name: str | None = None
    ) -> None:
        super().__init__(shape, dtype, name)
        if minimum is None or maximum is None:
            raise ValueError(
                f"minimum and maximum must be provided; but saw '{minimum}' and '{maximum}'"
            )
        self._minimum, self._maximum = (
            self._bound(minimum, "minimum"),
            self._bound(maximum, "maximum"),
        )

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> BoundedTensorSpec:
        """Of another's shape, dtype and name (name None), and of its bounds; where it has none, the
        dtype's."""
        dtype = dtypes.as_dtype(spec.dtype)
        least, most = getattr(spec, "minimum", dtype.min), getattr(spec, "maximum", dtype.max)
        return BoundedTensorSpec(spec.shape, dtype, least, most, name or spec.name)

    def _bound(self, value: Any, what: str) -> Array:
        found: Array = np.array(value, self._dtype.as_numpy_dtype)
        sizes = self._shape.sizes
        pairs = [] if sizes is None else zip(found.shape[::-1], sizes[::-1], strict=False)
        if any(1 not in (a, b) and b is not None and a != b for a, b in pairs):
            raise ValueError(
                f"{what} is not compatible with shape: {what} has the shape {found.shape}, which "
                f"does not broadcast with {self._shape}"
            )
        found.setflags(write=False)
        return found

    @property
    def minimum(self) -> Array:
        """The minimum: an array that cannot be written to."""
        return self._minimum

    @property
    def maximum(self) -> Array:
        """The maximum: an array that cannot be written to."""
        return self._maximum

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, BoundedTensorSpec)
            and super().__eq__(other)
            and np.allclose(self._minimum, other._minimum)
            and np.allclose(self._maximum, other._maximum)
        )

    def __hash__(self) -> int:
        return hash((self._shape.sizes, self._dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return BoundedTensorSpec, (
            self._shape, self._dtype, self._minimum, self._maximum, self._name,
        )  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"BoundedTensorSpec(shape={self._shape}, dtype={self._dtype!r}, name={self._name!r}, "
            f"minimum={self._minimum!r}, maximum={self._maximum!r})"
        )


@type_spec_of.register
def _of_tensor(value: Tensor) -> TensorSpec:
    return TensorSpec(value.shape, value.dtype)
