"""The values of a Loop or If that a model needs: values without a reader are not computed.

A carried value on which no required output depends goes through the iterations unchanged, so that
the other outputs keep their indices; other outputs after the last required one, such as values
stacked for a gradient, are left out. A body that has an effect, or draws random numbers, runs
completely.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphio.framework.graph import Graph, Operation, Tensor
from graphio.model.node_writer import Liveness
from graphio.schema import operators

__all__ = ["CONTROL_FLOW", "LoopNeeds"]

#: by operator, how many inputs and outputs of its bodies come before what is carried; of an If
#: nothing is
CONTROL_FLOW = {"If": (0, 0), "Loop": (2, 1)}


class LoopNeeds:
    """The values of Loops and Ifs of a root graph that a run needs.

    Args:
        live: what bodies need.
    """

    def __init__(self, live: Liveness) -> None:
        self._live = live
        self._parts: dict[Operation, _Part] = {}
        self._whole: set[Operation] = set()

    def want(self, tensor: Tensor) -> list[Tensor]:
        """Has a run need an output.

        Returns:
            The values that its operation reads more because of it.
        """
        operation = tensor.op
        if operation in self._whole:
            return []
        part = self._parts.get(operation)
        if part is None:
            if any(_has_effect(self._live.operations(body)) for body in operation.bodies()):
                return self.want_whole(operation)
            part = self._parts[operation] = _Part(operation, self._live)
            more = [self._live.in_place_of(t) for t in operation.operands if t is not None]
        else:
            more = []
        return more + part.want(tensor.value_index)

    def want_whole(self, operation: Operation) -> list[Tensor]:
        """Has a run need all that an operation computes.

        Returns:
            The values that it reads, none if that is known.
        """
        if operation in self._whole:
            return []
        self._whole.add(operation)
        return self._live.sources(operation)

    def computed(self, operation: Operation) -> list[Tensor]:
        """The outputs of an operation that a run computes."""
        part = self._parts.get(operation)
        if part is None or operation in self._whole:
            return list(operation.outputs)
        return [operation.outputs[i] for i in sorted(part.requested)]

    def merge(self, other: LoopNeeds) -> None:
        """Adds what another run of the same graph needs."""
        self._whole |= other._whole
        for operation, part in other._parts.items():
            mine = self._parts.setdefault(operation, part)
            for index in part.requested:
                mine.want(index)

    def outputs(self) -> dict[Graph, list[Tensor]]:
        """The values that bodies give instead of their outputs."""
        return {
            body: outputs
            for operation, part in self._parts.items()
            if operation not in self._whole
            for body, outputs in part.outputs().items()
        }


class _Part:
    """The part of a Loop or If that leads to the required outputs.

    Attributes:
        requested: the indices of those outputs, and of the carried values that they depend on.
    """

    def __init__(self, operation: Operation, live: Liveness) -> None:
        self._bodies: list[Graph] = operation.bodies()
        self._live = live
        before, self._first = CONTROL_FLOW[operation.op]
        self._count = _carried(operation)
        self._formals = self._bodies[0].inputs[before : before + self._count]
        self._positions = {t.op: i for i, t in enumerate(self._formals)}
        self.requested: set[int] = set()
        self._found: set[Operation] = set()
        self._read: set[Tensor] = set()
        self._rest: list[Tensor | Operation] = []
        for body in self._bodies:
            self._rest += [*body.outputs[: self._first], *body.targets]

    def want(self, index: int) -> list[Tensor]:
        """The additional values from outside that are read because an output is required."""
        first = index if index < self._count else self._count
        self._add(range(first, index + 1))
        more: list[Tensor] = []
        while self._rest:
            item = self._rest.pop()
            if isinstance(item, Tensor) and item.graph not in self._bodies:
                if item not in self._read:
                    self._read.add(item)
                    more.append(item)
                continue
            operation = item.op if isinstance(item, Tensor) else item
            if operation in self._found:
                continue
            self._found.add(operation)
            if operation in self._positions:
                self._add([self._positions[operation]])
            self._rest += [*operation.awaited, *self._live.sources(operation)]
        return more

    def _add(self, positions: Iterable[int]) -> None:
        new = [i for i in positions if i not in self.requested]
        self.requested.update(new)
        self._rest += [
            self._live.in_place_of(body.outputs[self._first + i])
            for body in self._bodies
            for i in new
        ]

    def outputs(self) -> dict[Graph, list[Tensor]]:
        """The outputs of each body."""
        end = max(self._count, *(i + 1 for i in self.requested))
        return {body: self._given(body.outputs, end) for body in self._bodies}

    def _given(self, outputs: list[Tensor], end: int) -> list[Tensor]:
        before, given = outputs[: self._first], outputs[self._first :]
        unchanged = [
            formal if i not in self.requested else given[i]
            for i, formal in enumerate(self._formals)
        ]
        return [*before, *unchanged, *given[self._count : end]]


def _carried(operation: Operation) -> int:
    """The number of values that an operation carries through iterations."""
    return 0 if operation.op == "If" else len(operation.operands) - 2


def _has_effect(operations: Iterable[Operation]) -> bool:
    """Whether operations do something besides, or draw random numbers."""
    return any(
        (o.op != "ReadVariable" and not operators.is_pure(o.domain, o.op, o.version))
        or any(_has_effect(body.operations) for body in o.bodies())
        for o in operations
    )
