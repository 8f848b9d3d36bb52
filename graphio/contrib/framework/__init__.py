"""tf.contrib.framework: arg_scope, model variables, values from checkpoints, checks of tensors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
from graphio.contrib.framework.deprecation import (
    deprecated,
    deprecated_arg_values,
    deprecated_args,
    experimental,
)
from graphio.contrib.framework.name_scopes import prepend_name_scope, strip_name_scope
from graphio.contrib.framework.tensors import (
    assert_scalar_int,
    get_graph_from_inputs,
    get_name_scope,
    get_placeholders,
    reduce_sum_n,
    remove_squeezable_dimensions,
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
from graphio.framework import api_boundary, nest, refusals
from graphio.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor
from graphio.framework.tensor_spec import TensorSpec
from graphio.ops.array.distinct_values import is_non_decreasing, is_strictly_increasing
from graphio.ops.array.order import argsort, sort
from graphio.ops.checks.assert_shapes import assert_scalar
from graphio.ops.checks.assert_types import (
    assert_same_float_dtype,
    is_numeric_tensor,
    is_tensor,
)
from graphio.ops.control_flow.branches import smart_cond
from graphio.ops.state.py_func import py_func
from graphio.train.checkpoints.checkpoint_reader import (
    list_variables,
    load_checkpoint,
    load_variable,
)
from graphio.train.checkpoints.warm_starting import init_from_checkpoint
from graphio.train.loops.step_counter import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
)

__all__ = [
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
    "assert_scalar",
    "assert_scalar_int",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "convert_to_tensor_or_sparse_tensor",
    "create_global_step",
    "current_arg_scope",
    "deprecated",
    "deprecated_arg_values",
    "deprecated_args",
    "experimental",
    "filter_variables",
    "get_global_step",
    "get_graph_from_inputs",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_or_create_global_step",
    "get_placeholders",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "has_arg_scope",
    "init_from_checkpoint",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "is_tensor",
    "list_variables",
    "load_checkpoint",
    "load_variable",
    "local_variable",
    "model_variable",
    "nest",
    "prepend_name_scope",
    "py_func",
    "reduce_sum_n",
    "remove_squeezable_dimensions",
    "smart_cond",
    "sort",
    "strip_name_scope",
    "variable",
    "with_same_shape",
    "with_shape",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
