"""Names of TensorFlow's modules beyond the public ones of modules.json.

A value is found at a public path (nn.relu) or in a module of graphio (module:name).
"""

from __future__ import annotations

__all__ = ["GENERATED", "IMPORTED_FROM", "LATER", "NAMES", "NAMESPACES", "REASONS"]

_INTERNALS = "graphio.python.internals"


def _of(module: str, **names: str) -> dict[str, str]:
    """name -> where a module of internals has it."""
    return {name: f"{_INTERNALS}.{module}:{own}" for name, own in names.items()}


def _same(module: str, *names: str) -> dict[str, str]:
    return _of(module, **{name: name for name in names})


_NETS = (
    "alexnet", "inception", "inception_v1", "inception_v2", "inception_v3", "overfeat",
    "resnet_utils", "resnet_v1", "resnet_v2", "vgg",
)  # fmt: skip

#: modules of functions of tf.raw_ops, which take arguments by position too: gen_nn_ops.relu_grad
GENERATED = frozenset(
    {
        *(
            f"python.ops.gen_{part}_ops"
            for part in (
                "array", "audio", "bitwise", "candidate_sampling", "control_flow", "ctc",
                "data_flow", "functional", "image", "io", "linalg", "logging", "lookup", "manip",
                "math", "nn", "parsing", "random", "resource_variable", "rnn", "script", "set",
                "sparse", "spectral", "state", "stateless_random", "string", "user",
            )
        ),
        "python.training.gen_training_ops",
        "python.training.training_ops",
    }
)  # fmt: skip

#: packages whose modules TensorFlow's modules import, which programs also take from there
IMPORTED_FROM = (
    "python.framework", "python.ops", "python.platform", "python.training", "python.util",
)  # fmt: skip

#: modules all of whose public names are those of a namespace; "": of graphio
NAMESPACES = {
    "contrib.layers.python.layers.utils": "contrib.layers.utils",
    "contrib.rnn.python.ops.core_rnn": "contrib.rnn",
    "contrib.rnn.python.ops.core_rnn_cell": "contrib.rnn",
    "contrib.rnn.python.ops.core_rnn_cell_impl": "contrib.rnn",
    **{f"contrib.slim.python.slim.nets.{net}": f"contrib.slim.nets.{net}" for net in _NETS},
    "python": "",
    "python.client.client_lib": "",
    "python.client.timeline": "timeline",
    "python.debug": "debug",
    "python.framework.dtypes": "dtypes",
    "python.framework.errors": "errors",
    "python.framework.errors_impl": "errors",
    "python.framework.framework_lib": "",
    "python.framework.graph_util": "graph_util",
    "python.framework.graph_util_impl": "graph_util",
    "python.layers.layers": "layers",
    "python.lib.io.python_io": "python_io",
    "python.ops.losses.losses": "losses",
    "python.ops.losses.losses_impl": "losses",
    "python.ops.nn": "nn",
    "python.ops.seq2seq": "contrib.legacy_seq2seq",
    "python.ops.standard_ops": "",
    "python.platform.app": "app",
    "python.platform.flags": "flags",
    "python.platform.gfile": "gfile",
    "python.platform.resource_loader": "resource_loader",
    "python.platform.test": "test",
    "python.platform.tf_logging": "logging",
    "python.saved_model.signature_constants": "saved_model.signature_constants",
    "python.saved_model.tag_constants": "saved_model.tag_constants",
    "python.summary.summary": "summary",
    "python.training.training": "train",
    "python.util.compat": "compat",
    "python.util.nest": "nest",
    "python.util.tf_inspect": "inspect:",
}

_CELLS = {
    **_same("cells", "assert_like_rnncell"),
    "_like_rnncell": f"{_INTERNALS}.cells:like_rnncell",
    **_of(
        "cells",
        _Linear="Linear",
        _linear="linear",
        _concat="concat",
        _WEIGHTS_VARIABLE_NAME="KERNEL_NAME",
        _BIAS_VARIABLE_NAME="BIAS_NAME",
    ),
    "_RNNCell": "nn.rnn_cell.RNNCell",
    "LayerRNNCell": "nn.rnn_cell.RNNCell",
    "_LayerRNNCell": "nn.rnn_cell.RNNCell",
}
_FILES = {
    "FileIO": "gfile.GFile",
    "atomic_write_string_to_file": f"{_INTERNALS}.files:write_string_to_file",
    "copy": "gfile.Copy",
    "create_dir": "gfile.MkDir",
    "delete_file": "gfile.Remove",
    "delete_recursively": "gfile.DeleteRecursively",
    "file_exists": "gfile.Exists",
    "get_matching_files": "gfile.Glob",
    "is_directory": "gfile.IsDirectory",
    "list_directory": "gfile.ListDirectory",
    "recursive_create_dir": "gfile.MakeDirs",
    "rename": "gfile.Rename",
    "stat": "gfile.Stat",
    "walk": "gfile.Walk",
    **_same("files", "read_file_to_string", "write_string_to_file"),
}
_DECORATORS = _of(
    "decorators",
    deprecated="deprecated",
    deprecated_alias="deprecated_alias",
    deprecated_arg_values="deprecated",
    deprecated_args="deprecated",
    deprecated_argument_lookup="deprecated_argument_lookup",
    deprecated_endpoints="deprecated",
    silence="silence",
)
_SAVED_MODEL = {
    "ASSETS_DIRECTORY": "saved_model.constants.ASSETS_DIRECTORY",
    "TRAIN_OP_KEY": f"{_INTERNALS}.files:TRAIN_OP_KEY",
    "VARIABLES_DIRECTORY": "saved_model.constants.VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME": "saved_model.constants.VARIABLES_FILENAME",
}

