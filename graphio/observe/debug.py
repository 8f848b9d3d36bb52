"""tf.debug: a session that keeps every value of a run, and finds where the first NaN was made;
runs an operation at a time (stepping.py); values that stop a run (watchpoints.py).

session = tf.debug.DebugSession(tf.Session())
session.run(train_step, feeds)
print(session.last)                    # every value: shape, range, mean, line that made it
print(session.last.first_nonfinite())  # the operation that made the first NaN or infinity
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.execution import fetching
from graphio.execution.feeding import fed_tensors
from graphio.execution.session import Session
from graphio.framework import scopes
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.source import Source
from graphio.model.export import reach
from graphio.model.loop_needs import LoopNeeds
from graphio.model.node_writer import Liveness
from graphio.observe.debug_values import (
    DebugTensor,
    TensorFilter,
    Visit,
    chooser,
    has_inf_or_nan,
    name_of,
)
from graphio.observe.printing import graph_text
from graphio.observe.stepping import Stepper
from graphio.observe.watchpoints import Hit, Watch, watch
from graphio.support import api_guard, errors

__all__ = [
    "DebugDump", "DebugSession", "DebugTensor", "Hit", "NonFinite", "Stepper", "Visit", "Watch",
    "has_inf_or_nan", "listing", "watch",
]  # fmt: skip

Array = np.ndarray[Any, Any]


@api_guard.guarded
def listing(graph: Graph | None = None) -> str:
    """A graph as text, a line a node; print(graph) shows the last 200.

    Args:
        graph: None: the default graph.
    """
    return graph_text((scopes.get_default_graph() if graph is None else graph).root)


@dataclass(frozen=True)
class NonFinite:
    """The origin of the first value that is not finite.

    Attributes:
        datum: the value.
        inputs: what its operation read, as far as it was recorded.
    """

    datum: DebugTensor
    inputs: tuple[DebugTensor, ...]

    @property
    def op(self) -> Operation:
        """The operation."""
        return self.datum.op

    @property
    def source(self) -> Source:
        """The line of the program that made it."""
        return self.datum.source

    def __str__(self) -> str:
        op, datum = self.datum.op, self.datum
        what = "was fed with" if datum.fed else "made"
        lines = [f"{op.type} '{op.name}'{op.where} {what} the first value that is not finite:"]
        lines += [f"  {datum}"]
        lines += [f"  from {one}" for one in self.inputs if not datum.fed]
        return "\n".join(lines)


class DebugDump:
    """The values of one run in the order in which they were made; what was fed comes first.

    A dump has a length, can be iterated over, and gives an array by a tensor or its name.
    """

    def __init__(self, data: list[DebugTensor]) -> None:
        self.data = tuple(data)
        self._by_name = {datum.name: datum for datum in data}

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[DebugTensor]:
        return iter(self.data)

    def __contains__(self, tensor: Any) -> bool:
        return name_of(tensor) in self._by_name

    def __getitem__(self, tensor: Any) -> Array:
        """The value of a tensor, given by itself or its name; of an operation's first output.

        Raises:
            KeyError: the run did not compute it, or it was not watched.
        """
        name = name_of(tensor)
        if name not in self._by_name:
            raise KeyError(
                f"the run did not record {name!r}; a value is recorded if the run computes it "
                "outside of loops and branches, and the session records it"
            )
        return self._by_name[name].array

    def find(self, tensor_filter: TensorFilter, first_n: int = 0) -> list[DebugTensor]:
        """The values for which a filter holds.

        Args:
            tensor_filter: takes a DebugTensor and its array.
            first_n: at most so many; 0: all.
        """
        found = [datum for datum in self.data if tensor_filter(datum, datum.array)]
        return found[:first_n] if first_n > 0 else found

    def first_nonfinite(self) -> NonFinite | None:
        """The first value with a NaN or an infinity that no constant is; None if there is none."""
        for datum in self.data:
            if datum.op.op != "Constant" and has_inf_or_nan(datum, datum.array):
                read = [t for t in datum.op.operands if t is not None and t in self]
                return NonFinite(datum, tuple(self._by_name[t.name] for t in read))
        return None

    def listing(self, constants: bool = False) -> str:
        """A table with a line for each value.

        Args:
            constants: whether constants are listed, too.
        """
        rows = [("tensor", "operation", "type", "min", "max", "mean", "not finite", "made in")]
        for datum in self.data:
            if constants or datum.op.op != "Constant":
                made = "fed" if datum.fed else datum.op.type
                line = (datum.name, made, datum.kind, *datum.range())
                rows.append((*line, datum.nonfinite, str(datum.source)))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.listing()


class DebugSession(Session):
    """A session that keeps the values of its latest run. It shares all it has with another one.

    It gives the same results as that session, needs the memory of all values at once, and takes as
    long as it takes to copy them. What is inside loops and branches is not recorded, only what
    comes out; tf.check_numerics and tf.print work there, too.

    Args:
        session: to be wrapped, on either engine; closed together with this one.
        watch: which tensors are recorded: a regular expression that their names match from the
            start, or a function of a tensor; None: all.
        tensor_filter: which values are kept: takes a DebugTensor and its array; None: all.
        stop_on_nonfinite: True makes a run an InvalidArgumentError, after it has run, if a value
            in it is not finite; the error says which came first.

    Attributes:
        last: the DebugDump of the latest run that succeeded; None before the first.

    Raises:
        TypeError: session is not a Session.
    """

    def __init__(
        self,
        session: Session,
        watch: str | Callable[[Tensor], bool] | None = None,
        tensor_filter: TensorFilter | None = None,
        stop_on_nonfinite: bool = False,
    ) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"DebugSession: got {type(session).__name__}, expected a tf.Session")
        self.__dict__.update(session.__dict__)
        self._wrapped = session
        self._contexts = []
        self._watch = chooser(watch)
        self._filter = tensor_filter
        self._stop = stop_on_nonfinite
        self.last: DebugDump | None = None

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As Session.run; the values are in `last` afterwards.

        Raises:
            InvalidArgumentError: a value is not finite, and that is to stop a run.
        """
        feeds = {} if feed_dict is None else feed_dict
        fed = fed_tensors(self.graph, feeds)
        watched = [t for t in self._computed(fetches, fed) if self._watch(t)]
        values_of = [fetching.AsComputed(tensor) for tensor in watched]
        result, values = super().run([fetches, values_of], feeds, options, run_metadata)
        data = [
            DebugTensor(tensor, np.asarray(value), tensor in fed)
            for tensor, value in zip(watched, values, strict=True)
        ]
        if self._filter is not None:
            data = [datum for datum in data if self._filter(datum, datum.array)]
        self.last = DebugDump(data)
        found = self.last.first_nonfinite() if self._stop else None
        if found is not None:
            raise errors.InvalidArgumentError(found.op.node_def, found.op, str(found))
        return result

    def _computed(self, fetches: Any, fed: list[Tensor]) -> list[Tensor]:
        """The tensors that a run of the fetches computes or reads, what is fed first."""
        elements = fetching.Structure(self.graph, fetches).elements
        loops = LoopNeeds(Liveness())
        operations, read = reach([e for e in elements if e not in fed], set(fed), loops=loops)
        read |= {e for e in elements if isinstance(e, Tensor) and e in fed}
        made = [
            tensor
            for operation in sorted(operations, key=lambda o: o.order)
            for tensor in loops.computed(operation)
            if tensor not in fed and tensor.dtype.kind == "tensor"
        ]
        return [t for t in fed if t in read and t.dtype.kind == "tensor"] + made

    def close(self) -> None:
        """Ends this session and the one that it wraps."""
        super().close()
        self._wrapped.close()

    def list_inputs(self, tensor: Any) -> str:
        """The inputs of a value of the latest run, and theirs, as an indented listing.

        Args:
            tensor: a tensor or the name of one.

        Raises:
            RuntimeError: nothing has run.
            KeyError: the run did not record the tensor.
        """
        if self.last is None:
            raise RuntimeError("nothing has run in this session")
        name = name_of(tensor)
        self.last[name]
        return "\n".join(_tree(self.last._by_name, name))


def _tree(data: dict[str, DebugTensor], root: str) -> Iterator[str]:
    seen: set[str] = set()
    pending = [(root, "")]  # names and indents
    while pending:
        name, indent = pending.pop()
        datum = data[name]
        again = " (see above)" if name in seen else ""
        yield f"{indent}{datum} = {datum.op.type}{datum.op.where}{again}"
        if not again:
            seen.add(name)
            inputs = dict.fromkeys(t.name for t in datum.op.operands if t is not None)
            pending += [(n, indent + "  ") for n in reversed(inputs) if n in data]
