"""Why names of TensorFlow 1.15 are not in graphio: names and namespaces beyond those that the
refusals of graphio.framework have. `*` stands for any characters."""

from __future__ import annotations

__all__ = ["PATTERNS"]

_LATER = "not part of this version"
_EAGER = "graphs are built first and run by a Session"
_ONE = "a model runs in one process on one machine"
_BUILD = "describes a build of TensorFlow's libraries"
_RESEARCH = "an experiment of TensorFlow's contrib that programs do not use"
_CLOUD = "belongs to a service or file system outside"
_QUANTIZED = "tensors have the integers of quantized dtypes: use tf.quantize and its relatives"
_MIXED = "training has one dtype: cast explicitly"

_EXPERIMENTS = (
    "bayesflow", "checkpoint", "constrained_optimization", "copy_graph", "decision_trees",
    "deprecated", "factorization", "fused_conv", "graph_editor", "grid_rnn", "input_pipeline",
    "integrate", "kernel_methods", "labeled_tensor", "libsvm", "linear_optimizer", "memory_stats",
    "meta_graph_transform", "model_pruning", "nearest_neighbor", "nn", "optimizer_v2",
    "periodic_resample", "predictor", "proto", "quantization", "receptive_field", "recurrent",
    "reduce_slice_ops", "saved_model", "session_bundle", "signal", "solvers",
    "sparsemax", "specs", "stat_summarizer", "tensor_forest", "testing", "text", "timeseries",
)  # fmt: skip

#: of tf.raw_ops: pattern -> reason
_RAW = {
    **dict.fromkeys(
        ("*TPU*", "Infeed*", "Outfeed*", "Prelinearize*", "AllToAll", "Collective*",
         "CrossReplica*", "Nccl*", "WorkerHeartbeat"),
        "no engine runs on TPUs or several devices",
    ),
    "*BoostedTrees*": "train trees elsewhere and import them from ONNX",
    **dict.fromkeys(("*Dataset*", "*Iterator*", "Optional*", "*StatsAggregator*", "ThreadPool*",
                     "*MemoryCache", "*RandomSeedGenerator"),
                    "data sets and iterators are objects: use tf.data"),
    **dict.fromkeys(("Quantize*", "*Quantized*", "Requantiz*", "Dequantize"), _QUANTIZED),
    **dict.fromkeys(("*Queue*", "*Reader*", "Barrier*", "*Stage*", "*Unstage*", "*MapPeek*",
                     "*MapSize*", "*MapClear*", "*MapIncompleteSize*", "*Accumulator*",
                     "RecordInput"),
                    "queues, readers and accumulators are objects, not handles"),
    **dict.fromkeys(("*Table*", "Mutable*"), "tables are objects: use tf.lookup"),
    **dict.fromkeys(("TensorArray*", "Stack*", "TensorList*", "EmptyTensorList"),
                    "lists of tensors are objects: use tf.TensorArray"),
    **dict.fromkeys(("*Summary*", "ImportEvent"), "use tf.summary"),
    **dict.fromkeys(("Cudnn*", "*LSTM*", "GRUBlock*"),
                    "use tf.contrib.rnn and tf.contrib.cudnn_rnn"),
    **dict.fromkeys(("*Ragged*", "StringNGrams", "Unicode*"), "ragged tensors are not part of this "
                    "version"),
    **dict.fromkeys(("Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "Ref*", "If",
                     "While", "Case", "For", "Stateless*", "*PartitionedCall", "MapDefun",
                     "RemoteCall", "SymbolicGradient", "BatchFunction"),
                    "use tf.cond, tf.case, tf.while_loop and tf.map_fn"),
    **dict.fromkeys(("Variable*", "VarHandleOp", "TemporaryVariable", "Destroy*", "Mutex*",
                     "ConsumeMutexLock"), "variables are objects: use tf.Variable"),
    **dict.fromkeys(("Save*", "Restore*", "MergeV2Checkpoints", "LoadAndRemapMatrix",
                     "GenerateVocabRemapping"), "use tf.train.Saver"),
    **dict.fromkeys(("Decode*", "Encode*", "Extract*", "Draw*", "Sample*"),
                    "use the function of tf.image or tf.io"),
    "Sdca*": "use tf.train.FtrlOptimizer",
    "*": "no operation is built from this type: use the function of tf that computes the same",
}  # fmt: skip

#: pattern -> reason; the first that matches a name, or a namespace that it is in
PATTERNS: dict[str, str] = {
    "keras.*": "of tf.keras there are the data sets alone",
    "contrib.distributions.estimator_head_distribution_regression": "there are no estimators",
    "contrib.framework.*": _LATER,
    "contrib.image.single_image_random_dot_stereograms": _LATER,
    "contrib.layers.*": _LATER,
    "contrib.learn": _LATER,
    "contrib.learn.*ExportMonitor": "it exports an Estimator, which is not part of this version",
    "contrib.learn.*": _LATER,
    "contrib.losses.*": _LATER,
    "contrib.seq2seq.*": _LATER,
    "contrib.slim.*": _LATER,
    "contrib.tensorboard.*.DESCRIPTOR": "messages are made by hand, without TensorFlow's files",
    "contrib.training.FailureTolerator": "TensorFlow 1.15 itself has no such class",
    "contrib.training.*": _LATER,
    "contrib.util.*": _LATER,
    "CXX11_ABI_FLAG": _BUILD,
    "MONOLITHIC_BUILD": _BUILD,
    "config.experimental_connect_to_*": _ONE,
    "dtypes.complex": "use tf.complex",
    "data.experimental.RaggedTensorStructure": "ragged tensors are not part of this version",
    "errors.raise_exception_on_not_ok_status": "no status of C is visible",
    "io.decode_proto": _LATER,
    "io.encode_proto": _LATER,
    "io.match_filenames_once": "use tf.gfile.Glob",
    "load_file_system_library": "paths with :// are opened by fsspec",
    "nondifferentiable_batch_function": "there is no server of batches",
    "saved_model.experimental": "use tf.saved_model.Builder",
    "saved_model.load_v2": "use tf.saved_model.load",
    "strings.unicode_*_with_offsets": "ragged tensors are not part of this version",
    "summary.all_v2_summary_ops": "use tf.contrib.summary.all_summary_ops",
    "summary.initialize": "use tf.contrib.summary.initialize",
    "train.do_quantize_training_on_graphdef": "use tf.quantization.fake_quant_with_min_max_vars",
    "train.experimental.*able_mixed_precision_graph_rewrite": _MIXED,
    "train.sdca_fprint": "use tf.strings.to_hash_bucket_fast",
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
    **{f"raw_ops.{pattern}": why for pattern, why in _RAW.items()},
}
