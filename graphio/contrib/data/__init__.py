"""tf.contrib.data: transformations of data sets, for Dataset.apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.data.dataset import Dataset
from graphio.data.experimental import (
    AUTOTUNE,
    Counter,
    CsvDataset,
    RandomDataset,
    TFRecordWriter,
    bucket_by_sequence_length,
    choose_from_datasets,
    copy_to_device,
    enumerate_dataset,
    get_single_element,
    group_by_window,
    ignore_errors,
    make_csv_dataset,
    make_saveable_from_iterator,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    unbatch,
    unique,
)

__all__ = [
    "AUTOTUNE",
    "Counter",
    "CsvDataset",
    "RandomDataset",
    "TFRecordWriter",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "choose_from_datasets",
    "copy_to_device",
    "enumerate_dataset",
    "get_single_element",
    "group_by_window",
    "ignore_errors",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "padded_batch_and_drop_remainder",
    "parallel_interleave",
    "prefetch_to_device",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "sloppy_interleave",
    "unbatch",
    "unique",
]

Transformation = Callable[[Dataset], Dataset]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Dataset.batch, without a last batch that is smaller."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Dataset.padded_batch, without a last batch that is smaller."""

    def apply(dataset: Dataset) -> Dataset:
        return dataset.padded_batch(
            batch_size, padded_shapes, padding_values=padding_values, drop_remainder=True
        )

    return apply


def sloppy_interleave(
    map_func: Callable[..., Dataset], cycle_length: int, block_length: int = 1
) -> Transformation:
    """parallel_interleave; the order, which may be any here, is always that of the data."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)
