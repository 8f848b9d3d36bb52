"""Plans: what a graph's nodes come down to for given inputs and outputs, compiled once.

A block is a list of steps over numbered slots. Constants are in the slots from the start, names
for the same value (Identity) share a slot, and what a slot held is let go after its last use.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from graphio.engine.interface import HostFunction
from graphio.runtime import failure, half, registry, steps
from graphio.runtime.fusing import Entry, fuse
from graphio.runtime.parallel import Order, Schedule
from graphio.runtime.program import GraphInfo, NodeInfo
from graphio.runtime.registry import Call
from graphio.runtime.state import Slot, State, uninitialized
from graphio.runtime.steps import Step, Values
from graphio.runtime.watch import Watch
from graphio.schema import dtypes
from graphio.schema.model_pb2 import Type
from graphio.support import errors

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

Array = np.ndarray[Any, Any]

ABSENT = 0  # the slot that always holds None
_OUTSIDE = ""  # the origin of memory that the caller or the state owns
_NONE: frozenset[str] = frozenset()
_FROM_OUTSIDE = frozenset((_OUTSIDE,))
_FOLDED_BYTES = 1 << 16
_AHEAD, _AHEAD_EACH = 1 << 24, 64  # bytes, and for each byte of the constants
_PLACEHOLDER = ("graphio", "Placeholder")
_CONSTANT = ("", "Constant")
_ASSIGN = ("graphio", "Assign")
_HOST_CALL = ("graphio", "HostCall")
_NO_OP = ("graphio", "NoOp")
_READS = (("graphio", "Variable"), ("graphio", "ReadVariable"))


class Ahead:
    """The work that may still be done while planning, so that it stays in proportion to the model.

    Attributes:
        left: bytes that nodes may read and write.
    """

    def __init__(self) -> None:
        self.left = _AHEAD


class Block:
    """A compiled graph: the root for one signature, or a body.

    Attributes:
        template: the slots as a run finds them.
        inputs: slots of the formal inputs or of the fed values.
        captures: names of outer values with their slots.
        outputs: slots of the outputs.
        output_types: what the file says about the outputs, None of one that it says nothing about.
        owned: for each output whether its memory has no other owner.
        reads: variables that must be initialised before the first step, with their nodes.
        calls_out: whether functions of the program are called, which see its context.
        unstepped: nodes that are done, or have no effect, before a run.

    Args:
        parallel: whether steps may run at the same time.
        separate: whether each node that is not a constant is a separate step, whose values stay
            until the run ends: for those who look at them.
        ahead: of the block around this one.
    """

    def __init__(
        self,
        graph: GraphInfo,
        state: State,
        *,
        inputs: Sequence[str],
        outputs: Sequence[str],
        targets: Sequence[str],
        types: Mapping[str, Type],
        host: Mapping[str, HostFunction],
        constants: Mapping[str, Array] | None = None,
        parallel: bool = False,
        separate: bool = False,
        ahead: Ahead | None = None,
    ) -> None:
        types = {**types, **graph.types}
        builder = _Builder(state, types, host, separate, ahead or Ahead())
        builder.order = Order() if parallel else None
        self.inputs = [builder.give(name) for name in inputs]
        self.captures = builder.capture(graph.captures, constants or {})
        needed = graph.needed(outputs, targets, builder.slot_of)
        for i in needed:
            builder.add(graph.nodes[i])
        self.owned = builder.owned(outputs)
        self.reads = builder.reads
        results = [builder.slot(name) for name in outputs]
        self.output_types = [types.get(name) for name in outputs]
        # The caller keeps the arrays that it feeds; a loop's values have no other owner.
        held = self.inputs if constants is None else ()
        self._steps, self._origin, self.outputs = builder.finish(results, held)
        self.calls_out = builder.calls_out
        self.template = builder.template
        self._state = state
        self._schedule: Schedule | None = None
        if builder.order is not None:
            names = [entry.node.name for entry in builder.pending]
            self._schedule = Schedule(builder.order.waits(names))
        stepped = {entry.node.name for entry in builder.pending}
        self.unstepped = [graph.nodes[i] for i in needed if graph.nodes[i].name not in stepped]

    def execute(self, values: Values) -> None:
        """Runs the steps on slots that hold the template, the inputs and the captures."""
        watch = self._state.watch
        if watch is not None:
            watch.check_deadline()
            if watch.visit is not None:
                self.execute_watched(values, Watch(visit=watch.visit))
                return
        try:
            for step in self._steps:
                step(values)
        except Exception as error:
            self._raise(step, values, error)

    def _raise(self, step: Step, values: Values, error: Exception) -> NoReturn:
        node, inputs, _ = self._origin[step]
        made = failure.of_node(node, error, [values[i] for i in inputs])
        raise made from (error.__cause__ if isinstance(error, errors.OpError) else error)

    def execute_watched(self, values: Values, watch: Watch) -> None:
        """As execute, under observation."""
        watch.done(self.unstepped)
        for step in self._steps:
            self._watched(step, values, watch)

    def execute_parallel(
        self, values: Values, watch: Watch, pool: ThreadPoolExecutor, threads: int
    ) -> None:
        """As execute, with up to `threads` steps at the same time."""
        assert self._schedule is not None
        watch.done(self.unstepped)

        def run(i: int) -> None:
            self._watched(self._steps[i], values, watch)

        self._schedule.run(run, pool, threads, self._state.lock)

    def _watched(self, step: Step, values: Values, watch: Watch) -> None:
        try:
            watch.check_deadline()
            start = time.time_ns()
            step(values)
        except Exception as error:
            self._raise(step, values, error)
        node, inputs, results = self._origin[step]
        watch.after(node, start, [values[i] for i in inputs], [values[i] for i in results])

    # ---- for stepping ----

    @property
    def nodes(self) -> list[NodeInfo]:
        """The nodes of the steps, in order."""
        return [self._origin[step][0] for step in self._steps]

    def slots_of(self, index: int) -> tuple[list[int], list[int]]:
        """The slots of a step's inputs and results."""
        return self._origin[self._steps[index]][1:]

    def run_node(self, index: int, values: Values) -> None:
        """Runs one step on the slots."""
        try:
            self._steps[index](values)
        except Exception as error:
            self._raise(self._steps[index], values, error)

    def check_initialized(self) -> None:
        """Refuses the run when a variable that it reads first has no value."""
        for slot, node in self.reads:
            if slot.value is None:
                raise failure.of_node(node, uninitialized(slot.name))


