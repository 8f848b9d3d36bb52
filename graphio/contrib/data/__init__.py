"""tf.contrib.data: transformations of data sets, for Dataset.apply."""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.data.transformations": (
        "assert_element_shape", "batch_and_drop_remainder", "padded_batch_and_drop_remainder",
        "read_batch_features", "reduce_dataset", "sliding_window_batch", "sloppy_interleave",
    ),
    # until TensorFlow 1.9 tf.data's classes were here too
    "graphio.data": (
        "Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset",
    ),
    "graphio.data.bases.lmdb_files": ("LMDBDataset",),
    "graphio.data.experimental": (
        "AUTOTUNE", "Counter", "CsvDataset", "Optional", "RandomDataset", "Reducer", "SqlDataset",
        "StatsAggregator", "TFRecordWriter", "bucket_by_sequence_length", "choose_from_datasets",
        "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset", "get_next_as_optional",
        "get_single_element", "group_by_reducer", "group_by_window", "ignore_errors",
        "latency_stats", "make_batched_features_dataset", "make_csv_dataset",
        "make_saveable_from_iterator", "map_and_batch", "parallel_interleave",
        "parse_example_dataset", "prefetch_to_device", "rejection_resample", "sample_from_datasets",
        "scan", "shuffle_and_repeat", "unbatch", "unique",
    ),
    "graphio.data.statistics.measuring": ("set_stats_aggregator",),
    "graphio.train.loops.input_pipeline_hook": ("CheckpointInputPipelineHook",),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
