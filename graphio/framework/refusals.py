"""Names of TensorFlow that graphio lacks, with what to use instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from graphio.support.renamed import RENAMED

__all__ = ["getter", "left_out", "refusal"]

_EAGER = "graphs are built first and run by a Session: use tf.Session().run"
_QUEUED = "use tf.contrib.training.bucket_by_sequence_length, and a state that each run is fed"
_TIMES = "use tf.timeline.profile, or RunOptions and RunMetadata of Session.run"
_ONE = "train on several ranks with tf.distribute.DataParallel"
_RAGGED = "pad to the longest (Dataset.padded_batch), or use a SparseTensor"
_MATRICES = "use scipy.linalg in tf.py_func, or tf.linalg.solve, cholesky, qr, svd and eigh"
_SERVER = "a session runs in this process; tf.test.TestCase gives one by test_session"

_STRATEGIES = (
    "CrossDeviceOps", "HierarchicalCopyAllReduce", "InputContext", "InputReplicationMode",
    "MirroredStrategy", "NcclAllReduce", "OneDeviceStrategy", "ReduceOp", "ReductionToOneDevice",
    "ReplicaContext", "Server", "Strategy", "StrategyExtended", "cluster_resolver", "experimental",
    "experimental_set_strategy", "get_loss_reduction", "get_replica_context", "get_strategy",
    "has_strategy", "in_cross_replica_context",
)  # fmt: skip
_COLUMNS = "build the columns' tensors: tf.one_hot, tf.nn.embedding_lookup, tf.concat"

#: name -> what to use
_LEFT_OUT = {
    **dict.fromkeys(
        (f"distribute.{name}" for name in _STRATEGIES),
        "use tf.distribute.DataParallel, in a program that mpiexec or torchrun starts",
    ),
    "enable_eager_execution": _EAGER,
    "enable_tensor_equality": "tensors compare by identity: use tf.equal",
    "enable_v2_behavior": _EAGER,
    "enable_v2_tensorshape": "a shape consists of Dimensions: use .value or .as_list()",
    "estimator": "write the loop: tf.layers, an optimizer, tf.train.MonitoredTrainingSession",
    "experimental": "no function here changes without notice",
    "feature_column": "build the columns' tensors: tf.one_hot, tf.nn.embedding_lookup, tf.concat",
    "function": _EAGER,
    "keras.layers": "use tf.layers for layers and tf.train for training; "
    "graphio.tensorflow_files reads exported models",
    "lite": "write the model by tf.saved_model or export it to ONNX (tf.onnx); cinfer runs it "
    "without Python",
    "sysconfig": "operators are not loaded from libraries; the C library's header is cinfer.h",
    "ragged": _RAGGED,
    "RaggedTensor": _RAGGED,
    "RaggedTensorSpec": _RAGGED,
    "autograph.to_graph": "write tf.cond and tf.while_loop",
    "autograph.to_code": "write tf.cond and tf.while_loop",
    "autograph.experimental.Feature": "code is not converted: write tf.cond, tf.while_loop",
    "load_library": "operators are not loaded from libraries: use tf.py_func",
    "load_op_library": "TensorFlow's libraries are not loaded: use tf.register_operator(library=)",
    "wrap_function": "call the function: it adds to the default graph",
    "image.resize_with_pad": "use tf.image.resize_image_with_pad",
    "image.generate_bounding_box_proposals": "use tf.image.non_max_suppression",
    "random.stateless_binomial": "use stateless_uniform, or tf.random.categorical with a seed",
    "random.stateless_gamma": "use tf.random.gamma with a seed",
    "random.stateless_poisson": "use tf.random.poisson with a seed",
    "math.sobol_sample": "use scipy.stats.qmc before feeding",
    "random.experimental": "give operations a seed",
    "profiler.AdviceProto": _TIMES,
    "profiler.OpLogProto": _TIMES,
    "profiler.Profiler": _TIMES,
    "profiler.advise": _TIMES,
    "profiler.write_op_log": _TIMES,
    "strings.bytes_split": _RAGGED,
    "strings.ngrams": _RAGGED,
    "strings.unicode_decode": _RAGGED,
    "strings.unicode_script": "use unicodedata in tf.py_func",
    "strings.unicode_split": _RAGGED,
    "test.create_local_cluster": _SERVER,
    "train.sdca_optimizer": "use tf.train.FtrlOptimizer",
    "tpu": "no engine runs on TPUs: 'runtime' and 'cinfer' compute on the processor",
    "xla": "cinfer plans and fuses by itself",
    **dict.fromkeys(
        (
            *("contrib.layers.real_valued_column", "contrib.layers.bucketized_column"),
            *("contrib.layers.crossed_column", "contrib.layers.embedding_column"),
            *("contrib.layers.one_hot_column", "contrib.layers.shared_embedding_columns"),
            "contrib.layers.sparse_column_with_hash_bucket",
            "contrib.layers.sparse_column_with_integerized_feature",
            "contrib.layers.sparse_column_with_keys",
            "contrib.layers.sparse_column_with_vocabulary_file",
            "contrib.layers.scattered_embedding_column",
            "contrib.layers.weighted_sparse_column",
            "contrib.layers.weighted_sum_from_feature_columns",
            "contrib.layers.input_from_feature_columns",
            "contrib.layers.joint_weighted_sum_from_feature_columns",
            "contrib.layers.sequence_input_from_feature_columns",
            "contrib.layers.create_feature_spec_for_parsing",
            "contrib.layers.parse_feature_columns_from_examples",
            "contrib.layers.transform_features",
        ),
        _COLUMNS,
    ),
    "contrib.summary.create_db_writer": "use create_file_writer: events are written to files",
    "contrib.eager": _EAGER,
    "contrib.tpu": "no engine runs on TPUs: 'runtime' and 'cinfer' compute on the processor",
    "contrib.distribute": _ONE,
    "contrib.training.NextQueuedSequenceBatch": _QUEUED,
    "contrib.training.SequenceQueueingStateSaver": _QUEUED,
    "contrib.training.batch_sequences_with_states": _QUEUED,
}  # fmt: skip


def left_out(name: str) -> str | None:
    """The replacement of a name that is left out, in words; None for another name."""
    if name in RENAMED:
        return f"it became tf.{RENAMED[name]} in TensorFlow 1.0: use that"
    return _LEFT_OUT.get(name)


def refusal(name: str) -> str | None:
    """Why a name is left out and what to use; None for an unknown name."""
    text = left_out(name)
    return None if text is None else f"tf.{name} is not part of graphio: {text}"


def getter(module: str) -> Callable[[str], Any]:
    """A namespace's __getattr__, which says what to use for a name that is left out. Python itself
    proposes a similar name of the namespace for a mistyped one."""
    space = module.partition(".")[2]

    def find(name: str) -> Any:
        text = refusal(f"{space}.{name}") or f"module {module!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[module])

    return find
