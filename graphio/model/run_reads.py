"""Reads of variables that a run makes at other points of the order than the graph says.

A graph's plain uses of a variable share `v/read`, the start of a run. Which of them belong
elsewhere depends on the run, so that the model has additional reads that the graph has not:

- A variable that is fetched is read after all assignments of the run; so are its aliases, which are
  `v.value()`, identities and indexed parts of it, but not with use_resource=True.
- The value of an explicit assignment is computed from the present: a use of a variable that was
  made after an assignment of it, and leads to an explicit assignment, reads at its own position.
- What is fed for `v` or `v/read` is fed for all reads that plain uses made.
"""

from __future__ import annotations

import bisect
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state.names import free_name
from graphio.framework.variable_reads import SNAPSHOT, is_plain
from graphio.model.node_writer import Liveness
from graphio.variables.variables import Variable, variables_of

__all__ = ["Reads", "Roots", "fed_reads"]

Names = Mapping[Tensor, Tensor]

#: types of operations whose result is a view of what they read
_VIEWS = ("Identity", "StridedSlice")
_CONTROL_FLOW = ("If", "Loop", "Scan")


# ---- feeding ----


def fed_reads(graph: Graph, fed: Iterable[Tensor]) -> dict[Tensor, Tensor]:
    """The tensors that replace reads made by plain uses, where their variable is fed."""
    variables = variables_of(graph)
    given: dict[str, Tensor] = {}
    for tensor in fed:
        variable = _fed_variable(variables, tensor)
        if variable is not None and given.get(variable.op.name) is not variable.snapshot:
            given[variable.op.name] = tensor
    if not given:
        return {}
    return {
        operation.outputs[0]: given[operation.attrs["variable"]]
        for operation in _all_operations(graph)
        if is_plain(operation) and operation.attrs["variable"] in given
    }


def _fed_variable(variables: Mapping[str, Variable], tensor: Tensor) -> Variable | None:
    """The variable for which a tensor is fed; None if it is neither its value nor `v/read`."""
    operation = tensor.op
    if operation.op == "Identity" and operation.operands[0] is not None:
        operation = operation.operands[0].op
    variable = variables.get(operation.name) if operation.op == "Variable" else None
    if variable is None or tensor not in (variable.op.outputs[0], variable.snapshot):
        return None
    return variable


def _all_operations(graph: Graph) -> Iterator[Operation]:
    pending = [graph]
    while pending:
        for operation in pending.pop().operations:
            yield operation
            pending += operation.bodies()


# ---- fetched variables ----


class _Shown(NamedTuple):
    """A fetched tensor as a view of a variable.

    Attributes:
        variable: whose value it is.
        views: the operations between its value and the tensor, the last one first.
        start: the operation that gives the value.
    """

    variable: Variable
    views: list[Operation]
    start: Operation

    def waits_for(self) -> list[Operation]:
        """The operations that must run before the tensor is there."""
        return [other for op in (*self.views, self.start) for other in op.awaited]

    def indices(self) -> list[Operation]:
        """The operations that give the other inputs of the views."""
        return [t.op for view in self.views for t in view.operands[1:] if t is not None]


def _shown(
    variables: Mapping[str, Variable], tensor: Tensor, fed: Container[Tensor]
) -> _Shown | None:
    """The view of a variable that a tensor is; None if it is not an alias of one, or is fed."""
    views: list[Operation] = []
    operation = tensor.op
    while operation.type in _VIEWS and operation.operands and operation.operands[0] is not None:
        if operation.operands[0] in fed:
            return None
        views.append(operation)
        operation = operation.operands[0].op
    if operation.op != "Variable" and not is_plain(operation):
        return None
    variable = variables.get(operation.attrs["variable"])
    if variable is None or variable.use_resource:
        return None
    if variable.graph is not operation.graph.root:
        return None  # a function of a dataset reads where it says
    return _Shown(variable, views, operation)


@dataclass
class Roots:
    """The operations and tensors from which a run searches for operations.

    Attributes:
        operations: those that it needs in any case; a tensor for one of which it needs that output.
        shown: the fetched tensors that show a variable, and what they show.
    """

    operations: list[Operation | Tensor]
    shown: dict[Tensor, _Shown]


