"""R4: every call on a file fails once; an error names the file and nothing is lost.

python -m proofs.faults

The n-th of the calls open, read, write, fsync, close, rename, unlink, fstat and mmap that a save
makes on the files of its folder fails with ENOSPC, EDQUOT or EIO, for every n until the save makes
fewer calls; or that one and all after it. Then the save has raised an OSError that names a file,
or has succeeded; the newest checkpoint is the old one or the complete new one; no temporary file
is left; the next save works. EINTR, and partial writes and reads, are not errors. A restore with a
failing call changes nothing or restores all; a model that cannot be read is refused. Besides,
disks that are really full.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import re
import sys
import tempfile
import time
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from crash_states import Contents, Replica, State, held

import graphio as tf
import graphio.cinfer
import graphio.runtime
from graphio.storage import files
from graphio.storage.files import FileLayer
from graphio.support import errors
from proofs import c_writer, shim, workload
from proofs.c_writer import LATER, Program, Ran
from proofs.cuts import Disk, why_not
from proofs.kills import empty, strays
from proofs.layers import through
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer

FAIL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_ERROR = (errno.EINTR, shim.HALVES)
MOST = 2000  # calls that a save may make: more would mean that one is tried for ever
FULL_SAVES = 25
CAPACITY = 1 << 19  # bytes of a file system that are filled bit by bit
READING = (errno.EIO, errno.EMFILE, errno.ENOMEM)


def saved(trainer: Trainer, folder: Path, step: int) -> None:
    """A folder in which a run has saved its first steps; a new process goes on from it."""
    empty(folder)
    trainer.restart()
    for earlier in range(step + 1):
        trainer.save(folder, earlier)
    trainer.restart()
    if trainer.resume(folder) != step:
        raise Lost("what was saved without a fault cannot be restored")


def python_saves(options: Options) -> Slice:
    """Failing calls of the Saver; `count` is how many of its saves are tried."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trainer, result = Trainer(options), Result()
        for step in range(seed, seed + count):
            for number in (*FAIL, *NO_ERROR):
                for forever in (False, True):
                    if not (forever and number in NO_ERROR):
                        _each_call(trainer, folder, step, number, forever, result)
        return result

    return run


def _each_call(
    trainer: Trainer, folder: Path, step: int, number: int, forever: bool, result: Result
) -> None:
    """The save of step + 1 with its n-th call failing, for every n."""
    for nth in range(1, MOST):
        what = f"call {nth}{' and all after' * forever}, {_name(number)}, step {step + 1}"
        try:
            saved(trainer, folder, step)
            fault = shim.Fault(folder, nth, number, forever)
            raised = _save_with(trainer, folder, step + 1, fault)
            result.count("faults")
            result.count("errors", raised is not None)
            _judge(trainer, folder, step, raised, number, forever)
        except Lost as lost:
            result.lost.append(f"{what}: {lost}")
        if number == shim.HALVES or fault.calls < nth:
            return
    result.lost.append(f"a save made more than {MOST} calls")


def _save_with(
    trainer: Trainer, folder: Path, step: int, fault: AbstractContextManager[object]
) -> OSError | None:
    with fault, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trainer.save(folder, step)
        except OSError as error:
            return error
        except Exception as error:
            raise Lost(f"no OSError but {type(error).__name__}: {error}") from None
    return None


def _judge(
    trainer: Trainer,
    folder: Path,
    step: int,
    raised: OSError | None,
    number: int,
    forever: bool,
) -> None:
    """Checks the folder after the save of step + 1 with a fault."""
    if raised is not None:
        if number in NO_ERROR:
            raise Lost(f"it is not an error, but was raised: {raised}")
        if str(folder) not in str(raised):
            raise Lost(f"the error names no file: {raised}")
        if number in FULL and not isinstance(raised, errors.ResourceExhaustedError):
            raise Lost(f"not reported as a full disk: {type(raised).__name__}: {raised}")
    found = trainer.newest(folder)
    if found not in (step, step + 1) or (raised is None and found != step + 1):
        raise Lost(f"step {found} is the newest" + (f" after {raised}" if raised else ""))
    left = [name for name in os.listdir(folder) if name.startswith("tmp-")]
    if left and not forever:
        raise Lost(f"left: {left}" + (f" after {raised}" if raised else ""))
    if forever:
        trainer.restart()
        trainer.resume(folder)
    trainer.save(folder, step + 2)
    if trainer.newest(folder) != step + 2:
        raise Lost("the next save is not found")
    if strays(folder):
        raise Lost(f"after the next save these are left: {strays(folder)}")


def _name(number: int) -> str:
    return {shim.HALVES: "halves", shim.ENDS: "ends"}.get(number) or errno.errorcode[number]


