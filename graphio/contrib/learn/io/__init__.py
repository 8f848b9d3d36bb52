"""tf.contrib.learn.io: records of files, arrays and DataFrames in batches.

graph_io           records of files; shared_names: the files' position in variables
input_functions    numpy_input_fn, generator_input_fn; feeding: their queues
data_frames        those of pandas and dask
"""

from __future__ import annotations

import sys

from graphio.contrib.learn.io.data_frames import (
    HAS_DASK,
    HAS_PANDAS,
    extract_dask_data,
    extract_dask_labels,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
    pandas_input_fn,
)
from graphio.contrib.learn.io.graph_io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_examples_shared_queue,
    read_keyed_batch_features,
    read_keyed_batch_features_shared_queue,
)
from graphio.contrib.learn.io.input_functions import generator_input_fn, numpy_input_fn
from graphio.framework import api_boundary, refusals

__all__ = [
    "HAS_DASK",
    "HAS_PANDAS",
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_examples_shared_queue",
    "read_keyed_batch_features",
    "read_keyed_batch_features_shared_queue",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