class Reads:
    """The reads that a model has in addition to those of the graph.

    Args:
        graph: a root graph.
        fed: what fed_reads gives.

    Attributes:
        fed: tensors that are read in the place of others, everywhere.
        renamed: tensors that one operation of the root graph, and its bodies, read in the place of
            others.
    """

    def __init__(self, graph: Graph, fed: Names) -> None:
        self.fed = fed
        self.renamed: dict[Operation, dict[Tensor, Tensor]] = {}
        self._graph = graph
        self._variables = variables_of(graph)
        self._live = Liveness(fed)
        self._names: dict[str, Operation] = {}
        self._before: dict[Operation, list[Operation]] = {}
        self._last: list[Operation] = []
        self._ends: dict[Tensor | str, Tensor] = {}

    def roots(
        self,
        outputs: Iterable[Tensor],
        targets: Iterable[Operation | Tensor],
        fed: Container[Tensor],
    ) -> Roots:
        """The roots of a run.

        Args:
            outputs: the tensors that it gives and that are not fed.
            targets: the operations that it runs for their effect.
            fed: the tensors that are fed.
        """
        found = Roots([], {})
        for tensor in outputs:
            shown = _shown(self._variables, tensor, fed)
            if shown is None:
                found.operations.append(tensor)
            else:
                found.shown[tensor] = shown
                found.operations += [*shown.waits_for(), *shown.indices()]
        found.operations += targets
        return found

    def insert_reads(self, needed: Iterable[Operation], fed: Iterable[Tensor]) -> set[str]:
        """Inserts the reads of explicit assignments.

        Args:
            needed: the operations of a run.
            fed: the tensors that are fed.

        Returns:
            The variables that the run assigns and that are not fed.
        """
        operations = list(needed)
        assigners = _assigners(operations)
        for tensor in fed:
            variable = _fed_variable(self._variables, tensor)
            if variable is not None:
                assigners.pop(variable.op.name, None)
        if assigners:
            self._insert_reads(operations, assigners)
        return set(assigners)

    def end(self, tensor: Tensor, shown: _Shown) -> Tensor:
        """The read, after all assignments, that replaces a fetched tensor that shows a variable."""
        if tensor not in self._ends:
            name = shown.variable.op.name
            if name not in self._ends:
                self._ends[name] = self._new_read(shown.variable, self._last)
            made = self._ends[name]
            for view in reversed(shown.views):
                if view.op != "Identity":
                    made = self._view_again(view, made)
            self._ends[tensor] = made
        return self._ends[tensor]

    def placed_among(self, operations: Sequence[Operation]) -> list[Operation]:
        """The operations of the model in their order, with the reads."""
        if not self._before:
            return [*operations, *self._last]
        found: list[Operation] = []
        for operation in operations:
            found += self._before.get(operation, ())
            found.append(operation)
        return found + self._last

    # ---- explicit assignments ----

    def _insert_reads(
        self, operations: list[Operation], assigners: Mapping[str, list[float]]
    ) -> None:
        shared = {
            self._variables[name].snapshot: name for name in assigners if name in self._variables
        }
        uses = self._uses_behind(operations, assigners, shared)
        if not uses:
            return
        explicit = self._leading_to_assignments(operations)
        known: dict[tuple[str, int], Tensor] = {}
        for operation, tensors in sorted(uses, key=lambda use: use[0].order):
            if operation not in explicit:
                continue
            for tensor in tensors:
                name = shared[tensor]
                behind = bisect.bisect_left(assigners[name], operation.order)
                if (name, behind) not in known:
                    position = self._before.setdefault(operation, [])
                    known[name, behind] = self._new_read(self._variables[name], position)
                self.renamed.setdefault(operation, {})[tensor] = known[name, behind]

    def _uses_behind(
        self,
        operations: list[Operation],
        assigners: Mapping[str, list[float]],
        shared: Mapping[Tensor, str],
    ) -> list[tuple[Operation, list[Tensor]]]:
        """The operations made after an assignment of a variable whose `v/read` they read."""
        first = min(orders[0] for orders in assigners.values())
        found = []
        for operation in operations:
            if operation.order > first:
                read = self._live.sources(operation)
                late = [
                    t for t in read if t in shared and assigners[shared[t]][0] < operation.order
                ]
                if late:
                    found.append((operation, late))
        return found

    def _leading_to_assignments(self, operations: list[Operation]) -> set[Operation]:
        """The operations from which explicit assignments have their values."""
        found: set[Operation] = set()
        pending = [operation for operation in operations if _assigns_explicitly(operation)]
        while pending:
            operation = pending.pop()
            if operation in found or operation.type == SNAPSHOT:
                continue
            if operation.op == "Assign" and not _assigns_explicitly(operation):
                continue
            found.add(operation)
            pending += [tensor.op for tensor in self._live.sources(operation)]
        return found

    # ---- operations that only the model has ----

    def _new_read(self, variable: Variable, reads: list[Operation]) -> Tensor:
        made = variable.read_of_a_run(self._name(f"{variable.op.name}/read"))
        self._names[made.op.name] = made.op
        reads.append(made.op)
        return made

    def _view_again(self, view: Operation, data: Tensor) -> Tensor:
        name = self._name(view.name)
        made = Operation.of_node(
            self._graph, name, view.op, view.domain, view.version, view.attrs,
            [data, *view.operands[1:]], view.tf_type, view.source,
        )  # fmt: skip
        (was,) = view.outputs
        made.outputs.append(Tensor(self._graph, made, 0, f"{name}:0", was.dtype, was.shape))
        self._names[name] = made
        self._last.append(made)
        return made.outputs[0]

    def _name(self, name: str) -> str:
        """A name that neither the graph nor the model has; the graph may give it away later."""
        return free_name(name, _Taken(self._graph, self._names))


class _Taken(Mapping[str, Operation]):
    """The operations of a graph and further ones by name."""

    def __init__(self, graph: Graph, more: Mapping[str, Operation]) -> None:
        self._graph, self._more = graph, more

    def __contains__(self, name: object) -> bool:
        return name in self._more or self._graph.find_operation(str(name)) is not None

    def __getitem__(self, name: str) -> Operation:
        found = self._more.get(name) or self._graph.find_operation(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._more)

    def __len__(self) -> int:
        return len(self._more)


def _assigners(operations: Iterable[Operation]) -> dict[str, list[float]]:
    """The positions in the order of creation at which variables are assigned, by variable."""
    found: dict[str, list[float]] = {}
    for operation in operations:
        if operation.op == "Assign":
            found.setdefault(operation.attrs["variable"], []).append(operation.order)
        elif operation.op in _CONTROL_FLOW:
            for name in {name for body in operation.bodies() for name in body.assigned}:
                found.setdefault(name, []).append(operation.order)
    for orders in found.values():
        orders.sort()
    return found


def _assigns_explicitly(operation: Operation) -> bool:
    """Whether an operation, or one in its bodies, is an assignment that is not an optimizer's."""
    if operation.op == "Assign":
        return not operation.type.startswith("Apply")
    if operation.op not in _CONTROL_FLOW or not any(b.assigned for b in operation.bodies()):
        return False
    return any(
        _assigns_explicitly(inner) for body in operation.bodies() for inner in body.operations
    )