#: TensorFlow's helpers of distributions -> module of graphio.distributions and name
_DISTRIBUTIONS = {
    name: f"graphio.distributions.{path}"
    for name, path in {
        "assert_integer_form": "checks:assert_integer_form",
        "embed_check_categorical_event_shape": "checks:classes",
        "embed_check_integer_casting_closed": "checks:casts_unchanged",
        "embed_check_nonnegative_integer_form": "checks:counts",
        "gen_new_seed": "parameters:another_seed",
        "get_logits_and_probs": "parameters:logits_and_probs",
        "log_combinations": "counting:log_combinations",
        "pick_vector": "shapes:pick_vector",
        "prefer_static_broadcast_shape": "shapes:prefer_static_broadcast_shape",
        "prefer_static_rank": "shapes:prefer_static_rank",
        "prefer_static_shape": "shapes:prefer_static_shape",
        "prefer_static_value": "shapes:prefer_static_value",
    }.items()
}

#: module -> name -> where it is
NAMES: dict[str, dict[str, str]] = {
    "contrib.learn.python.learn.estimators.metric_key": {
        "MetricKey": "graphio.contrib.learn.keys:MetricKey",
    },
    "contrib.learn.python.learn.preprocessing.categorical_vocabulary": {
        "CategoricalVocabulary": "graphio.contrib.learn.preprocessing:CategoricalVocabulary",
    },
    "contrib.rnn.python.ops.core_rnn_cell": _CELLS,
    "contrib.rnn.python.ops.core_rnn_cell_impl": _CELLS,
    "contrib.seq2seq.python.ops.attention_wrapper": {
        "_BaseAttentionMechanism": "graphio.contrib.seq2seq.attention:BaseAttention",
        "_compute_attention": "graphio.contrib.seq2seq.attention_wrapper:attended",
    },
    "python.client.device_lib": _same("devices", "list_local_devices"),
    "python.eager.context": {
        "executing_eagerly": "executing_eagerly",
        **_of("eager", in_eager_mode="never", in_graph_mode="always", num_gpus="none"),
    },
    "python.ops.data_flow_ops": {"MapStagingArea": "graphio.contrib.staging:MapStagingArea"},
    "python.framework.common_shapes": _same("tensors", "unknown_shape"),
    "python.framework.ops": {
        "IndexedSlicesValue": "IndexedSlicesValue",
        "colocate_with": "colocate_with",
        "NotDifferentiable": "NotDifferentiable",
        "executing_eagerly_outside_functions": "executing_eagerly_outside_functions",
        **_same(
            "tensors",
            "EagerTensor",
            "RegisterShape",
            "convert_n_to_tensor",
            "convert_n_to_tensor_or_indexed_slices",
            "get_all_collection_keys",
            "get_name_scope",
            "internal_convert_to_tensor",
            "is_dense_tensor_like",
            "name_from_scope_name",
            "uid",
        ),
        **_of("tensors", _get_graph_from_inputs="graph_of"),
    },
    "python.framework.smart_cond": {
        "smart_cond": "smart_cond",
        **_of("layer_utils", smart_constant_value="constant_value"),
    },
    "python.framework.tensor_shape": _same(
        "tensors", "as_dimension", "as_shape", "matrix", "scalar", "unknown_shape", "vector"
    ),
    "python.framework.tensor_util": {
        "MakeNdarray": "make_ndarray",
        "constant_value": "get_static_value",
        "is_tensor": "is_tensor",
        "make_tensor_proto": "make_tensor_proto",
        **_of(
            "tensors",
            ShapeEquals="shape_equals",
            constant_value_as_shape="constant_value_as_shape",
        ),
    },
    "python.layers.utils": _same(
        "layer_utils",
        "constant_value",
        "conv_input_length",
        "conv_output_length",
        "convert_data_format",
        "deconv_output_length",
        "normalize_data_format",
        "normalize_padding",
        "normalize_tuple",
        "smart_cond",
    ),
    "python.lib.io.file_io": _FILES,
    "python.ops.distributions.kullback_leibler": {
        "cross_entropy": "graphio.distributions.divergence:cross_entropy",
    },
    "python.ops.distributions.special_math": {
        name: f"graphio.distributions.special_math:{name}"
        for name in ("erfinv", "log_cdf_laplace", "log_ndtr", "ndtr", "ndtri")
    },
    "python.ops.distributions.util": _DISTRIBUTIONS,
    "python.ops.control_flow_ops": {
        "merge": "graphio.ops.control_flow.switches:merge",
        "switch": "graphio.ops.control_flow.switches:switch",
        "with_dependencies": "graphio.ops.control_flow.branches:with_dependencies",
    },
    "python.ops.confusion_matrix": {"confusion_matrix": "math.confusion_matrix"},
    "python.ops.init_ops": {"Initializer": "graphio.variables.initializers:Initializer"},
    "python.ops.metrics_impl": {"metric_variable": "graphio.evaluation.metrics:metric_variable"},
    "python.ops.resource_variable_ops": {
        "ResourceVariable": "Variable",
        **_same("variables", "is_resource_variable"),
    },
    "python.ops.rnn_cell": _CELLS,
    "python.ops.rnn_cell_impl": _CELLS,
    "python.ops.lookup_ops": {
        "HashTable": "contrib.lookup.HashTable",
        "StaticHashTable": "lookup.StaticHashTable",
        "index_to_string_table_from_tensor": "contrib.lookup.index_to_string_table_from_tensor",
        "index_table_from_tensor": "contrib.lookup.index_table_from_tensor",
    },
    "python.ops.variables": {
        "PartitionedVariable": "PartitionedVariable",
        "RefVariable": "Variable",
        "Variable": "Variable",
        "VariableV1": "Variable",
    },
    "python.platform.gfile": {"FastGFile": "gfile.FastGFile"},
    "python.platform.googletest": {"GetTempDir": "test.get_temp_dir", "main": "test.main"},
    "python.pywrap_tensorflow": {
        **_same("events", "EventsWriter"),
        "NewCheckpointReader": "train.NewCheckpointReader",
        **_of("eager", IsGoogleCudaEnabled="never"),
    },
    "python.saved_model.constants": _SAVED_MODEL,
    "python.tools.freeze_graph": _same("tools", "freeze_graph"),
    "python.tools.inspect_checkpoint": _same("tools", "print_tensors_in_checkpoint_file"),
    "python.tools.optimize_for_inference_lib": _same("tools", "optimize_for_inference"),
    "python.tools.strip_unused_lib": _same("tools", "strip_unused"),
    "python.training.moving_averages": _same(
        "training", "assign_moving_average", "weighted_moving_average"
    ),
    "python.training.slot_creator": _same(
        "training", "create_slot", "create_slot_with_initializer", "create_zeros_slot"
    ),
    "python.util.all_util": _of("decorators", make_all="make_all", remove_undocumented="keep_all"),
    "python.util.deprecation": _DECORATORS,
    "python.util.function_utils": _same("decorators", "fn_args", "get_func_name", "has_kwargs"),
    "python.util.keyword_args": _same("decorators", "keyword_args_only"),
    "python.util.lazy_loader": _same("decorators", "LazyLoader"),
    "python.util.nest": {
        "is_sequence": "nest.is_nested",
        **_same("nesting", "flatten_dict_items"),
    },
    "python.util.tf_contextlib": {"contextmanager": "contextlib:contextmanager"},
    "python.util.tf_decorator": _same("decorators", "make_decorator", "unwrap"),
    "python.util.tf_export": _of(
        "decorators", estimator_export="export", keras_export="export", tf_export="export"
    ),
    "python.util.tf_inspect": _same("decorators", "getargspec"),
    "python.util.tf_should_use": _of("decorators", should_use_result="as_it_is"),
}

#: names of tf.compat.v2 -> the public name whose calls with TensorFlow 2's arguments, in their
#: order, mean the same
LATER = {
    "device": "device",
    "nn.softmax_cross_entropy_with_logits": "nn.softmax_cross_entropy_with_logits_v2",
    "scalar_mul": "scalar_mul",
}

_ONE_MACHINE = "a model runs in one process on one machine"
_LATER = "it is not part of this version"

#: why parts of TensorFlow are left out, by path
REASONS = {
    "python.autograph": "write tf.cond and tf.while_loop",
    "python.compiler": "there is no XLA or TensorRT: cinfer plans and fuses by itself",
    "python.distribute": _ONE_MACHINE,
    "python.eager": "graphs are built first and run by a Session",
    "python.estimator": f"{_LATER}: write the loop with tf.train.MonitoredTrainingSession",
    "python.feature_column": f"{_LATER}: build the columns' tensors with tf.one_hot and "
    "tf.nn.embedding_lookup",
    "python.keras": f"{_LATER}: use tf.layers",
    "python.tpu": "no engine runs on TPUs",
}
