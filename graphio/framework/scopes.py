"""Scopes of new operations: default graph, name scope, control dependencies, device.

The default graph is one a thread; everything else belongs to a graph.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graphio.framework import registered, source, tracebacks
from graphio.framework.composite import Composite
from graphio.framework.graph_state import rollback
from graphio.framework.tensor import Tensor
from graphio.support import api_guard

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "colocate_with",
    "control_dependencies",
    "device",
    "get_default_graph",
    "in_graph_of_inputs",
    "name_scope",
    "reset_default_graph",
]


class _Stack(threading.local):
    """Graphs entered by as_default in this thread, and the one beneath them all."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self.root: Graph | None = None


_stack = _Stack()


@api_guard.unguarded
def get_default_graph() -> Graph:
    """The graph that new operations go to in this thread."""
    return _stack.graphs[-1] if _stack.graphs else _graph_beneath()


def _graph_beneath() -> Graph:
    """The thread's default graph outside of all contexts."""
    if _stack.root is None:
        _stack.root = registered.new_graph()
    return _stack.root


@api_guard.unguarded
def reset_default_graph() -> None:
    """Puts an empty graph in the place of the default graph.

    Raises:
        AssertionError: inside a `with graph.as_default()`.
    """
    if _stack.graphs:
        raise AssertionError("Do not use reset_default_graph() to clear nested graphs.")
    _stack.root = None


def graph_outside_of_functions() -> Graph:
    """The root graph of the innermost default graph that builds no function of a dataset."""
    for graph in reversed(_stack.graphs):
        if not graph.building_function:
            return graph.root
    return _graph_beneath()


class graph_as_default(contextlib.ContextDecorator):
    """A context in which a graph is the default one; see Graph.as_default."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __enter__(self) -> Graph:
        _stack.graphs.append(self._graph)
        return self._graph

    def __exit__(self, *details: object) -> None:
        if not _stack.graphs or _stack.graphs[-1] is not self._graph:
            raise AssertionError("Nesting violated for the stack of default graphs")
        _stack.graphs.pop()


def in_graph_of_inputs(function: Callable[P, R]) -> Callable[P, R]:
    """The function, for which the graph of its tensors is the default one, as it is in TensorFlow,
    where all that it is given are of one other graph, and not of a branch or loop there. A function
    of a dataset captures what is of the graph around it."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        other = _other_graph((*arguments, *options.values()))
        try:
            if other is None:
                return function(*arguments, **options)
            with other.as_default():
                return function(*arguments, **options)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    return call


def _other_graph(values: Iterable[Any]) -> Graph | None:
    here, found = get_default_graph().root, None
    for value in values:
        for part in value if isinstance(value, (list, tuple)) else (value,):
            if not isinstance(part, Composite) and not Tensor.is_like(part):
                continue
            graph: Graph = part.graph
            if graph.root is here or graph.outer is not None or graph.rolled_back:
                return None
            if found is not None and found is not graph:
                return None
            found = graph
    return None if found is None or _is_around(found, here) else found


def graph_of(values: Iterable[Any]) -> Graph | None:
    """The graph of values where it is another than the default one; None: what they are read in is
    the default graph, or they have no graph.

    Raises:
        ValueError: they are of several graphs.
    """
    here, first = get_default_graph().root, None
    for value in values:
        graph = getattr(value, "graph", None)
        if graph is None or _is_around(graph.root, here):
            continue
        if first is not None and graph.root is not first[1].root:
            raise ValueError(f"{value!r} must be from the same graph as {first[0]!r}.")
        first = first or (value, graph)
    return None if first is None or first[1].root is here else first[1].root


def _is_around(graph: Graph, function: Graph) -> bool:
    """Whether a graph is one around that of a dataset's function."""
    around = function.access.around
    while around is not None and around is not graph:
        around = around.access.around
    return around is not None


