"""R18: a run that is saved and goes on in a new process ends where an uninterrupted one ends.

    python -m proofs.resume --help          (in the folder tests, or make proof-resume)

Each program of programs.py, in each engine, runs `last` steps at a stretch; runs `first` steps and
saves; and goes on from there in another process, with another number of threads. What the steps
gave and all state - variables, slots, generators, where iterators are - have one SHA-256. Of an
iterator, whose position includes how far threads have read ahead, the following elements count.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import graphio as tf
from graphio.data import resource
from proofs import programs, victims
from proofs.programs import Fetches
from proofs.slices import Mode, Result, main
from proofs.victims import ENGINES

#: seconds after which a process has hung
PATIENCE = 1800
AHEAD = 40  # elements of an iterator that tell where it is: more than an epoch of each


class Job(NamedTuple):
    """The work of one process with one program.

    Attributes:
        way: how it is trained; one of WAYS.
        name: of the program.
        engine: that runs it.
        first, last: steps.
        seed: of the graph; None: every session has other numbers.
        folder: of its checkpoints.
    """

    way: str
    name: str
    engine: str
    first: int
    last: int
    seed: int | None
    folder: str


# ---- digests ----


def digest(values: Iterable[Any]) -> str:
    """A SHA-256 of arrays and strings with their dtypes and shapes."""
    total = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        data = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        total.update(f"{array.dtype}{array.shape}{len(data)}:".encode() + data)
    return total.hexdigest()


def everything(state: Any) -> list[Any]:
    """Variables and generators with their names."""
    found: list[Any] = []
    for name in state.names():
        found += [name, state.get(name) if state.initialized(name) else "no value"]
    return [*found, repr(sorted(state.generators().items()))]


def upcoming(session: Any) -> list[Any]:
    """The iterators of a session that have begun, and what they give next; they move on."""
    found: list[Any] = []
    for name in sorted(resource.save_all(session)):
        iterator = resource.resource_of(session, resource.handles_of(session.graph)[name])
        found += [name, *(v for _ in range(AHEAD) for v in iterator.get_next({}, []))]
    return found


# ---- ways of training: each runs some steps, or goes on; and gives a digest ----


def _graph(job: Job) -> tuple[Any, Any]:
    """The program's graph, what a step fetches."""
    tf.reset_default_graph()
    graph = tf.Graph()
    with graph.as_default():
        if job.seed is not None:
            tf.set_random_seed(job.seed)
        return graph, programs.PROGRAMS[job.name]()


def _config(threads: int) -> Any:
    return tf.ConfigProto(
        intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
    )


class Draws:
    """An object of the user's that goes into checkpoints: a generator of Python's."""

    def __init__(self, seed: int | None) -> None:
        self._random = random.Random(seed)

    def __call__(self) -> int:
        """The next number."""
        return self._random.getrandbits(32)

    def get_state(self) -> bytes:
        """As the Saver wants it."""
        return json.dumps(self._random.getstate()).encode()

    def set_state(self, state: bytes) -> None:
        """Likewise."""
        version, numbers, gauss = json.loads(state)
        self._random.setstate((version, tuple(numbers), gauss))


def by_saver(job: Job, threads: int, goes_on: bool) -> dict[str, str]:
    """tf.train.Saver; the first process also goes on, and runs without any save."""
    graph, fetches = _graph(job)
    draws, prefix = Draws(job.seed), os.path.join(job.folder, "c")
    with graph.as_default():
        saver = tf.train.Saver(
            objects={"draws": draws},
            asynchronous=job.first % 2 == 0,
            shard_bytes=100 if job.last % 2 == 0 else None,
        )
        start = [tf.global_variables_initializer(), tf.tables_initializer()]

    def session() -> Any:
        made = tf.Session(job.engine, graph=graph, config=_config(threads))
        made.run(start)
        return made

    def step(running: Any) -> list[Any]:
        return [draws(), *(v for v in running.run(fetches) if v is not None)]

    def steps(running: Any) -> str:
        values = [v for _ in range(job.first, job.last) for v in step(running)]
        return digest([*values, *everything(running.state), *upcoming(running), draws()])

    if goes_on:
        with session() as running:
            saver.restore(running, prefix)
            return {"resumed": steps(running)}
    found = {}
    with session() as running, saver:
        for _ in range(job.first):
            step(running)
        saver.save(running, prefix, write_state=False)
        found["went on"] = steps(running)
    if job.seed is not None:
        draws.set_state(Draws(job.seed).get_state())
        with session() as running:
            for _ in range(job.first):
                step(running)
            found["never saved"] = steps(running)
    return found


