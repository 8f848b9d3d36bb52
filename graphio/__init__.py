"""graphio: computation graphs the TensorFlow-1 way, run by Python or by a small C library.

    import graphio as tf

Names are looked up in modules when they are first used, so that `import graphio.runtime` loads
neither the builder nor onnx.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from graphio.schema import native as _native
from graphio.version import __version__ as __version__

_native.provide(lambda: importlib.import_module("graphio.cinfer.file_functions"))

#: The public names by module. The first use of one loads all of these modules, because Python's
#: operators on tensors and the gradients are registered by the modules of graphio.ops.
_EXPORTS: dict[str, tuple[str, ...]] = {
    "graphio.behavior": (
        "control_flow_v2_enabled", "disable_control_flow_v2", "disable_eager_execution",
        "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior",
        "disable_v2_tensorshape", "enable_control_flow_v2", "enable_resource_variables",
        "executing_eagerly", "executing_eagerly_outside_functions", "resource_variables_enabled",
    ),
    "graphio.collections": (
        "GraphKeys", "add_to_collection", "add_to_collections", "get_collection",
        "get_collection_ref",
    ),
    "graphio.config": (
        "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunOptions",
    ),
    "graphio.constants": (
        "constant", "convert_to_tensor", "placeholder", "placeholder_with_default",
        "register_tensor_conversion_function",
    ),
    "graphio.custom_gradients": (
        "NoGradient", "NotDifferentiable", "RegisterGradient", "custom_gradient", "no_gradient",
        "grad_pass_through",
    ),
    "graphio.custom_operators": ("CustomOperator", "register_operator"),
    "graphio.devices": ("DeviceSpec",),
    "graphio.dtypes": (
        "DType", "as_dtype", "bfloat16", "bool", "complex128", "complex64", "double", "float16",
        "float32", "float64", "half", "int16", "int32", "int64", "int8", "qint16", "qint32",
        "qint8", "quint16", "quint8", "resource", "string", "uint16", "uint32", "uint64", "uint8",
        "variant",
    ),
    "graphio.gradient_registry": (),
    "graphio.gradients": ("AggregationMethod", "UnconnectedGradients", "gradients", "hessians"),
    "graphio.graph": ("Graph", "Operation", "Tensor"),
    "graphio.graph_def": ("GraphDef",),
    "graphio.graph_import": ("import_graph_def",),
    "graphio.indexed_slices": (
        "IndexedSlices", "IndexedSlicesValue", "convert_to_tensor_or_indexed_slices",
    ),
    "graphio.initializers": (
        "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
        "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
        "random_uniform_initializer", "truncated_normal_initializer",
        "uniform_unit_scaling_initializer", "variance_scaling_initializer", "zeros_initializer",
    ),
    "graphio.logging": ("get_logger",),
    "graphio.meta_graph": ("MetaGraphDef",),
    "graphio.modes": (
        "VariableAggregation", "VariableSynchronization", "container", "init_scope", "op_scope",
    ),
    "graphio.node_def": ("AttrValue", "NodeDef", "make_ndarray", "make_tensor_proto"),
    "graphio.ops.activations": (),
    "graphio.ops.arithmetic": (
        "arg_max", "arg_min", "atan2", "cross", "cumprod", "div_no_nan", "einsum", "lin_space",
        "linspace", "rint", "scalar_mul", "truncatediv", "truncatemod",
    ),
    "graphio.ops.arranging": (
        "batch_to_space", "batch_to_space_nd", "depth_to_space", "meshgrid", "reverse_sequence",
        "roll", "sequence_mask", "space_to_batch", "space_to_batch_nd", "space_to_depth",
    ),
    "graphio.ops.array": (
        "broadcast_to", "concat", "diag", "expand_dims", "eye", "fill", "identity", "identity_n",
        "ones", "ones_like", "pad", "range", "rank", "reshape", "shape", "shape_n", "size", "split",
        "squeeze", "stack", "stop_gradient", "tile", "transpose", "unstack", "where", "zeros",
        "zeros_like",
    ),
    "graphio.ops.assert_shapes": (
        "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_scalar",
    ),
    "graphio.ops.assert_types": (
        "assert_integer", "assert_proper_iterable", "assert_same_float_dtype", "assert_type",
        "assert_variables_initialized", "is_numeric_tensor", "is_tensor",
    ),
    "graphio.ops.asserts": (
        "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
        "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative",
        "assert_non_positive", "assert_none_equal", "assert_positive",
    ),
    "graphio.ops.assigning": (
        "batch_scatter_update", "count_up_to", "scatter_add", "scatter_div", "scatter_max",
        "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
        "scatter_sub", "scatter_update",
    ),
    "graphio.ops.attention": (),
    "graphio.ops.bits": (),
    "graphio.ops.bitcasting": ("bitcast",),
    "graphio.ops.boxes": (),
    "graphio.ops.candidates": (),
    "graphio.ops.check": (
        "Assert", "add_check_numerics_ops", "check_numerics", "verify_tensor_all_finite",
    ),
    "graphio.ops.clip": (
        "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "global_norm", "norm",
    ),
    "graphio.ops.comparison": (
        "equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
        "logical_or", "logical_xor", "not_equal",
    ),
    "graphio.ops.console": ("Print", "print"),
    "graphio.ops.counting": ("bincount",),
    "graphio.ops.control_flow": (
        "case", "cond", "group", "no_op", "smart_cond", "switch_case", "tuple",
    ),
    "graphio.ops.control_flow_grad": (),
    "graphio.ops.conv": (),
    "graphio.ops.conv_nd": (),
    "graphio.ops.fused": (),
    "graphio.ops.ml": (),
    "graphio.ops.trees": (),
    "graphio.ops.deform": (),
    "graphio.ops.edit_distance": ("edit_distance",),
    "graphio.ops.einsum": (),
    "graphio.ops.embedding": ("sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum"),
    "graphio.ops.factoring": ("qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd"),
    "graphio.ops.files": ("matching_files", "read_file", "timestamp", "write_file"),
    "graphio.ops.fake_quantize": (
        "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
        "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
        "fake_quant_with_min_max_vars_per_channel",
        "fake_quant_with_min_max_vars_per_channel_gradient",
    ),
    "graphio.ops.functional": ("foldl", "foldr", "map_fn", "scan"),
    "graphio.ops.example": (
        "FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "parse_example",
        "parse_single_example",
    ),
    "graphio.ops.host": (),
    "graphio.ops.image": (),
    "graphio.ops.imaging": (),
    "graphio.ops.index": (
        "batch_gather", "boolean_mask", "gather", "gather_nd", "one_hot", "reverse", "reverse_v2",
        "scatter_nd", "segment_sum", "slice", "unsorted_segment_sum",
    ),
    "graphio.ops.linear": ("matmul", "matrix_transpose", "tensordot"),
    "graphio.ops.loops": ("while_loop",),
    "graphio.ops.losses": (),
    "graphio.ops.math": (
        "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "asin", "asinh", "atan", "atanh",
        "cast", "ceil", "clip_by_value", "cos", "cosh", "div", "divide", "erf", "erfc", "exp",
        "expm1", "floor", "floor_div", "floordiv", "floormod", "is_finite", "is_inf", "is_nan",
        "log", "log1p", "log_sigmoid", "maximum", "minimum", "mod", "multiply", "negative", "pow",
        "realdiv", "reciprocal", "round", "rsqrt", "saturate_cast", "sigmoid", "sign", "sin",
        "sinh", "sqrt", "square", "squared_difference", "subtract", "tan", "tanh", "to_bfloat16",
        "to_double", "to_float", "to_int32", "to_int64", "truediv",
    ),
    "graphio.ops.math_gradients": (),
    "graphio.ops.matrices": (
        "diag_part", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
        "matrix_set_diag", "trace",
    ),
    "graphio.ops.nn": (),
    "graphio.ops.normalize": (),
    "graphio.ops.order": (
        "argsort", "confusion_matrix", "histogram_fixed_width", "invert_permutation",
        "is_non_decreasing", "is_strictly_increasing", "searchsorted", "setdiff1d", "sort",
        "unique", "unique_with_counts",
    ),
    "graphio.ops.patches": ("extract_image_patches",),
    "graphio.ops.pool_nd": (),
    "graphio.ops.pooling": (),
    "graphio.ops.py_func": ("numpy_function", "py_func", "py_function"),
    "graphio.ops.quantize": (),
    "graphio.ops.random": (
        "multinomial", "random_normal", "random_shuffle", "random_uniform", "set_random_seed",
        "truncated_normal",
    ),
    "graphio.ops.random_more": ("get_seed", "random_crop", "random_gamma", "random_poisson"),
    "graphio.ops.recurrent": (),
    "graphio.ops.reduction": (
        "argmax", "argmin", "count_nonzero", "cumsum", "reduce_all", "reduce_any",
        "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
    ),
    "graphio.ops.regions": (),
    "graphio.ops.repeating": ("repeat",),
    "graphio.ops.scattering": (
        "dynamic_partition", "dynamic_stitch", "segment_max", "segment_mean", "segment_min",
        "segment_prod", "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_sub",
        "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update",
        "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
        "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    ),
    "graphio.ops.sequence": (),
    "graphio.ops.sequence_example": ("parse_single_sequence_example",),
    "graphio.ops.shaping": (
        "broadcast_dynamic_shape", "broadcast_static_shape", "dimension_at_index",
        "dimension_value", "ensure_shape", "guarantee_const",
        "histogram_fixed_width_bins", "parallel_stack", "required_space_to_batch_paddings",
        "unravel_index", "where_v2",
    ),
    "graphio.ops.slicing": ("newaxis", "strided_slice"),
    "graphio.ops.static_values": ("get_static_value",),
    "graphio.ops.solving": (
        "cholesky", "cholesky_solve", "matrix_inverse", "matrix_solve", "matrix_solve_ls",
        "matrix_triangular_solve",
    ),
    "graphio.ops.sparse": (
        "sparse_mask", "sparse_matmul", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense",
        "sparse_to_dense", "sparse_to_indicator",
    ),
    "graphio.ops.sparse_arranging": (
        "sparse_concat", "sparse_fill_empty_rows", "sparse_merge", "sparse_reorder",
        "sparse_reset_shape", "sparse_reshape", "sparse_retain", "sparse_slice", "sparse_split",
        "sparse_transpose",
    ),
    "graphio.ops.sparse_math": (
        "sparse_add", "sparse_maximum", "sparse_minimum", "sparse_reduce_max",
        "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse",
        "sparse_softmax",
    ),
    "graphio.ops.special": ("angle", "conj", "digamma", "imag", "lbeta", "lgamma", "real"),
    "graphio.ops.statistics": (),
    "graphio.ops.tensor_array": ("TensorArray",),
    "graphio.ops.signal": (),
    "graphio.ops.text": ("reduce_join", "string_join", "string_split", "string_strip", "substr"),
    "graphio.ops.text_calls": (
        "decode_base64", "encode_base64", "regex_replace", "string_to_hash_bucket",
        "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
    ),
    "graphio.ops.text_csv": ("decode_csv",),
    "graphio.ops.text_numbers": ("as_string", "decode_raw", "string_to_number"),
    "graphio.ops.windows": (),
    "graphio.partitioned_variables": ("PartitionedVariable",),
    "graphio.partitioners": (
        "create_partitioned_variables", "fixed_size_partitioner", "min_max_variable_partitioner",
        "variable_axis_size_partitioner",
    ),
    "graphio.run_metadata": ("RunMetadata",),
    "graphio.schema.engine": ("State",),
    "graphio.schema.errors": ("OpError",),
    "graphio.schema.summary_pb2": (
        "Event", "HistogramProto", "SessionLog", "Summary", "SummaryMetadata",
    ),
    "graphio.scopes": (
        "colocate_with", "control_dependencies", "device", "get_default_graph", "name_scope",
        "reset_default_graph",
    ),
    "graphio.signature_def": ("TensorInfo",),
    "graphio.session": ("InteractiveSession", "Session", "get_default_session"),
    "graphio.sparse_tensor": (
        "SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor",
        "sparse_placeholder",
    ),
    "graphio.tables": ("initialize_all_tables", "tables_initializer"),
    "graphio.templates": ("make_template",),
    "graphio.tensor_shape": ("Dimension", "TensorShape"),
    "graphio.tensor_spec": ("TensorSpec",),
    "graphio.variable_scope": (
        "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope",
        "no_regularizer", "variable_op_scope", "variable_scope",
    ),
    "graphio.variables": (
        "Variable", "all_variables", "assign", "assign_add", "assign_sub", "global_variables",
        "global_variables_initializer", "initialize_all_variables", "initialize_local_variables",
        "initialize_variables", "is_variable_initialized", "local_variables",
        "local_variables_initializer", "model_variables", "moving_average_variables",
        "report_uninitialized_variables", "trainable_variables", "variables_initializer",
    ),
    "graphio.version": (
        "COMPILER_VERSION", "GIT_VERSION", "GRAPH_DEF_VERSION", "VERSION", "__compiler_version__",
        "__git_version__", "graphio_version",
    ),
}  # fmt: skip

#: Namespaces: submodules that are loaded when they are first used; True: with the builder.
_NAMESPACES = {
    "app": False, "bitwise": True, "cinfer": False, "compat": False, "data": True, "debug": True,
    "debugging": True, "dtypes": False, "errors": False, "flags": False, "gfile": False,
    "graph_util": True, "image": True, "initializers": True, "io": False, "layers": True, "linalg":
    True, "logging": False, "lookup": True, "losses": True, "manip": True, "math": True,
    "metrics": True, "nest": False, "nn": True, "onnx": True, "python_io": True,
    "quantization": True, "random": True,
    "resource_loader": False, "runtime": False, "saved_model": True, "schema": False, "sparse":
    True, "strings": True, "summary": True, "test": True, "timeline": False, "train": True,
}  # fmt: skip

_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}


class _Package(types.ModuleType):
    """This module. A submodule does not hide the function of its name (graphio.gradients)."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _MODULE_OF or not isinstance(value, types.ModuleType):
            super().__setattr__(name, value)
            if _NAMESPACES.get(name) and "Graph" in globals():
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
    from graphio.refusals import refusal

    text = refusal(name) or f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])


def _load_builder() -> None:
    if "Graph" in globals():
        return
    importlib.import_module("graphio.schema.installation").warn_of_conflict(stacklevel=3)
    found = {module: importlib.import_module(module) for module in _EXPORTS}
    export = importlib.import_module("graphio.api_boundary").export
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
    importlib.import_module("graphio.api_boundary").guard_namespace(namespace)
