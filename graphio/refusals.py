"""Names of TensorFlow's that are no part of graphio, with what to use in their place."""

from __future__ import annotations

__all__ = ["refusal"]

_EAGER = "graphs are built first and run by a Session: use tf.Session().run"
_RECORDS = "use tf.data, or feed placeholders by feed_dict"
_PLACES = "tf.train.Saver saves where iterators stand, and restores it"
_END = "catch tf.errors.OutOfRangeError at the end of the data"
_STATISTICS = "measure runs by RunMetadata"
_ONE = "a model runs in one process on one machine"

#: name -> what to use
_LEFT_OUT = {
    "autograph": "write tf.cond and tf.while_loop",
    "contrib": "most of what programs use of it has a name outside: tf.layers, tf.nn, tf.image, "
    "tf.data, tf.train, tf.initializers (contrib.layers.xavier_initializer is "
    "tf.glorot_uniform_initializer)",
    "distribute": "a model runs on one machine; give Session a ConfigProto with "
    "intra_op_parallelism_threads",
    "enable_eager_execution": _EAGER,
    "enable_tensor_equality": "tensors compare by identity: use tf.equal",
    "enable_v2_behavior": _EAGER,
    "enable_v2_tensorshape": "a shape consists of Dimensions: use .value or .as_list()",
    "estimator": "write the loop: tf.layers, an optimizer, tf.train.MonitoredTrainingSession",
    "experimental": "there is nothing that may change without notice",
    "feature_column": "build the columns' tensors: tf.one_hot, tf.nn.embedding_lookup, tf.concat",
    "function": _EAGER,
    "keras": "use tf.layers for layers and tf.train for training",
    "lite": "write the model by tf.saved_model or export it to ONNX (tf.onnx); cinfer runs it "
    "without Python",
    "profiler": "use RunOptions and RunMetadata of Session.run",
    "sysconfig": "operators are not loaded from libraries; the C library's header is cinfer.h",
    "tpu": "there are two engines, both on the processor: 'runtime' and 'cinfer'",
    "xla": "cinfer plans and fuses by itself",
    "FIFOQueue": _RECORDS,
    "PaddingFIFOQueue": _RECORDS,
    "PriorityQueue": _RECORDS,
    "QueueBase": _RECORDS,
    "RandomShuffleQueue": _RECORDS,
    "FixedLengthRecordReader": _RECORDS,
    "IdentityReader": _RECORDS,
    "ReaderBase": _RECORDS,
    "TFRecordReader": _RECORDS,
    "TextLineReader": _RECORDS,
    "WholeFileReader": _RECORDS,
    "data.experimental.CheckpointInputPipelineHook": _PLACES,
    "data.experimental.Optional": _END,
    "data.experimental.SqlDataset": "use Dataset.from_generator with Python's sqlite3",
    "data.experimental.bytes_produced_stats": _STATISTICS,
    "data.experimental.dense_to_sparse_batch": "use Dataset.padded_batch",
    "data.experimental.get_next_as_optional": _END,
    "data.experimental.group_by_reducer": "use Dataset.reduce, or group_by_window",
    "data.experimental.latency_stats": _STATISTICS,
    "data.experimental.make_saveable_from_iterator": _PLACES,
    "data.experimental.rejection_resample": "use sample_from_datasets with a filter for each class",
    "data.experimental.StatsAggregator": _STATISTICS,
    "train.ClusterSpec": _ONE,
    "train.Server": _ONE,
    "train.SyncReplicasOptimizer": _ONE,
    "train.WorkerSessionCreator": _ONE,
    "train.replica_device_setter": _ONE,
    "train.Supervisor": "use tf.train.MonitoredTrainingSession",
    "train.SessionManager": "use tf.train.MonitoredTrainingSession",
    "train.GlobalStepWaiterHook": _ONE,
    "train.ProfilerHook": "trace a run with tf.RunOptions; tf.RunMetadata has its times",
    "train.LooperThread": "use threading.Thread with a tf.train.Coordinator",
    "train.QueueRunner": _RECORDS,
    "train.add_queue_runner": _RECORDS,
    "train.batch": _RECORDS,
    "train.batch_join": _RECORDS,
    "train.input_producer": _RECORDS,
    "train.limit_epochs": _RECORDS,
    "train.maybe_batch": _RECORDS,
    "train.range_input_producer": _RECORDS,
    "train.shuffle_batch": _RECORDS,
    "train.shuffle_batch_join": _RECORDS,
    "train.slice_input_producer": _RECORDS,
    "train.string_input_producer": _RECORDS,
}  # fmt: skip


def refusal(name: str) -> str | None:
    """Why a name is left out and what to use; None for a name that nobody knows."""
    if name not in _LEFT_OUT:
        return None
    return f"tf.{name} is no part of graphio: {_LEFT_OUT[name]}"
