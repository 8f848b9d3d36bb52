"""DatasetSpec: what a program says of a dataset without having one."""

from __future__ import annotations

from typing import Any

from graphio.data.dataset import Dataset
from graphio.framework.specs.type_spec import TypeSpec, type_spec_of
from graphio.framework.tensor_shape import TensorShape, as_shape

__all__ = ["DatasetSpec"]


class DatasetSpec(TypeSpec):
    """The specs of a dataset's elements.

    Args:
        element_spec: nested TypeSpecs, one a component of an element.
        dataset_shape: of several datasets that are one component; (): it is one.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = as_shape(dataset_shape)

    @staticmethod
    def from_value(value: Dataset) -> DatasetSpec:
        """The spec of a dataset."""
        return DatasetSpec(value.element_spec)

    @property
    def value_type(self) -> type[Dataset]:
        """tf.data.Dataset."""
        return Dataset

    @property
    def element_spec(self) -> Any:
        """Nested TypeSpecs, one a component of an element."""
        return self._element_spec

    @property
    def dataset_shape(self) -> TensorShape:
        """Of several datasets that are one component; []: it is one."""
        return self._dataset_shape

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape


@type_spec_of.register
def _of_dataset(value: Dataset) -> DatasetSpec:
    return DatasetSpec.from_value(value)
