"""A run that stops at every operation, for pdb and for loops."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphio.execution.feeding import fed_tensors
from graphio.execution.session import Session
from graphio.framework.graph import Operation
from graphio.observe.debug_values import DebugTensor, Visit, check_engine, data_of, name_of

__all__ = ["Stepper"]

Array = np.ndarray[Any, Any]
_AROUND = 5  # operations that a listing shows before and after the position


class Stepper:
    """A run of a session in the Python runtime, an operation at a time.

    It is a real run: variables are assigned when their operation is stepped over, and a stepper
    that is dropped has run so far and no farther. A branch or a loop is one step; tf.debug.watch
    looks inside. Constants are there from the start and are not steps. Operations that the session
    runs between two steps are seen by the later one.

    print(stepper) shows where it is; iterating over it makes all steps.

    Args:
        session: of the Python runtime, tf.Session(target="runtime").
        fetches, feed_dict: as for its run.

    Attributes:
        last: the Visit of the operation that ran last; None before the first.

    Raises:
        TypeError: session is not a Session.
        UnimplementedError: the session is in cinfer, the default engine.
        OpError: as Session.run does, before the first step, or from the operation that fails.
    """

    def __init__(self, session: Session, fetches: Any, feed_dict: Any = None) -> None:
        check_engine(session, "tf.debug.Stepper")
        feeds = {} if feed_dict is None else feed_dict
        self._graph = session.graph
        self._fed = frozenset(fed_tensors(session.graph, feeds))
        self._steps, self._results, self._naming = session._stepping(fetches, feeds)
        self._ops = [self._operation(n.name) for n in self._steps.nodes] if self._steps else []
        self._stopped_at = -1  # where `to` stopped: the next one goes on from there
        self._values: dict[str, DebugTensor] = {}
        self.last: Visit | None = None

    def _operation(self, name: str) -> Operation:
        found = self._graph.find_operation(name)
        assert found is not None  # the run was built of this graph's operations
        return found

    # ---- where it is ----

    def __len__(self) -> int:
        return len(self._ops)

    @property
    def position(self) -> int:
        """The number of operations that have run."""
        return self._steps.position if self._steps else 0

    @property
    def done(self) -> bool:
        """Whether all have run."""
        return self.position == len(self._ops)

    @property
    def next(self) -> Visit | None:
        """The operation that runs next, with its inputs; None at the end."""
        if self.done:
            return None
        op = self._ops[self.position]
        inputs = data_of(op.operands, self._steps.inputs(self.position), self._fed)
        return Visit(op, inputs, (), done=False)

    @property
    def result(self) -> Any:
        """The values of the fetches, in their structure.

        Raises:
            RuntimeError: the run is not over.
        """
        if not self.done:
            left = len(self._ops) - self.position
            raise RuntimeError(f"{left} operations are still to run; finish() runs them")
        return self._results()

    def __getitem__(self, tensor: Any) -> Array:
        """A value that is there: by a tensor or its name, or an operation's first output.

        Raises:
            KeyError: nothing that has run gave it or read it.
        """
        name = name_of(tensor)
        if name not in self._values:
            raise KeyError(
                f"there is no value of {name!r} yet: {self.position} of {len(self)} operations "
                "have run, and none of them gave it or read it"
            )
        return self._values[name].array

    def listing(self, around: int = _AROUND) -> str:
        """The operations before and after the position; "->" marks the next one.

        Args:
            around: how many on each side.
        """
        first = max(0, self.position - around)
        lines = [f"{self.position} of {len(self)} operations have run"]
        for i, op in enumerate(self._ops[first : self.position + around + 1], first):
            mark = "->" if i == self.position else "  "
            lines.append(f"{mark} {i + 1:>{len(str(len(self)))}} {op.type} '{op.name}'{op.where}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.listing()

    # ---- going on ----

    def step(self, count: int = 1) -> Visit | None:
        """Runs the next operation.

        Args:
            count: so many of them.

        Returns:
            The last one that ran; None if there was none.
        """
        made = None
        for _ in range(min(count, len(self) - self.position)):
            made = self._step()
        return made

    def _step(self) -> Visit:
        i = self.position
        op = self._ops[i]
        inputs = data_of(op.operands, self._steps.inputs(i), self._fed)
        with self._naming():
            self._steps.step()
        visit = Visit(op, inputs, data_of(op.outputs, self._steps.outputs(i)), done=True)
        self._values.update((datum.name, datum) for datum in (*visit.inputs, *visit.outputs))
        self.last = visit
        return visit

    def to(self, target: Any) -> Visit:
        """Runs until an operation is next; called again, until the next such one.

        Args:
            target: an operation, one of its tensors, its name or a regular expression that matches
                all of it, or a type such as "MatMul".

        Returns:
            The operation, with its inputs.

        Raises:
            ValueError: none that is still to run is meant; nothing has run then.
        """
        meant = _meaning(target)
        first = self.position + (self.position == self._stopped_at)
        found = next((i for i in range(first, len(self)) if meant(self._ops[i])), None)
        if found is None:
            raise ValueError(self._nothing_like(target, first))
        self.step(found - self.position)
        self._stopped_at = found
        visit = self.next
        assert visit is not None
        return visit

    def _nothing_like(self, target: Any, first: int) -> str:
        left = [op.name for op in self._ops[first:]]
        near = difflib.get_close_matches(str(target), left, 3, 0.5)
        advice = f"; did you mean {', '.join(map(repr, near))}?" if near else ""
        ran = any(_meaning(target)(op) for op in self._ops[:first])
        why = "has run already" if ran else "is none of this run's operations"
        return f"{target!r} {why}; {len(left)} are still to run{advice}"

    def until(self, condition: Callable[[DebugTensor, Array], Any]) -> DebugTensor | None:
        """Runs until an operation has given a value for which a condition holds.

        Args:
            condition: takes a DebugTensor and its array, as tf.debug.has_inf_or_nan does.

        Returns:
            The value; None if the run came to its end.
        """
        for visit in self:
            for datum in visit.outputs:
                if condition(datum, datum.array):
                    return datum
        return None

    def finish(self) -> Any:
        """Runs what is left and gives the values of the fetches."""
        self.step(len(self) - self.position)
        return self.result

    def __iter__(self) -> Iterator[Visit]:
        while not self.done:
            yield self._step()


def _meaning(target: Any) -> Callable[[Operation], bool]:
    """Whether an operation is meant by itself, a tensor of it, a name, pattern or type."""
    if not isinstance(target, str):
        requested = name_of(target).partition(":")[0]
        return lambda op: op.name == requested
    pattern = re.compile(target)
    return lambda op: target in (op.name, op.type, op.op) or bool(pattern.fullmatch(op.name))