def _in_folders(job: Job, train: Callable[[str, int, Any], None], goes_on: bool) -> dict[str, str]:
    """Training that finds and makes its checkpoints by itself, in halves and at a stretch.

    Args:
        train: trains in a folder up to a step, in the default graph; gets what a step fetches.
    """
    halves, whole = os.path.join(job.folder, "halves"), os.path.join(job.folder, "whole")

    def run(folder: str, last: int) -> str:
        graph, fetches = _graph(job)
        with graph.as_default():
            tf.train.get_or_create_global_step()
            train(folder, last, fetches)
            saver = tf.train.Saver()
        with tf.Session(job.engine, graph=graph) as running:
            saver.restore(running, tf.train.latest_checkpoint(folder))
            return digest([*everything(running.state), *upcoming(running)])

    if goes_on:
        return {"resumed": run(halves, job.last)}
    run(halves, job.first)
    return {"never saved": run(whole, job.last)}


def by_session(job: Job, threads: int, goes_on: bool) -> dict[str, str]:
    """MonitoredTrainingSession, which saves every two steps and when it ends."""

    def train(folder: str, last: int, fetches: Fetches) -> None:
        with tf.train.MonitoredTrainingSession(
            master=job.engine,
            checkpoint_dir=folder,
            hooks=[tf.train.StopAtStepHook(last_step=last)],
            save_checkpoint_steps=2,
            save_summaries_steps=None,
            log_step_count_steps=None,
            config=_config(threads),
        ) as running:
            while not running.should_stop():
                running.run(fetches)

    return _in_folders(job, train, goes_on)


def by_loop(job: Job, threads: int, goes_on: bool) -> dict[str, str]:
    """tf.train.TrainingLoop, which saves in the background."""

    def train(folder: str, last: int, fetches: Fetches) -> None:
        with tf.train.TrainingLoop(
            fetches,
            folder,
            steps=last,
            save_steps=2,
            asynchronous=True,
            target=job.engine,
            config=_config(threads),
            stop_signals=(),
            progress=False,
        ) as loop:
            loop.fit()

    return _in_folders(job, train, goes_on)


def by_model(job: Job, threads: int, goes_on: bool) -> dict[str, str]:
    """A model file with a signature that trains, and the state's own save and restore."""
    path, prefix = os.path.join(job.folder, "m.gio"), os.path.join(job.folder, "c")
    if not goes_on:
        graph, fetches = _graph(job)
        with tf.Session(graph=graph) as session:
            with graph.as_default():
                session.run(tf.global_variables_initializer())
            outputs = {f"out{i}": v for i, v in enumerate(fetches) if hasattr(v, "dtype")}
            targets = [v for v in fetches if not hasattr(v, "dtype")]
            tf.saved_model.save(path, session, {"train": ({}, outputs, targets)})
    more = {"threads": threads} if job.engine == "cinfer" else {}
    model = victims.engine(job.engine).load(path, **more)
    signature = model.signature("train")

    def steps(first: int, last: int) -> list[Any]:
        return [v for _ in range(first, last) for _, v in sorted(signature().items())]

    if goes_on:
        assert model.state.restore(prefix) == job.first
        values = steps(job.first, job.last)
        return {"resumed": digest([*values, *everything(model.state)])}
    steps(0, job.first)
    model.state.save(prefix, step=job.first)
    return {"went on": digest([*steps(job.first, job.last), *everything(model.state)])}


