"""Variables that functions of datasets read and assign: they belong to the session.

A function runs in an engine of its own. The operation that asks a pipeline for elements takes the
variables' values, which the functions share for so long, and gives the new ones, which the graph
assigns: a run has no effect but those of its operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio import scopes
from graphio.graph import Graph, Operation, Tensor
from graphio.ops.control_flow import group
from graphio.ops.reshaping import identity
from graphio.variables import Variable, variables_of

__all__ = [
    "Call",
    "Touched",
    "called",
    "exchange",
    "merged",
    "set_around",
    "touched_by",
    "touched_here",
]

Array = np.ndarray[Any, Any]
_AROUND = "graph_around"
_ASSIGN = "Assign"


class Touch(NamedTuple):
    """A variable, and whether it is assigned."""

    variable: Variable
    assigned: bool


#: by the variables' names
Touched = dict[str, Touch]


def merged(several: Iterable[Mapping[str, Touch]]) -> Touched:
    """What all of several touch."""
    found: Touched = {}
    for touched in several:
        for name, touch in touched.items():
            before = found.get(name)
            found[name] = touch if before is None or touch.assigned else before
    return found


def set_around(graph: Graph, outer: Graph) -> None:
    """Notes the graph around that of a function."""
    graph.state_attributes[_AROUND] = outer


def _outermost(graph: Graph) -> Graph:
    """The graph around all functions."""
    while _AROUND in graph.state_attributes:
        graph = graph.state_attributes[_AROUND]
    return graph


def touched_by(graph: Graph, what: str) -> Touched:
    """The variables that a function's graph reads or assigns; the graph then knows them.

    Raises:
        ValueError: the function makes a variable.
    """
    known = variables_of(graph)
    if known:
        raise ValueError(
            f"{what}: the function makes the variable '{min(known)}'; make it outside, a function "
            "may read and assign it"
        )
    around = variables_of(_outermost(graph))
    names = {op.attrs["variable"] for op in _operations(graph.operations) if "variable" in op.attrs}
    known.update({name: around[name] for name in sorted(names)})
    return touched_here(graph)


def touched_here(graph: Graph) -> Touched:
    """What touched_by found in a graph."""
    return merged(
        {name: Touch(variables_of(graph)[name], op.op == _ASSIGN)}
        for op in _operations(graph.operations)
        if (name := op.attrs.get("variable")) is not None
    )


def assigns(operation: Operation) -> bool:
    """Whether an operation or one in its bodies assigns a variable."""
    return any(op.op == _ASSIGN for op in _operations([operation]))


def _operations(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Operations with those in their bodies."""
    for operation in operations:
        yield operation
        for body in operation.bodies():
            yield from _operations(body.operations)


class Call(NamedTuple):
    """What came of `called`: the operation's own outputs, and what stands for its being run."""

    outputs: list[Tensor]
    operation: Operation


def called(touched: Touched, make: Callable[[Sequence[Tensor], Sequence[Any]], Operation]) -> Call:
    """An operation on a pipeline, with reads before it and assignments after it.

    Args:
        touched: what the pipeline touches.
        make: from the reads, which are to be its last inputs, and dtype and shape of the new
            values, its last outputs, to the operation. See exchange.
    """
    assigned = [touch.variable for touch in touched.values() if touch.assigned]
    reads = [touch.variable.read_value() for touch in touched.values()]
    made = make(reads, [(v.dtype, v.shape) for v in assigned])
    own = made.outputs[: len(made.outputs) - len(assigned)]
    if not assigned:
        return Call(list(own), made)
    new = made.outputs[len(own) :]
    done = [v.assign(value) for v, value in zip(assigned, new, strict=True)]
    with scopes.get_default_graph().control_dependencies(done):
        return Call([identity(tensor) for tensor in own], group(made, *done))


def exchange(
    touched: Touched, shared: dict[str, Array], given: Sequence[Array], work: Callable[[], Any]
) -> Any:
    """What work gives, a list, with the new values of variables behind it.

    Args:
        shared: where functions find the values and leave the new ones.
        given: values of all that are touched.
    """
    shared.update(zip(touched, given, strict=True))
    found = work()
    return [*found, *(shared[name] for name, touch in touched.items() if touch.assigned)]
