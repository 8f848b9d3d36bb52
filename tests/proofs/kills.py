"""R1: a process that saves in a loop is killed at random moments; nothing acknowledged is lost.

python -m proofs.kills

Each trial forks a child from this process, which goes on from the newest checkpoint, saves one
step after another and acknowledges each through a pipe. SIGKILL comes after a random time. Then
the newest checkpoint must be of the last acknowledged step or a later one, restore bit for bit,
and have its graph file; after one more save nothing may lie about.
"""

from __future__ import annotations

import itertools
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from graphio.schema import checkpoint_files
from graphio.schema.checkpoint_index import read_index_of
from graphio.storage import stores
from proofs import c_writer, shim, workload
from proofs.c_writer import Program, ran
from proofs.layers import InPlace, through
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer

ROUND = 50  # trials in one folder, which is then emptied
SAVES = 6  # so many saves last as long as the longest time before the kill

Loop = Callable[[Path, Callable[[int], None]], None]


def saving(trainer: Trainer, saves: int | None = None) -> Loop:
    """The child's loop: goes on from the newest checkpoint, for ever or for some saves."""

    def loop(folder: Path, acknowledge: Callable[[int], None]) -> None:
        trainer.restart()
        begin = trainer.resume(folder) + 1
        for step in itertools.islice(itertools.count(begin), saves):
            trainer.save(folder, step)
            acknowledge(step)

    return loop


class Child:
    """A forked process that runs a loop; leaving the block waits for its end.

    Attributes:
        acknowledged: the last step that it acknowledged, -1 for none; known after the block.
        trouble: what it failed with by itself, "" if it did not; likewise.
    """

    def __init__(self, loop: Loop, folder: Path) -> None:
        self.acknowledged, self.trouble = -1, ""
        reader, writer = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            _child(loop, folder, reader, writer)
        os.close(writer)
        self._pipe = open(reader, "rb")

    def await_first(self) -> None:
        """Waits until it has acknowledged a step, or ended."""
        select.select([self._pipe], [], [], 30)

    def stop(self) -> None:
        """Stops it: from now on it does nothing but end the call of the system it is in."""
        os.kill(self._process, signal.SIGSTOP)

    def kill(self) -> None:
        """Ends it at once."""
        os.kill(self._process, signal.SIGKILL)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        with self._pipe as pipe:
            steps, _, trouble = pipe.read().partition(b"trouble:")
        os.waitpid(self._process, 0)
        whole = len(steps) // 8 * 8
        if whole:
            (self.acknowledged,) = struct.unpack("<q", steps[whole - 8 : whole])
        self.trouble = trouble.decode(errors="replace")


def in_child(loop: Loop, folder: Path, kill_after: float | None) -> int:
    """Runs a loop in a child that is killed; returns the last step acknowledged, -1 for none.

    Raises:
        Lost: the child failed by itself.
    """
    with Child(loop, folder) as child:
        if kill_after is not None:
            time.sleep(kill_after)
            child.kill()
    if child.trouble:
        raise Lost(child.trouble)
    return child.acknowledged


def _child(loop: Loop, folder: Path, reader: int, writer: int) -> None:
    """Never returns: nothing of the parent's may run twice."""
    try:
        os.close(reader)
        warnings.simplefilter("ignore")
        loop(folder, lambda step: _say(writer, struct.pack("<q", step)))
    except BaseException:
        _say(writer, b"trouble:" + traceback.format_exc().encode())
    finally:
        os._exit(0)


def _say(writer: int, data: bytes) -> None:
    os.write(writer, data)


def strays(folder: Path) -> list[str]:
    """Names in a folder that no checkpoint of it needs.

    A graph file alone may stay after a power cut: it might as well be one that a user exported.
    """
    store, names = stores.of_folder(folder), sorted(os.listdir(folder))
    needed = {"checkpoint", *(name for name in names if name.endswith(".meta"))}
    for name in names:
        if name.endswith(".index") and not name.startswith("tmp-"):
            base = name.removesuffix(".index")
            index = read_index_of(store, base)
            needed |= {name, *checkpoint_files.needed_by(store, base, index)}
    return [name for name in names if name not in needed]


