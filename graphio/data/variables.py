"""Variables that functions of datasets read and assign: they belong to the session.

A function runs in a separate engine. The operation that asks a pipeline for elements takes the
variables' values, which the functions share for so long, and gives the new ones, which the graph
assigns: a run has no effect but those of its operations. Where a function assigns, what the
pipeline gave, be it elements or an error, comes out of a second operation after the assignments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.handle_reads import by_handle
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable_reads import outermost
from graphio.ops.base.host import host_call
from graphio.variables.variables import Variable, variables_of

__all__ = [
    "Touched",
    "called",
    "covers",
    "exchange",
    "merged",
    "touched_by",
    "touched_here",
    "with_bodies",
]

Array = np.ndarray[Any, Any]
_ASSIGN = "Assign"
_RESULTS = "data_results"


class Touch(NamedTuple):
    """A variable, and whether it is assigned."""

    variable: Variable
    assigned: bool


#: by the variables' names
Touched = dict[str, Touch]


def merged(several: Iterable[Mapping[str, Touch]]) -> Touched:
    """The union of several."""
    found: Touched = {}
    for touched in several:
        for name, touch in touched.items():
            before = found.get(name)
            found[name] = touch if before is None or touch.assigned else before
    return found


def covers(known: Mapping[str, Touch], touched: Mapping[str, Touch]) -> bool:
    """Whether all that is touched is among the known, assigned only if it is assigned there."""
    return merged([known, touched]) == known


def touched_by(graph: Graph) -> Touched:
    """The variables that a function's graph reads or assigns; the graph then knows them."""
    around = variables_of(outermost(graph))
    names = {op.attrs["variable"] for op in with_bodies(graph.operations) if "variable" in op.attrs}
    variables_of(graph).update({name: around[name] for name in sorted(names)})
    return touched_here(graph)


def touched_here(graph: Graph) -> Touched:
    """The result of touched_by for a graph."""
    return merged(
        {name: Touch(variables_of(graph)[name], op.op == _ASSIGN)}
        for op in with_bodies(graph.operations)
        if (name := op.attrs.get("variable")) is not None
    )


def assigns(operation: Operation) -> bool:
    """Whether an operation or one in its bodies assigns a variable."""
    return any(op.op == _ASSIGN for op in with_bodies([operation]))


def with_bodies(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Operations with those in their bodies."""
    for operation in operations:
        yield operation
        for body in operation.bodies():
            yield from with_bodies(body.operations)


Outputs = Sequence[tuple[Any, TensorShape]]


def called(
    touched: Touched,
    make: Callable[[Sequence[Tensor], Outputs, str], Operation],
    outputs: Outputs,
    name: str,
    tf_type: str,
) -> Operation:
    """An operation on a pipeline, with reads before it and assignments after it.

    Args:
        touched: what the pipeline touches.
        make: from the reads, which are to be its last inputs, dtypes and shapes of its outputs, and
            its name, to an operation that gives what exchange gives.
        outputs: dtypes and shapes of what the pipeline gives.
        name, tf_type: of the operation.

    Returns:
        The operation that gives the outputs, or fails as the pipeline did.
    """
    assigned = [touch.variable for touch in touched.values() if touch.assigned]
    reads = [
        by_handle(touch.variable.read_value(), touch.assigned and touch.variable.use_resource)
        for touch in touched.values()
    ]
    if not assigned:
        return make(reads, outputs, name)
    news = [(v.dtype, v.shape) for v in assigned]
    made = make(reads, [(dtypes.int64, TensorShape([])), *news], f"{name}/step")
    pairs = zip(assigned, made.outputs[1:], strict=True)
    with scopes.get_default_graph().control_dependencies([v.assign(new) for v, new in pairs]):
        return host_call(
            lambda session: _results_of(session).give,
            made.outputs[:1],
            outputs,
            function=f"{made.attrs['function']}/result",
            name=name,
            tf_type=tf_type,
        )


class _Results:
    """Results of pipelines in a session, kept until its runs have assigned the variables."""

    def __init__(self) -> None:
        self._found: dict[int, Callable[[], Any]] = {}
        self._numbers = itertools.count()

    def keep(self, found: Callable[[], Any]) -> Array:
        """Keeps a function that gives a result or raises; returns its number."""
        number = next(self._numbers)
        self._found[number] = found
        return np.asarray(number, np.int64)

    def give(self, inputs: Sequence[Array]) -> Any:
        """The result of a number, once."""
        return self._found.pop(int(inputs[0]))()

    def close(self) -> None:
        """Forgets all."""
        self._found.clear()


def _results_of(session: Any) -> _Results:
    found: _Results = session.resources.setdefault(_RESULTS, _Results())
    return found


def exchange(
    session: Any,
    touched: Touched,
    shared: dict[str, Array],
    given: Sequence[Array],
    work: Callable[[], Any],
) -> Any:
    """The result of work, a list; if variables are assigned, the number of that, or of the error
    that work raised, in the session's results, with the new values after it.

    Args:
        touched: as `called` has it.
        shared: where functions find the values and leave the new ones.
        given: values of all that are touched.
    """
    shared.update(zip(touched, given, strict=True))
    assigned = [name for name, touch in touched.items() if touch.assigned]
    if not assigned:
        return work()
    found = _outcome(work)
    return [_results_of(session).keep(found), *(shared[name] for name in assigned)]


def _outcome(work: Callable[[], Any]) -> Callable[[], Any]:
    """A function that returns work's result, or raises its error."""
    try:
        done = work()
    except Exception as error:
        failed = error

        def fail() -> Any:
            raise failed

        return fail
    return lambda: done
