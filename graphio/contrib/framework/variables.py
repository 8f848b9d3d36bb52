"""Model variables, and lists of variables by scope, name and pattern."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphio.contrib.framework.arg_scope import add_arg_scope
from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys, add_to_collection, get_collection
from graphio.framework.devices import DeviceSpec
from graphio.framework.modes import VariableAggregation, VariableSynchronization
from graphio.support import api_guard
from graphio.train.loops import step_counter
from graphio.variables.variable_scope import VariableScope, get_variable, get_variable_scope
from graphio.variables.variables import Variable

__all__ = [
    "VariableDeviceChooser",
    "add_model_variable",
    "assert_or_get_global_step",
    "filter_variables",
    "get_local_variables",
    "get_model_variables",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
]

# ---- making ----


@api_guard.makes_variables
@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """tf.get_variable on a device.

    Args:
        device: name of the device, or a function from an operation to it. It changes no result.
        collections: names of collections to join; None: the global variables.
        custom_getter: called in the place of get_variable, also with `reuse` of the scope.
        name, shape, dtype, initializer, regularizer, trainable, caching_device, partitioner,
            use_resource, synchronization, aggregation: as tf.get_variable's.

    Raises:
        ValueError: as tf.get_variable.
    """
    joined = (
        [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(dict.fromkeys(collections))
    )
    getter: Callable[..., Any] = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with scopes.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=joined,
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@api_guard.makes_variables
@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """As variable, of float32 by default, for a variable that joins MODEL_VARIABLES, too.

    Raises:
        ValueError: as tf.get_variable.
    """
    joined = [*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=joined,
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


@api_guard.makes_variables
def local_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: Any = None,
) -> Variable:
    """A tf.Variable that optimizers and checkpoints leave out."""
    return _untrained(initial_value, GraphKeys.LOCAL_VARIABLES, validate_shape, name, use_resource)


@api_guard.makes_variables
def global_variable(
    initial_value: Any,
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: Any = None,
) -> Variable:
    """A tf.Variable that optimizers leave out."""
    return _untrained(initial_value, GraphKeys.GLOBAL_VARIABLES, validate_shape, name, use_resource)


def _untrained(
    value: Any, collection: str, validate_shape: bool, name: str | None, use_resource: Any
) -> Variable:
    return Variable(
        value,
        trainable=False,
        collections=[collection],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


@api_guard.unguarded
def add_model_variable(var: Any) -> None:
    """Adds a variable to MODEL_VARIABLES unless it is there."""
    if not any(var is other for other in get_collection(GraphKeys.MODEL_VARIABLES)):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@api_guard.unguarded
def assert_or_get_global_step(graph: Any = None, global_step_tensor: Any = None) -> Any:
    """The global step that is given, checked; None: that of the graph, or None without one.

    Raises:
        TypeError, ValueError: as tf.train.assert_global_step.
    """
    if global_step_tensor is None:
        return step_counter.get_global_step(graph)
    step_counter.assert_global_step(global_step_tensor)
    return global_step_tensor


# ---- finding ----


@api_guard.unguarded
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection whose names begin with a scope and end with a suffix.

    Args:
        scope: a variable scope, or a regular expression for the beginnings of names.
        suffix: regular expression for the ends of names; None: all.
    """
    prefix = scope.name if isinstance(scope, VariableScope) else scope
    if suffix is not None:
        prefix = f"{prefix or ''}.*{suffix}" + ("" if ":" in suffix else ":")
    return list(get_collection(collection, prefix))


@api_guard.unguarded
def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """get_variables of MODEL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@api_guard.unguarded
def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """get_variables of LOCAL_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@api_guard.unguarded
def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """get_variables of TRAINABLE_VARIABLES."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@api_guard.unguarded
def get_variables_to_restore(
    include: Sequence[Any] | None = None, exclude: Sequence[Any] | None = None
) -> list[Any]:
    """The global variables of the scopes in include, without those of the scopes in exclude.

    Args:
        include: scopes or beginnings of names; None: all variables.
        exclude: scopes or beginnings of names; None: none.

    Raises:
        TypeError: include or exclude is neither a list nor a tuple.
    """
    found = get_variables() if include is None else _of_scopes("include", include)
    left_out = set() if exclude is None else {id(v) for v in _of_scopes("exclude", exclude)}
    return [v for v in found if id(v) not in left_out]


def _of_scopes(argument: str, given: Any) -> list[Any]:
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{argument} is {given!r}, expected a list or a tuple of scopes")
    return [v for scope in given for v in get_variables(scope)]


@api_guard.unguarded
def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """The global variables whose names end with a suffix."""
    return get_variables(scope, suffix)


@api_guard.unguarded
def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """The global variables of a name, in whatever scope they are."""
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


@api_guard.unguarded
def get_unique_variable(var_op_name: str) -> Any:
    """The global variable of a full name.

    Raises:
        ValueError: there is none.
    """
    candidates = get_variables(var_op_name)
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    names = ", ".join(v.op.name for v in candidates[:5])
    raise ValueError(
        f"Variable {var_op_name} does not uniquely identify a variable: there are {names}"
    )


@api_guard.unguarded
def get_variable_full_name(var: Any) -> str:
    """The name in checkpoints: of a part that of the complete variable."""
    part = var._save_slice_info
    return str(part.full_name if part else var.op.name)


@api_guard.unguarded
def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Iterable[str] | None = None,
    exclude_patterns: Iterable[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """The variables whose names one of the patterns matches.

    Args:
        include_patterns: regular expressions; None: all variables.
        exclude_patterns: regular expressions of variables to leave out of these.
        reg_search: whether a pattern may match anywhere in a name; False: only at its beginning.
    """
    matches = re.search if reg_search else re.match

    def has(found: Any, patterns: Iterable[str]) -> bool:
        return any(matches(pattern, found.name) for pattern in patterns)

    left_out = tuple(exclude_patterns or ())
    included = None if include_patterns is None else tuple(include_patterns)
    return [v for v in var_list if (included is None or has(v, included)) and not has(v, left_out)]


class VariableDeviceChooser:
    """A function from an operation to a device, for `device=`: parameter servers in turn.

    A model runs on one machine, so that devices change no result.

    Args:
        num_tasks: of parameter servers; 0: no job and no task.
        job_name: of parameter servers.
        device_type, device_index: of the device.
        replica: number of the replica, or None.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: int = 0,
        replica: int | None = None,
    ) -> None:
        self._tasks, self._job_name, self._next = num_tasks, job_name, 0
        self._device = {
            "device_type": device_type,
            "device_index": device_index,
            "replica": replica,
        }

    def __call__(self, op: Any) -> str:
        """The device of an operation."""
        given: dict[str, Any] = dict(self._device)
        if self._tasks > 0:
            given |= {"job": self._job_name, "task": self._next}
            self._next = (self._next + 1) % self._tasks
        return str(DeviceSpec(**given).to_string())
