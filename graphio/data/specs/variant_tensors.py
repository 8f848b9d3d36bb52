"""Names of tf.data.experimental that describe elements, and that make a tensor of a dataset."""

from __future__ import annotations

from typing import Any

from graphio.data import graphs, saving
from graphio.data.components import Variant
from graphio.data.dataset import Dataset
from graphio.data.function import Opening
from graphio.data.iterator import Iterator
from graphio.data.specs import type_specs
from graphio.data.specs.dataset_spec import DatasetSpec as DatasetStructure
from graphio.data.whole import opened
from graphio.framework import api_boundary, dtypes
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.sparse_tensor import SparseTensorSpec
from graphio.framework.specs.type_spec import TypeSpec as Structure
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.tensor_spec import TensorSpec
from graphio.ops.control_flow.tensor_array_spec import TensorArraySpec
from graphio.support import api_guard

__all__ = [
    "DatasetStructure",
    "SparseTensorStructure",
    "Structure",
    "TensorArrayStructure",
    "TensorStructure",
    "from_variant",
    "get_structure",
    "to_variant",
]

#: the datasets of to_variant's tensors
_DATASETS: Attachment[dict[Tensor, Dataset]] = Attachment("datasets of tensors", lambda root: {})


@api_guard.unguarded
def TensorStructure(dtype: Any, shape: Any) -> TensorSpec:
    """tf.TensorSpec(shape, dtype)."""
    return TensorSpec(shape, dtype)


@api_guard.unguarded
def SparseTensorStructure(dtype: Any, shape: Any) -> SparseTensorSpec:
    """tf.SparseTensorSpec(shape, dtype)."""
    return SparseTensorSpec(shape, dtype)


@api_guard.unguarded
def TensorArrayStructure(
    dtype: Any, element_shape: Any, dynamic_size: Any, infer_shape: Any
) -> TensorArraySpec:
    """tf.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


@api_guard.unguarded
def get_structure(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The element_spec of a dataset or an iterator.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(dataset_or_iterator, (Dataset, Iterator)):
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        )
    return dataset_or_iterator.element_spec


@api_boundary.rolling_back
@api_guard.guarded
def to_variant(dataset: Dataset) -> Tensor:
    """A scalar tensor that stands for a dataset.

    It is a string (TensorFlow's is a variant): a run that reads it goes through the dataset and
    gives all elements, encoded. from_variant of the tensor itself takes the dataset without that.

    Raises:
        TypeError: it is not a dataset.
        ValueError: it is of another graph than the default one.

    Raises, when run:
        ResourceExhaustedError: there are more than 262,144 elements.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"to_variant: expected a tf.data.Dataset, got {dataset!r}")
    graphs.check(dataset)

    def run(opening: Opening, _: Any) -> Any:
        return [saving.encoded(dataset.held(opening))]

    outputs = [(dtypes.string, TensorShape([]))]
    made = opened(dataset.touched, list(dataset.captures), run, [], outputs, "DatasetToVariant")
    tensor: Tensor = made.outputs[0]
    _DATASETS.of(tensor.graph)[tensor] = dataset
    return tensor


@api_boundary.rolling_back
@api_guard.guarded
def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset of a tensor that to_variant gave.

    Args:
        variant: the tensor; one that an operation made of it (a branch, an identity) will do.
        structure: nested TypeSpecs of the dataset's elements; see get_structure.

    Raises:
        TypeError: structure has something else than TypeSpecs; variant is not a scalar string.
    """
    specs = type_specs.to_specs(structure, "from_variant")
    if not isinstance(variant, Tensor) or variant.dtype != dtypes.string:
        raise TypeError(f"from_variant: expected a tensor that to_variant gave, got {variant!r}")
    known = _DATASETS.of(variant.graph).get(variant)
    if known is not None and known.element_spec == structure:
        return known
    return Variant(specs, variant)
