"""The contexts of a graph that are open in a thread: name scope, control dependencies, devices."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from graphio.framework import devices
from graphio.framework.graph_state.attachments import COLOCATION_GROUPS
from graphio.framework.graph_state.control import ControlGroup
from graphio.framework.operation import Operation

if TYPE_CHECKING:
    from graphio.framework.graph import Graph

__all__ = ["Contexts", "NameScope"]


class Contexts(threading.local):
    """The open contexts of one graph; each thread has others.

    Attributes:
        scope: the name scope, with a "/" at its end.
        control: the operations that new ones wait for, a group for each open context.
        waits: whether a control dependency is open, also on an operation outside of the graph.
        applying: TensorFlow's type of assignments while an optimizer makes them.
        devices: names and functions of the open device scopes.
        colocated: operations on whose device new ones are placed.
        creators: functions that make variables, the innermost scope's last.
    """

    scope = ""
    control: tuple[ControlGroup, ...] = ()
    waits = False
    applying: str | None = None
    devices: tuple[Any, ...] = ()
    colocated: tuple[Operation, ...] = ()
    creators: tuple[Callable[..., Any], ...] = ()

    @contextlib.contextmanager
    def continued_from(self, other: Contexts) -> Iterator[None]:
        """A context with the name scope, devices and colocation of another graph's contexts."""
        before = self.scope, self.devices, self.colocated
        self.scope, self.devices, self.colocated = other.scope, other.devices, other.colocated
        try:
            yield
        finally:
            self.scope, self.devices, self.colocated = before

    @contextlib.contextmanager
    def device(self, name: Any) -> Iterator[None]:
        """A context in which new operations are placed on a device; see graphio.device."""
        before = self.devices
        inside = self.devices = (*before, devices.checked_scope(name))
        try:
            yield
        finally:
            if self.devices is not inside:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            self.devices = before

    @contextlib.contextmanager
    def devices_of(self, other: Contexts) -> Iterator[None]:
        """A context with the device scopes of another graph's contexts, if any are open there."""
        before = self.devices
        self.devices = other.devices or before
        try:
            yield
        finally:
            self.devices = before

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool) -> Iterator[None]:
        """A context in which new operations are placed with another; see graphio.colocate_with."""
        if op is None and not ignore_existing:
            raise ValueError("op is None; only ignore_existing=True may go without an operation")
        if op is not None and not isinstance(getattr(op, "device", None), str):
            raise TypeError(
                f"op is {type(op).__name__}, expected an operation, a tensor or a variable"
            )
        before = self.devices, self.colocated
        added = () if op is None else (op if isinstance(op, Operation) else op.op,)
        kept = () if ignore_existing else self.colocated
        self.devices, self.colocated = (), (*kept, *added)
        try:
            yield
        finally:
            self.devices, self.colocated = before

    @contextlib.contextmanager
    def applied_as(self, tf_type: str) -> Iterator[None]:
        """A context whose new assignments are an optimizer's, of one of TensorFlow's types."""
        before = self.applying
        self.applying = tf_type
        try:
            yield
        finally:
            self.applying = before

    def assign_device(self, made: Operation) -> bool:
        """Gives a new operation the device of the open contexts.

        Returns:
            Whether a context requests a device for it.
        """
        requested = bool(self.devices) and bool(devices.merged(self.devices, made))
        if self.colocated:
            groups: set[bytes] = set()
            for operation in self.colocated:
                groups.update(operation.colocation_groups())
                made.device = operation.device or made.device
            COLOCATION_GROUPS.of(made.graph)[made] = sorted(groups)
            requested |= bool(made.device)
        return requested


class NameScope(contextlib.ContextDecorator, contextlib.AbstractContextManager[str]):
    """A context in which names of a graph begin with a scope's."""

    __slots__ = ("_before", "_graph", "_name")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph, self._name = graph, name

    def _recreate_cm(self) -> NameScope:
        return NameScope(self._graph, self._name)  # a decorated function may call itself

    def __enter__(self) -> str:
        self._before, scope = self._graph.enter_scope(self._name)
        return scope

    def __exit__(self, *details: object) -> None:
        self._graph.leave_scope(self._before)