class name_scope:
    """A context in which names of new operations begin with the scope's.

    Args:
        name: of the scope; None with a default_name: that; None without one, or "": the root; a
            name that ends in "/" re-enters that very scope.
        default_name: taken when name is None.
        values: what the operations in the scope are to read; if it is of another graph than the
            default one, that graph is the default one in the context.

    The context's value is the full scope with a "/" at its end ("" for the root).

    Raises:
        ValueError: the name is malformed; values are given, but no name; they are of several
            graphs.
        TypeError: a name is not a string.
    """

    def __init__(
        self, name: str | bytes | None, default_name: str | None = None, values: Any = None
    ) -> None:
        if isinstance(name, bytes):
            name = name.decode()
        if name is not None and not isinstance(name, str):
            raise TypeError(f"a name scope's name is {type(name).__name__}, expected str or None")
        if default_name is not None and not isinstance(default_name, str):
            raise TypeError(
                f"a name scope's default_name is {type(default_name).__name__}, expected str or "
                "None; give tensors as values"
            )
        self._name = default_name if name is None else name
        self._values = values
        self._open: list[tuple[Graph, str, contextlib.AbstractContextManager[Graph] | None]] = []

    @property
    def name(self) -> str | None:
        """The name as given."""
        return self._name

    def __enter__(self) -> str:
        graph = get_default_graph()
        if self._values is not None:
            if self._name is None:
                raise ValueError(
                    "a name scope with values has no name; give name or default_name, or leave "
                    "values out to go back to the root"
                )
            graph = graph_of(self._values) or graph
        before, scope = graph.enter_scope(self._name)
        other = None if self._values is None or graph is get_default_graph() else graph.as_default()
        if other is not None:
            other.__enter__()
        self._open.append((graph, before, other))
        return scope

    def __exit__(self, *details: Any) -> bool | None:
        graph, before, other = self._open.pop()
        if other is not None:
            other.__exit__(*details)
        graph.leave_scope(before)
        return None


class operation_scope(name_scope):
    """The name scope of one builder's operations; its errors name the user's line and leave no
    operation in the graph."""

    def __enter__(self) -> str:
        self._graph = get_default_graph()
        self._graph.root.building.acquire()
        try:
            self._before = rollback.mark(self._graph)
            return super().__enter__()
        except BaseException:
            self._graph.root.building.release()
            raise

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool | None:
        try:
            if error is not None:
                source.locate(error)
                rollback.roll_back(self._graph, self._before)
            return super().__exit__(kind, error, traceback)
        finally:
            self._graph.root.building.release()


@api_guard.unguarded
def control_dependencies(control_inputs: Any) -> contextlib.AbstractContextManager[None]:
    """A context whose new operations run after the given ones; None forgets those outside.

    Args:
        control_inputs: list of operations, tensors, variables or IndexedSlices; or None.
    """
    return get_default_graph().control_dependencies(control_inputs)


@api_guard.unguarded
def device(
    device_name_or_function: str | Callable[..., Any] | None,
) -> contextlib.AbstractContextManager[None]:
    """A context whose new operations request a device.

    Scopes merge: an inner one's words count, an outer one adds what it leaves open.

    Args:
        device_name_or_function: a name such as "/cpu:1", "/job:ps/task:0" or "/device:GPU:0"; a
            DeviceSpec; a function of an operation that gives one of these; None: no wish, whatever
            the scopes around.

    Raises:
        ValueError: entering a name that does not name a device.
    """
    return get_default_graph().device(device_name_or_function)


@api_guard.unguarded
def colocate_with(
    op: Any, ignore_existing: bool = False
) -> contextlib.AbstractContextManager[None]:
    """A context whose new operations request an operation's device, whatever the scopes around.

    Args:
        op: an operation, tensor or variable; None with ignore_existing: no wish.
        ignore_existing: False: also those of the contexts around (`colocation_groups`).
    """
    return get_default_graph().colocate_with(op, ignore_existing)


registered.in_graph_of_inputs.register(in_graph_of_inputs)
