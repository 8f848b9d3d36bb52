"""Runs with operations that wait for other runs, such as a queue's.

An engine holds the state's lock while it runs, so such a run has parts: the engine computes what
the first operations that wait need, they wait together without a lock, and so on; the last part is
the rest. An If whose branches wait is run here, too: its branch is a run with parts.

Before a part waits, the checks of the rest (Assert, CheckNumerics) that need nothing of it are
computed: a run that fails anyway must not wait for an element that may never come.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio.engine.interface import NodeTime
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.variable_reads import is_plain
from graphio.model.export import SignatureSpec, reach
from graphio.model.node_writer import Liveness
from graphio.model.run_reads import fed_reads
from graphio.ops.base.waiting import (
    Attempt,
    Function,
    Steps,
    WaitingFunction,
    resources_of,
    waiting_function,
)
from graphio.schema.operators import is_pure
from graphio.support import errors

__all__ = ["WaitingSignature", "waits"]

Array = np.ndarray[Any, Any]
Load = Callable[[SignatureSpec], Any]
_LAST = 1 << 30  # the number of the last part
#: operators that have an effect in a run that fails alone
_CHECKS = ("Assert", "CheckNumerics")


def waits(graph: Graph, operations: Iterable[Operation]) -> bool:
    """Whether one of a run's operations waits, itself or in a branch."""
    functions = graph.root.host_functions.values()
    return any(isinstance(function, WaitingFunction) for function in functions) and any(
        map(_waits, operations)
    )


def _waits(operation: Operation) -> bool:
    if operation.op != "If":
        return waiting_function(operation) is not None
    return any(_waits(inner) for body in operation.bodies() for inner in body.operations)


def _is_repeatable(operation: Operation) -> bool:
    """Whether each part of a run may compute it again."""
    source = operation.operands[0] if operation.op == "Identity" else None
    return (
        operation.op in ("Constant", "Placeholder", "Variable")
        or is_plain(operation)
        or (source is not None and source.op.op == "Variable")  # `v/read`
    )


def _may_run_again(operation: Operation) -> bool:
    """Whether nothing changes where an operation is computed once more than the run needs."""
    kind = operation.domain, operation.op, operation.version
    inner = (op for body in operation.bodies() for op in body.operations)
    return (operation.op in _CHECKS or is_pure(*kind)) and all(map(_may_run_again, inner))


@dataclass
class _Part:
    """One part of a run.

    Attributes:
        calls: the operations that wait, at the end of the part.
        spec: what the engine computes before; None: nothing.
        found: the tensors that it gives.
        signature: of the engine, once it is loaded.
        checks: what the engine computes before the calls wait; None: nothing.
    """

    calls: list[Operation]
    spec: SignatureSpec | None = None
    found: list[Tensor] = field(default_factory=list)
    signature: Any = None
    checks: _Part | None = None


@dataclass
class _Watch:
    """How a run is observed; see Signature.run_watched."""

    times: list[NodeTime] | None = None
    deadline: float | None = None
    visit: Any = None

    def options(self) -> tuple[Any, ...] | None:
        """The arguments of the engine's run_watched; None: it is not observed."""
        if self.visit is not None:
            return self.times, self.deadline, self.visit
        if self.times is None and self.deadline is None:
            return None
        return self.times, self.deadline


