"""Assignments of values and of checkpoints' values to variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.contrib.framework.variables import get_variable_full_name
from graphio.framework.collections import GraphKeys, get_collection
from graphio.framework.constants import placeholder
from graphio.framework.graph import Operation, Tensor
from graphio.ops.control_flow.branches import group
from graphio.support import api_guard, logging
from graphio.train.checkpoints.checkpoint_reader import NewCheckpointReader
from graphio.train.checkpoints.saver import Saver

__all__ = [
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
]

Feeds = dict[Tensor, Any]


@api_guard.guarded
def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, Feeds]:
    """An operation that assigns values to global variables, and what to feed to it.

    The values stay outside of the graph.

    Args:
        var_names_to_values: arrays by the variables' names.

    Raises:
        ValueError: there is no variable of a name, or an array has another number of elements.
    """
    feeds: Feeds = {}
    done = []
    for name, value in var_names_to_values.items():
        found = _named(name)
        fed = _placeholder_for(found)
        done.append(found.assign(fed))
        feeds[fed] = np.reshape(value, found.get_shape().as_list())
    return group(*done), feeds


@api_guard.guarded
def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that assigns values; see assign_from_values.

    Raises:
        ValueError: there is no variable of a name.
    """
    assign, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assign, feeds)


def _named(name: str) -> Any:
    found = get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not found:
        raise ValueError(f"Variable {name} wasn't found")
    exact = [v for v in found if v.op.name == name]
    if len(found) > 1 and not exact:
        raise ValueError(f"Variable {name} doesn't uniquely identify a variable")
    return exact[0] if exact else found[0]


def _placeholder_for(found: Any) -> Tensor:
    return placeholder(
        found.dtype.base_dtype, found.get_shape(), name=f"placeholder/{found.op.name}"
    )


@api_guard.guarded
def assign_from_checkpoint(
    model_path: Any, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Operation, Feeds]:
    """An operation that assigns a checkpoint's values to variables, and what to feed to it.

    Args:
        model_path: prefix of a checkpoint.
        var_list: a list of variables; or a dictionary from names in the checkpoint to a variable
            or, for a partitioned one, to the list of its parts.
        ignore_missing_vars: whether variables that the checkpoint lacks are left alone, with a
            warning.

    Raises:
        ValueError: the checkpoint lacks a variable, or its shape is another.
    """
    reader = NewCheckpointReader(model_path)
    feeds: Feeds = {}
    done = []
    for name, members in _by_name(var_list).items():
        if not reader.has_tensor(name):
            words = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(f"{words}: {model_path}")
            logging.warning(words)
            continue
        stored = reader.get_tensor(name)
        for found in members:
            fed = _placeholder_for(found)
            done.append(found.assign(fed))
            feeds[fed] = _value_for(found, name, stored)
    return group(*done), feeds


def _by_name(var_list: Any) -> dict[str, list[Any]]:
    if isinstance(var_list, Mapping):
        return {
            name: list(given) if isinstance(given, (list, tuple)) else [given]
            for name, given in var_list.items()
        }
    found: dict[str, list[Any]] = {}
    for given in var_list:
        found.setdefault(get_variable_full_name(given), []).append(given)
    return found


def _value_for(found: Any, name: str, stored: Any) -> Any:
    part = found._save_slice_info
    if part:
        bounds = zip(part.var_offset, part.var_shape, strict=True)
        return stored[tuple(slice(start, start + size) for start, size in bounds)]
    shape = tuple(found.get_shape().as_list())
    if shape != tuple(stored.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} "
            f"lh_shape: [{stored.shape}], rh_shape: [{shape}]"
        )
    return stored


@api_guard.guarded
def assign_from_checkpoint_fn(
    model_path: Any,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """A function of a session that restores variables from a checkpoint; None: none of them.

    Args:
        model_path: prefix of a checkpoint.
        var_list: a list of variables, or a dictionary of them by their names in the checkpoint.
        ignore_missing_vars: whether variables that the checkpoint lacks are left alone, with a
            warning.
        reshape_variables: whether a value of another shape with as many elements is reshaped.

    Raises:
        ValueError: var_list is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    restored: Any = var_list
    if ignore_missing_vars:
        reader = NewCheckpointReader(model_path)
        named = var_list if isinstance(var_list, Mapping) else {v.op.name: v for v in var_list}
        restored = {name: v for name, v in named.items() if reader.has_tensor(name)}
        for name in named:
            if name not in restored:
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
    if not restored:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(restored, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
