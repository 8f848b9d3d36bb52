"""R25: a process restores the newest checkpoint while another one saves and deletes.

    python -m proofs.readers --help          (in the folder tests, or make proof-readers)

Every variable of a checkpoint holds the number of its step, so that a mixture would show. A restore
may come too late, when its checkpoint is deleted already: tf.train.restore_latest then takes the
next. Nothing else may go wrong, and steps never go back.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf
from graphio.schema import checkpoint
from graphio.support import errors
from proofs import victims
from proofs.slices import Mode, Result, main

VARIABLES = 6
LEAST = 5  # new checkpoints that a reader has to see
TESTS = Path(__file__).resolve().parent.parent


def graph() -> list[Any]:
    """Variables of different sizes."""
    return [
        tf.get_variable(f"v{i}", [1 << 2 * i], tf.int64, initializer=tf.zeros_initializer())
        for i in range(VARIABLES)
    ]


def write(folder: Path, max_to_keep: int, same_prefix: bool) -> None:
    """Saves without end, step after step."""
    with tf.Graph().as_default(), tf.Session() as session:
        variables = graph()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(max_to_keep=max_to_keep, shard_bytes=4096)
        more = tf.group(*(v.assign_add(tf.ones_like(v)) for v in variables))
        step = 0
        while True:
            step += 1
            session.run(more)
            saver.save(
                session,
                folder / "m",
                global_step=None if same_prefix else step,
                write_meta_graph=step % 3 == 0,
            )


@contextlib.contextmanager
def writing(folder: Path, max_to_keep: int, same_prefix: bool) -> Iterator[subprocess.Popen[str]]:
    """The process that writes, from its first checkpoint on."""
    arguments = ["write", str(folder), str(max_to_keep), str(int(same_prefix))]
    command = [sys.executable, "-m", "proofs.readers", *arguments]
    with subprocess.Popen(command, cwd=TESTS, text=True, stderr=subprocess.PIPE) as process:
        try:
            while process.poll() is None and tf.train.latest_checkpoint(folder) is None:
                pass
            yield process
        finally:
            process.kill()


def steps_of(values: Any) -> set[int]:
    """The steps that arrays are from: one, or they are a mixture."""
    return {int(v) for value in values for v in np.unique(value)}


def by_python(folder: Path) -> Any:
    """A reader: gives the step, or None where it came too late."""
    variables = graph()
    saver, session = tf.train.Saver(), tf.Session()

    def read() -> set[int]:
        assert tf.train.restore_latest(saver, session, folder) is not None
        return steps_of(session.state.get(v.op.name) for v in variables)

    return read


def by_c(folder: Path) -> Any:
    """Likewise by cinfer, with the retry of one who calls it."""
    state = victims.engine("cinfer").new_state(0)

    def read() -> set[int]:
        while True:
            prefix = tf.train.latest_checkpoint(folder)
            try:
                state.restore(prefix)
            except (errors.NotFoundError, errors.DataLossError):
                if tf.train.checkpoint_exists(prefix) and prefix == tf.train.latest_checkpoint(
                    folder
                ):
                    raise
            else:
                return steps_of(state.get(name) for name in state.names())

    return read


def by_view(folder: Path) -> Any:
    """A reader that maps the files and looks at them when they may be gone."""

    def read() -> set[int]:
        while True:
            prefix = tf.train.latest_checkpoint(folder)
            with contextlib.suppress(errors.NotFoundError):
                found = checkpoint.read_checkpoint(prefix, lazy=True)
                first = found.variables["v0"][0]
                while tf.train.latest_checkpoint(folder) == prefix and len(prefix) > 0:
                    if checkpoint.read_index(prefix).save_id != found.index.save_id:
                        break
                steps = steps_of(found.variables.values())
                assert first in steps
                return steps

    return read


READERS = {"Saver": by_python, "cinfer": by_c, "maps": by_view}


def polled(reader: str, max_to_keep: int, same_prefix: bool, count: int, folder: Path) -> Result:
    """`count` restores by one of READERS while another process writes; more until it has."""
    result, last, seen = Result(), 0, 0
    with (
        warnings.catch_warnings(),
        writing(folder, max_to_keep, same_prefix) as process,
        tf.Graph().as_default(),
    ):
        warnings.simplefilter("error")
        read = READERS[reader](folder)
        while result.counts.get("polls", 0) < count or (seen < LEAST and process.poll() is None):
            result.count("polls")
            try:
                steps = read()
            except Exception as error:
                result.lost.append(f"{type(error).__name__}: {error}")
                continue
            if len(steps) > 1 or min(steps) < last:
                result.lost.append(f"steps {sorted(steps)} after {last}")
            seen, last = seen + (min(steps) > last), max(steps)
        result.count("new checkpoints seen", seen)
        if process.poll() is not None:
            result.lost.append(f"the writer ended: {process.stderr and process.stderr.read()}")
    return result


def mode(reader: str, max_to_keep: int, same_prefix: bool) -> Mode:
    """A trial is a poll."""
    return Mode(lambda seed, count, folder: polled(reader, max_to_keep, same_prefix, count, folder))


MODES = {
    f"{reader}, {'one prefix' if same else f'max_to_keep={keep}'}": mode(reader, keep, same)
    for reader in READERS
    for keep, same in ((1, False), (2, False), (1, True))
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "1")
    purpose = "Restores the newest checkpoint while another process saves and deletes."
    sys.exit(main("R25", purpose, MODES, count=10_000, slice_count=2_500))
