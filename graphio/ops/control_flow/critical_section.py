"""CriticalSection: functions of which one at a time runs.

A run has its state for itself, and its nodes take effect in their order, so the operations of a
function that waits for nothing are never interleaved with others: the section adds control
dependencies, and refuses what would wait.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from graphio.framework import api_boundary, nest, scopes
from graphio.framework.graph import Operation, Tensor
from graphio.framework.graph_state.attachments import VARIABLES
from graphio.framework.modes import init_scope
from graphio.ops.array import surface as array
from graphio.ops.base.waiting import waiting_function
from graphio.ops.control_flow.branches import group
from graphio.ops.control_flow.tensor_array import TensorArray
from graphio.support import errors

__all__ = ["CriticalSection"]

_SECTIONS = "critical_sections"
_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """A member of the collection of executions.

    Attributes:
        op: that takes the lock.
        section: the name by which sections are the same.
        resources: names of the variables with use_resource that the function uses.
        exclusive_resource_access: as given.
    """

    op: Operation
    section: str
    resources: frozenset[str]
    exclusive_resource_access: bool


class _Open(threading.local):
    """The sections whose functions a thread is calling."""

    names: tuple[str, ...] = ()


_open = _Open()


class CriticalSection:
    """Executes functions so that no other execution of the section is interleaved with one.

    Args:
        name: of the section's operation; None: "CriticalSection".
        shared_name: sections of one name are one; None: it is separate.
        critical_section_def, import_scope: None; sections have no message.

    Raises:
        NotImplementedError: critical_section_def is given.

    Example:
        >>> section, count = tf.CriticalSection(), tf.Variable(0.0, use_resource=True)
        >>> def before_adding():
        ...     value = count.read_value()
        ...     with tf.control_dependencies([value]):
        ...         with tf.control_dependencies([count.assign_add(2.0)]):
        ...             return tf.identity(value)
        >>> values = [section.execute(before_adding) for _ in range(3)]
        >>> with tf.Session() as session:
        ...     session.run(count.initializer)
        ...     print(*session.run(values))
        0.0 2.0 4.0
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        name: str | None = None,
        shared_name: str | None = None,
        critical_section_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        if critical_section_def is not None:
            raise NotImplementedError("critical_section_def: sections have no message; build them")
        with scopes.operation_scope(name, "CriticalSection") as scope, init_scope():
            self._handle = _plain_operation("MutexV2", scope)
        self._key = self._handle.name if shared_name is None else shared_name
        self._handle.graph.add_to_collection(_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the section's operation."""
        return self._handle.name

    @api_boundary.rolling_back
    def execute(
        self,
        fn: Callable[[], Any],
        exclusive_resource_access: bool = True,
        name: str | None = None,
    ) -> Any:
        """The results of a function, computed inside of the section.

        Args:
            fn: takes nothing; gives a tensor, operation or TensorArray, or a nested structure.
            exclusive_resource_access: whether no other section may use the function's variables
                (those with use_resource).
            name: name scope of the operations.

        Raises:
            ValueError: fn executes the section, or another section uses one of its variables and
                one of both is to do so alone.
            UnimplementedError: an operation of fn waits for other runs, such as a queue's.
        """
        with scopes.name_scope(name, "critical_section_execute"):
            lock = _plain_operation("MutexLock")
            operations = scopes.get_default_graph().operations
            before = len(operations)
            with scopes.control_dependencies([lock]), self._entered():
                results = fn()
            made = list(_with_inner(operations[before:]))
            _refuse_waiting(made)
            execution = _Execution(
                lock, self._key, frozenset(_resources(made)), exclusive_resource_access
            )
            self._check(execution)
            flat = [_identity(value) for value in nest.flatten(results)]
            with scopes.control_dependencies([_waitable(value) for value in flat]):
                released = _plain_operation("ConsumeMutexLock")
            with scopes.control_dependencies([released]):
                outputs = nest.pack_sequence_as(results, [_identity(value) for value in flat])
        lock.graph.add_to_collection(_EXECUTIONS, execution)
        return outputs

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        before = _open.names
        if self._key in before:
            raise ValueError(
                f"Attempting to lock a CriticalSection ({self.name}) in which we are: fn executes "
                "the section that it is in, and would wait for itself"
            )
        _open.names = (*before, self._key)
        try:
            yield
        finally:
            _open.names = before

    def _check(self, one: _Execution) -> None:
        """Refuses variables of another section."""
        others: Sequence[_Execution] = one.op.graph.get_collection(_EXECUTIONS)
        for other in others:
            shared = one.resources & other.resources
            alone = one.exclusive_resource_access or other.exclusive_resource_access
            if other.section != self._key and alone and shared:
                raise ValueError(
                    f"This execution would access resources: {sorted(shared)}.  Either this lock "
                    f"(CriticalSection: {self.name}) or lock '{other.op.name}' (CriticalSection: "
                    f"{other.section}) requested exclusive resource access of this resource.  Did "
                    "you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )


def _plain_operation(tf_type: str, name: str | None = None) -> Operation:
    return scopes.get_default_graph().add_operation(
        "NoOp", [], [], domain="graphio", name=name or tf_type, tf_type=tf_type
    )


def _with_inner(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The operations and those of their bodies."""
    for operation in operations:
        yield operation
        for body in operation.bodies():
            yield from _with_inner(body.operations)


def _refuse_waiting(operations: Sequence[Operation]) -> None:
    for operation in operations:
        if waiting_function(operation) is not None:
            raise errors.UnimplementedError(
                message=f"CriticalSection.execute: '{operation.name}' waits for other runs, and "
                "while it waits these would be inside of the section, too; call it before, and use "
                "its result in fn"
            )


def _resources(operations: Sequence[Operation]) -> Iterator[str]:
    """The variables with use_resource that operations use, by name."""
    for operation in operations:
        variables = VARIABLES.of(operation.graph)
        read = [tensor.op for tensor in operation.operands if tensor is not None]
        for found in (
            operation,
            *read,
            *[t.op for op in read for t in op.operands[:1] if t is not None],
        ):
            name = found.attrs.get("variable")
            if name in variables and variables[name].use_resource:
                yield name


def _identity(value: Any) -> Any:
    if isinstance(value, TensorArray):
        return value.identity()
    return group(value) if isinstance(value, Operation) else array.identity(value)


def _waitable(value: Any) -> Operation | Tensor:
    return value.flow if isinstance(value, TensorArray) else value
