"""tf.debug: a session that keeps every value of a run, and finds where the first NaN was made.

session = tf.debug.DebugSession(tf.Session())
session.run(train_step, feeds)
print(session.last)                    # every value: shape, range, mean, line that made it
print(session.last.first_nonfinite())  # the operation that made the first NaN or infinity
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio import fetching, scopes
from graphio.export import reach
from graphio.feeding import fed_tensors
from graphio.graph import Graph, Operation, Tensor
from graphio.printing import graph_text
from graphio.schema import errors
from graphio.session import Session
from graphio.source import Source

__all__ = ["DebugDump", "DebugSession", "DebugTensor", "NonFinite", "has_inf_or_nan", "listing"]

Array = np.ndarray[Any, Any]
TensorFilter = Callable[["DebugTensor", Array], bool]


@dataclass(frozen=True)
class DebugTensor:
    """One value of a run.

    Attributes:
        tensor: whose value it is.
        array: the value.
        fed: whether the caller gave it.
    """

    tensor: Tensor
    array: Array
    fed: bool

    @property
    def name(self) -> str:
        """ "log:0"."""
        return self.tensor.name

    @property
    def op(self) -> Operation:
        """The operation that made it."""
        made: Operation = self.tensor.op
        return made

    @property
    def node_name(self) -> str:
        """ "log"."""
        return self.op.name

    @property
    def output_slot(self) -> int:
        """Which output of the operation it is."""
        return self.tensor.value_index

    @property
    def source(self) -> Source:
        """The line of the program that made the operation."""
        return self.op.source

    @property
    def nonfinite(self) -> str:
        """ "2 NaN, 1 Inf", "" if all is finite or it is no floating tensor."""
        if not _is_floating(self.array):
            return ""
        counts = ((int(test(self.array).sum()), name) for name, test in _TESTS)
        return ", ".join(f"{count} {name}" for count, name in counts if count)

    @property
    def kind(self) -> str:
        """ "float32[2,3]"."""
        return f"{self.tensor.dtype.name}[{','.join(map(str, self.array.shape))}]"

    def range(self) -> tuple[str, str, str]:
        """Least, largest and mean of what is finite, as text; "" where there are no numbers."""
        if self.tensor.dtype.name == "string" or np.iscomplexobj(self.array):
            return "", "", ""
        numbers = self.array.astype(np.float64).ravel()
        numbers = numbers[np.isfinite(numbers)]
        if not numbers.size:
            return "", "", ""
        least, most, mean = (f(numbers) for f in (np.min, np.max, np.mean))
        return f"{least:.6g}", f"{most:.6g}", f"{mean:.6g}"

    def __str__(self) -> str:
        least, most, _ = self.range()
        within = f" in {least} .. {most}" if least else ""
        bad = f", {self.nonfinite} of {self.array.size}" if self.nonfinite else ""
        return f"{self.name} {self.kind}{within}{bad}"


_TESTS = (("NaN", np.isnan), ("Inf", np.isinf))


def _is_floating(array: Array) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name in ("bfloat16",)


def has_inf_or_nan(datum: DebugTensor, array: Array) -> bool:
    """A tensor filter: whether something in a floating tensor is infinite or no number."""
    return _is_floating(array) and not bool(np.isfinite(array).all())


def listing(graph: Graph | None = None) -> str:
    """A graph as text, a line a node; print(graph) shows the last 200.

    Args:
        graph: None: the default graph.
    """
    return graph_text((scopes.get_default_graph() if graph is None else graph).root)


@dataclass(frozen=True)
class NonFinite:
    """Where the first value that is not finite was made.

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
        return _name_of(tensor) in self._by_name

    def __getitem__(self, tensor: Any) -> Array:
        """The value of a tensor, given by itself or its name; of an operation's first output.

        Raises:
            KeyError: the run did not compute it, or it was not watched.
        """
        name = _name_of(tensor)
        if name not in self._by_name:
            raise KeyError(
                f"the run did not record {name!r}; a value is recorded if the run computes it "
                "outside of loops and branches, and the session watches it"
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
                read = [t for t in datum.op.inputs if t is not None and t in self]
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


def _name_of(tensor: Any) -> str:
    if isinstance(tensor, str):
        return tensor if ":" in tensor else f"{tensor}:0"
    convert = getattr(tensor, "_as_graph_element", None)
    element = tensor if convert is None else convert()
    return f"{element.name}:0" if isinstance(element, Operation) else str(element.name)


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
        TypeError: session is no Session.
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
        self._watch = _watcher(watch)
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
        result, values = super().run([fetches, watched], feeds, options, run_metadata)
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
        roots = [e if isinstance(e, Operation) else e.op for e in elements if e not in fed]
        operations, read = reach(roots, set(fed))
        read |= {e for e in elements if isinstance(e, Tensor) and e in fed}
        made = [
            tensor
            for operation in sorted(operations, key=lambda o: o.order)
            for tensor in operation.outputs
            if tensor not in fed and tensor.dtype.kind == "tensor"
        ]
        return [t for t in fed if t in read and t.dtype.kind == "tensor"] + made

    def close(self) -> None:
        """Ends this session and the one that it wraps."""
        super().close()
        self._wrapped.close()

    def list_inputs(self, tensor: Any) -> str:
        """What went into a value of the latest run, and so on back, as an indented listing.

        Args:
            tensor: a tensor or the name of one.

        Raises:
            RuntimeError: nothing has run.
            KeyError: the run did not record the tensor.
        """
        if self.last is None:
            raise RuntimeError("nothing has run in this session")
        name = _name_of(tensor)
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
            inputs = dict.fromkeys(t.name for t in datum.op.inputs if t is not None)
            pending += [(n, indent + "  ") for n in reversed(inputs) if n in data]


def _watcher(watch: Any) -> Callable[[Tensor], bool]:
    if watch is None:
        return lambda tensor: True
    if callable(watch):
        chosen: Callable[[Tensor], bool] = watch
        return chosen
    pattern = re.compile(watch)
    return lambda tensor: pattern.match(tensor.name) is not None
