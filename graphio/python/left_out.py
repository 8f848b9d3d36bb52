"""Why names of TensorFlow 1.15 are not in graphio: names and namespaces beyond those that the
refusals of graphio.framework have. `*` stands for any characters."""

from __future__ import annotations

__all__ = ["PATTERNS"]

_LATER = "not part of this version"
_EAGER = "graphs are built first and run by a Session"
_ONE = "a model runs in one process on one machine"
_PICTURES = "tensors are not coded as pictures in this version: use PIL in tf.py_func"
_RECORDS = "queues are not part of this version: use tf.data, or feed placeholders"
_SPECS = "data sets and functions have shapes and dtypes, without objects that describe both"
_BUILD = "describes a build of TensorFlow's libraries"
_RESEARCH = "an experiment of TensorFlow's contrib that programs do not use"
_CLOUD = "belongs to a service or file system outside"
_COMPLEX = "use tf.cast"
_QUANTIZED = "no tensor has a quantized dtype"
_MIXED = "training has one dtype: cast explicitly"

_EXPERIMENTS = (
    "bayesflow", "checkpoint", "constrained_optimization", "copy_graph", "decision_trees",
    "deprecated", "factorization", "fused_conv", "graph_editor", "grid_rnn", "input_pipeline",
    "integrate", "kernel_methods", "labeled_tensor", "libsvm", "linear_optimizer", "memory_stats",
    "meta_graph_transform", "model_pruning", "nearest_neighbor", "nn", "optimizer_v2",
    "periodic_resample", "predictor", "proto", "quantization", "receptive_field", "recurrent",
    "reduce_slice_ops", "resampler", "saved_model", "session_bundle", "signal", "solvers",
    "sparsemax", "specs", "stat_summarizer", "tensor_forest", "testing", "text", "timeseries",
)  # fmt: skip

