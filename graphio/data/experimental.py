"""tf.data.experimental: more transformations, most of them for Dataset.apply."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.data import arguments, elements, npz, registered, structure
from graphio.data.bases.sql import SqlDataset
from graphio.data.csvs import CsvDataset, make_csv_dataset
from graphio.data.dataset import AUTOTUNE, Dataset, _checked
from graphio.data.examples import (
    dense_to_sparse_batch,
    make_batched_features_dataset,
    parse_example_dataset,
)
from graphio.data.function import Function
from graphio.data.iterator import make_saveable_from_iterator
from graphio.data.options import (
    DistributeOptions,
    MapVectorizationOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)
from graphio.data.resampling import rejection_resample
from graphio.data.special import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    RandomDataset,
    cardinality,
    copy_to_device,
    prefetch_to_device,
    without_errors,
)
from graphio.data.specs.optional import Optional, get_next_as_optional
from graphio.data.specs.variant_tensors import (
    DatasetStructure,
    SparseTensorStructure,
    Structure,
    TensorArrayStructure,
    TensorStructure,
    from_variant,
    get_structure,
    to_variant,
)
from graphio.data.statistics.aggregator import StatsAggregator
from graphio.data.statistics.measuring import bytes_produced_stats, latency_stats
from graphio.data.structure import Spec
from graphio.data.tables import ArrowDataset, ParquetDataset
from graphio.data.whole import TFRecordWriter, get_single_element, state_function
from graphio.framework import dtypes, refusals, scopes
from graphio.framework.constants import as_array, constant
from graphio.framework.graph import Tensor
from graphio.framework.specs.optional_spec import OptionalSpec as OptionalStructure
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array.index import gather
from graphio.ops.array.joining import stack
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard, public_path

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "ArrowDataset",
    "Counter",
    "CsvDataset",
    "DatasetStructure",
    "DistributeOptions",
    "MapVectorizationOptions",
    "NpzDataset",
    "OptimizationOptions",
    "Optional",
    "OptionalStructure",
    "ParquetDataset",
    "RandomDataset",
    "Reducer",
    "SparseTensorStructure",
    "SqlDataset",
    "StatsAggregator",
    "StatsOptions",
    "Structure",
    "TFRecordWriter",
    "TensorArrayStructure",
    "TensorStructure",
    "ThreadingOptions",
    "bucket_by_sequence_length",
    "bytes_produced_stats",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "latency_stats",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

Transformation = Callable[[Dataset], Dataset]
_OF_UNIQUE = (dtypes.int32, dtypes.int64, dtypes.string)


@api_guard.unguarded
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """shuffle(buffer_size, seed), then repeat(count)."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


@api_guard.unguarded
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """map(map_func, num_parallel_calls), then batch.

    An element that cannot be had takes its batch with it.
    """
    calls = num_parallel_calls if num_parallel_batches is None else AUTOTUNE
    return lambda dataset: dataset.map(map_func, calls)._batched(
        batch_size, drop_remainder, whole=True
    )


map_and_batch_with_legacy_function = map_and_batch