class _Program:
    """The parts of a run, or of a branch.

    Args:
        owner: of the run.
        spec: of the run; its inputs are known at the start.
    """

    def __init__(self, owner: WaitingSignature, spec: SignatureSpec) -> None:
        self._owner = owner
        self._outputs = [tensor for _, tensor in spec.outputs]
        given = [tensor for _, tensor in spec.inputs]
        self._constants: dict[Tensor, Any] = {}
        order = _Order(owner.graph, spec)
        self.parts = [_Part(calls) for calls in order.calls()]
        known = dict.fromkeys(given)
        done: set[Operation] = set()
        for number, part in enumerate(self.parts):
            outputs, targets = order.needs(number, known)
            if outputs or targets:
                keyed = [(str(i), tensor) for i, tensor in enumerate(outputs)]
                self._fill(part, SignatureSpec(
                    "", (), keyed, targets, as_computed={key for key, _ in keyed}, done=set(done),
                    body=spec.body,
                ), known)  # fmt: skip
            # later parts read variables again: an input would replace all reads of one
            known.update(dict.fromkeys(t for t in outputs if not _is_repeatable(t.op)))
            done.update(order.at(number))
            checks = order.checks(number)
            if checks:
                part.checks = _Part([])
                self._fill(part.checks, SignatureSpec(
                    "", (), [], checks, done=set(done), body=spec.body
                ), known)  # fmt: skip
            done.update(part.calls)
            known.update(dict.fromkeys(t for op in part.calls for t in op.outputs))
        outputs_left = [(key, t) for key, t in spec.outputs if t not in known]
        targets_left = [op for op in spec.targets if op not in done]
        if outputs_left or targets_left:
            last = _Part([])
            self._fill(last, SignatureSpec(
                "", (), outputs_left, targets_left, as_computed=spec.as_computed, done=done,
                body=spec.body,
            ), known)  # fmt: skip
            self.parts.append(last)

    def _fill(self, part: _Part, spec: SignatureSpec, known: Collection[Tensor]) -> None:
        roots: list[Any] = [*(tensor for _, tensor in spec.outputs), *spec.targets]
        renamed = fed_reads(self._owner.graph, known)
        _, read = reach(roots, set(known), renamed, done=spec.done)
        spec.inputs = [(f"in{i}", tensor) for i, tensor in enumerate(known) if tensor in read]
        part.spec, part.found = spec, [tensor for _, tensor in spec.outputs]

    def steps(self, values: dict[Tensor, Any], watch: _Watch) -> Steps[list[Any]]:
        """Runs it.

        Args:
            values: of its inputs; gets those of other tensors.
            watch: how it is observed.

        Returns:
            The outputs.
        """
        for part in self.parts:
            if part.spec is not None:
                values.update(zip(part.found, self._compute(part, values, watch), strict=True))
            if part.calls:
                yield from self._waited(part, values, watch)
        return [values[tensor] for tensor in self._outputs]

    def _waited(
        self, part: _Part, values: dict[Tensor, Any], watch: _Watch
    ) -> Generator[Collection[Attempt], None, None]:
        """Runs the calls of a part, and its checks before the first wait."""
        calls = [self._call(op, values, watch) for op in part.calls]
        with contextlib.closing(_together(calls)) as steps:
            for count, attempts in enumerate(steps):
                if count == 0 and part.checks is not None:
                    self._compute(part.checks, values, _Watch(deadline=watch.deadline))
                yield attempts

    def _compute(self, part: _Part, values: Mapping[Tensor, Any], watch: _Watch) -> list[Any]:
        assert part.spec is not None
        self._owner.check_open()
        if part.signature is None:
            part.signature = self._owner.load(part.spec)
        inputs = [values[tensor] for _, tensor in part.spec.inputs]
        options = watch.options()
        found: list[Any] = (
            part.signature.run(inputs)
            if options is None
            else part.signature.run_watched(inputs, *options)
        )
        return found

    def _call(
        self, operation: Operation, values: dict[Tensor, Any], watch: _Watch
    ) -> Steps[list[Any]]:
        """Runs an operation that waits, and notes what it gives."""
        if operation.op == "If":
            results = yield from self._branch(operation, values, watch)
        else:
            inputs = [self._value(tensor, values) for tensor in operation.operands]
            try:
                steps = self._owner.function(operation)(inputs)
                results = steps if isinstance(steps, list) else (yield from steps)
            except errors.OpError as error:
                if error.node_name:
                    raise
                raise _failed(error, operation) from error.__cause__
        for tensor, value in zip(operation.outputs, results, strict=False):
            values.setdefault(tensor, _plain(value, tensor))
        return results

    def _value(self, tensor: Any, values: Mapping[Tensor, Any]) -> Any:
        if tensor in values:
            return values[tensor]
        if tensor not in self._constants:
            self._constants[tensor] = _plain(tensor.op.attrs["value"], tensor)
        return self._constants[tensor]

    def _branch(
        self, operation: Operation, values: Mapping[Tensor, Any], watch: _Watch
    ) -> Steps[list[Any]]:
        pred = bool(np.asarray(self._value(operation.operands[0], values)))
        body: Graph = operation.attrs["then_branch" if pred else "else_branch"]
        program, captures = self._owner.branch(body)
        given = {tensor: self._value(tensor, values) for tensor in captures}
        return (yield from program.steps(given, watch))