#: pattern -> reason; the first that matches a name, or a namespace that it is in
PATTERNS: dict[str, str] = {
    "CXX11_ABI_FLAG": _BUILD,
    "MONOLITHIC_BUILD": _BUILD,
    "ConditionalAccumulatorBase": "add gradients up in variables by assign_add",
    "CriticalSection": "a session runs a graph in a fixed order: nothing needs a lock",
    "IndexedSlicesSpec": _SPECS,
    "LogMessage": "no message of TensorFlow's logging is written",
    "OptionalSpec": _SPECS,
    "RaggedTensorSpec": _SPECS,
    "SparseTensorSpec": _SPECS,
    "TensorArraySpec": _SPECS,
    "TypeSpec": _SPECS,
    "audio": "use Python's wave in tf.py_func",
    "compat.forward_compatibility_horizon": "there is no window of forward compatibility",
    "config.experimental.set_device_policy": _EAGER,
    "config.experimental.get_device_policy": _EAGER,
    "config.experimental_connect_to_*": _ONE,
    "config.experimental_run_functions_eagerly": _EAGER,
    "config.optimizer.*": "engines choose their rewrites themselves",
    "NameAttrList": "functions of the graph are not attributes of its operations",
    "QUANTIZED_DTYPES": _QUANTIZED,
    "dtypes.QUANTIZED_DTYPES": _QUANTIZED,
    "dtypes.as_string": "use tf.as_string",
    "dtypes.complex": "use tf.complex",
    "io.extract_jpeg_shape": _PICTURES,
    "data.DatasetSpec": _SPECS,
    "data.experimental.*Structure": _SPECS,
    "data.experimental.*Options": "data sets choose their threads themselves",
    "data.experimental.Reducer": "use Dataset.reduce",
    "data.experimental.from_variant": _SPECS,
    "data.experimental.to_variant": _SPECS,
    "data.experimental.get_structure": _SPECS,
    "data.experimental.make_batched_features_dataset": "use TFRecordDataset, batch and "
    "tf.parse_example",
    "data.experimental.map_and_batch_with_legacy_function": "use map_and_batch",
    "data.experimental.parse_example_dataset": "use map with tf.parse_example",
    "debugging.*_log_device_placement": "there is one device",
    "errors.raise_exception_on_not_ok_status": "no status of C is visible",
    "fingerprint": _LATER,
    "io.decode_proto": _LATER,
    "io.encode_proto": _LATER,
    "io.SparseFeature": "read its parts with VarLenFeature and make a SparseTensor",
    "io.*jpeg": _PICTURES,
    "io.decode_*": _PICTURES,
    "io.*Queue*": _RECORDS,
    "io.*serialize_*": "use numpy in Python",
    "io.match_filenames_once": "use tf.gfile.Glob",
    "io.parse_tensor": "use tf.decode_raw",
    "layers.InputSpec": "layers check their inputs themselves",
    "layers.experimental": "layers have the names of tf.layers",
    "linalg.LinearOperator*": "use the matrix itself",
    "load_file_system_library": "paths with :// are opened by fsspec",
    "lookup.experimental": "use tf.lookup.StaticHashTable",
    "matrix_square_root": "use scipy.linalg in tf.py_func",
    "nondifferentiable_batch_function": "there is no server of batches",
    "quantization.quantize_and_dequantize": "use tf.quantization.fake_quant_with_min_max_args",
    "recompute_grad": "values of the forward pass are kept",
    "saved_model.experimental": "use tf.saved_model.Builder",
    "saved_model.load_v2": "use tf.saved_model.load",
    "sparse.SparseConditionalAccumulator": "add gradients up in variables by scatter_add",
    "strings.unicode_*_with_offsets": "ragged tensors are not part of this version",
    "summary.*SummaryDescription": _LATER,
    "summary.get_summary_description": _LATER,
    "summary.TaggedRunMetadata": "use FileWriter.add_run_metadata",
    "summary.all_v2_summary_ops": _EAGER,
    "summary.initialize": _EAGER,
    "test.StubOutForTesting": "use unittest.mock",
    "test.benchmark_config": "use timeit",
    "to_complex*": _COMPLEX,
    "train.ClusterDef": _ONE,
    "train.JobDef": _ONE,
    "train.ServerDef": _ONE,
    "train.VocabInfo": "warm starts map variables by name",
    "train.do_quantize_training_on_graphdef": "use tf.quantization.fake_quant_with_min_max_vars",
    "train.experimental.*": _MIXED,
    "train.maybe_*": _RECORDS,
    "train.sdca_*": "use tf.train.FtrlOptimizer",
    "contrib.all_reduce": _ONE,
    "contrib.autograph": "write tf.cond and tf.while_loop",
    "contrib.batching": "there is no server of batches",
    "contrib.bigtable": _CLOUD,
    "contrib.boosted_trees": "train trees elsewhere and import them from ONNX",
    "contrib.cloud": _CLOUD,
    "contrib.cluster_resolver": _ONE,
    "contrib.compiler": "there is no XLA: cinfer plans and fuses by itself",
    "contrib.distribute": _ONE,
    "contrib.eager": _EAGER,
    "contrib.estimator": "estimators are not part of this version",
    "contrib.feature_column": "feature columns are not part of this version",
    "contrib.ffmpeg": _CLOUD,
    "contrib.gdr": _ONE,
    "contrib.hadoop": _CLOUD,
    "contrib.ignite": _CLOUD,
    "contrib.kafka": _CLOUD,
    "contrib.keras": "keras is not part of this version",
    "contrib.kinesis": _CLOUD,
    "contrib.mixed_precision": _MIXED,
    "contrib.mpi*": _ONE,
    "contrib.quantize": "use tf.quantization.fake_quant_with_min_max_vars",
    "contrib.remote_fused_graph": _ONE,
    "contrib.rpc": _ONE,
    "contrib.tensorrt": "cinfer plans and fuses by itself",
    "contrib.tpu": "no engine runs on TPUs",
    "contrib.tfprof": "use tf.profiler",
    **{f"contrib.{name}": _RESEARCH for name in _EXPERIMENTS},
}
