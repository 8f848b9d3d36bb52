"""Which values of a Loop a model needs: what nothing reads is neither computed nor stacked.

A loop variable that leads to nothing wanted goes through the iterations unchanged, so that the
other outputs keep their places; values that are stacked for nothing behind the last one that is
wanted are left out. A body that has an effect, or draws random numbers, runs whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphio.graph import Graph, Operation, Tensor
from graphio.node_writer import Liveness
from graphio.schema import operators

__all__ = ["LoopNeeds"]


class LoopNeeds:
    """The values of Loops of a root graph that a run needs.

    Args:
        live: what bodies need.
    """

    def __init__(self, live: Liveness) -> None:
        self._live = live
        self._parts: dict[Operation, _Part] = {}
        self._whole: set[Operation] = set()

    def want(self, tensor: Tensor) -> list[Tensor]:
        """Has a run need an output of a Loop.

        Returns:
            The values that the Loop reads more because of it.
        """
        operation = tensor.op
        if operation in self._whole:
            return []
        part = self._parts.get(operation)
        if part is None:
            if _has_effect(self._live.operations(operation.attrs["body"])):
                return self.want_whole(operation)
            part = self._parts[operation] = _Part(operation, self._live)
            more = [self._live.in_place_of(t) for t in operation.operands if t is not None]
        else:
            more = []
        return more + part.want(tensor.value_index)

    def want_whole(self, operation: Operation) -> list[Tensor]:
        """Has a run need all that a Loop computes.

        Returns:
            The values that the Loop reads, none if that is known.
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
        return [operation.outputs[i] for i in sorted(part.wanted)]

    def merge(self, other: LoopNeeds) -> None:
        """Adds what another run of the same graph needs."""
        self._whole |= other._whole
        for operation, part in other._parts.items():
            mine = self._parts.setdefault(operation, part)
            for index in part.wanted:
                mine.want(index)

    def outputs(self) -> dict[Graph, list[Tensor]]:
        """What bodies of Loops give in the place of their outputs."""
        return {
            operation.attrs["body"]: part.outputs()
            for operation, part in self._parts.items()
            if operation not in self._whole
        }


class _Part:
    """The part of a Loop that leads to the outputs that are wanted.

    Attributes:
        wanted: the places of those outputs, and of the loop variables that they depend on.
    """

    def __init__(self, operation: Operation, live: Liveness) -> None:
        self._body: Graph = operation.attrs["body"]
        self._live = live
        self._count = len(operation.operands) - 2
        self._places = {t.op: i for i, t in enumerate(self._body.inputs[2:])}
        self.wanted: set[int] = set()
        self._found: set[Operation] = set()
        self._read: set[Tensor] = set()
        self._rest: list[Tensor | Operation] = [self._body.outputs[0], *self._body.targets]

    def want(self, index: int) -> list[Tensor]:
        """The values from outside that are read more because an output is wanted."""
        first = index if index < self._count else self._count
        self._add(range(first, index + 1))
        more: list[Tensor] = []
        while self._rest:
            item = self._rest.pop()
            if isinstance(item, Tensor) and item.graph is not self._body:
                if item not in self._read:
                    self._read.add(item)
                    more.append(item)
                continue
            operation = item.op if isinstance(item, Tensor) else item
            if operation in self._found:
                continue
            self._found.add(operation)
            if operation in self._places:
                self._add([self._places[operation]])
            self._rest += [*operation.awaited, *self._live.sources(operation)]
        return more

    def _add(self, places: Iterable[int]) -> None:
        new = [i for i in places if i not in self.wanted]
        self.wanted.update(new)
        self._rest += [self._live.in_place_of(self._body.outputs[1 + i]) for i in new]

    def outputs(self) -> list[Tensor]:
        """What the body gives."""
        condition, *given = self._body.outputs
        end = max(self._count, *(i + 1 for i in self.wanted))
        formals = self._body.inputs[2:]
        return [condition, *(t if i in self.wanted else formals[i]
                             for i, t in enumerate(given[:end]))]  # fmt: skip


def _has_effect(operations: Iterable[Operation]) -> bool:
    """Whether operations do something besides, or draw random numbers."""
    return any(
        (o.op != "ReadVariable" and not operators.is_pure(o.domain, o.op, o.version))
        or any(_has_effect(body.operations) for body in o.bodies())
        for o in operations
    )
