"""Reading and assigning of variables, which come as handles."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS"]


def _read(c: Call) -> Any:
    """The node's position in the order: after assignments that its control inputs name."""
    return c.handle(0).variable.read_value()


def _gather(c: Call) -> Any:
    return tf.gather(c.handle(0).variable, c[1], batch_dims=c.integer("batch_dims", 0), name=c.name)


def _gather_nd(c: Call) -> Any:
    return tf.gather_nd(c.handle(0).variable.value(), c[1], name=c.name)


def _assign(method: str, is_resource: bool, c: Call) -> Any:
    made = getattr(c.handle(0).variable, method)(c[1])
    return made.op if is_resource else made


def _is_initialized(c: Call) -> Any:
    return tf.is_variable_initialized(c.handle(0).variable, name=c.name)


ROWS: dict[str, Row] = {
    "Assign": partial(_assign, "assign", False),
    "AssignAdd": partial(_assign, "assign_add", False),
    "AssignAddVariableOp": partial(_assign, "assign_add", True),
    "AssignSub": partial(_assign, "assign_sub", False),
    "AssignSubVariableOp": partial(_assign, "assign_sub", True),
    "AssignVariableOp": partial(_assign, "assign", True),
    "IsVariableInitialized": _is_initialized,
    "ReadVariableOp": _read,
    "ResourceGather": _gather,
    "ResourceGatherNd": _gather_nd,
    "VarIsInitializedOp": _is_initialized,
}
