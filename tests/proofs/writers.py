"""R30: several processes save to one prefix at the same moment; nothing acknowledged is lost.

python -m proofs.writers

In a round each of the writers, Python's or C's, has to save a separate step after a random
time, and in every fifth round one of them is killed meanwhile. Afterwards the prefix must restore,
bit for bit and with its graph file, a step of this round that was acknowledged, or one that a
killed or failed writer may have committed; if none was acknowledged, what was there before is
right, too. If no writer was killed, the plain graph file is that of the checkpoint. Now and then
one more save must leave nothing else about.
"""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from graphio.schema import checkpoint, checkpoint_cleaner, checkpoint_index
from graphio.storage import stores
from graphio.support import errors
from proofs import c_writer, kills, workload
from proofs.c_writer import Program
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer

BATCH = 50  # rounds with the same processes, in a folder that is emptied then
SPAN = 0.012  # seconds within which the saves of a round begin
KILLED = 5  # of so many rounds one has a kill
PATIENCE = 60  # seconds for the answer to one save

SAME = Options(same=True, shard_bytes=1100)


class Reported:
    """A process that saves on request.

    Attributes:
        answer: the descriptor from which its lines come.
    """

    def __init__(self, process: int, order: int, answer: int) -> None:
        self.process, self.order, self.answer = process, order, answer
        self._read = b""

    def save(self, step: int, wait: float) -> None:
        """Tells it to save a step after some seconds."""
        os.write(self.order, b"%d %d\n" % (step, wait * 1e6))

    def line(self) -> str | None:
        """Its next line if it is complete; None: it has ended, "": not yet."""
        more = os.read(self.answer, 65536)
        self._read += more
        first, newline, rest = self._read.partition(b"\n")
        if newline:
            self._read = rest
            return first.decode(errors="replace")
        return "" if more else None

    def kill(self) -> None:
        """Ends it at once."""
        os.kill(self.process, signal.SIGKILL)

    def close(self) -> None:
        """Ends it and forgets it."""
        os.close(self.order)
        self.kill()
        os.waitpid(self.process, 0)
        os.close(self.answer)


def python_reported(trainer: Trainer, folder: Path, shared: Sequence[Reported]) -> Reported:
    """A fork of this process that saves by its Saver."""
    to_read, order = os.pipe()
    answer, to_write = os.pipe()
    process = os.fork()
    if process == 0:
        for other in shared:
            os.close(other.order)
            os.close(other.answer)
        os.close(order)
        os.close(answer)
        _obey(trainer, folder, to_read, to_write)
    os.close(to_read)
    os.close(to_write)
    return Reported(process, order, answer)


def _obey(trainer: Trainer, folder: Path, orders: int, answers: int) -> None:
    """Never returns: nothing of the parent's may run twice."""
    try:
        warnings.simplefilter("ignore")
        with open(orders) as lines:
            for line in lines:
                step, wait = map(int, line.split())
                time.sleep(wait / 1e6)
                try:
                    trainer.save(folder, step)
                    reported = f"saved {step} \n"
                except errors.OpError as error:
                    reported = f"failed {step} {error.message}\n"
                os.write(answers, reported.encode())
    except BaseException:
        os.write(answers, b"trouble " + traceback.format_exc().replace("\n", " | ").encode())
    finally:
        os._exit(0)