class _Order:
    """Which part of a run each operation is in.

    An operation that waits is in the first part after those that it needs; another one is in the
    first part where an operation that waits needs it, or in the last one.
    """

    def __init__(self, graph: Graph, spec: SignatureSpec) -> None:
        self._spec = spec
        self._fed = {tensor for _, tensor in spec.inputs}
        renamed = fed_reads(graph, self._fed)
        self._live = Liveness(renamed)
        found = self._reached(renamed)
        self._operations = sorted(found, key=lambda op: op.order)
        self._is_call = {op for op in found if _waits(op)}
        self._sources = {op: self._before(op, found) for op in self._operations}
        self._depth = dict.fromkeys(self._operations, 0)
        self._settle(self._operations, self._deepen)
        self._part = dict.fromkeys(self._operations, _LAST)
        self._settle(self._operations[::-1], self._hasten)

    def _reached(self, renamed: Mapping[Tensor, Tensor]) -> set[Operation]:
        """The operations of the run; of an If that waits everything that it reads."""
        roots: list[Any] = [*(tensor for _, tensor in self._spec.outputs), *self._spec.targets]
        roots = [r for r in roots if r not in self._fed]
        branches: set[Operation] = set()
        while True:
            found, _ = reach([*roots, *branches], self._fed, renamed)
            more = {op for op in found if op.op == "If" and _waits(op)} - branches
            if not more:
                return found
            branches |= more

    def _before(self, operation: Operation, found: Collection[Operation]) -> list[Operation]:
        read = [t.op for t in self._live.sources(operation) if t not in self._fed]
        return [op for op in dict.fromkeys([*read, *operation.awaited]) if op in found]

    def _settle(self, operations: Sequence[Operation], step: Callable[[Operation], bool]) -> None:
        """Steps through operations until nothing changes: once more, where control inputs were
        added to operations later."""
        changed = True
        while changed:
            changed = bool(sum(step(operation) for operation in operations))

    def _deepen(self, operation: Operation) -> bool:
        before = self._depth[operation]
        for source in self._sources[operation]:
            least = self._depth[source] + (source in self._is_call)
            self._depth[operation] = max(self._depth[operation], least)
        return self._depth[operation] != before

    def _hasten(self, operation: Operation) -> bool:
        if operation in self._is_call:
            self._part[operation] = self._depth[operation]
        changed = False
        for source in self._sources[operation]:
            if self._part[operation] < self._part[source]:
                self._part[source] = self._part[operation]
                changed = True
        return changed

    def calls(self) -> list[list[Operation]]:
        """The operations that wait, for each part."""
        most = max((self._depth[op] for op in self._is_call), default=-1)
        found: list[list[Operation]] = [[] for _ in range(most + 1)]
        for operation in self._operations:
            if operation in self._is_call:
                found[self._depth[operation]].append(operation)
        return found

    def at(self, number: int) -> list[Operation]:
        """The operations of a part that are not to run again."""
        return [
            op for op in self._operations if self._part[op] == number and not _is_repeatable(op)
        ]

    def checks(self, number: int) -> list[Operation]:
        """The checks after a part that need nothing of its calls or of an effect after it."""
        ready: set[Operation] = set()
        for op in self._operations:
            if op in self._is_call:
                is_ready = self._depth[op] < number
            elif _is_repeatable(op) or self._part[op] <= number:
                is_ready = True
            else:
                is_ready = _may_run_again(op) and ready.issuperset(self._sources[op])
            if is_ready:
                ready.add(op)
        return [
            op
            for op in self._operations
            if op.op in _CHECKS and self._part[op] > number and op in ready
        ]

    def needs(self, number: int, known: Collection[Tensor]) -> tuple[list[Tensor], list[Operation]]:
        """The tensors that a part of the engine gives, and the operations that it runs besides."""
        calls = [op for op in self._is_call if self._depth[op] == number]
        here = {op for op in self.at(number) if op not in self._is_call}
        outputs = dict.fromkeys(
            tensor
            for op in self._operations
            for tensor in self._live.sources(op)
            if op in calls and tensor not in known and tensor.op.op != "Constant"
        )
        if here:
            later = [op for op in self._operations if self._part[op] > number]
            outputs.update(
                dict.fromkeys(t for op in later for t in self._live.sources(op) if t.op in here)
            )
            outputs.update(dict.fromkeys(t for _, t in self._spec.outputs if t.op in here))
        targets = dict.fromkeys(op for call in calls for op in call.awaited if op in here)
        targets.update(dict.fromkeys(op for op in self._spec.targets if op in here))
        return list(outputs), list(targets)


