"""Enumerations and scopes of TensorFlow 1 that mean little where one state and one graph do."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from graphio.framework import scopes
from graphio.support import api_guard

__all__ = [
    "VariableAggregation",
    "VariableSynchronization",
    "container",
    "init_scope",
    "op_scope",
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
    ONLY_FIRST_TOWER = ONLY_FIRST_REPLICA  # its older name


@api_guard.guarded
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """A context outside of all branches, loops, control dependencies and functions of datasets.

    Name scope and device scopes stay; where there is no device scope, those of the graph outside
    hold.
    """
    inside, graph = scopes.get_default_graph(), scopes.graph_outside_of_functions()
    around = inside.get_name_scope()
    with (
        graph.as_default(),
        graph.device_scopes_of(inside),
        scopes.control_dependencies(None),
        scopes.name_scope(around + "/" if around else None),
    ):
        yield


@api_guard.guarded
@contextlib.contextmanager
def container(container_name: str) -> Iterator[str]:
    """Accepted: a session keeps its own state."""
    yield container_name


@api_guard.guarded
@contextlib.contextmanager
def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """name_scope in an older order of arguments."""
    with scopes.name_scope(name, default_name, values) as scope:
        yield scope