def python_restores(options: Options) -> Slice:
    """Failing calls while a checkpoint is looked for and restored; `count` steps are tried."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trainer, result = Trainer(options), Result()
        for step in range(seed, seed + count):
            saved(trainer, folder, step)
            for number in (*READING, *NO_ERROR):
                for nth in range(1, MOST):
                    fault = shim.Fault(folder, nth, number)
                    result.count("faults")
                    try:
                        _restore_with(trainer, folder, step, fault, number, result)
                    except Lost as lost:
                        result.lost.append(f"call {nth}, {_name(number)}: {lost}")
                    if number == shim.HALVES or fault.calls < nth:
                        break
        return result

    return run


def _restore_with(
    trainer: Trainer, folder: Path, step: int, fault: shim.Fault, number: int, result: Result
) -> None:
    trainer.fill(step + 10)
    before = trainer.values()
    with fault, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prefix = tf.train.latest_checkpoint(str(folder))
            if prefix is None:
                raise Lost("no checkpoint was found and no error says why")
            trainer.saver.restore(trainer.session, prefix)
        except OSError as error:
            result.count("errors")
            if number in NO_ERROR:
                raise Lost(f"it is not an error, but was raised: {error}") from None
            if str(folder) not in str(error):
                raise Lost(f"the error names no file: {error}") from None
            if trainer.values() != before:
                raise Lost(f"after {error} values have changed") from None
            return
        except ValueError as error:
            raise Lost(f"no OSError but {error}") from None
    trainer.fill(step)
    expected = trainer.values()
    trainer.fill(step + 10)
    trainer.saver.restore(trainer.session, prefix)
    if trainer.values() != expected:
        raise Lost("a restore without an error has not restored the newest step")


def python_opens(lazy: bool) -> Slice:
    """Failing calls while a model is opened and first run, by each engine; `count` is how often."""
    engines = {"runtime": graphio.runtime, "cinfer": graphio.cinfer}

    def run(seed: int, count: int, folder: Path) -> Result:
        path, result = folder / "model.gio", Result()
        _two_layers(path)
        expected = _predicted(graphio.runtime, path, lazy)
        for name, engine in [*engines.items()] * count:
            for number in (*READING, *NO_ERROR, shim.ENDS):
                for nth in range(1, MOST):
                    fault = shim.Fault(folder, nth, number)
                    result.count("faults")
                    try:
                        _open_with(engine, path, lazy, fault, number, expected, result)
                    except Lost as lost:
                        result.lost.append(f"{name}: call {nth}, {_name(number)}: {lost}")
                    if number == shim.HALVES or fault.calls < nth:
                        break
        return result

    return run


def _two_layers(path: Path) -> None:
    """A model whose weights are in the data section."""
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        x = tf.placeholder(tf.float32, [None, 8])
        w = tf.Variable(np.arange(512, dtype=np.float32).reshape(8, 64))
        y = tf.matmul(tf.matmul(x, w), tf.constant(np.ones((64, 32), np.float32)))
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, {"predict": ({"x": x}, {"y": y})})


def _predicted(engine: Any, path: Path, lazy: bool) -> bytes:
    model = engine.load(path, lazy=lazy)
    found: bytes = model.signature("predict")(x=np.ones((2, 8), np.float32))["y"].tobytes()
    return found


def _open_with(
    engine: Any,
    path: Path,
    lazy: bool,
    fault: shim.Fault,
    number: int,
    expected: bytes,
    result: Result,
) -> None:
    try:
        with fault:
            found = _predicted(engine, path, lazy)
    except OSError as error:
        result.count("errors")
        if number in NO_ERROR:
            raise Lost(f"it is not an error, but was raised: {error}") from None
        if str(path) not in str(error):
            raise Lost(f"the error names no file: {error}") from None
        found = expected
    except Exception as error:
        raise Lost(f"no OSError but {type(error).__name__}: {error}") from None
    if found != expected or _predicted(engine, path, lazy) != expected:
        raise Lost("something else was read")


def c_saves(options: Options) -> Slice:
    """Failing calls of the program in C, which restores and saves; `count` saves are tried."""

    def run(seed: int, count: int, folder: Path) -> Result:
        (folder / "clean").mkdir()
        program, result = Program(options, folder / "clean"), Result()
        replica = Replica(folder / "run", Contents())
        for step in range(seed, seed + count):
            program.run(folder / "clean", step)
            before = replica.contents.state(held(folder / "clean"))
            for number in (*FAIL, *NO_ERROR):
                for forever in (False, True)[: 1 + (number in FAIL)]:
                    _each_call_of_c(program, replica, before, step, number, forever, result)
        return result

    return run


def _each_call_of_c(
    program: Program,
    replica: Replica,
    before: State,
    step: int,
    number: int,
    forever: bool,
    result: Result,
) -> None:
    """The program goes on from step with its n-th call failing, for every n."""
    folder = Path(replica.folder)
    for nth in range(1, MOST):
        what = f"call {nth}{' and all after' * forever}, {_name(number)}, step {step + 1}"
        replica.copy(before)
        try:
            with tempfile.NamedTemporaryFile() as counted:
                where = shim.environment(folder, nth, number, forever, counts=Path(counted.name))
                ran = program.run(folder, step + 1, where)
                calls = int(counted.read() or 0)
            result.count("faults")
            result.count("errors", ran.code != 0)
            _judge_c(program, folder, step, ran, number, forever)
        except Lost as lost:
            result.lost.append(f"{what}: {lost}")
        if number == shim.HALVES or calls < nth:
            return
    result.lost.append(f"a save made more than {MOST} calls")


def _judge_c(
    program: Program, folder: Path, step: int, ran: Ran, number: int, forever: bool
) -> None:
    """Checks the folder after the program has gone on from step with a fault."""
    reported = f" after {ran.trouble}" if ran.code else ""
    if ran.code:
        if number in NO_ERROR:
            raise Lost(f"it is not an error, but was reported: {ran.trouble}")
        if f"'{folder}" not in ran.trouble and not re.search(r"'(model|tmp-|checkpoint)", reported):
            raise Lost(f"the error names no file: {ran.trouble}")
        if ("RESOURCE_EXHAUSTED" in ran.trouble) != (number in FULL):
            raise Lost(f"reported with the wrong code: {ran.trouble}")
    elif ran.resumed != step:
        raise Lost(f"the program went on from step {ran.resumed}")
    found = program.newest(folder)
    if found not in (step, step + 1) or (ran.code == 0 and found != step + 1):
        raise Lost(f"step {found} is the newest{reported}")
    left = [name for name in os.listdir(folder) if name.startswith("tmp-")]
    if left and not forever:
        raise Lost(f"left: {left}{reported}")
    time.sleep(c_writer.COARSE)
    again = program.run(folder, step + 2, shim.environment(folder, age=LATER))
    if again.saved != step + 2 or program.newest(folder) != step + 2:
        raise Lost(f"the next save is not found{reported}")
    if strays(folder):
        raise Lost(f"after the next save these are left: {strays(folder)}{reported}")


def full_disks(kind: str) -> Slice:
    """Saves to a file system with hardly any space left; `count` times FULL_SAVES."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trouble = why_not(kind)
        if trouble:
            raise SystemExit(f"R4: {trouble}")
        result, chance = Result(), random.Random(seed)
        trainer = Trainer(Options(keep=3, shard_bytes=1100))
        with Disk(kind, folder).mounted() as point:
            run_folder = point / "run"
            run_folder.mkdir()
            for trial in range(count * FULL_SAVES):
                left = chance.randrange(80 if kind == "xfs" else 16) * 4096
                try:
                    saved(trainer, run_folder, 4)
                    _fill(point, left)
                    raised = _save_with(trainer, run_folder, 5, contextlib.nullcontext())
                    result.count("saves")
                    result.count("errors", raised is not None)
                finally:
                    (point / "rest").unlink(missing_ok=True)
                try:
                    _judge(trainer, run_folder, 4, raised, errno.ENOSPC, False)
                except Lost as lost:
                    result.lost.append(f"save {trial}, {left} bytes free: {lost}")
        return result

    return run


