"""The C program that trains and saves in a loop, and who checks what it saves."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crash_states import Operation

import graphio as tf
from graphio.schema.checkpoint import read_checkpoint
from proofs import shim, workload
from proofs.building import built
from proofs.log import ROOT
from proofs.workload import GENERATOR, SHAPES, Lost, Options

CINFER = ROOT / "cinfer"
FOR_EVER = 1 << 30
LATER = 2 * 3600  # seconds
COARSE = 0.02  # seconds: the clock of files may be that coarse

MODES = {
    "distinct prefixes, 1 kept": Options(),
    "distinct prefixes, 3 kept": Options(keep=3),
    "same prefix": Options(same=True),
    "sharded, 1 kept": Options(shard_bytes=1100),
    "sharded, same prefix": Options(same=True, shard_bytes=1100),
}


def why_not() -> str | None:
    """Why the program cannot be built here; None: it can."""
    return None if shutil.which("cc") else "there is no C compiler"


@functools.lru_cache(maxsize=1)
def _loop() -> Path:
    """The program, compiled."""
    options = [f"-I{CINFER / 'include'}", "-O0", "-lm", "-pthread"]
    sources = [ROOT / "tests/support/checkpoint_loop.c", CINFER / "cinfer.c"]
    return built("checkpoint_loop", [*sources, CINFER / "include", CINFER / "src"], options)


@functools.lru_cache(maxsize=1)
def _model() -> Path:
    """Its model, in a folder that is removed when the process ends."""
    kept = tempfile.TemporaryDirectory()
    _model.kept = kept  # type: ignore[attr-defined]  # lives as long as the process
    path = Path(kept.name) / "model.gio"
    _export(path)
    return path


def _export(path: Path) -> None:
    """A model whose signature "step" adds one to everything and draws from a generator."""
    with tf.Graph().as_default() as graph:
        variables: list[Any] = [
            tf.get_variable(name, initializer=tf.constant(workload.value(name, 0)))
            for name in SHAPES
        ]
        steps = [v.assign_add(tf.ones(v.shape, v.dtype)).op for v in variables]
        drawn = tf.random.normal([2], seed=1)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            tf.saved_model.save(str(path), session, {"step": ({}, {"drawn": drawn}, steps)})


@dataclass(frozen=True)
class Ran:
    """The outcome of a run of the program.

    Attributes:
        saved: the last step acknowledged, -1 for none.
        code: the exit code.
        trouble: its message of an error.
        resumed: the step that it went on from, None if it did not get there.
    """

    saved: int
    code: int
    trouble: str
    resumed: int | None


class Program:
    """The program with one way of saving.

    Args:
        folder: where clean checkpoints are made, to know what they must hold; emptied again.
    """

    def __init__(self, options: Options, folder: Path) -> None:
        self.options = options
        self.run(folder, 2)
        found = read_checkpoint(self._prefix(folder) + ("" if options.same else "2"))
        self.graph_file = found.meta()
        key, counter = found.generators[GENERATOR]
        self._generator = key, counter // 2
        for path in folder.iterdir():
            path.unlink()

    def _prefix(self, folder: Path) -> str:
        return str(folder / ("model" if self.options.same else "model-"))

    def command(self, folder: Path, steps: int | str = FOR_EVER) -> list[str]:
        """The command line that trains until a step; "-": that obeys lines of stdin."""
        more = [str(self.options.shard_bytes or 0), str(self.options.keep)]
        return [str(_loop()), str(_model()), self._prefix(folder), str(steps), *more]

    def run(self, folder: Path, steps: int, environment: Mapping[str, str] | None = None) -> Ran:
        """Trains until a step, to its end or to an error."""
        done = subprocess.run(
            self.command(folder, steps), env=environment, capture_output=True, text=True
        )
        if done.returncode not in (0, 1):
            raise Lost(f"the program ended with {done.returncode}: {done.stderr}")
        return ran(done.stdout, done.returncode, done.stderr)

    def record(self, folder: Path, steps: int) -> list[Operation]:
        """Trains until a step, hours after all that was done before; what it did to the files."""
        time.sleep(COARSE)
        with tempfile.NamedTemporaryFile(suffix=".log") as log:
            where = shim.environment(folder, log=Path(log.name), age=LATER)
            with open(log.name, "ab") as output:  # its lines among the operations
                subprocess.run(self.command(folder, steps), env=where, stdout=output, check=True)
            return list(shim.operations(Path(log.name).read_bytes()))

    def newest(self, folder: Path | str) -> int:
        """The step of the newest checkpoint, every byte checked; -1: there is none."""
        return workload.newest(folder, lambda step: self.graph_file, self.generator)

    def generator(self, step: int) -> tuple[int, int]:
        """Key and counter of the random generator at a step."""
        key, each = self._generator
        return key, step * each

    def resume(self, folder: Path) -> int:
        """The step that the program restores, 0 if it begins at the start; it does so in a copy."""
        with tempfile.TemporaryDirectory(dir=folder.parent) as copy:
            found = self.run(Path(shutil.copytree(folder, Path(copy) / "run")), 0)
        if found.code or found.resumed is None:
            raise Lost(f"the program cannot restore: {found.trouble}")
        return found.resumed


def ran(output: str, code: int, trouble: str) -> Ran:
    """Parses the program's output; an incomplete last line does not count."""
    saved = re.findall(r"^saved (\d+)\n", output, re.MULTILINE)
    resumed = re.search(r"^resumed (\d+)\n", output, re.MULTILINE)
    return Ran(int(saved[-1]) if saved else -1, code, trouble, int(resumed[1]) if resumed else None)