@api_guard.unguarded
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """interleave, in the order of the sequential one."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


@api_guard.unguarded
def unbatch() -> Transformation:
    """See Dataset.unbatch."""
    return lambda dataset: dataset.unbatch()


@api_guard.unguarded
def enumerate_dataset(start: Any = 0) -> Transformation:
    """See Dataset.enumerate."""
    return lambda dataset: dataset.enumerate(start)


@api_guard.unguarded
def ignore_errors() -> Transformation:
    """Leaves out the elements whose making raises an error of a run."""
    return without_errors


@api_guard.unguarded
def unique() -> Transformation:
    """Leaves out elements that have come before.

    Applying it to elements that are something else than one tensor of int32, int64 or string is a
    TypeError.
    """

    def apply(dataset: Dataset) -> Dataset:
        spec = dataset.element_specs
        if not isinstance(spec, Spec):
            raise TypeError("unique: an element must be one tensor")
        if spec.dtype not in _OF_UNIQUE:
            raise TypeError(
                f"`tf.data.Dataset.unique` does not support type {spec.dtype.name} -- only "
                "`tf.int32`, `tf.int64`, and `tf.string` are supported; cast the elements"
            )
        return dataset._derived(lambda o: elements.Unique(dataset.open(o)))

    return apply


@api_guard.unguarded
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """The elements before the first of which predicate is false."""

    def apply(dataset: Dataset) -> Dataset:
        function = dataset._predicate(predicate, "take_while")
        return dataset._derived(
            lambda o: elements.TakeWhile(dataset.open(o), o.load(function)), functions=[function]
        )

    return apply


@api_guard.unguarded
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """As map, with a state that is handed on.

    Args:
        initial_state: nested values.
        scan_func: from a state and an element to a pair of the next state and an output.
    """

    def apply(dataset: Dataset) -> Dataset:
        specs, leaves = structure.of_values(initial_state, "scan")
        function = state_function(scan_func, specs, dataset, "scan")
        if not isinstance(function.specs, tuple) or len(function.specs) != 2:
            raise TypeError("The scan function must return a pair comprising the state and output.")
        return dataset._derived(
            lambda o: elements.Scan(
                dataset.open(o), o.load(function), [o.value(v) for v in leaves]
            ),
            function.specs[1],
            leaves,
            [function],
        )

    return apply


@api_guard.unguarded
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transformation:
    """Gathers elements by key; reduce_func(key, window) makes a dataset of each full window.

    Args:
        key_func: from an element to a scalar int64.
        reduce_func: from a key and a dataset to a dataset.
        window_size: elements of a window.
        window_size_func: from a key to the elements of its windows, instead.

    Raises:
        ValueError: both or none of window_size and window_size_func.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_func = window_size_func or (lambda key: np.int64(window_size))

    def apply(dataset: Dataset) -> Dataset:
        what = "group_by_window"
        key = Function(_integer(key_func), dataset.element_specs, what)
        scalar = Spec(dtypes.int64, TensorShape([]))
        if not isinstance(key.specs, Spec) or key.specs.dtype != dtypes.int64:
            raise ValueError("`key_func` must return a single tf.int64 tensor.")
        window = structure.dataset_spec(dataset.element_specs)
        size = Function(_integer(size_func), scalar, what)
        if not isinstance(size.specs, Spec) or size.specs.dtype != dtypes.int64:
            raise ValueError("`window_size_func` must return a single tf.int64 tensor.")
        reduce = Function(reduce_func, [scalar, window], what, arguments=True)
        if reduce.dataset is None:
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        functions = [key, reduce, size]
        return dataset._derived(
            lambda o: elements.GroupByWindow(dataset.open(o), *(o.load(f) for f in functions)),
            reduce.result_specs(),
            functions=functions,
        )

    return apply


class Reducer:
    """How elements are reduced to one value.

    Attributes:
        init_func: from a key, a scalar int64, to the first state.
        reduce_func: from a state and an element to the next state.
        finalize_func: from the last state to the value.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


@api_guard.unguarded
def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Reduces the elements of each key to one, in the order of the keys.

    Args:
        key_func: from an element to a scalar int64.
        reducer: a Reducer; its functions get the keys, states and elements.

    Raises:
        TypeError: reducer is not a Reducer.

    All elements are kept until the data end: see Dataset.reduce for data without keys.
    """
    if not isinstance(reducer, Reducer):
        raise TypeError(f"`reducer` must be a tf.data.experimental.Reducer, got {reducer!r}")

    def reduced(key: Any, group: Dataset) -> Dataset:
        state = group.reduce(reducer.init_func(key), reducer.reduce_func)
        return Dataset.from_tensors(reducer.finalize_func(state))

    everything = np.iinfo(np.int64).max
    return group_by_window(key_func, reduced, window_size=everything)


