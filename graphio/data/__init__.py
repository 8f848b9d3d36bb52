"""tf.data: pipelines that feed a graph element by element."""

from graphio.data.dataset import AUTOTUNE, Dataset, Options
from graphio.data.iterator import (
    Iterator,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from graphio.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from graphio.support import api_guard

from graphio.data import experimental  # isort: skip  (reads the names above)

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "FixedLengthRecordDataset",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]


@api_guard.guarded
def get_output_types(dataset_or_iterator: Dataset | Iterator) -> object:
    """dtypes of an element's components."""
    return dataset_or_iterator.output_types


@api_guard.guarded
def get_output_shapes(dataset_or_iterator: Dataset | Iterator) -> object:
    """Static shapes of an element's components."""
    return dataset_or_iterator.output_shapes


@api_guard.guarded
def get_output_classes(dataset_or_iterator: Dataset | Iterator) -> object:
    """Classes of an element's components."""
    return dataset_or_iterator.output_classes
