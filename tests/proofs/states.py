"""R2: every state that a kill or a power cut can leave is enumerated; each has what was saved.

python -m proofs.states

The operations of the real writers are recorded. A state is what the folder may hold afterwards:
after a kill the operations up to a moment, after a power cut any subset of the last 8 operations
since the folder was synced, with nothing, half or all of what was written to the last 4 files
since they were synced. From some of these states another run goes on, is recorded and enumerated
in turn. The controls change the recorded order to one that is not safe, and must lose something.
"""

from __future__ import annotations

import collections
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from crash_states import (
    Contents,
    Operation,
    Recorder,
    Replica,
    State,
    held,
    replayed,
    states,
)

from proofs import c_writer, contenders, workload
from proofs.c_writer import Program
from proofs.kills import strays
from proofs.layers import through
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer

SAVES = 4  # of the first run
GOES_ON = 2  # saves of a run that goes on after a crash
MOST = 20_000  # states of a control are looked at
SAMPLE = 100  # of so many states one is saved on from

Order = Callable[[list[Operation]], list[Operation]]


def saves_of(operations: Iterable[Operation]) -> Iterator[list[Operation]]:
    """The operations of one save after the other, each with its acknowledgement."""
    save: list[Operation] = []
    for done in operations:
        save.append(done)
        if done.kind == "ack":
            yield save
            save = []


def graph_last(operations: list[Operation]) -> list[Operation]:
    """The graph file is written after all else."""
    found: list[Operation] = []
    for save in saves_of(operations):
        graphs = {done.file for done in save if done.kind == "create" and ".meta" in done.name}
        late = [d for d in save if d.file in graphs or ".meta" in d.name and d.kind == "rename"]
        found += [done for done in save if done not in late and done.kind != "ack"]
        found += [*late, Operation("sync"), save[-1]]
    return found


def files_only(operations: list[Operation]) -> list[Operation]:
    """Files are synced, their folder is not."""
    return [done for done in operations if done.kind != "sync"]


def tensorflow(operations: list[Operation]) -> list[Operation]:
    """Nothing is synced, and the graph file comes after the older checkpoint was deleted."""
    return [done for done in graph_last(operations) if done.kind not in ("sync", "fsync")]


class Writer(Protocol):
    """Who saves, and goes on from what it finds."""

    def newest(self, folder: Path) -> int:
        """The step of the newest checkpoint, every byte checked; raises Lost."""
        ...

    def record(self, folder: Path, first: int, saves: int) -> list[Operation]:
        """Goes on from a folder as a new process, not before a step; what it did to files."""
        ...


class PythonWriter:
    """The Saver."""

    def __init__(self, options: Options, folder: Path) -> None:
        self.trainer = Trainer(options)

    def newest(self, folder: Path) -> int:
        """As Writer.newest."""
        return self.trainer.newest(folder)

    def record(self, folder: Path, first: int, saves: int) -> list[Operation]:
        """As Writer.record."""
        recorder = Recorder()
        self.trainer.restart()
        begin = max(self.trainer.resume(folder) + 1, first)
        with through(recorder):
            for step in range(begin, begin + saves):
                self.trainer.save(folder, step)
                recorder.acknowledge(step)
        return recorder.operations


class CWriter:
    """The program in C."""

    def __init__(self, options: Options, folder: Path) -> None:
        (folder / "clean").mkdir()
        self.program = Program(options, folder / "clean")

    def newest(self, folder: Path) -> int:
        """As Writer.newest."""
        return self.program.newest(folder)

    def record(self, folder: Path, first: int, saves: int) -> list[Operation]:
        """As Writer.record, but it begins with step 1."""
        return self.program.record(folder, self.program.resume(folder) + saves)


