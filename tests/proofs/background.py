"""R24: a save in the background is of its moment, takes little memory, and tells what goes wrong.

    python -m proofs.background --help          (in the folder tests, or make proof-background)

A step stalls for at most one copy of the variables: benchmarks/checkpoints.py measures it.
That nothing is lost when the process is killed is R1, whose modes save in the background, too.
"""

from __future__ import annotations

import errno
import os
import random
import sys
import threading
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage.files import FileLayer
from proofs.slices import Mode, Result, main

SIZES = (1000, 3, 70_000)
SHARD = 1 << 20
BIG = 24  # variables of one shard each
OPERATIONS = ("create", "write", "fsync", "close", "rename", "sync_folder")


class Held(FileLayer):
    """Waits before the first file until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def create(self, path: str) -> int:
        self.go.wait()
        return super().create(path)


class Failing(FileLayer):
    """Fails the n-th call of one operation."""

    def __init__(self, operation: str, number: int) -> None:
        self.failed, left = False, [number]
        original = getattr(FileLayer, operation)

        def call(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                self.failed = True
                if operation == "close":
                    original(self, *arguments)
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return original(self, *arguments)

        setattr(self, operation, call)


class Run:
    """A graph whose variables all hold the number of the step."""

    def __init__(self, target: str, sizes: tuple[int, ...] = SIZES) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.variables = [
                tf.get_variable(f"v{i}", [n], initializer=tf.zeros_initializer())
                for i, n in enumerate(sizes)
            ]
            self.more = tf.group(*(v.assign_add(tf.ones_like(v)) for v in self.variables))
            self.saver = tf.train.Saver(max_to_keep=2, asynchronous=True, shard_bytes=SHARD)
            self.session = tf.Session(target)
            self.session.run(tf.global_variables_initializer())
        self.step = 0

    def steps(self, count: int) -> None:
        """Trains on."""
        for _ in range(count):
            self.session.run(self.more)
            self.step += 1

    def save(self, folder: Path) -> str:
        """Begins a save of the step."""
        made = self.saver.save(
            self.session, folder / "m", global_step=self.step, write_meta_graph=False
        )
        assert made is not None
        return made


def steps_in(prefix: str) -> set[float]:
    """The numbers that a checkpoint holds: one, or it is a mixture."""
    found = read_checkpoint(prefix)
    return {float(n) for value in found.variables.values() for n in np.unique(value)}


def moments(begin: int, count: int, folder: Path) -> Result:
    """A trial is a save that is held while the training goes on."""
    rng, result = random.Random(begin), Result()
    runs = {target: Run(target) for target in ("runtime", "cinfer")}
    for trial in range(count):
        target = rng.choice(("runtime", "cinfer"))
        run = runs[target]
        run.saver._layer = held = Held()
        run.steps(rng.randint(1, 3))
        run_folder = folder / target
        run_folder.mkdir(exist_ok=True)
        step, prefix = run.step, run.save(run_folder)
        run.steps(rng.randint(1, 5))
        if tf.train.checkpoint_exists(prefix):
            result.lost.append(f"trial {trial}: {prefix} was there before it was written")
        held.go.set()
        run.saver.wait()
        result.count("saves")
        if steps_in(prefix) != {step} or tf.train.latest_checkpoint(run_folder) != prefix:
            result.lost.append(f"trial {trial}: step {step} is {steps_in(prefix)}")
    return result


def failures(begin: int, count: int, folder: Path) -> Result:
    """A trial is a save of which one call fails: reported once, and the save before is complete."""
    rng, result, run = random.Random(begin), Result(), Run("")
    run.save(folder)
    run.saver.wait()
    for trial in range(count):
        known = steps_in(str(tf.train.latest_checkpoint(folder)))
        run.steps(1)
        operation = rng.choice(OPERATIONS)
        run.saver._layer = layer = Failing(operation, rng.randint(1, 6))
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            run.save(folder)
            reported = _reported(run, rng.choice(("wait", "save", "close")), folder)
        # A failure after the commit, while old checkpoints are deleted, becomes a warning.
        reported = reported or any("cannot be deleted" in str(w.message) for w in seen)
        result.count("failed calls", layer.failed)
        result.count("saves")
        newest = tf.train.latest_checkpoint(folder)
        if reported != layer.failed:
            result.lost.append(
                f"trial {trial}: {operation} failed: {layer.failed}, seen: {reported}"
            )
        if newest is None or not steps_in(newest) <= {*known, run.step}:
            result.lost.append(f"trial {trial}: {newest} after step {known}")
        left = [n for n in os.listdir(folder) if n.startswith("tmp-")]
        result.lost += [f"trial {trial}: {name} was left" for name in left]
    return result


def _reported(run: Run, how: str, folder: Path) -> bool:
    """Whether a failure is reported, and once only."""
    run.saver._background.join()
    run.saver._layer = FileLayer()
    try:
        if how == "save":
            run.save(folder)
        else:
            getattr(run.saver, how)()
    except OSError as error:
        assert error.filename, error
        reported = True
    else:
        reported = False
    run.saver.wait()
    return reported


def memory(begin: int, count: int, folder: Path) -> Result:
    """A trial is a save of 24 data files in C's session: besides the copy, no more than one."""
    result, run = Result(), Run("cinfer", (SHARD // 4,) * BIG)
    run.save(folder)
    run.saver.wait()
    for trial in range(count):
        run.steps(1)
        tracemalloc.start()
        run.save(folder)
        run.saver.wait()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        result.count("saves")
        if most > 2 * SHARD:
            result.lost.append(f"trial {trial}: {most} bytes, a data file has {SHARD}")
    return result


MODES = {
    "values of the moment": Mode(moments),
    "failures are reported once": Mode(failures),
    "memory in addition to the copy": Mode(memory),
}

if __name__ == "__main__":
    purpose = "Saves in the background while training goes on."
    sys.exit(main("R24", purpose, MODES, count=1000, slice_count=250))
