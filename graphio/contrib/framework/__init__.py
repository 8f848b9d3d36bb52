"""tf.contrib.framework: arg_scope, model variables, values from checkpoints, checks of tensors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from graphio.contrib.framework import nest
from graphio.contrib.framework.arg_scope import (
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from graphio.contrib.framework.assigning import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)
from graphio.contrib.framework.calls import py_func, smart_case, zero_initializer
from graphio.contrib.framework.checkpoints import (
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from graphio.contrib.framework.deprecation import (
    deprecated,
    deprecated_arg_values,
    deprecated_args,
    experimental,
)
from graphio.contrib.framework.name_scopes import prepend_name_scope, strip_name_scope
from graphio.contrib.framework.nest import (
    assert_same_structure,
    assert_shallow_structure,
    flatten,
    flatten_dict_items,
    flatten_up_to,
    flatten_with_joined_string_paths,
    flatten_with_tuple_paths,
    flatten_with_tuple_paths_up_to,
    get_traverse_shallow_structure,
    is_nested,
    is_sequence,
    is_sequence_or_composite,
    map_structure,
    map_structure_up_to,
    map_structure_with_paths,
    map_structure_with_tuple_paths,
    map_structure_with_tuple_paths_up_to,
    pack_sequence_as,
    yield_flat_paths,
)
from graphio.contrib.framework.orthogonal_kernels import (
    convolutional_delta_orthogonal,
    convolutional_orthogonal_1d,
    convolutional_orthogonal_2d,
    convolutional_orthogonal_3d,
)
from graphio.contrib.framework.remapping import (
    load_and_remap_matrix_initializer,
    load_embedding_initializer,
    load_linear_multiclass_bias_initializer,
    load_variable_slot_initializer,
)
from graphio.contrib.framework.tensors import (
    assert_scalar_int,
    get_graph_from_inputs,
    get_name_scope,
    get_placeholders,
    reduce_sum_n,
    remove_squeezable_dimensions,
    smart_constant_value,
    with_same_shape,
    with_shape,
)
from graphio.contrib.framework.variables import (
    VariableDeviceChooser,
    add_model_variable,
    assert_or_get_global_step,
    filter_variables,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variable_full_name,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    global_variable,
    local_variable,
    model_variable,
    variable,
)
from graphio.framework import api_boundary, refusals
from graphio.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor
from graphio.framework.tensor_spec import BoundedTensorSpec, TensorSpec
from graphio.ops.array.distinct_values import is_non_decreasing, is_strictly_increasing
from graphio.ops.array.order import argsort, sort
from graphio.ops.checks.assert_shapes import assert_scalar
from graphio.ops.checks.assert_types import (
    assert_same_float_dtype,
    is_numeric_tensor,
    is_tensor,
)
from graphio.ops.control_flow.branches import smart_cond
from graphio.train.loops.step_counter import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

__all__ = [
    "BoundedTensorSpec",
    "TensorSpec",
    "VariableDeviceChooser",
    "add_arg_scope",
    "add_model_variable",
    "arg_scope",
    "arg_scope_func_key",
    "arg_scoped_arguments",
    "argsort",
    "assert_global_step",
    "assert_or_get_global_step",
    "assert_same_float_dtype",
    "assert_same_structure",
    "assert_scalar",
    "assert_scalar_int",
    "assert_shallow_structure",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "convert_to_tensor_or_sparse_tensor",
    "convolutional_delta_orthogonal",
    "convolutional_orthogonal_1d",
    "convolutional_orthogonal_2d",
    "convolutional_orthogonal_3d",
    "create_global_step",
    "current_arg_scope",
    "deprecated",
    "deprecated_arg_values",
    "deprecated_args",
    "experimental",
    "filter_variables",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "flatten_with_tuple_paths_up_to",
    "get_global_step",
    "get_graph_from_inputs",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_or_create_global_step",
    "get_placeholders",
    "get_trainable_variables",
    "get_traverse_shallow_structure",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "has_arg_scope",
    "init_from_checkpoint",
    "is_nested",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_sequence",
    "is_sequence_or_composite",
    "is_strictly_increasing",
    "is_tensor",
    "list_variables",
    "load_and_remap_matrix_initializer",
    "load_checkpoint",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable",
    "load_variable_slot_initializer",
    "local_variable",
    "map_structure",
    "map_structure_up_to",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to",
    "model_variable",
    "nest",
    "pack_sequence_as",
    "prepend_name_scope",
    "py_func",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "smart_case",
    "smart_cond",
    "smart_constant_value",
    "sort",
    "strip_name_scope",
    "variable",
    "with_same_shape",
    "with_shape",
    "yield_flat_paths",
    "zero_initializer",
]

api_boundary.guard_namespace(sys.modules[__name__])
__all__ += ["RecordInput"]

if TYPE_CHECKING:
    from graphio.data.record_input import RecordInput as RecordInput
else:
    _refuse = refusals.getter(__name__)

    def __getattr__(name: str) -> Any:
        if name == "RecordInput":  # at its first use: programs without it load no tf.data
            from graphio.data.record_input import RecordInput

            return RecordInput
        return _refuse(name)