def _integer(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a number of Python as an int64; values other than a scalar int64 stay."""

    def call(*element: Any) -> Any:
        found = function(*element)
        number = isinstance(found, (int, np.integer)) and not isinstance(found, bool)
        return constant(found, dtypes.int64) if number else found

    return call


@api_guard.unguarded
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Padded batches of elements of similar length.

    Args:
        element_length_func: from an element to its length, an int32.
        bucket_boundaries: lengths at which the next bucket begins.
        bucket_batch_sizes: elements of a batch in each bucket, one more than boundaries.
        padded_shapes: None: the elements' shapes, unknown sizes as the longest of the batch.
        padding_values: see Dataset.padded_batch.
        pad_to_bucket_boundary: True pads unknown sizes to the bucket's largest length.
        no_padding: True batches without padding.
        drop_remainder: True leaves out short batches.

    Raises:
        ValueError: the number of batch sizes does not fit.
    """
    if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
        raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
    bounds = np.array([*bucket_boundaries, np.iinfo(np.int32).max], np.int32)
    sizes = np.array(bucket_batch_sizes, np.int64)

    def key(*element: Any) -> Any:
        length = elementwise.cast(element_length_func(*element), dtypes.int32)
        return reduction.reduce_sum(
            elementwise.cast(comparison.greater_equal(length, constant(bounds)), dtypes.int64)
        )

    def size(number: Any) -> Any:
        return gather(constant(sizes), number)

    def batch(number: Any, grouped: Dataset) -> Dataset:
        size_now = size(number)
        if no_padding:
            return grouped.batch(size_now, drop_remainder)
        shapes = grouped.output_shapes if padded_shapes is None else padded_shapes
        if pad_to_bucket_boundary:
            shapes = _to_boundary(grouped, shapes, bounds, number)
        return grouped.padded_batch(size_now, shapes, padding_values, drop_remainder)

    def apply(dataset: Dataset) -> Dataset:
        return dataset.apply(group_by_window(key, batch, window_size_func=size))

    return apply


def _to_boundary(grouped: Dataset, shapes: Any, bounds: Any, number: Any) -> Any:
    """The shapes with unknown sizes as one less than the bucket's end."""
    longest = elementwise.cast(gather(constant(bounds), number) - 1, dtypes.int64)

    def full(shape: TensorShape) -> Any:
        sizes = [longest if s is None else constant(s, dtypes.int64) for s in shape.as_list()]
        return stack(sizes) if sizes else shape

    flat = structure.up_to(grouped.element_specs, shapes, "bucket_by_sequence_length")
    return structure.pack(grouped.element_specs, [full(TensorShape(s)) for s in flat])


@api_guard.unguarded
def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Each element from the dataset whose number choice_dataset gives.

    Args:
        datasets: of one structure.
        choice_dataset: scalar int64 numbers.
        stop_on_empty_dataset: True ends where a dataset that has ended is chosen, which otherwise
            gives nothing.

    Raises:
        TypeError: the types differ, or choice_dataset gives no scalar int64.
    """
    specs = _common(datasets, "choose_from_datasets")
    spec = _checked(choice_dataset, "choose_from_datasets").element_specs
    if not isinstance(spec, Spec) or spec.dtype != dtypes.int64 or spec.shape.ndims:
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return Dataset(
        specs,
        lambda o: elements.Choose(
            stop_on_empty_dataset, choice_dataset.open(o), *(d.open(o) for d in datasets)
        ),
        [choice_dataset, *datasets],
    )


@api_guard.unguarded
def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Each element from a dataset that is drawn; those that have ended drop out.

    Args:
        datasets: of one structure.
        weights: the odds: floats, a vector tensor of them, or a dataset of vectors, one for each
            draw, with which the elements end; None: equal.
        seed: see Dataset.shuffle.
        stop_on_empty_dataset: True ends with the first dataset that ends.

    Raises:
        ValueError: another number of weights.
        TypeError: the weights are not floating-point numbers.

    Raises, when run:
        InvalidArgumentError: another number of weights, or one that is negative or not finite.
    """
    specs = _common(datasets, "sample_from_datasets")
    odds = _odds(weights, len(datasets))
    inputs = [*([odds] if isinstance(odds, Dataset) else []), *datasets]
    key = scopes.get_default_graph().root.seeds.key(seed)
    return Dataset(
        specs,
        lambda o: elements.Sample(
            odds.open(o) if isinstance(odds, Dataset) else o.value(odds),
            o.new_key() if key is None else key,
            stop_on_empty_dataset,
            *(d.open(o) for d in datasets),
        ),
        inputs,
        [odds] if isinstance(odds, Tensor) else [],
    )


def _odds(weights: Any, count: int) -> Any:
    """Numbers, a tensor, or a dataset of such."""
    if weights is None:
        return [1.0] * count
    if isinstance(weights, (Dataset, Tensor)):
        spec = weights.element_specs if isinstance(weights, Dataset) else weights
        _check_odds(getattr(spec, "dtype", dtypes.string))
        return weights
    numbers = as_array(weights, None)
    if numbers.size:
        _check_odds(dtypes.as_dtype(numbers.dtype))
    odds = [float(w) for w in weights]
    if len(odds) != count:
        raise ValueError("`weights` must have the same length as `datasets`.")
    return odds


def _check_odds(dtype: dtypes.DType) -> None:
    if not dtype.is_floating:
        raise TypeError(
            f"`weights` are {dtype.name}; they must be of `tf.float32` or `tf.float64`: [1.0, 2.0]"
        )


def _common(datasets: Sequence[Dataset], what: str) -> Any:
    if not datasets:
        raise ValueError(f"{what}: there are no datasets")
    specs = _checked(datasets[0], what).element_specs
    for dataset in datasets[1:]:
        specs = structure.common(specs, _checked(dataset, what).element_specs, what)
    return specs


@api_guard.unguarded
def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """Numbers without end."""
    first, each = arguments.number(start, "Counter"), arguments.number(step, "Counter")
    limit = np.iinfo(np.int64)
    stop = limit.min if isinstance(each, int) and each < 0 else limit.max
    found = Dataset.range(first, stop, each)
    requested = dtypes.as_dtype(dtype)
    return (
        found if requested == dtypes.int64 else found.map(lambda n: elementwise.cast(n, requested))
    )


class NpzDataset(Dataset):
    """The slices of the arrays of a .npz or .npy file along their first dimension.

    TensorFlow has no such dataset.
    Elements are dicts by the arrays' names; with `keys`, tuples; of a .npy file, tensors. A .npy
    file, and what np.savez wrote, stays in its file until it is used.

    Args:
        filename: of the file.
        keys: names of the arrays to take, in the order of the tuple; None: all.

    Raises:
        NotFoundError: there is no such file.
        ValueError: a name that is not in it; arrays of different lengths.
    """

    def __init__(self, filename: str | os.PathLike[str], keys: Sequence[str] | None = None) -> None:
        arrays = npz.arrays(os.fspath(filename))
        if keys is None:
            chosen: Any = arrays if "" not in arrays else arrays[""]
        else:
            missing = [key for key in keys if key not in arrays]
            if missing:
                raise ValueError(f"NpzDataset: {filename} has no {missing}; has {sorted(arrays)}")
            chosen = tuple(arrays[key] for key in keys)
        made = Dataset.from_tensor_slices(chosen)
        super().__init__(made.element_specs, made.open, [made])


public_path.name_classes(__name__, globals())

if not TYPE_CHECKING:  # to type checkers, a name that is left out does not exist
    _refused = refusals.getter(__name__)

    def __getattr__(name: str) -> Any:
        if name == "CheckpointInputPipelineHook":  # of a higher package
            return registered.input_pipeline_hook()
        return _refused(name)