def _fill(folder: Path, left: int) -> None:
    """Fills a file system with two files, until only so many bytes are free."""
    rest = os.statvfs(folder)
    with open(folder / "most", "ab") as file:
        os.posix_fallocate(
            file.fileno(), file.tell(), max(rest.f_bavail * rest.f_frsize - CAPACITY, 1)
        )
        file.seek(0, os.SEEK_END)
    with open(folder / "rest", "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
        os.fsync(file.fileno())
        file.truncate(max(file.tell() - left, 0))


class Littering(FileLayer):
    """Removes no temporary file."""

    def remove(self, path: str) -> None:
        """Nothing, for a temporary one."""
        if not files.is_temporary(os.path.basename(path)):
            super().remove(path)


def littering(seed: int, count: int, folder: Path) -> Result:
    """The control: what fails leaves its temporary files."""
    with through(Littering()):
        return python_saves(Options())(seed, count, folder)


MODES: dict[str, Mode] = {
    **{f"save, {name}": Mode(python_saves(o)) for name, o in workload.MODES.items()},
    **{
        f"restore, {name}": Mode(python_restores(o))
        for name, o in workload.MODES.items()
        if not o.asynchronous
    },
    **{f"open{how}": Mode(python_opens(bool(how))) for how in ("", ", lazily")},
    **{f"C: save, {name}": Mode(c_saves(o)) for name, o in c_writer.MODES.items()},
    **{f"full disk, {kind}": Mode(full_disks(kind)) for kind in ("tmpfs", "ext4", "xfs")},
    "control: temporary files are left": Mode(littering, control=True),
}

if __name__ == "__main__":
    shim.run_preloaded()
    sys.exit(main("R4", __doc__ or "", MODES, count=4, slice_count=2))
