"""tf.contrib.framework: arg_scope, model variables, values from checkpoints, checks of tensors."""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.framework": ("nest",),
    "graphio.contrib.framework.arg_scope": (
        "add_arg_scope", "arg_scope", "arg_scope_func_key", "arg_scoped_arguments",
        "current_arg_scope", "has_arg_scope",
    ),
    "graphio.contrib.framework.assigning": (
        "assign_from_checkpoint", "assign_from_checkpoint_fn", "assign_from_values",
        "assign_from_values_fn",
    ),
    "graphio.contrib.framework.calls": ("py_func", "smart_case", "zero_initializer"),
    "graphio.contrib.framework.checkpoints": (
        "init_from_checkpoint", "list_variables", "load_checkpoint", "load_variable",
    ),
    "graphio.contrib.framework.deprecation": (
        "deprecated", "deprecated_arg_values", "deprecated_args", "experimental",
    ),
    "graphio.contrib.framework.name_scopes": ("prepend_name_scope", "strip_name_scope"),
    "graphio.contrib.framework.nest": (
        "assert_same_structure", "assert_shallow_structure", "flatten", "flatten_dict_items",
        "flatten_up_to", "flatten_with_joined_string_paths", "flatten_with_tuple_paths",
        "flatten_with_tuple_paths_up_to", "get_traverse_shallow_structure", "is_nested",
        "is_sequence", "is_sequence_or_composite", "map_structure", "map_structure_up_to",
        "map_structure_with_paths", "map_structure_with_tuple_paths",
        "map_structure_with_tuple_paths_up_to", "pack_sequence_as", "yield_flat_paths",
    ),
    "graphio.contrib.framework.orthogonal_kernels": (
        "convolutional_delta_orthogonal", "convolutional_orthogonal_1d",
        "convolutional_orthogonal_2d", "convolutional_orthogonal_3d",
    ),
    "graphio.contrib.framework.remapping": (
        "load_and_remap_matrix_initializer", "load_embedding_initializer",
        "load_linear_multiclass_bias_initializer", "load_variable_slot_initializer",
    ),
    "graphio.contrib.framework.tensors": (
        "assert_scalar_int", "get_graph_from_inputs", "get_name_scope", "get_placeholders",
        "reduce_sum_n", "remove_squeezable_dimensions", "smart_constant_value", "with_same_shape",
        "with_shape",
    ),
    "graphio.contrib.framework.variables": (
        "VariableDeviceChooser", "add_model_variable", "assert_or_get_global_step",
        "filter_variables", "get_local_variables", "get_model_variables", "get_trainable_variables",
        "get_unique_variable", "get_variable_full_name", "get_variables", "get_variables_by_name",
        "get_variables_by_suffix", "get_variables_to_restore", "global_variable", "local_variable",
        "model_variable", "variable",
    ),
    "graphio.data.record_input": ("RecordInput",),
    "graphio.framework.sparse_tensor": ("convert_to_tensor_or_sparse_tensor",),
    "graphio.framework.tensor_spec": ("BoundedTensorSpec", "TensorSpec"),
    "graphio.ops.array.distinct_values": ("is_non_decreasing", "is_strictly_increasing"),
    "graphio.ops.array.order": ("argsort", "sort"),
    "graphio.ops.checks.assert_shapes": ("assert_scalar",),
    "graphio.ops.checks.assert_types": (
        "assert_same_float_dtype", "is_numeric_tensor", "is_tensor",
    ),
    "graphio.ops.control_flow.branches": ("smart_cond",),
    "graphio.train.loops.step_counter": (
        "assert_global_step", "create_global_step", "get_global_step", "get_or_create_global_step",
    ),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