class Checker:
    """Looks at states of a folder.

    Args:
        writer: who saved.
        folder: an empty one.
    """

    def __init__(self, writer: Writer, folder: Path, result: Result, chance: random.Random):
        self.writer, self.result, self.chance = writer, result, chance
        self.contents = Contents()
        self.replica = Replica(folder / "after", self.contents)
        self.seen: dict[State, int] = {}
        self.kinds: set[int] = set()
        self.names: dict[str, str] = {}

    def check(self, found: dict[State, int], what: str, goes_on: bool) -> None:
        """Each state must have a complete checkpoint, no older than what was acknowledged."""
        for state, acknowledged in found.items():
            if self.seen.get(state, -2) >= acknowledged:
                continue
            self.result.count(what)
            if state not in self.seen:
                self.result.count("distinct states")
                self._note_kind(state)
            self.seen[state] = acknowledged
            self.replica.become(state)
            folder = Path(self.replica.folder)
            try:
                step = self.writer.newest(folder)
                if step < acknowledged:
                    raise Lost(f"step {step} was found, step {acknowledged} was acknowledged")
                if goes_on and self.chance.randrange(SAMPLE) == 0:
                    self.result.count("gone on from")
                    self._go_on(state, folder, step)
            except Lost as lost:
                self.result.lost.append(f"{what}, {sorted(n for n, _ in state)}: {lost}")

    def _note_kind(self, state: State) -> None:
        """Counts states that differ in more than the random ids of saves."""
        kind = hash(frozenset(collections.Counter(map(self._file, state)).items()))
        if kind not in self.kinds:
            self.kinds.add(kind)
            self.result.count("different but for the ids of saves")

    def _file(self, file: tuple[str, int]) -> tuple[str, int]:
        """A file's name without the id of its save, and its length."""
        name, number = file
        if name not in self.names:
            self.names[name] = re.sub("[0-9a-f]{16}", "", name)
        return self.names[name], len(self.contents.all[number])

    def _go_on(self, state: State, folder: Path, step: int) -> None:
        """One more save works and leaves nothing else."""
        try:
            self.replica.copy(state)
            done = self.writer.record(folder, 0, 1)[-1]
            if done.kind != "ack" or self.writer.newest(folder) != done.step or done.step <= step:
                raise Lost("the next save is not found")
            left = strays(folder)
            if left:
                raise Lost(f"after the next save these are left: {left}")
        finally:
            self.replica.forget()


def enumerated(
    kind: Callable[[Options, Path], Writer], options: Options, order: Order | None = None
) -> Slice:
    """States that a writer can leave.

    A slice is one run and `count` runs that go on after a crash; of a control the first alone.
    """

    def run(seed: int, count: int, folder: Path) -> Result:
        writer, result, chance = kind(options, folder), Result(), random.Random(seed)
        checker = Checker(writer, folder, result, chance)
        real = Replica(folder / "real", checker.contents)
        first = chance.randrange(1000)  # separate values: the states of slices differ
        every: list[tuple[State, int]] = [(frozenset(), -1)]
        for number in range(1 if order else 1 + count):
            state, acknowledged = chance.choice(every)
            real.copy(state)
            initial = {name: checker.contents.all[content] for name, content in state}
            done = writer.record(Path(real.folder), first, GOES_ON if number else SAVES)
            if replayed(done, initial) != held(real.folder):
                raise AssertionError("the recording is not what happened")
            operations = order(done) if order else done
            kills, cuts = states(operations, initial, checker.contents, acknowledged)
            every = every[:200] + [*kills.items(), *cuts.items()]
            if order:
                cuts = dict(chance.sample(list(cuts.items()), min(len(cuts), MOST)))
            checker.check(kills, "kills", order is None)
            checker.check(cuts, "power cuts", order is None)
        return result

    return run


ORDERS = {
    "TensorFlow's order": tensorflow,
    "only files synced": files_only,
    "graph last": graph_last,
}
MODES = {
    **{n: Mode(enumerated(PythonWriter, options)) for n, options in workload.MODES.items()},
    **{f"C: {n}": Mode(enumerated(CWriter, options)) for n, options in c_writer.MODES.items()},
    **{name: Mode(contenders.plays(pair)) for name, pair in contenders.PAIRS.items()},
    "control: what the own index does not name goes": Mode(contenders.old_rule, control=True),
    **{
        f"control: {name}": Mode(enumerated(PythonWriter, Options(), order), control=True)
        for name, order in ORDERS.items()
    },
}

if __name__ == "__main__":
    sys.exit(main("R2", __doc__ or "", MODES, count=100, slice_count=20))
