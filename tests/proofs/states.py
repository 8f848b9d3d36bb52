"""R2: every state that a kill or a power cut can leave is enumerated; each has what was saved.

python -m proofs.states --folder /dev/shm

The operations of the real writers are recorded. A state is what the folder may hold afterwards:
after a kill the operations up to a moment, after a power cut any subset of the last 8 operations
since the folder was synced, with nothing, half or all of what was written to the last 4 files
since they were synced. From some of these states another run goes on, is recorded and enumerated
in turn. The controls change the recorded order to one that is not safe, and must lose something.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from crash_states import Contents, Operation, Recorder, Replica, State, states

from proofs import workload
from proofs.kills import strays
from proofs.layers import through
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer

SAVES = 4  # of the first run
GOES_ON = 2  # saves of a run that goes on after a crash
MOST = 20_000  # states of a control are looked at
SAMPLE = 100  # of so many states one is saved on from

Order = Callable[[list[Operation]], list[Operation]]


def as_written(operations: list[Operation]) -> list[Operation]:
    """The order of the writer."""
    return operations


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


class Checker:
    """Looks at states of a folder.

    Args:
        trainer: who saved.
        folder: an empty one.
    """

    def __init__(self, trainer: Trainer, folder: Path, result: Result, chance: random.Random):
        self.trainer, self.result, self.chance = trainer, result, chance
        self.contents = Contents()
        self.replica = Replica(folder / "after", self.contents)
        self.seen: dict[State, int] = {}

    def check(self, found: dict[State, int], what: str, goes_on: bool = True) -> None:
        """Each state must have a whole checkpoint, no older than what was acknowledged."""
        for state, acknowledged in found.items():
            if self.seen.get(state, -2) >= acknowledged:
                continue
            self.result.count(what)
            if state not in self.seen:
                self.result.count("distinct states")
            self.seen[state] = acknowledged
            self.replica.become(state)
            try:
                step = self.trainer.newest(self.replica.folder)
                if step < acknowledged:
                    raise Lost(f"step {step} was found, step {acknowledged} was acknowledged")
                if goes_on and self.chance.randrange(SAMPLE) == 0:
                    self.result.count("gone on from")
                    self._go_on(step)
            except Lost as lost:
                self.result.lost.append(f"{what}, {sorted(n for n, _ in state)}: {lost}")

    def _go_on(self, step: int) -> None:
        """One more save works and leaves nothing else."""
        try:
            self.trainer.restart()
            if self.trainer.resume(self.replica.folder) != step:
                raise Lost("the Saver restores another step than the files have")
            self.trainer.save(self.replica.folder, step + 1)
            if self.trainer.newest(self.replica.folder) != step + 1:
                raise Lost("the next save is not found")
            left = strays(Path(self.replica.folder))
            if left:
                raise Lost(f"after the next save these lie about: {left}")
        finally:
            self.replica.forget()


def python_writer(options: Options, order: Order = as_written) -> Slice:
    """States that the Saver can leave.

    A slice is one run and `count` runs that go on after a crash; of a control the first alone.
    """

    def run(seed: int, count: int, folder: Path) -> Result:
        trainer, result, chance = Trainer(options), Result(), random.Random(seed)
        checker = Checker(trainer, folder, result, chance)
        safe = order is as_written
        real = Replica(folder / "real", checker.contents)
        first = chance.randrange(1000)  # values of their own: the states of slices differ
        every: list[tuple[State, int]] = [(frozenset(), -1)]
        for number in range(1 + count if safe else 1):
            state, acknowledged = chance.choice(every)
            real.forget()
            real.become(state)
            recorder = record(trainer, Path(real.folder), first, GOES_ON if number else SAVES)
            operations = order(recorder.operations)
            kills, cuts = states(operations, recorder.initial, checker.contents, acknowledged)
            every = every[:200] + [*kills.items(), *cuts.items()]
            if not safe:
                cuts = dict(chance.sample(list(cuts.items()), min(len(cuts), MOST)))
            checker.check(kills, "kills", safe)
            checker.check(cuts, "power cuts", safe)
        return result

    return run


def record(trainer: Trainer, folder: Path, first: int, saves: int) -> Recorder:
    """The operations of some saves that go on from what a folder holds."""
    recorder = Recorder(folder)
    trainer.restart()
    begin = max(trainer.resume(folder) + 1, first)
    with through(recorder):
        for step in range(begin, begin + saves):
            trainer.save(folder, step)
            recorder.acknowledge(step)
    return recorder


MODES = {
    **{name: Mode(python_writer(options)) for name, options in workload.MODES.items()},
    **{
        f"control: {name}": Mode(python_writer(Options(), order), control=True)
        for name, order in {
            "TensorFlow's order": tensorflow,
            "only files synced": files_only,
            "graph last": graph_last,
        }.items()
    },
}

if __name__ == "__main__":
    sys.exit(main("R2", __doc__ or "", MODES, count=200, slice_count=20))