class WaitingSignature:
    """The signature of a run in parts, as an engine's.

    Args:
        session: of the run.
        graph: a root graph.
        spec: of the run.
        load: gives an engine's signature of a part.
    """

    def __init__(self, session: Any, graph: Graph, spec: SignatureSpec, load: Load) -> None:
        self.graph = graph
        self.load = load
        self._session = session
        self._resources = resources_of(session)
        self._functions: dict[Operation, Function] = {}
        self._branches: dict[Graph, tuple[_Program, list[Tensor]]] = {}
        self._spec = spec
        self._inputs = [tensor for _, tensor in spec.inputs]
        self._program = _Program(self, spec)
        self.run_checked = self.run

    def function(self, operation: Operation) -> Function:
        """The function of an operation that waits, for the session."""
        if operation not in self._functions:
            bind = waiting_function(operation)
            assert bind is not None
            self._functions[operation] = bind(self._session)
        return self._functions[operation]

    def branch(self, body: Graph) -> tuple[_Program, list[Tensor]]:
        """A branch as a program, and the tensors of outside that it reads."""
        if body not in self._branches:
            captures = Liveness().captures(body)
            spec = SignatureSpec(
                "",
                [(str(i), tensor) for i, tensor in enumerate(captures)],
                [(str(i), tensor) for i, tensor in enumerate(body.outputs)],
                body.targets,
                as_computed={str(i) for i in range(len(body.outputs))},
                body=body,
            )
            self._branches[body] = _Program(self, spec), captures
        return self._branches[body]

    def check_open(self) -> None:
        """Raises CancelledError: the session was closed."""
        if self._session.closed:
            raise errors.CancelledError(message="Session was closed.")

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """As an engine's."""
        return self._run(inputs, _Watch())

    def run_watched(
        self,
        inputs: Sequence[Any],
        times: list[NodeTime] | None,
        deadline: float | None,
        visit: Any = None,
    ) -> list[Any]:
        """As an engine's; times has none of the operations that wait."""
        return self._run(inputs, _Watch(times, deadline, visit))

    def stepping(self, inputs: Sequence[Any]) -> Any:
        """As an engine's: one run, in which nothing can wait."""
        return self.load(self._spec).stepping(inputs)

    def _run(self, inputs: Sequence[Any], watch: _Watch) -> list[Any]:
        values = dict(zip(self._inputs, inputs, strict=True))
        steps = self._program.steps(values, watch)
        try:
            try:
                attempts = next(steps)
            except StopIteration as ended:
                found: list[Any] = ended.value
                return found
            return self._wait(steps, attempts, watch.deadline)
        finally:
            steps.close()

    def _wait(
        self, steps: Steps[list[Any]], attempts: Collection[Attempt], deadline: float | None
    ) -> list[Any]:
        """Goes on whenever an attempt is done."""
        woken = threading.Event()
        self._resources.enter(woken.set)
        try:
            while True:
                for attempt in attempts:
                    attempt.notify = woken.set
                if not any(attempt.done for attempt in attempts):
                    left = None if deadline is None else deadline - time.monotonic()
                    if self._resources.closed:
                        for attempt in attempts:
                            attempt.cancel()
                    elif not woken.wait(left):
                        raise errors.DeadlineExceededError(
                            message="Timed out waiting for notification"
                        )
                woken.clear()
                if any(attempt.done for attempt in attempts):
                    attempts = next(steps)
        except StopIteration as ended:
            found: list[Any] = ended.value
            return found
        finally:
            self._resources.leave(woken.set)


def _together(calls: Sequence[Steps[list[Any]]]) -> Generator[Collection[Attempt], None, None]:
    """Runs the steps of several calls side by side. The first error ends the others."""
    waiting: dict[Any, Collection[Attempt]] = {}
    try:
        for call in calls:
            waiting[call] = ()
        while waiting:
            for call, attempts in list(waiting.items()):
                if attempts and not any(attempt.done for attempt in attempts):
                    continue
                try:
                    waiting[call] = next(call)
                except StopIteration:
                    del waiting[call]
            if waiting and not any(a.done for attempts in waiting.values() for a in attempts):
                yield [attempt for attempts in waiting.values() for attempt in attempts]
    finally:
        for call in waiting:
            call.close()


def _failed(error: errors.OpError, operation: Operation) -> errors.OpError:
    """The error of an operation that waits, in TensorFlow's words."""
    made = errors.from_code(
        error.error_code,
        f"{error.message}\n\t [[{{{{node {operation.name}}}}}]]",
        operation.name,
    )
    return made


def _plain(value: Any, tensor: Tensor) -> Any:
    """A value as an engine takes it."""
    if isinstance(value, list):
        return value
    dtype = np.dtype(tensor.dtype.as_numpy_dtype)
    return np.require(value, dtype, ("C", "A"))
