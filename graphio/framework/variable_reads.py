"""The reads of plain uses of variables, and their positions.

Outside of control dependencies, and of bodies that assign the variable, all plain uses share
`v/read`, the value at the start of a run. Under a control dependency a use makes a separate read,
`v/read_1` and so on, which waits as the use does. In the bodies of an If, Loop or Scan that assigns
the variable the reads are inside, and so they are in the functions of datasets: each use has a
separate read of the value at the moment of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graphio.framework import scopes

if TYPE_CHECKING:
    from graphio.framework.graph import Graph
    from graphio.framework.operation import Operation
    from graphio.framework.tensor import Tensor
    from graphio.variables.variables import Variable

__all__ = [
    "PLAIN",
    "SNAPSHOT",
    "at_start",
    "into_bodies",
    "is_plain",
    "outermost",
    "read_here",
]

#: the type of identities that give the value at the start of a run to every reader
SNAPSHOT = "Snapshot"
#: the type of reads that plain uses made, which distinguishes them in files from v.read_value()
PLAIN = "PlainRead"


def is_plain(operation: Operation) -> bool:
    """Whether an operation is the read of a plain use that does not share `v/read`."""
    return operation.op == "ReadVariable" and operation.type == PLAIN


def read_here(variable: Variable) -> Tensor:
    """The tensor that a plain use of the variable reads at this point of the program."""
    here = scopes.get_default_graph()
    if here.root is not variable.graph:
        inside = outermost(here.root) is variable.graph
        return variable.new_read(here) if inside else variable.snapshot
    body, graph = None, here
    while not graph.waits:
        if graph.outer is None:
            return variable.snapshot
        body, graph = graph, graph.outer
    return variable.new_read(graph) if body is None else _in_front(variable, body, graph)


def _in_front(variable: Variable, body: Graph, graph: Graph) -> Tensor:
    """The read in front of a body of a graph in which a control dependency is open."""
    name = variable.op.name
    if name not in body.front_reads:
        body.front_reads[name] = variable.new_read(graph)
    return body.front_reads[name]


def outermost(graph: Graph) -> Graph:
    """The graph around all functions of datasets."""
    while graph.access.around is not None:
        graph = graph.access.around
    return graph


def at_start(tensor: Tensor, name: str | None = None) -> Tensor:
    """The tensor, which neither an assignment nor a fetch moves to the present."""
    made = scopes.get_default_graph().add_operation(
        "Identity", [tensor], [(tensor.dtype, tensor.shape)], name=name, tf_type=SNAPSHOT
    )
    return made.outputs[0]


# ---- bodies that assign ----


def into_bodies(variables: Mapping[str, Variable], *bodies: Graph) -> None:
    """Has the bodies of an If, Loop or Scan read inside what one of them assigns.

    Args:
        variables: those of the graph by name.
        bodies: all bodies of the one operation, which is not made yet.
    """
    assigned = {name for body in bodies for name in body.assigned}
    shared = {variables[name].snapshot: variables[name] for name in assigned if name in variables}
    if shared:
        for body in bodies:
            _Inside(shared, body).apply(body)


class _Inside:
    """Puts reads into a body, and into those in it, in the place of values from outside.

    Args:
        shared: `v/read` of the variables that are read inside.
        top: the outermost body.
    """

    def __init__(self, shared: Mapping[Tensor, Variable], top: Graph) -> None:
        self._outside = dict(shared)
        self._names = {variable.op.name: variable for variable in shared.values()}
        self._top = top

    def apply(self, body: Graph) -> None:
        """Gives each use a read at its position; uses with no assignment in between share one."""
        self._learn(body)
        now: dict[str, Tensor] = {}
        placed: list[Operation] = []
        for operation in list(body.operations):
            for inner in operation.bodies():
                self.apply(inner)
            for i, tensor in enumerate(operation.operands):
                if tensor in self._outside:
                    made = self._read(tensor, body, now, operation, placed)
                    tensor.drop_consumer(operation)
                    made.add_consumer(operation)
                    operation.operands[i] = made
            placed.append(operation)
            _forget_assigned(operation, now)
        for i, tensor in enumerate(body.outputs):
            if tensor in self._outside:
                body.outputs[i] = self._read(tensor, body, now, None, placed)
        body.operations[:] = placed

    def _learn(self, body: Graph) -> None:
        """Notes the reads made before the outermost body for uses in this one."""
        for name, tensor in body.front_reads.items():
            if name in self._names and not tensor.graph.is_inside(self._top):
                self._outside[tensor] = self._names[name]

    def _read(
        self,
        tensor: Tensor,
        body: Graph,
        now: dict[str, Tensor],
        before: Operation | None,
        placed: list[Operation],
    ) -> Tensor:
        """The read placed before an operation (None: at the end of the body)."""
        variable = self._outside[tensor]
        name = variable.op.name
        if name not in now:
            made = now[name] = variable.new_read(body)
            if before is not None:
                made.op.order = before.order - 0.5
                made.op.source = before.source
            placed.append(made.op)
        return now[name]


def _forget_assigned(operation: Operation, now: dict[str, Tensor]) -> None:
    """Removes the variables that an operation has assigned, which are to be read again after it."""
    if operation.op == "Assign":
        now.pop(operation.attrs["variable"], None)
    for body in operation.bodies():
        for name in body.assigned:
            now.pop(name, None)