class _Builder:
    """The facts known while the nodes of a block are gone through in order."""

    def __init__(
        self,
        state: State,
        types: Mapping[str, Type],
        host: Mapping[str, HostFunction],
        separate: bool,
        ahead: Ahead,
    ) -> None:
        self.separate = separate
        self.ahead = ahead
        self.types = types
        self.state = state
        self.host = host
        self.template: Values = [None]
        self.slot_of: dict[str, int] = {}
        self.constants: dict[str, Array] = {}
        self.origins: dict[str, frozenset[str]] = {}  # nodes whose memory a value may share
        self.kept: set[str] = set()  # nodes whose memory a variable took over
        self.assigned: set[str] = set()
        self.reads: list[tuple[Slot, NodeInfo]] = []
        self.pending: list[Entry] = []
        self.order: Order | None = None  # for steps that may run at the same time
        self.calls_out = False
        self._rows: dict[tuple[Any, ...], tuple[registry.Row, bool]] = {}

    @property
    def _keeps_all(self) -> bool:
        """Whether all values stay where they are until the run ends."""
        return self.separate or self.order is not None

    def slot(self, value: str) -> int:
        """The slot of a value that is there already."""
        if not value:
            return ABSENT
        try:
            return self.slot_of[value]
        except KeyError:
            raise errors.DataLossError(message=f"nothing produces the value '{value}'") from None

    def give(self, name: str) -> int:
        """A new slot for a value that comes from outside."""
        self.origins[name] = _FROM_OUTSIDE
        return self._new(name)

    def _new(self, name: str, value: Any = None) -> int:
        self.template.append(value)
        self.slot_of[name] = len(self.template) - 1
        return len(self.template) - 1

    def capture(
        self, names: Iterable[str], constants: Mapping[str, Array]
    ) -> list[tuple[str, int]]:
        """Slots for outer values; those that are constant are filled in here."""
        found = []
        for name in names:
            slot = self.give(name)
            if name in constants:
                self.template[slot] = self.constants[name] = constants[name]
            else:
                found.append((name, slot))
        return found

    def add(self, node: NodeInfo) -> None:
        """Adds a node's step, or whatever makes one unnecessary."""
        before = len(self.pending)
        try:
            self._add(node)
        except errors.OpError as error:
            raise failure.of_node(node, error) from None
        if self.order is not None:
            self.order.add(node, len(self.pending) > before)

    def _add(self, node: NodeInfo) -> None:
        if node.key == _NO_OP:
            return
        if node.key == _CONSTANT and node.name not in self.slot_of:
            given = node.attributes()
            value = given.get("value")
            if isinstance(value, np.ndarray) and len(given) == 1:
                self.ahead.left += _AHEAD_EACH * value.nbytes
                self._keep(node.name, value)
                return
        numbers = tuple([self._dtype(v) for v in node.inputs])
        row, widened = self._row(node, numbers)
        if row.alias and not self.separate and node.outputs[0] not in self.slot_of:
            self._alias(node)
            return
        self._note_state(node)
        shared = self._shared(node)
        if row.same is not None and not widened:
            function = row.same
        else:
            call = self._call(node, numbers, shared)
            function = half.make(row, call) if widened else row.make(call)
        if row.fold and not self.separate and self._folded(node, function):
            return
        inputs = [self.slot(v) for v in (*node.inputs, *node.captures)]
        origins = frozenset((node.name,)) if row.fresh else shared | {_OUTSIDE}
        if node.key == _ASSIGN:
            self.kept |= shared
            origins |= {_OUTSIDE}
        # A fed output keeps the fed value: the node's result goes to a slot without a reader.
        outputs = [self._output(name, origins) for name in node.outputs]
        entry = Entry(node, function, inputs, outputs, {} if widened else row.reuse)
        if node.key == _PLACEHOLDER:
            self.pending.insert(0, entry)
        else:
            self.pending.append(entry)

    def _row(self, node: NodeInfo, numbers: tuple[int, ...]) -> tuple[registry.Row, bool]:
        """The kernel for inputs of these types, and whether it needs them widened."""
        key = (*node.key, node.version, *numbers)
        if key not in self._rows:
            row = registry.find(*node.key, node.version)
            assert row is not None  # loading refuses models with unknown operators
            registry.check_types(row, numbers)
            self._rows[key] = row, half.needed(row, numbers)
        return self._rows[key]

    def _output(self, name: str, origins: frozenset[str]) -> int:
        if name in self.slot_of:
            self.template.append(None)
            return len(self.template) - 1
        self.origins[name] = origins
        return self._new(name)

    def _dtype(self, value: str) -> int:
        """The element type's number; 0: unknown, -1: absent."""
        if not value:
            return -1
        if value in self.constants:  # the type that a file declares may be another one
            return dtypes.of_numpy(self.constants[value].dtype).number
        kind = self.types.get(value)
        return kind.tensor.dtype if kind is not None else 0

    def _shared(self, node: NodeInfo) -> frozenset[str]:
        """The nodes whose memory the node's inputs may share."""
        reads = node.reads
        if len(reads) == 1:
            return self.origins[reads[0]]
        return frozenset().union(*[self.origins[v] for v in reads]) if reads else _NONE

    def _alias(self, node: NodeInfo) -> None:
        source, name = node.inputs[0], node.outputs[0]
        self.slot_of[name] = self.slot(source)
        self.origins[name] = self.origins[source]
        if source in self.constants:
            self.constants[name] = self.constants[source]

    def _note_state(self, node: NodeInfo) -> None:
        if node.key in _READS:
            slot = self.state.slot(node.attrs["variable"].decode())
            if slot.name not in self.assigned:
                self.reads.append((slot, node))
        elif node.key == _ASSIGN:
            self.assigned.add(node.attrs["variable"].decode())

    def _call(self, node: NodeInfo, numbers: Sequence[int], shared: frozenset[str]) -> Call:
        self.calls_out |= node.key == _HOST_CALL
        return Call(
            name=node.name,
            op=node.key[1],
            version=node.version,
            attrs=node.attributes(),
            dtypes=numbers,
            outputs=node.proto.output_type,
            constants=[self.constants.get(v) for v in node.inputs],
            bodies={key: self._body(body) for key, body in node.bodies.items()},
            captures=node.captures,
            borrowed=_OUTSIDE in shared,
            state=self.state,
            host=self.host,
        )

    def _body(self, body: GraphInfo) -> Block:
        made = Block(
            body,
            self.state,
            inputs=body.inputs,
            outputs=body.outputs,
            targets=body.targets,
            types=self.types,
            host=self.host,
            constants=self.constants,
            separate=self.separate,
            ahead=self.ahead,
        )
        self.calls_out |= made.calls_out
        return made

    def _folded(self, node: NodeInfo, function: registry.Function) -> bool:
        """Computes a node whose inputs are constant now; False if that is left to the run."""
        if self.ahead.left <= 0 or not all(v in self.constants for v in node.reads):
            return False
        self.ahead.left -= sum(self.constants[v].nbytes for v in node.reads)
        try:
            if not node.inputs:
                result = function()
            else:
                with np.errstate(all="ignore"):
                    result = function(*(self.constants.get(v) for v in node.inputs))
        except Exception:  # the run reports it, if it comes to that
            return False
        results = (result,) if len(node.outputs) == 1 else result
        arrays = [np.asarray(r) if not isinstance(r, np.ndarray) else r for r in results]
        nbytes = sum(a.nbytes for a in arrays)
        self.ahead.left -= nbytes
        if nbytes > _FOLDED_BYTES and node.key != _CONSTANT:
            return False
        for name, array in zip(node.outputs, arrays, strict=True):
            if name not in self.slot_of:
                self._keep(name, array)
        return True

    def _keep(self, name: str, array: Array) -> None:
        """A slot for a value that is the same in every run."""
        self._new(name, array)
        self.constants[name] = array
        self.origins[name] = _FROM_OUTSIDE

    def owned(self, outputs: Sequence[str]) -> list[bool]:
        """For each output whether neither caller, state nor another output shares its memory."""
        count: dict[str, int] = {}
        for name in outputs:
            for origin in self.origins.get(name, ()):
                count[origin] = count.get(origin, 0) + 1
        return [
            all(o != _OUTSIDE and o not in self.kept and count[o] == 1 for o in self.origins[name])
            for name in outputs
        ]

    def finish(
        self, outputs: Sequence[int], held: Sequence[int]
    ) -> tuple[list[Step], dict[Step, tuple[NodeInfo, list[int], list[int]]], list[int]]:
        """The steps, where each came from with its inputs and results, the slots of the outputs.

        A result takes the slot of an input that is not needed any more, so that nothing has to be
        done to let go of that; what else dies is emptied explicitly.

        Args:
            outputs: slots that are read when all is done.
            held: slots whose values others hold, so that emptying them frees nothing.
        """
        made: list[Step] = []
        origin: dict[Step, tuple[NodeInfo, list[int], list[int]]] = {}
        moved: dict[int, int] = {}  # slots that moved
        free: list[int] = []
        if not self._keeps_all:
            self.pending = fuse(self.pending, outputs)
        # Steps without an order between them cannot hand memory to one another.
        spare = {} if self._keeps_all else self._spare(outputs)
        for i, (entry, dying) in enumerate(
            zip(self.pending, self._deaths([*outputs, *held]), strict=True)
        ):
            sources = [moved.get(i, i) for i in entry.inputs]
            empty = [moved.get(i, i) for i in dying if i not in entry.outputs]
            targets = []
            for result in entry.outputs:
                if empty or free:
                    moved[result] = empty.pop() if empty else free.pop()
                targets.append(moved.get(result, result))
            lost = [moved.get(i, i) for i in entry.outputs if i in dying]
            function = entry.function
            for k, reusing in entry.reuse.items():
                if spare.get(entry.inputs[k]) == i:
                    function = reusing
                    break
            step = steps.make(function, sources, targets, empty + lost)
            free += empty + lost
            made.append(step)
            origin[step] = (entry.node, sources, targets)
        if not self.separate:
            self._drop_unread({*outputs, *held, *(i for e in self.pending for i in e.inputs)})
        return made, origin, [moved.get(i, i) for i in outputs]

    def _drop_unread(self, read: Collection[int]) -> None:
        """Drops constants that only other constants needed."""
        for slot in range(len(self.template)):
            if slot not in read:
                self.template[slot] = None

    def _spare(self, outputs: Sequence[int]) -> dict[int, int]:
        """For slots whose memory has no other owner: the last step that reads it."""
        last = {slot: i for i, entry in enumerate(self.pending) for slot in entry.inputs}
        last.update(dict.fromkeys(outputs, len(self.pending)))
        until: dict[str, int] = {}  # by the node whose memory it is
        for name, slot in self.slot_of.items():
            for node in self.origins[name]:
                until[node] = max(until.get(node, -1), last.get(slot, -1))
        until.update(dict.fromkeys((_OUTSIDE, *self.kept), len(self.pending)))
        return {
            slot: until[next(iter(self.origins[name]))]
            for name, slot in self.slot_of.items()
            if len(self.origins[name]) == 1
        }

    def _deaths(self, kept: Sequence[int]) -> list[list[int]]:
        """For each step the slots that can be emptied after it."""
        if self._keeps_all:
            return [[] for _ in self.pending]
        live = {ABSENT, *kept} | {i for i, v in enumerate(self.template) if v is not None}
        deaths = []
        for entry in reversed(self.pending):
            deaths.append(sorted({*entry.inputs, *entry.outputs} - live))
            live.update(entry.inputs)
        return deaths[::-1]
