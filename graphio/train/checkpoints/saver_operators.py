"""The operators of a Saver, for programs that run them by the names in its saver_def."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import constants, dtypes, scopes
from graphio.framework.graph import Graph
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import reshaping
from graphio.ops.base.host import host_call
from graphio.ops.control_flow import branches
from graphio.schema.checkpoint import write_checkpoint
from graphio.schema.restore import find_problems
from graphio.train.checkpoints import slices
from graphio.train.checkpoints.saving import slots_of
from graphio.train.interop.sources import open_source
from graphio.variables.variables import Variable

__all__ = ["Operators", "add"]

Array = np.ndarray[Any, Any]


class Operators(NamedTuple):
    """Names in the graph.

    Attributes:
        filename: of the tensor that is fed with the prefix.
        save: of the tensor that saves when it is fetched; its value is the prefix.
        restore: of the operation that restores.
    """

    filename: str
    save: str
    restore: str


def add(
    graph: Graph, variables: Mapping[str, Variable], scope: str, filename: Any = "model"
) -> Operators:
    """Adds the operators for variables by their names in the checkpoint.

    filename is the prefix that they use when none is fed: text or a string tensor.

    What they save and restore are the variables alone, and a save keeps no list of checkpoints:
    as TensorFlow's do, and Saver.save and restore do more.
    """
    with graph.root.as_default(), scopes.control_dependencies(None), scopes.name_scope(None):
        return _add(variables, scope, filename)


def _add(variables: Mapping[str, Variable], scope: str, prefix: Any) -> Operators:
    made = list(variables.values())
    kinds = [(v.dtype, v.shape) for v in made]
    with scopes.name_scope(scope):
        filename = constants.placeholder_with_default(prefix, [], name="Const")
        saved = host_call(
            lambda session: _saving(session, variables),
            [filename, *(v.read_value() for v in made)],
            [(dtypes.string, TensorShape([]))],
            function=f"{scope}/SaveV2", name="SaveV2", tf_type="SaveV2",
        )  # fmt: skip
        path = reshaping.identity(saved.outputs[0], name="control_dependency")
        found = host_call(
            lambda session: _restoring(variables), [filename], kinds,
            function=f"{scope}/RestoreV2", name="RestoreV2", tf_type="RestoreV2",
        )  # fmt: skip
        assigned = [
            v.assign(value, name="Assign").op for v, value in zip(made, found.outputs, strict=True)
        ]
        everything = branches.group(*assigned, name="restore_all")
    return Operators(filename.name, path.name, everything.name)


def _path(array: Array) -> str:
    return os.fsdecode(bytes(array[()]))


def _saving(session: Any, variables: Mapping[str, Variable]) -> Callable[..., Any]:
    def save(arrays: Sequence[Array]) -> list[Array]:
        values = slices.joined(variables, dict(zip(variables, arrays[1:], strict=True)))
        state = session.state.generators()
        write_checkpoint(_path(arrays[0]), values, state, slots=slots_of(variables))
        return [arrays[0]]

    return save


def _restoring(variables: Mapping[str, Variable]) -> Callable[..., Any]:
    def restore(arrays: Sequence[Array]) -> list[Array]:
        source = open_source(_path(arrays[0]))
        rows = source.entries()
        parts = slices.missing_parts(variables, rows)
        requested: dict[str, tuple[int, Sequence[int | None] | None]] = {
            key: (v.dtype.number, None if v.shape.ndims is None else v.shape.as_list())
            for key, v in variables.items()
            if key not in parts
        }
        requested |= {part.variable_name: (variables[key].dtype.number, part.shape)
                   for key, part in parts.items()}  # fmt: skip
        problems = find_problems(rows, requested)
        if problems:
            raise problems.error(rows)
        return [
            source.array(parts[key].variable_name)[parts[key].indices]
            if key in parts
            else source.array(key)
            for key in variables
        ]

    return restore
