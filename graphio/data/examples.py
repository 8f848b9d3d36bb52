"""Data sets of tf.train.Example: batches of records become dicts of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.data import structure
from graphio.data.dataset import AUTOTUNE, Dataset
from graphio.data.readers import TFRecordDataset
from graphio.data.structure import Spec
from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_less_equal
from graphio.ops.strings.example import parse_example
from graphio.support import api_guard

__all__ = ["dense_to_sparse_batch", "make_batched_features_dataset", "parse_example_dataset"]

Transformation = Callable[[Dataset], Dataset]


@api_guard.unguarded
def parse_example_dataset(
    features: Mapping[str, Any] | None, num_parallel_calls: Any = 1
) -> Transformation:
    """tf.parse_example of every element, a vector of serialized tf.train.Example.

    Args:
        features: see tf.parse_example.
        num_parallel_calls: see Dataset.map.

    Raises:
        ValueError: features is None.
        TypeError: when applied: an element is something else than one vector of strings.
    """
    if features is None:
        raise ValueError("Missing: features was None; give a dict of tf.FixedLenFeature and others")
    rules = dict(features)

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_specs
        is_vector = (
            isinstance(spec, Spec)
            and spec.dtype == dtypes.string
            and spec.shape.is_compatible_with(TensorShape([None]))
        )
        if not is_vector:
            raise TypeError(
                "parse_example_dataset: Input dataset should be a dataset of vectors of strings, "
                f"got elements of {structure.types_of(spec)}; use Dataset.batch"
            )
        return dataset.map(lambda records: parse_example(records, rules), num_parallel_calls)

    return apply


@api_guard.guarded
def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: Any = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of parsed tf.train.Example: dicts of tensors; with label_key pairs of dict and label.

    Args:
        file_pattern: of the files, or a list of patterns.
        batch_size: records of a batch.
        features: see tf.parse_example.
        reader: from a file name to a dataset of records, or of pairs whose second is the record.
        label_key: the feature that is the label.
        reader_args: further arguments of reader.
        num_epochs: None: without end; then every batch is full.
        shuffle, shuffle_buffer_size, shuffle_seed: see Dataset.shuffle; files are shuffled, too.
        prefetch_buffer_size: see Dataset.prefetch.
        reader_num_threads: files that are read in turns; None: 1.
        parser_num_threads, sloppy_ordering: accepted; the order is that of the data.
        drop_final_batch: True leaves out a short last batch.

    Raises:
        ValueError: label_key is not a feature.
        TypeError: reader gives no dataset.
    """
    if label_key is not None and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: "
            f"{sorted(features)}"
        )
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    more = tuple(reader_args or ())
    turns = 1 if reader_num_threads in (None, AUTOTUNE) else reader_num_threads
    data = files.interleave(lambda name: reader(name, *more), cycle_length=turns)
    if isinstance(data.element_specs, tuple):
        data = data.map(lambda _, record: record)
    if shuffle:
        data = data.shuffle(shuffle_buffer_size, shuffle_seed)
    data = data.repeat(num_epochs)
    data = data.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    data = data.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        data = data.map(lambda found: (found, found.pop(label_key)))
    return data.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


@api_guard.unguarded
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Transformation:
    """Batches elements of different sizes as SparseTensors: every entry of an element is one.

    Args:
        batch_size: elements of a batch; a short last one comes as well.
        row_shape: the shape of a row, at least as large as that of every element: integers.

    Raises:
        ValueError: row_shape has an unknown size.
        TypeError: when applied: an element is something else than one tensor.

    Raises, when run:
        InvalidArgumentError: an element is larger than a row.
    """
    sizes = TensorShape(row_shape)
    if not sizes.is_fully_defined():
        raise ValueError(
            f"dense_to_sparse_batch: `row_shape` is {sizes}; give all its sizes, such as [10]"
        )
    row = constant(np.array(sizes.as_list(), np.int64))

    def entries(element: Any) -> SparseTensor:
        found = array.shape(element, out_type=dtypes.int64)
        fits = assert_less_equal(found, row, message="dense_to_sparse_batch: a row is too small")
        with scopes.control_dependencies([fits]):
            indices = array.where(array.ones_like(element, dtypes.bool))
        return SparseTensor(indices, array.reshape(element, [-1]), row)

    def apply(dataset: Dataset) -> Dataset:
        if not isinstance(dataset.element_specs, Spec):
            raise TypeError(
                "dense_to_sparse_batch: Input dataset should be of one tensor, got elements of "
                f"{structure.types_of(dataset.element_specs)}; choose one by Dataset.map"
            )
        return dataset.map(entries).batch(batch_size)

    return apply
