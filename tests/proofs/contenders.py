"""R2 with a second process: two savers of one prefix, or one and a deletion or a reader.

Each play is one order in which the calls of both come (turns.py). All states that a crash can leave
of what both did are enumerated; and one of them is killed while the other goes on. What restores is
never older than what was acknowledged last, in the order of the commits, complete, with its graph.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from crash_states import Contents, Operation, Replica, State, held, replayed, states

from graphio.schema import checkpoint, checkpoint_cleaner, checkpoint_files, checkpoint_index
from graphio.storage import files, stores
from graphio.support import errors
from proofs import workload
from proofs.kills import strays
from proofs.slices import Result, Slice
from proofs.turns import Play, emptied, orders

BASE = "model"
FIRST = 1  # the step of the existing checkpoint
NOTHING = 0  # the step after a deletion
CALLS = 40  # an actor makes fewer
SWITCHES = 2
PLAYS = 100  # of a count

Task = Callable[[files.FileLayer], int]


def save(folder: Path, step: int, layer: files.FileLayer = files.SYSTEM) -> int:
    """Saves a step, always the same bytes under the same names."""
    checkpoint.write_checkpoint(
        folder / BASE,
        {"a": np.full(5, step, np.int32), "b": np.full(3, step, np.float64)},
        meta=b"graph of %d" % step,
        shard_bytes=20,
        step=step,
        save_id=step,
        time=step,
        layer=layer,
    )
    return step


def found(folder: Path) -> int:
    """The step that restores, every byte checked; errors if it is damaged."""
    try:
        read = checkpoint.read_checkpoint(folder / BASE)
    except errors.NotFoundError:
        return NOTHING
    step = int(read.variables["a"][0])
    whole = (
        read.variables["a"].tolist() == [step] * 5 and read.variables["b"].tolist() == [step] * 3
    )
    if not whole or read.step != step or read.meta() != b"graph of %d" % step:
        raise errors.DataLossError(message=f"what restores is a mixture, step {step} among others")
    return step


@dataclass(frozen=True)
class Pair:
    """Two actors.

    Attributes:
        tasks: for a folder, what each of them does.
        first: whether a checkpoint exists before.
        named: whether the graph file of what is there in the end has its plain name.
    """

    tasks: Callable[[Path], dict[str, Task]]
    first: bool = True
    named: bool = True


def _delete(folder: Path, layer: files.FileLayer) -> int:
    checkpoint.delete(folder / BASE, layer)
    return NOTHING


def _read(folder: Path) -> int:
    """Reads until no save replaces the graph file meanwhile."""
    while True:
        try:
            found(folder)
            return -1
        except errors.NotFoundError:
            continue


PAIRS = {
    "two savers": Pair(
        lambda folder: {
            "one": lambda layer: save(folder, 2, layer),
            "other": lambda layer: save(folder, 3, layer),
        }
    ),
    "two savers, new prefix": Pair(
        lambda folder: {
            "one": lambda layer: save(folder, 2, layer),
            "other": lambda layer: save(folder, 3, layer),
        },
        first=False,
    ),
    "two saves and one": Pair(
        lambda folder: {
            "one": lambda layer: save(folder, 2, layer) and save(folder, 4, layer),
            "other": lambda layer: save(folder, 3, layer),
        }
    ),
    "a saver and a deletion": Pair(
        lambda folder: {
            "one": lambda layer: save(folder, 2, layer),
            "other": lambda layer: _delete(folder, layer),
        },
        named=False,
    ),
    "a saver and a reader": Pair(
        lambda folder: {
            "one": lambda layer: save(folder, 2, layer) and save(folder, 3, layer),
            "other": lambda layer: _read(folder),
        }
    ),
}


@dataclass
class Commits:
    """Outcomes in the order in which they came to be, oldest first."""

    order: list[int] = field(default_factory=list)

    def note(self, done: Operation, data: bytes) -> None:
        """A rename of the index, or of it to a mark, is an outcome."""
        index = BASE + ".index"
        if done.kind == "rename" and done.name == index:
            message = checkpoint_index.CheckpointIndex.FromString(checkpoint_index.unwrap(data))
            self.order.append(message.step)
        elif done.kind == "rename" and done.old == index:
            self.order.append(NOTHING)

    def position(self, step: int) -> int:
        """When an outcome last came to be, -1: never."""
        return max((n for n, other in enumerate(self.order) if other == step), default=-1)


def commits_of(operations: list[Operation], initial: dict[str, bytes], first: int) -> Commits:
    """The outcomes of a recording."""
    commits, written = Commits([first]), dict[int, bytes]()
    names = dict.fromkeys(initial, -1)
    for done in operations:
        if done.kind == "create":
            names[done.name], written[done.file] = done.file, b""
        elif done.kind == "write":
            written[done.file] += done.data
        elif done.kind == "rename":
            names[done.name] = names.pop(done.old)
            commits.note(done, written.get(names[done.name], b""))
    return commits


class Judge:
    """Looks at the states of plays, each once."""

    def __init__(self, folder: Path) -> None:
        self.result, self.contents = Result(), Contents()
        self.replica = Replica(folder / "after", self.contents)
        self._seen: set[tuple[State, tuple[int, ...]]] = set()

    def judge(self, play: Play, initial: dict[str, bytes], first: int, what: str) -> None:
        """Every state of a play must have an outcome that is not too old."""
        commits = commits_of(play.operations, initial, first)
        operations = [
            Operation("ack", step=commits.position(done.step)) if done.kind == "ack" else done
            for done in play.operations
            if not (done.kind == "ack" and done.step < 0)
        ]
        self.result.count("plays")
        for kind, part in zip(
            ("kills", "power cuts"), states(operations, initial, self.contents, 0), strict=True
        ):
            for state, acknowledged in part.items():
                allowed = tuple(sorted(set(commits.order[max(acknowledged, 0) :])))
                if (state, allowed) not in self._seen:
                    self._seen.add((state, allowed))
                    self.result.count(kind)
                    self.result.count("distinct states")
                    self._look(state, allowed, f"{what}, {kind}")

    def _look(self, state: State, allowed: tuple[int, ...], what: str) -> None:
        self.replica.become(state)
        try:
            step = found(Path(self.replica.folder))
            wrong = "" if step in allowed else f"step {step} was found, not one of {allowed}"
        except (errors.OpError, ValueError) as error:
            wrong = str(error)
        if wrong:
            self.result.lost.append(f"{what}, {sorted(name for name, _ in state)}: {wrong}")


def _chosen(chance: random.Random, names: list[str]) -> list[list[tuple[str, int]]]:
    every = [list(order) for order in orders(names, CALLS, SWITCHES)]
    chance.shuffle(every)
    return every


def plays(pair: Pair) -> Slice:
    """Plays of a pair: orders drawn from all with SWITCHES switches, with a kill in every third."""

    def run(seed: int, count: int, folder: Path) -> Result:
        chance, judge = random.Random(seed), Judge(folder)
        real_folder = folder / "real"
        real_folder.mkdir()
        names = list(pair.tasks(real_folder))
        for number, order in enumerate(_chosen(chance, names)[: max(count, 1) * PLAYS]):
            emptied(real_folder)
            first = save(real_folder, FIRST) if pair.first else NOTHING
            initial = held(real_folder)
            killed = chance.choice(names) if number % 3 == 0 else None
            play = Play(pair.tasks(real_folder), order, killed)
            what = f"{order}, {killed} killed"
            if replayed(play.operations, initial) != held(real_folder):
                raise AssertionError("the recording is not what happened")
            judge.result.lost += [f"{what}: refused: {reported}" for reported in play.refused()]
            judge.judge(play, initial, first, what)
            named = pair.named and killed is None
            try:
                judge.result.lost += [f"{what}: {left}" for left in _after(real_folder, named)]
            except errors.OpError as error:
                judge.result.lost.append(f"{what}: {error}")
        return judge.result

    return run


def _after(real_folder: Path, named: bool) -> Iterator[str]:
    """The faults after a play: in the plain graph file, and in the files after one more save."""
    step, plain = found(real_folder), real_folder / f"{BASE}.meta"
    if named and not plain.exists():
        yield "the graph file has no plain name"
    elif named and plain.read_bytes() != b"graph of %d" % step:
        yield "the plain graph file is another's"
    with workload.hours_later(time.time() + 1):
        save(real_folder, 9)
    if found(real_folder) != 9 or strays(real_folder):
        yield f"after one more save these are left: {strays(real_folder)}"


def old_rule(seed: int, count: int, folder: Path) -> Result:
    """The control: after a commit a saver removes all that its own index does not name."""

    def clean(store: stores.Store, base: str, *_: object) -> None:
        index = checkpoint_index.read_index_of(store, base)
        keep = {name for name, _ in checkpoint_files.references(index)}
        for name in store.names():
            if name.startswith((f"{base}.data-", f"{base}.meta-")) and name not in keep:
                store.remove(name)

    rule, checkpoint_cleaner.clean = checkpoint_cleaner.clean, clean
    try:
        return plays(PAIRS["two savers"])(seed, count, folder)
    finally:
        checkpoint_cleaner.clean = rule
