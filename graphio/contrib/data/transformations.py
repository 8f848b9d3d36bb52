"""Transformations of data sets that are made of those of tf.data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.contrib.framework.tensors import with_shape
from graphio.data import structure
from graphio.data.dataset import Dataset
from graphio.data.experimental import Reducer, make_batched_features_dataset, parallel_interleave
from graphio.data.readers import TFRecordDataset
from graphio.framework.tensor_shape import TensorShape
from graphio.support import api_guard

__all__ = [
    "assert_element_shape",
    "batch_and_drop_remainder",
    "padded_batch_and_drop_remainder",
    "read_batch_features",
    "reduce_dataset",
    "sliding_window_batch",
    "sloppy_interleave",
]

Transformation = Callable[[Dataset], Dataset]


@api_guard.unguarded
def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Dataset.batch, without a last batch that is smaller."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@api_guard.unguarded
def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Dataset.padded_batch, without a last batch that is smaller."""

    def apply(dataset: Dataset) -> Dataset:
        return dataset.padded_batch(
            batch_size, padded_shapes, padding_values=padding_values, drop_remainder=True
        )

    return apply


@api_guard.unguarded
def sloppy_interleave(
    map_func: Callable[..., Dataset], cycle_length: int, block_length: int = 1
) -> Transformation:
    """parallel_interleave; the order, which may be any here, is always that of the data."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


@api_guard.unguarded
def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Elements of these shapes, nested as the elements are; unknown sizes are not compared.

    Raises:
        ValueError: when applied: a shape that is known differs.

    Raises, when run:
        InvalidArgumentError: the shape of an element differs.
    """

    def apply(dataset: Dataset) -> Dataset:
        specs = dataset.element_specs
        found = structure.up_to(specs, expected_shapes, "assert_element_shape")
        shapes = [TensorShape(shape) for shape in found]
        for spec, shape in zip(structure.flatten(specs), shapes, strict=True):
            spec.shape.merge_with(shape)

        def checked(*element: Any) -> Any:
            value = _element(specs, element)
            pairs = zip(shapes, structure.flatten(value), strict=True)
            tensors = [t if s.ndims is None else with_shape(s, t) for s, t in pairs]
            return structure.pack(value, tensors)

        return dataset.map(checked)

    return apply


def _element(specs: Any, arguments: tuple[Any, ...]) -> Any:
    """An element of a data set, by the arguments of a function that is mapped over it."""
    return arguments if isinstance(specs, tuple) else arguments[0]


@api_guard.guarded
def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """The last state of a reducer over a data set: tensors to be run; finalize_func is not called.

    Raises:
        TypeError: dataset is not a Dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError(f"`dataset` must be a `tf.data.Dataset` object, got {dataset!r}.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


@api_guard.unguarded
def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches that overlap: each begins window_shift elements after the one before.

    Args:
        window_size: elements of a batch; a short last one is left out.
        stride: window_shift's old name.
        window_shift: None: 1.
        window_stride: between the elements of a batch.

    Raises:
        ValueError: both stride and window_shift.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((one for one in (window_shift, stride) if one is not None), 1)

    def apply(dataset: Dataset) -> Dataset:
        specs = dataset.element_specs

        def batch(*window: Any) -> Dataset:
            parts = structure.mapped(lambda part: part.batch(window_size), _element(specs, window))
            return parts if isinstance(parts, Dataset) else Dataset.zip(parts)

        return dataset.window(window_size, shift, window_stride, drop_remainder=True).flat_map(
            batch
        )

    return apply


@api_guard.guarded
def read_batch_features(
    file_pattern: Any,
    batch_size: Any,
    features: Mapping[str, Any],
    reader: Callable[..., Any] = TFRecordDataset,
    reader_args: Sequence[Any] | None = None,
    randomize_input: bool = True,
    num_epochs: Any = None,
    capacity: Any = 10000,
) -> Any:
    """The next batch of make_batched_features_dataset, whose shuffle and shuffle_buffer_size are
    randomize_input and capacity: a dict of tensors."""
    data = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return data.make_one_shot_iterator().get_next()
