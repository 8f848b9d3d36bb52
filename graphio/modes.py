"""Switches of TensorFlow's between its versions: graphio is always in the mode of version 1.

Those that ask for version 1 do nothing; those that ask for version 2 are refused.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from graphio import scopes

__all__ = [
    "VariableAggregation",
    "VariableSynchronization",
    "container",
    "control_flow_v2_enabled",
    "disable_control_flow_v2",
    "disable_eager_execution",
    "disable_resource_variables",
    "disable_tensor_equality",
    "disable_v2_behavior",
    "disable_v2_tensorshape",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "executing_eagerly",
    "init_scope",
    "op_scope",
    "resource_variables_enabled",
]


class VariableSynchronization(enum.Enum):
    """When copies of a variable are brought together; there is one copy."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How copies of a variable are brought together; there is one copy."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def disable_v2_behavior() -> None:
    """Nothing: version 1's behaviour is the only one."""


def disable_eager_execution() -> None:
    """Nothing: a graph is always built first."""


def disable_control_flow_v2() -> None:
    """Nothing: branches and loops are operations with bodies that behave as version 1's."""


def enable_control_flow_v2() -> None:
    """Nothing: branches and loops have bodies in any case."""


def control_flow_v2_enabled() -> bool:
    """False."""
    return False


def enable_resource_variables() -> None:
    """Nothing: reads and assignments never race."""


def disable_resource_variables() -> None:
    """Nothing: reads and assignments never race."""


def resource_variables_enabled() -> bool:
    """False."""
    return False


def disable_tensor_equality() -> None:
    """Nothing: tensors compare by identity."""


def disable_v2_tensorshape() -> None:
    """Nothing: sizes of a shape are Dimensions."""


def executing_eagerly() -> bool:
    """False: a graph is always built first."""
    return False


def enable_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None
) -> None:
    """Raises NotImplementedError: graphio builds graphs."""
    raise NotImplementedError(
        "graphio has no eager execution: build a graph and run it in a tf.Session"
    )


def enable_v2_behavior() -> None:
    """Raises NotImplementedError: graphio behaves as version 1."""
    raise NotImplementedError("graphio behaves as TensorFlow 1: remove enable_v2_behavior()")


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """A context outside of all branches, loops and control dependencies."""
    graph = scopes.get_default_graph()
    around = graph.get_name_scope()
    with (
        graph.root.as_default(),
        scopes.control_dependencies(None),
        scopes.name_scope(around + "/" if around else None),
    ):
        yield


@contextlib.contextmanager
def container(container_name: str) -> Iterator[str]:
    """Accepted: a session keeps its own state."""
    yield container_name


@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """name_scope in an older order of arguments."""
    with scopes.name_scope(name, default_name, values) as scope:
        yield scope