def python_writer(options: Options) -> Slice:
    """Kills of the Saver."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trainer, chance = Trainer(options), random.Random(seed)
        span = span_of(trainer, folder)
        return _trials(
            count,
            folder,
            kill=lambda: in_child(saving(trainer), folder, chance.uniform(0, span)),
            survived=lambda: survivor(trainer, folder),
            tidied=lambda known: _tidy(trainer, folder, known),
        )

    return run


def _trials(
    count: int,
    folder: Path,
    *,
    kill: Callable[[], int],
    survived: Callable[[], int],
    tidied: Callable[[int], int],
) -> Result:
    """Kills a writer again and again; what it acknowledged is there afterwards.

    Args:
        kill: runs the writer until it is killed; gives the last step acknowledged.
        survived: the step that is found afterwards.
        tidied: saves once more, after this step, and looks for strays; gives the step saved.
    """
    result, known = Result(), -1
    for trial in range(count):
        if trial % ROUND == 0:
            empty(folder)
            known = -1
        try:
            known = max(known, kill())
            found = survived()
            result.count("kills")
            if found < known:
                raise Lost(f"step {found} was found, step {known} was acknowledged")
            result.count("steps beyond", found - known)
            known = found
            if trial % 10 == 9:
                known = tidied(known)
                result.count("looks for strays")
        except Lost as lost:
            result.lost.append(f"trial {trial}: {lost}")
            empty(folder)
            known = -1
    return result


def span_of(trainer: Trainer, folder: Path) -> float:
    """The longest time before a kill: that of a fork, a restore and some saves."""
    started = time.monotonic()
    in_child(saving(trainer, SAVES), folder, None)
    return time.monotonic() - started


def survivor(trainer: Trainer, folder: Path) -> int:
    """The newest step, read from the files and restored by the Saver."""
    found = trainer.newest(folder)
    restored = trainer.resume(folder)
    if restored != found:
        raise Lost(f"the Saver restores step {restored}, the files have step {found}")
    return found


def _tidy(trainer: Trainer, folder: Path, known: int) -> int:
    """One more save in a new process; afterwards only checkpoints are left."""
    last = in_child(saving(trainer, 1), folder, None)
    if last != known + 1:
        raise Lost(f"after step {known} one more save acknowledged step {last}")
    _check_tidy(trainer.options, folder)
    return last


def _check_tidy(options: Options, folder: Path) -> None:
    left = strays(folder)
    if left:
        raise Lost(f"after one more save these are left: {', '.join(left)}")
    kept = [name for name in os.listdir(folder) if name.endswith(".index")]
    most = 1 if options.same else options.keep
    if len(kept) > most:
        raise Lost(f"{len(kept)} checkpoints are left, {most} should be kept")


def empty(folder: Path) -> None:
    """Removes every file of a folder."""
    for name in os.listdir(folder):
        os.unlink(folder / name)


def in_place(seed: int, count: int, folder: Path) -> Result:
    """The control: files are written under their final names."""
    with through(InPlace()):
        return python_writer(Options(same=True))(seed, count, folder)


def c_program(options: Options) -> Slice:
    """Kills of the program in C, which restores and goes on by itself."""

    def run(seed: int, count: int, folder: Path) -> Result:
        program, chance = Program(options, folder), random.Random(seed)
        started = time.monotonic()
        program.run(folder, SAVES)
        longest = time.monotonic() - started
        return _trials(
            count,
            folder,
            kill=lambda: _killed(program, folder, chance.uniform(0, longest)),
            survived=lambda: program.newest(folder),
            tidied=lambda known: _tidy_c(program, folder, known),
        )

    return run


def _killed(program: Program, folder: Path, after: float) -> int:
    """Runs the program and kills it; returns the last step acknowledged."""
    command = program.command(folder)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        time.sleep(after)
        run.kill()
        output, trouble = run.communicate()
    if trouble:
        raise Lost(trouble)
    return ran(output, 0, "").saved


def _tidy_c(program: Program, folder: Path, known: int) -> int:
    """One more save; afterwards only checkpoints are left."""
    time.sleep(c_writer.COARSE)
    later = shim.environment(folder, age=c_writer.LATER)
    last = program.run(folder, max(known, 0) + 1, later)
    if last.code or last.saved != max(known, 0) + 1:
        raise Lost(f"after step {known} one more save: {last}")
    _check_tidy(program.options, folder)
    return last.saved


MODES = {
    **{name: Mode(python_writer(options)) for name, options in workload.MODES.items()},
    **{f"C: {name}": Mode(c_program(options)) for name, options in c_writer.MODES.items()},
    "control: files are written in place": Mode(in_place, control=True),
}

if __name__ == "__main__":
    sys.exit(main("R1", __doc__ or "", MODES, count=1000, slice_count=250))