def c_reported(program: Program, folder: Path) -> Reported:
    """The program in C."""
    run = subprocess.Popen(
        program.command(folder, "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert run.stdin is not None and run.stdout is not None
    reported = Reported(run.pid, os.dup(run.stdin.fileno()), os.dup(run.stdout.fileno()))
    run.stdin.close()
    run.stdout.close()
    run.returncode = 0  # it is waited for by its number
    return reported


class Contest:
    """Some writers and one folder.

    Args:
        kinds: "python" or "C" for each writer.
        folder: an empty one.
    """

    def __init__(self, kinds: Sequence[str], folder: Path, chance: random.Random) -> None:
        self.kinds, self.chance, self.result = kinds, chance, Result()
        self.folder = folder / "run"
        self.folder.mkdir()
        self.trainer = Trainer(SAME)
        self.program = Program(SAME, self.folder) if "C" in kinds else None
        self.reported: list[Reported] = []
        self.step = 0
        self.whose: dict[int, str] = {}
        self.before: set[int] = {-1}

    def begin(self) -> None:
        """New processes in an empty folder."""
        self.end()
        kills.empty(self.folder)
        self.step, self.whose, self.before = 0, {}, {-1}
        for kind in self.kinds:
            self.reported.append(self._new(kind))

    def end(self) -> None:
        """Ends the processes."""
        for reported in self.reported:
            reported.close()
        self.reported = []

    def _new(self, kind: str) -> Reported:
        if kind == "C":
            assert self.program is not None
            return c_reported(self.program, self.folder)
        return python_reported(self.trainer, self.folder, self.reported)

    def round(self) -> None:
        """One save of each at about the same time."""
        steps = {}
        for number, (reported, kind) in enumerate(zip(self.reported, self.kinds, strict=True)):
            self.step += 2  # so that graphs differ from one writer to the next
            steps[number] = self.step
            self.whose[self.step] = kind
            reported.save(self.step, self.chance.uniform(0, SPAN))
        killed = None
        if self.chance.randrange(KILLED) == 0:
            killed = self.chance.randrange(len(self.reported))
            time.sleep(self.chance.uniform(0, 2 * SPAN))
            self.reported[killed].kill()
            self.result.count("kills")
        saved, possible = self._answers(steps, killed)
        self._judge(saved, possible, killed is not None)
        if killed is not None:
            self.reported.pop(killed).close()
            self.reported.insert(killed, self._new(self.kinds[killed]))

    def _answers(self, steps: dict[int, int], killed: int | None) -> tuple[set[int], set[int]]:
        """The steps that were acknowledged; those that may have been committed without."""
        saved, possible, waiting = set(), set(), dict(steps)
        until = time.monotonic() + PATIENCE
        while waiting:
            by = {self.reported[number].answer: number for number in waiting}
            ready = select.select(list(by), [], [], max(until - time.monotonic(), 0))[0]
            if not ready:
                raise AssertionError(f"no answer from {[self.kinds[n] for n in waiting]}")
            for descriptor in ready:
                number = by[descriptor]
                line = self.reported[number].line()
                if line == "":
                    continue
                step = waiting.pop(number)
                if line is None and number == killed:
                    possible.add(step)
                elif line is not None and line.startswith("saved"):
                    saved.add(step)
                elif line is not None and line.startswith("failed"):
                    self.result.count("refused")
                    possible.add(step)
                    self.result.lost.append(f"a live save was refused: {line}")
                else:
                    raise AssertionError(f"a writer in {self.kinds[number]} ended: {line}")
        self.result.count("acknowledged", len(saved))
        return saved, possible

    def _judge(self, saved: set[int], possible: set[int], killed: bool) -> None:
        allowed = saved | possible | (set() if saved else self.before)
        self.result.count("rounds")
        found = self.found()
        if found not in allowed:
            raise Lost(f"step {found} was found, one of {sorted(allowed)} was expected")
        if not killed:
            plain = self.folder / "model.meta"
            if not plain.exists() or plain.read_bytes() != self._graph(found):
                raise Lost(f"'model.meta' is not the graph file of step {found}")
        self.before = {found}

    def found(self) -> int:
        """The step that the prefix restores, -1: there is none."""
        prefix = str(self.folder / "model")
        try:
            kind = self.whose[int(checkpoint.read_checkpoint(prefix).variables["n"])]
            if kind == "C":
                assert self.program is not None
                return workload.step_of(prefix, self._graph, self.program.generator)
            return workload.step_of(prefix, self._graph, blobs=workload.blobs)
        except errors.NotFoundError:
            return -1
        except workload.DAMAGED as error:
            raise Lost(f"the checkpoint cannot be read: {error}") from None

    def _graph(self, step: int) -> bytes:
        if self.whose[step] == "C":
            assert self.program is not None
            return self.program.graph_file
        return self.trainer.graphs[step // 2 % 2]

    def tidy(self) -> None:
        """One more save in a process that begins later leaves nothing else about."""
        self.end()
        last = kills.in_child(_once(self.trainer, self.step + 2), self.folder, None)
        if last != self.step + 2 or kills.strays(self.folder):
            raise Lost(f"after one more save these are left: {kills.strays(self.folder)}")
        self.result.count("looks for strays")


def _once(trainer: Trainer, step: int) -> kills.Loop:
    def loop(folder: Path, acknowledge: Callable[[int], None]) -> None:
        trainer.restart()
        trainer.save(folder, step)
        acknowledge(step)

    return loop


def contest(*kinds: str) -> Slice:
    """Rounds of some writers."""

    def run(seed: int, count: int, folder: Path) -> Result:
        contest = Contest(kinds, folder, random.Random(seed))
        try:
            for number in range(count):
                if number % BATCH == 0:
                    if number:
                        contest.tidy()
                    contest.begin()
                try:
                    contest.round()
                except Lost as lost:
                    contest.result.lost.append(f"round {number}: {lost}")
                    contest.begin()
            contest.tidy()
        except Lost as lost:
            contest.result.lost.append(str(lost))
        finally:
            contest.end()
        return contest.result

    return run


def old_rule(seed: int, count: int, folder: Path) -> Result:
    """The control: after a commit a writer removes all that its own index does not name."""

    def clean(store: stores.Store, base: str, *_: object) -> None:
        index = checkpoint_index.read_index_of(store, base)
        keep = {index.meta_file, *(shard.file for shard in index.shard)}
        for name in store.names():
            if name.startswith((f"{base}.data-", f"{base}.meta-")) and name not in keep:
                store.remove(name)

    rule, checkpoint_cleaner.clean = checkpoint_cleaner.clean, clean
    try:
        return contest(*["python"] * 4)(seed, count, folder)
    finally:
        checkpoint_cleaner.clean = rule


MODES = {
    "python + python": Mode(contest("python", "python")),
    "C + C": Mode(contest("C", "C")),
    "python + C": Mode(contest("python", "C")),
    "python + python + C": Mode(contest("python", "python", "C")),
    "control: what the own index does not name goes": Mode(old_rule, control=True),
}

if __name__ == "__main__":
    if c_writer.why_not():
        MODES = {name: mode for name, mode in MODES.items() if "C" not in name}
    sys.exit(main("R30", __doc__ or "", MODES, count=10_000, slice_count=500))