WAYS: dict[str, Callable[[Job, int, bool], dict[str, str]]] = {
    "saver": by_saver,
    "session": by_session,
    "loop": by_loop,
    "model": by_model,
}
#: programs that every way trains: model files have no data pipelines
WHOLE = ["optimizer: Adam", "moving averages", "two iterators", "data: generator"]
PROGRAMS: dict[str, Sequence[str]] = {
    "saver": list(programs.PROGRAMS),
    "session": WHOLE,
    "loop": WHOLE,
    "model": [
        name for name in programs.PROGRAMS if name.startswith("rows: ") or name in programs.RANDOM
    ],
}


# ---- processes ----


def jobs(
    way: str, engine: str, seed: int, folder: Path, names: Sequence[str] | None = None
) -> list[Job]:
    """A job for each program; steps and seeds differ with the seed."""
    rng, found = random.Random(f"{way}{engine}{seed}"), []
    for i, name in enumerate(PROGRAMS[way] if names is None else names):
        first = rng.randint(1, 7)
        last = first + rng.randint(1, 6)
        run_folder = folder / f"{way}-{engine}-{i}"
        run_folder.mkdir()
        number = None if way in ("saver", "model") and i % 3 == 2 else seed + i
        found.append(Job(way, name, engine, first, last, number, str(run_folder)))
    return found


def phase(work: Sequence[Job], threads: int, goes_on: bool) -> list[dict[str, str]]:
    """Does jobs in a new process; its digests."""
    text = json.dumps([list(job) for job in work])
    command = [sys.executable, "-m", "proofs.resume", "phase", str(threads), str(int(goes_on))]
    tests = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        command, input=text, cwd=tests, capture_output=True, text=True, timeout=PATIENCE
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
    found: list[dict[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def in_this_process(threads: int, goes_on: bool) -> None:
    """The other end of phase."""
    found = []
    for row in json.load(sys.stdin):
        job = Job(*row)
        try:
            found.append(WAYS[job.way](job, threads, goes_on))
        except Exception as error:
            raise RuntimeError(f"{job}: {error}") from error
    print(json.dumps(found))


def resumed(work: Sequence[Job], threads: tuple[int, int] = (1, 2)) -> Result:
    """Both phases of jobs, with the threads of each; lost: whose digests differ."""
    result = Result()
    before, after = phase(work, threads[0], False), phase(work, threads[1], True)
    for job, first, second in zip(work, before, after, strict=True):
        result.count("resumed runs")
        digests = {**first, **second}
        if len(set(digests.values())) > 1:
            result.lost.append(f"{job.engine} {job.way}, {job.name}: {digests}, {job}")
    return result


def trial(way: str, engine: str) -> Mode:
    """All programs of a way; a trial is one seed."""

    def run(seed: int, count: int, folder: Path) -> Result:
        total = Result()
        for k in range(count):
            run_folder = folder / str(k)
            run_folder.mkdir()
            threads = random.Random(seed + k).choice([(1, 2), (2, 1), (1, 4), (1, 1)])
            found = resumed(jobs(way, engine, 1000 * seed + k, run_folder), threads)
            total.count("resumed runs", found.counts["resumed runs"])
            total.lost += found.lost
        return total

    return Mode(run)


MODES = {f"{way}, {engine}": trial(way, engine) for way in WAYS for engine in ENGINES}

if __name__ == "__main__":
    if sys.argv[1:2] == ["phase"]:
        in_this_process(int(sys.argv[2]), sys.argv[3] == "1")
        sys.exit(0)
    purpose = "Trains, saves, goes on in a new process, and compares all state."
    sys.exit(main("R18", purpose, MODES, count=20, slice_count=2))
