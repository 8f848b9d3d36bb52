"""IndexedSlices: a gradient that lists the rows it touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from graphio.framework import dtypes, registered
from graphio.framework.composite import Composite
from graphio.framework.constants import convert_to_tensor
from graphio.framework.conversions import of_dtype, register_tensor_conversion_function
from graphio.framework.dtypes import as_dtype
from graphio.framework.folding import constant_shape
from graphio.framework.specs.type_spec import TypeSpec, type_spec_of
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.support import api_guard

if TYPE_CHECKING:
    from graphio.framework.dtypes import DType
    from graphio.framework.graph import Graph, Operation, Tensor

__all__ = [
    "IndexedSlices",
    "IndexedSlicesSpec",
    "IndexedSlicesValue",
    "convert_to_tensor_or_indexed_slices",
]


class IndexedSlicesValue(NamedTuple):
    """The numbers of an IndexedSlices, as a session gives them back."""

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices(Composite):
    """Stands for a tensor that is 0 but for some rows: row indices[i] holds the sum of its
    values[i]. An index may come more than once.

    Converting it to a tensor sums the values into a dense one.
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        """values: (n, rest); indices: (n) int32 or int64; dense_shape: the shape it stands for."""
        self.values: Tensor = values
        self.indices = indices
        self.dense_shape = dense_shape

    def consumers(self) -> list[Operation]:
        """The operations that have its values, indices or shape as an input, each once."""
        parts = [part for part in (self.values, self.indices, self.dense_shape) if part is not None]
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the values."""
        return self.values.graph

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        operation: Operation = self.values.op
        return operation

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.values.name

    @property
    def device(self) -> str:
        """The device of the values."""
        return self.values.device

    def to_tensor(self, name: str | None = None) -> Tensor:
        """The dense tensor: dense_shape, with the values summed into their rows.

        Raises:
            ValueError: dense_shape is not known.
        """
        if self.dense_shape is None:
            raise ValueError(
                f"IndexedSlices '{self.name}' has no dense_shape, so it cannot become a tensor"
            )
        return registered.dense_of_rows(self.indices, self.values, self.dense_shape, name)

    def parts(self) -> list[Any]:
        """values, indices and, where it is known, dense_shape."""
        rest = [] if self.dense_shape is None else [self.dense_shape]
        return [self.values, self.indices, *rest]

    def with_parts(self, parts: Sequence[Any]) -> IndexedSlices:
        """IndexedSlices of other tensors."""
        return IndexedSlices(*parts)

    def loop_shapes(self, given: Any = None) -> list[Any]:
        """A shape given is that of the values; there are as many indices."""
        kept = [convert_to_tensor(part).shape for part in self.parts()]
        if given is None:
            return kept
        rows = TensorShape(None) if given.ndims is None else TensorShape(given.as_list()[:1])
        return [given, rows, *kept[2:]]

    def value_of(self, arrays: Sequence[Any]) -> IndexedSlicesValue:
        """The numbers of the parts."""
        return IndexedSlicesValue(arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None)

    def __str__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(registered.negative(self.values), self.indices, self.dense_shape)


def _to_tensor(
    value: IndexedSlices, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return of_dtype(value.to_tensor(name=name), dtype)


register_tensor_conversion_function(IndexedSlices, _to_tensor)


class IndexedSlicesSpec(TypeSpec):
    """The shapes and dtypes of IndexedSlices.

    Args:
        shape: that it stands for, None where a size is unknown; None: any rank.
        dtype: of the values.
        indices_dtype: int32 or int64.
        dense_shape_dtype: int32 or int64; None: there is no dense_shape.
        indices_shape: [the number of rows], None: unknown.

    Raises:
        ValueError: indices_shape is not of rank 1.
    """

    __slots__ = ("_dense_shape_dtype", "_dtype", "_indices_dtype", "_indices_shape", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        self._shape = as_shape(shape)
        self._dtype = as_dtype(dtype)
        self._indices_dtype = as_dtype(indices_dtype)
        self._dense_shape_dtype = None if dense_shape_dtype is None else as_dtype(dense_shape_dtype)
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type[IndexedSlices]:
        """tf.IndexedSlices."""
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )


@type_spec_of.register
def _of_slices(value: IndexedSlices) -> IndexedSlicesSpec:
    rows, dense = value.values.shape, value.dense_shape
    sizes = None if rows.ndims is None else rows.as_list()
    shape = TensorShape(None if sizes is None else [None, *sizes[1:]])
    known = None if dense is None else constant_shape(dense)
    if known is not None:
        shape = shape.merge_with(known)
    indices = value.indices.shape.merge_with(None if sizes is None else sizes[:1])
    return IndexedSlicesSpec(
        shape, value.dtype, value.indices.dtype, None if dense is None else dense.dtype, indices
    )


@api_guard.guarded
def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """value if it is IndexedSlices, else a tensor of it.

    Raises:
        ValueError: of another dtype.
    """
    if not isinstance(value, IndexedSlices):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and value.dtype != as_dtype(dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {as_dtype(dtype).name} for IndexedSlices with "
            f"dtype {value.dtype.name}"
        )
    return value
