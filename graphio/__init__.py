"""graphio: computation graphs the TensorFlow-1 way, run by Python or by a small C library.

    import graphio as tf

Names are looked up in modules when they are first used, so that `import graphio.runtime` loads
neither the builder nor onnx. Type checkers and editors read `__init__.pyi` instead, which
tools/gen_stubs.py writes from the tables of this file.

The modules of this folder are namespaces such as tf.nn, which import what they show. The packages
and what each may import: ARCHITECTURE.md.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from graphio.support import old_paths as _old_paths
from graphio.support import registration as _registration
from graphio.support.version import __version__ as __version__

_old_paths.install()
#: The modules that register functions which packages below them call, by the name that they have
#: there (registered.py of framework, ops/base, model and data; storage/native.py). Each is loaded
#: when its function is called first.
_REGISTERED_BY = {
    "attribute_of": "graphio.protos.node_def",
    "cast": "graphio.ops.base.primitive",
    "class_of_optionals": "graphio.data.specs.optional",
    "composed": "graphio.ops.complex.table",
    "cond": "graphio.ops.control_flow.branches",
    "create_by_type": "graphio.tensorflow_files.by_type",
    "dataset_of": "graphio.data.components",
    "dense_of_rows": "graphio.ops.array.index",
    "divided": "graphio.ops.sparse.conversion",
    "array_of_message": "graphio.tensorflow_files.values",
    "file_functions": "graphio.cinfer.file_functions",
    "gradients": "graphio.autodiff.gradients",
    "graph_def": "graphio.protos.graph_def",
    "graph_def_versions": "graphio.protos.graph_def",
    "graph_html": "graphio.observe.notebook",
    "graph_text": "graphio.observe.printing",
    "import_tensorflow_nodes": "graphio.tensorflow_files.models",
    "input_pipeline_hook": "graphio.train.loops.input_pipeline_hook",
    "in_graph_of_inputs": "graphio.framework.scopes",
    "multiplied": "graphio.ops.sparse.conversion",
    "negative": "graphio.ops.math.elementwise",
    "new_graph": "graphio.framework.graph",
    "new_session": "graphio.execution.session",
    "node": "graphio.ops.base.emit",
    "node_def": "graphio.protos.graph_def",
    "operation_of_node_def": "graphio.tensorflow_files.by_type",
    "operation_text": "graphio.observe.printing",
    "optional_of": "graphio.data.specs.optional",
    "region_by_name": "graphio.autodiff.custom_gradients",
    "queue_runner_of": "graphio.queues.queue_runner",
    "saver_of": "graphio.train.checkpoints.meta_graphs",
    "scope_uses_resource": "graphio.variables.variable_scope",
    "session_of": "graphio.execution.session",
    "shape_proto": "graphio.protos.node_def",
    "stack": "graphio.ops.array.joining",
    "sum_of_gradients": "graphio.autodiff.gradients",
    "summary_function": "graphio.summary.binding",
    "transposed": "graphio.ops.array.permuting",
    "variable_def": "graphio.protos.variable_def",
    "variable_parts": "graphio.protos.variable_def",
}
_registration.provide(_REGISTERED_BY)

#: The public names by module. The first use of one loads all of these modules, because Python's
#: operators on tensors and the gradients are registered by the modules of graphio.ops.
_EXPORTS: dict[str, tuple[str, ...]] = {
    "graphio.framework.behavior": (
        "control_flow_v2_enabled", "disable_control_flow_v2", "disable_eager_execution",
        "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior",
        "disable_v2_tensorshape", "enable_control_flow_v2", "enable_resource_variables",
        "executing_eagerly", "executing_eagerly_outside_functions", "resource_variables_enabled",
    ),
    "graphio.framework.collections": (
        "GraphKeys", "add_to_collection", "add_to_collections", "get_collection",
        "get_collection_ref",
    ),
    "graphio.execution.config": (
        "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunOptions",
    ),
    "graphio.framework.constants": (
        "constant", "convert_to_tensor", "placeholder", "placeholder_with_default",
    ),
    "graphio.framework.conversions": ("register_tensor_conversion_function",),
    "graphio.autodiff.custom_gradients": (
        "NoGradient", "NotDifferentiable", "RegisterGradient", "custom_gradient", "no_gradient",
        "grad_pass_through",
    ),
    "graphio.ops.state.custom_operators": ("CustomOperator", "register_operator"),
    "graphio.framework.devices": ("DeviceSpec",),
    "graphio.framework.dtypes": (
        "DType", "QUANTIZED_DTYPES", "as_dtype", "bfloat16", "bool", "complex128",
        "complex64", "double", "float16", "float32", "float64", "half", "int16", "int32",
        "int64", "int8", "qint16", "qint32", "qint8", "quint16", "quint8", "resource",
        "string", "uint16", "uint32", "uint64", "uint8", "variant",
    ),
    "graphio.framework.gradient_registry": (),
    "graphio.autodiff.gradients": (
        "AggregationMethod", "UnconnectedGradients", "gradients", "hessians",
    ),
    "graphio.autodiff.tape": ("GradientTape",),
    "graphio.variables.module": ("Module",),
    "graphio.framework.graph": ("Graph", "Operation", "Tensor"),
    "graphio.protos.graph_def": ("GraphDef",),
    "graphio.protos.graph_import": ("import_graph_def",),
    "graphio.framework.indexed_slices": (
        "IndexedSlices", "IndexedSlicesSpec", "IndexedSlicesValue",
        "convert_to_tensor_or_indexed_slices",
    ),
    "graphio.variables.initializers": (
        "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
        "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
        "random_uniform_initializer", "truncated_normal_initializer",
        "uniform_unit_scaling_initializer", "variance_scaling_initializer", "zeros_initializer",
    ),
    "graphio.support.logging": ("get_logger",),
    "graphio.ops.control_flow.critical_section": ("CriticalSection",),
    "graphio.queues.accumulators": ("ConditionalAccumulator", "ConditionalAccumulatorBase"),
    "graphio.queues.sparse_accumulators": ("SparseConditionalAccumulator",),
    "graphio.queues.queue_ops": (
        "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
    ),
    "graphio.queues.readers": (
        "FixedLengthRecordReader", "IdentityReader", "LMDBReader", "ReaderBase", "TFRecordReader",
        "TextLineReader", "WholeFileReader",
    ),
    "graphio.protos.meta_graph": ("MetaGraphDef",),
    "graphio.framework.modes": (
        "VariableAggregation", "VariableSynchronization", "container", "init_scope", "op_scope",
    ),
    "graphio.protos.node_def": ("AttrValue", "NodeDef", "make_ndarray", "make_tensor_proto"),
    "graphio.ops.nn.activations": (),
    "graphio.ops.math.arithmetic": (
        "arg_max", "arg_min", "atan2", "cross", "cumprod", "div_no_nan", "einsum", "lin_space",
        "linspace", "rint", "scalar_mul", "truncatediv", "truncatemod",
    ),
    "graphio.ops.array.arranging": (
        "batch_to_space", "batch_to_space_nd", "depth_to_space", "meshgrid", "reverse_sequence",
        "roll", "sequence_mask", "space_to_batch", "space_to_batch_nd", "space_to_depth",
    ),
    "graphio.ops.array.surface": (
        "broadcast_to", "concat", "diag", "expand_dims", "eye", "fill", "identity", "identity_n",
        "ones", "ones_like", "pad", "range", "rank", "reshape", "shape", "shape_n", "size", "split",
        "squeeze", "stack", "stop_gradient", "tile", "transpose", "unstack", "where", "zeros",
        "zeros_like",
    ),
    "graphio.ops.checks.assert_shapes": (
        "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_scalar",
    ),
    "graphio.ops.checks.assert_types": (
        "assert_integer", "assert_proper_iterable", "assert_same_float_dtype", "assert_type",
        "assert_variables_initialized", "is_numeric_tensor", "is_tensor",
    ),
    "graphio.ops.checks.asserts": (
        "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
        "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
        "assert_non_positive", "assert_none_equal", "assert_positive",
    ),
    "graphio.ops.state.assigning": (
        "batch_scatter_update", "count_up_to", "scatter_add", "scatter_div", "scatter_max",
        "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
        "scatter_sub", "scatter_update",
    ),
    "graphio.ops.nn.attention": (),
    "graphio.ops.math.bits": (),
    "graphio.ops.array.bitcasting": ("bitcast",),
    "graphio.ops.image.boxes": (),
    "graphio.ops.nn.candidates": (),
    "graphio.ops.checks.assertion": ("Assert",),
    "graphio.ops.checks.check": (
        "add_check_numerics_ops", "check_numerics", "verify_tensor_all_finite",
    ),
    "graphio.ops.math.clip": (
        "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "global_norm",
    ),
    "graphio.ops.math.comparison": (
        "equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
        "logical_or", "logical_xor", "not_equal",
    ),
    "graphio.ops.state.console": ("Print", "print"),
    "graphio.ops.math.counting": ("bincount",),
    "graphio.ops.control_flow.branches": (
        "case", "cond", "group", "no_op", "smart_cond", "switch_case", "tuple",
    ),
    "graphio.ops.control_flow.gradients": (),
    "graphio.ops.nn.conv": (),
    "graphio.ops.nn.conv_nd": (),
    "graphio.ops.base.fused": (),
    "graphio.ops.ml.ml": (),
    "graphio.ops.ml.trees": (),
    "graphio.ops.nn.deform": (),
    "graphio.ops.strings.edit_distance": ("edit_distance",),
    "graphio.ops.math.einsum": (),
    "graphio.ops.nn.embedding": (
        "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
    ),
    "graphio.ops.linalg.factoring": ("qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd"),
    "graphio.ops.state.files": ("matching_files", "read_file", "timestamp", "write_file"),
    "graphio.ops.nn.quantized": ("dequantize", "quantize", "quantize_v2", "quantized_concat"),
    "graphio.ops.nn.fake_quantize": (
        "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
        "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
        "fake_quant_with_min_max_vars_per_channel",
        "fake_quant_with_min_max_vars_per_channel_gradient",
    ),
    "graphio.ops.control_flow.functional": (
        "foldl", "foldr", "map_fn", "scan", "vectorized_map",
    ),
    "graphio.ops.strings.example": (
        "FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature",
        "decode_json_example", "parse_example", "parse_single_example",
    ),
    "graphio.ops.base.host": (),
    "graphio.ops.image.onnx_gradients": (),
    "graphio.ops.image.imaging": (),
    "graphio.ops.array.index": (
        "batch_gather", "boolean_mask", "gather", "gather_nd", "one_hot", "reverse", "reverse_v2",
        "scatter_nd", "segment_sum", "slice", "unsorted_segment_sum",
    ),
    "graphio.ops.linalg.matmul": ("matmul", "matrix_transpose", "tensordot"),
    "graphio.ops.control_flow.loops": ("while_loop",),
    "graphio.evaluation.losses": (),
    "graphio.ops.math.elementwise": (
        "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "asin", "asinh", "atan", "atanh",
        "cast", "ceil", "clip_by_value", "cos", "cosh", "div", "divide", "erf", "exp",
        "expm1", "floor", "floor_div", "floordiv", "floormod", "is_finite", "is_inf", "is_nan",
        "log", "log1p", "log_sigmoid", "maximum", "minimum", "mod", "multiply", "negative", "pow",
        "realdiv", "reciprocal", "round", "rsqrt", "saturate_cast", "sigmoid", "sign", "sin",
        "sinh", "sqrt", "square", "squared_difference", "subtract", "tan", "tanh", "to_bfloat16",
        "to_complex128", "to_complex64",
        "to_double", "to_float", "to_int32", "to_int64", "truediv",
    ),
    "graphio.ops.math.elementwise_gradients": (),
    "graphio.ops.math.error_function": ("erfc",),
    "graphio.ops.linalg.matrices": (
        "diag_part", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
        "matrix_set_diag", "trace",
    ),
    "graphio.ops.nn.core": (),
    "graphio.ops.nn.normalize": (),
    "graphio.ops.array.distinct_values": (
        "is_non_decreasing", "is_strictly_increasing", "unique", "unique_with_counts",
    ),
    "graphio.ops.array.order": (
        "argsort", "confusion_matrix", "histogram_fixed_width", "invert_permutation",
        "searchsorted", "setdiff1d", "sort",

    ),
    "graphio.ops.image.patches": ("extract_image_patches",),
    "graphio.ops.nn.pool_nd": (),
    "graphio.ops.nn.pooling": (),
    "graphio.ops.state.py_func": ("numpy_function", "py_func", "py_function"),
    "graphio.ops.nn.quantize": (),
    "graphio.ops.random.core": (
        "multinomial", "random_normal", "random_shuffle", "random_uniform", "set_random_seed",
        "truncated_normal",
    ),
    "graphio.ops.random.more": ("get_seed", "random_crop", "random_gamma", "random_poisson"),
    "graphio.ops.nn.recurrent": (),
    "graphio.ops.math.reduction": (
        "argmax", "argmin", "count_nonzero", "cumsum", "reduce_all", "reduce_any",
        "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    ),
    "graphio.ops.nn.regions": (),
    "graphio.ops.array.repeating": ("repeat",),
    "graphio.ops.array.scattering": (
        "dynamic_partition", "dynamic_stitch", "segment_max", "segment_mean", "segment_min",
        "segment_prod", "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
        "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update",
        "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
        "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    ),
    "graphio.ops.control_flow.sequence": (),
    "graphio.ops.strings.sequence_example": ("parse_single_sequence_example",),
    "graphio.ops.array.shaping": (
        "broadcast_dynamic_shape", "broadcast_static_shape", "dimension_at_index",
        "dimension_value", "ensure_shape", "guarantee_const",
        "histogram_fixed_width_bins", "parallel_stack", "required_space_to_batch_paddings",
        "unravel_index", "where_v2",
    ),
    "graphio.ops.array.slicing": ("newaxis", "strided_slice"),
    "graphio.ops.array.static_values": ("get_static_value",),
    "graphio.ops.linalg.norms": ("norm",),
    "graphio.ops.linalg.solving": (
        "cholesky", "cholesky_solve", "matrix_inverse", "matrix_solve", "matrix_solve_ls",
        "matrix_triangular_solve",
    ),
    "graphio.ops.sparse.conversion": (
        "sparse_mask", "sparse_matmul", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense",
        "sparse_to_dense", "sparse_to_indicator",
    ),
    "graphio.ops.sparse.arranging": (
        "sparse_concat", "sparse_fill_empty_rows", "sparse_merge", "sparse_reorder",
        "sparse_reset_shape", "sparse_reshape", "sparse_retain", "sparse_slice", "sparse_split",
        "sparse_transpose",
    ),
    "graphio.ops.sparse.math": (
        "sparse_add", "sparse_maximum", "sparse_minimum", "sparse_reduce_max",
        "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse",
        "sparse_softmax",
    ),
    "graphio.ops.strings.fingerprints": ("fingerprint",),
    "graphio.autodiff.recompute": ("recompute_grad",),
    "graphio.ops.linalg.roots": ("matrix_square_root",),
    "graphio.ops.nn.spatial": ("extract_volume_patches",),
    "graphio.ops.math.special": ("digamma", "lbeta", "lgamma"),
    "graphio.ops.math.incomplete": ("betainc", "igamma", "igammac"),
    "graphio.ops.math.special_functions": ("polygamma", "zeta"),
    "graphio.ops.complex.parts": ("complex", "conj", "imag", "real"),
    "graphio.ops.complex.polar": ("angle",),
    "graphio.ops.signals.fourier": ("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"),
    "graphio.ops.nn.statistics": (),
    "graphio.ops.control_flow.tensor_array": ("TensorArray",),
    "graphio.ops.control_flow.tensor_array_spec": ("TensorArraySpec",),
    "graphio.ops.strings.joining": ("string_join",),
    "graphio.ops.strings.core": (
        "reduce_join", "string_split", "string_strip", "substr",
    ),
    "graphio.ops.strings.python_strings": (
        "decode_base64", "encode_base64", "regex_replace", "string_to_hash_bucket",
        "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
    ),
    "graphio.ops.strings.compression": ("decode_compressed",),
    "graphio.ops.strings.csv_lines": ("decode_csv",),
    "graphio.ops.strings.numbers": ("as_string", "decode_raw", "string_to_number"),
    "graphio.ops.nn.windows": (),
    "graphio.variables.partitioned_variables": ("PartitionedVariable",),
    "graphio.variables.partitioners": (
        "create_partitioned_variables", "fixed_size_partitioner", "min_max_variable_partitioner",
        "variable_axis_size_partitioner",
    ),
    "graphio.execution.run_metadata": ("RunMetadata",),
    "graphio.ops.state.session_handles": (
        "delete_session_tensor", "get_session_handle", "get_session_tensor",
    ),
    "graphio.engine.interface": ("State",),
    "graphio.support.errors": ("OpError",),
    "graphio.schema.summary_pb2": (
        "Event", "HistogramProto", "LogMessage", "SessionLog", "Summary", "SummaryMetadata",
    ),
    "graphio.framework.scopes": (
        "colocate_with", "control_dependencies", "device", "get_default_graph", "name_scope",
        "reset_default_graph",
    ),
    "graphio.protos.signature_def": ("TensorInfo",),
    "graphio.execution.session": ("InteractiveSession", "Session", "get_default_session"),
    "graphio.framework.sparse_tensor": (
        "SparseTensor", "SparseTensorSpec", "SparseTensorValue",
        "convert_to_tensor_or_sparse_tensor", "sparse_placeholder",
    ),
    "graphio.tensorflow_files.serializing": (
        "deserialize_many_sparse", "parse_tensor", "serialize_many_sparse", "serialize_sparse",
        "serialize_tensor",
    ),
    "graphio.variables.table_initializers": ("initialize_all_tables", "tables_initializer"),
    "graphio.variables.templates": ("make_template",),
    "graphio.framework.tensor_shape": ("Dimension", "TensorShape"),
    "graphio.framework.tensor_spec": ("TensorSpec",),
    "graphio.framework.specs.type_spec": ("TypeSpec",),
    "graphio.framework.variable_creators": ("variable_creator_scope",),
    "graphio.schema.tensorflow_pb2": ("NameAttrList",),
    "graphio.framework.specs.optional_spec": ("OptionalSpec",),
    "graphio.variables.variable_scope": (
        "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope",
        "no_regularizer", "variable_op_scope", "variable_scope",
    ),
    "graphio.variables.variables": (
        "Variable", "all_variables", "assign", "assign_add", "assign_sub", "global_variables",
        "global_variables_initializer", "initialize_all_variables", "initialize_local_variables",
        "initialize_variables", "is_variable_initialized", "local_variables",
        "local_variables_initializer", "model_variables", "moving_average_variables",
        "report_uninitialized_variables", "trainable_variables", "variables_initializer",
    ),
    "graphio.support.version": (
        "COMPILER_VERSION", "GIT_VERSION", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER",
        "GRAPH_DEF_VERSION_MIN_PRODUCER", "VERSION", "__compiler_version__",
        "__git_version__", "graphio_version",
    ),
}  # fmt: skip

#: Namespaces: submodules that are loaded when they are first used; True: with the builder.
_NAMESPACES = {
    "app": False, "audio": True, "autograph": False, "bitwise": True, "cinfer": False, "compat":
    False, "config": False, "contrib": True, "data": True, "debug": True, "debugging": True,
    "distribute": True, "distributions": True, "dtypes": False, "errors": False, "examples": True,
    "flags": False, "gfile": False, "graph_util": True, "image": True, "initializers": True, "io":
    False, "keras": False, "layers": True, "linalg": True, "logging": False, "lookup": True,
    "losses": True, "manip": True, "math": True, "metrics": True, "nest": False, "nn": True, "onnx":
    True, "profiler": True, "python_io": True, "quantization": True, "queue": True, "random": True,
    "raw_ops": True, "resource_loader": False, "runtime": False, "saved_model": True, "schema":
    False, "sets": True, "signal": True, "sparse": True, "spectral": True, "strings": True,
    "summary": True, "test": True, "timeline": False, "train": True, "user_ops": True, "version":
    False,
}  # fmt: skip

_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}


#: the threads that import the builder's modules, some of which import namespaces
_LOADING: set[int] = set()


class _Package(types.ModuleType):
    """This module. A submodule does not hide the function of its name (graphio.debug)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _MODULE_OF or not isinstance(value, types.ModuleType):
            super().__setattr__(name, value)
            if _NAMESPACES.get(name):  # `from graphio.nn import relu` comes here first, not above
                _load_builder()
                if "Graph" in globals():  # else the load under way guards it when it ends
                    _guard(value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *_MODULE_OF, *_NAMESPACES})

    def __reduce__(self) -> tuple[Any, ...]:
        # of a class other than a module's, which pickles of functions that use it would refuse
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        _load_builder()
        return globals()[name]
    if name in _NAMESPACES:
        if _NAMESPACES[name]:
            _load_builder()
        return importlib.import_module(f"{__name__}.{name}")
    if name == "__all__":  # of `from graphio import *`, which else gives what is loaded already
        return sorted((*_MODULE_OF, *_NAMESPACES))
    from graphio.framework.refusals import refusal

    text = refusal(name) or f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


def _load_builder() -> None:
    """Imports what builds graphs; nothing where it is there, or the same thread imports it."""
    import threading  # not before it is used: `import graphio` stays small

    thread = threading.get_ident()
    if "Graph" in globals() or thread in _LOADING:
        return
    _LOADING.add(thread)
    try:
        _import_builder()
    finally:
        _LOADING.discard(thread)


def _import_builder() -> None:
    importlib.import_module("graphio.support.installation").warn_of_conflict(stacklevel=4)
    found = {module: importlib.import_module(module) for module in _EXPORTS}
    export = importlib.import_module("graphio.framework.api_boundary").export
    globals().update(
        {
            name: export(getattr(found[module], name), __name__, name)
            for name, module in _MODULE_OF.items()
        }
    )
    for name in [name for name, with_builder in _NAMESPACES.items() if with_builder]:
        if name in globals():
            _guard(globals()[name])


def _guard(namespace: types.ModuleType) -> None:
    """Wraps its functions as the guards that they are marked with say."""
    importlib.import_module("graphio.framework.api_boundary").guard_namespace(namespace)
