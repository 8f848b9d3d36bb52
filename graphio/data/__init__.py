"""tf.data: pipelines that feed a graph element by element.

May import layers and below.

    dataset, structure   a pipeline before it runs, and the types of its elements; methods, options
    arguments, padding   numbers among arguments; shapes and values of padded_batch
    components, variants datasets inside elements, one or several
    graphs, function     the graph of a dataset; functions of map and filter as graphs
    variables            variables of the session in such functions
    stages, elements     a running pipeline; threads: prefetch and parallel map; caching
    readers, records     files of lines and records; csvs, csv_lines; npz; tables: Parquet
    iterator, resource   tf.data.Iterator; its position in a session (saving: as bytes)
    options              tf.data.Options
    resampling           rejection_resample; record_input: RecordInput
    special              rarer parts of tf.data.experimental
    specs/               TypeSpecs of elements; Optional
    statistics/, bases/  StatsAggregator; SqlDataset, LMDBDataset
"""

from graphio.data.dataset import AUTOTUNE, Dataset, Options
from graphio.data.iterator import (
    Iterator,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from graphio.data.methods import connect
from graphio.data.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from graphio.data.specs.dataset_spec import DatasetSpec
from graphio.support import api_guard

from graphio.data import experimental, iterator, resampling, special, whole  # isort: skip  (after the names above)
from graphio.data.specs import type_specs  # isort: skip  (after the names above)

connect(
    experimental=experimental,
    iterator=iterator,
    resampling=resampling,
    special=special,
    type_specs=type_specs,
    whole=whole,
)

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
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

_GUARDED_MODULES = (experimental,)


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
