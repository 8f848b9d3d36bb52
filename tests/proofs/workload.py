"""A training run whose every step has known values, saved by the real Saver, and who checks it.

The values of a step follow from its number alone, so that a writer in C and a reader in another
process agree on them. The graph changes at every second save.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import graphio as tf
from graphio.protos.node_def import message_of
from graphio.schema import checkpoint_cleaner
from graphio.schema.checkpoint import read_checkpoint
from graphio.storage import stores
from graphio.support import errors
from graphio.train.checkpoints.saving import export_meta_bytes

Array = np.ndarray[Any, Any]

SHAPES: dict[str, tuple[tuple[int, ...], type]] = {
    "w": ((257,), np.float32),
    "b": ((3,), np.float64),
    "n": ((), np.int64),
    "m": ((16, 16), np.float32),
}
GENERATOR = "random_normal/generator"
DAMAGED = (errors.OpError, ValueError, OSError)


class Lost(Exception):
    """The promise was broken: what a reader finds is not what was saved."""


@dataclass(frozen=True)
class Options:
    """How checkpoints are written.

    Attributes:
        keep: max_to_keep.
        same: True saves again and again to one prefix.
        shard_bytes: how large a data file may become.
        asynchronous: whether a thread writes.
        engine: of the session.
    """

    keep: int = 1
    same: bool = False
    shard_bytes: int | None = None
    asynchronous: bool = False
    engine: str = "runtime"


MODES = {
    "distinct prefixes, 1 kept": Options(),
    "distinct prefixes, 3 kept": Options(keep=3),
    "same prefix": Options(same=True),
    "sharded, 1 kept": Options(shard_bytes=1100),
    "sharded, same prefix": Options(same=True, shard_bytes=1100),
    "asynchronous, 1 kept": Options(asynchronous=True),
    "cinfer session, asynchronous": Options(asynchronous=True, engine="cinfer"),
    "asynchronous, same prefix": Options(same=True, asynchronous=True, shard_bytes=1100),
}


def value(name: str, step: int) -> Array:
    """The value of a variable at a step: its first value and one more at every step."""
    shape, dtype = SHAPES[name]
    first = 7 * np.arange(math.prod(shape), dtype=np.int64) % 4093
    return (first + step).astype(dtype).reshape(shape)


def generator(step: int) -> tuple[int, int]:
    """Key and counter of the random generator at a step."""
    return step * 0x9E3779B1 + 1, step


def blobs(step: int) -> dict[str, bytes]:
    """The program's own state at a step, saved as bytes."""
    return {"notes": b"step %d" % step}


@contextlib.contextmanager
def hours_later(started: float) -> Iterator[None]:
    """Inside, this process began at a time, and what was there before is old; 0: as it is."""
    before = stores._STARTED, checkpoint_cleaner.ABANDONED_AGE
    if started:
        stores._STARTED, checkpoint_cleaner.ABANDONED_AGE = started, -60.0
    try:
        yield
    finally:
        stores._STARTED, checkpoint_cleaner.ABANDONED_AGE = before


class Trainer:
    """A graph, a session and a Saver.

    Attributes:
        graphs: the two graph files that checkpoints have in turn.
    """

    def __init__(self, options: Options = Options()) -> None:
        self.options = options
        self.graph = tf.Graph()
        with self.graph.as_default():
            for name, (shape, dtype) in SHAPES.items():
                tf.get_variable(name, list(shape), tf.as_dtype(dtype), trainable=name != "n")
            tf.random.normal([2])
            self.session: Any = tf.Session(options.engine)
            self.session.run(tf.global_variables_initializer())
        self.graphs = [self._graph_file(step) for step in (0, 2)]
        assert self.graphs[0] != self.graphs[1]
        self.saver = self._saver()
        self.started = 0.0

    def _saver(self) -> Any:
        more: dict[str, Any] = {}
        if self.options.shard_bytes is not None:
            more["shard_bytes"] = self.options.shard_bytes
        if self.options.asynchronous:
            more["asynchronous"] = True
        with self.graph.as_default():
            return tf.train.Saver(max_to_keep=self.options.keep, **more)

    def _graph_file(self, step: int) -> bytes:
        self._mark(step)
        return export_meta_bytes(self.graph, message_of(self._saver().to_proto()))

    def _mark(self, step: int) -> None:
        self.graph.clear_collection("marks")
        name = "w" if step // 2 % 2 == 0 else "m"
        self.graph.add_to_collection("marks", self.graph.get_tensor_by_name(f"{name}:0"))

    def restart(self) -> None:
        """Becomes as a process that starts an hour later."""
        self.saver = self._saver()
        self.started = time.time() + 1

    def fill(self, step: int) -> None:
        """Gives the session the values of a step."""
        for name in SHAPES:
            self.session.state.set(name, value(name, step))
        for name in self.session.graph.root.generators:
            self.session.state.set_generator(name, *generator(step))
        self._mark(step)

    def save(self, folder: str | os.PathLike[str], step: int) -> None:
        """Saves the values of a step; when this returns they may be relied on."""
        with hours_later(self.started):
            self._save(folder, step)

    def _save(self, folder: str | os.PathLike[str], step: int) -> None:
        self.fill(step)
        prefix = os.path.join(os.fspath(folder), "model")
        if self.options.same:
            self.saver.save(self.session, prefix, blobs=blobs(step))
        else:
            self.saver.save(self.session, prefix, global_step=step, blobs=blobs(step))
        if self.options.asynchronous:
            self.saver.wait()

    def resume(self, folder: str | os.PathLike[str]) -> int:
        """Restores the newest checkpoint and checks every value; returns its step, -1 for none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if tf.train.restore_latest(self.saver, self.session, folder) is None:
                    return -1
        except DAMAGED as error:
            raise Lost(f"the newest checkpoint cannot be restored: {error}") from None
        step = int(self.session.state.get("n"))
        for name in SHAPES:
            if self.session.state.get(name).tobytes() != value(name, step).tobytes():
                raise Lost(f"variable '{name}' is not what was saved at step {step}")
        return step

    def values(self) -> dict[str, Any]:
        """All that a restore may change."""
        state = self.session.state
        return {name: state.get(name).tobytes() for name in SHAPES} | state.generators()

    def newest(self, folder: str | os.PathLike[str]) -> int:
        """The step of the newest checkpoint, every byte checked; -1: there is none."""
        return newest(folder, lambda step: self.graphs[step // 2 % 2], blobs=blobs)


def newest(
    folder: str | os.PathLike[str],
    graph_file: Callable[[int], bytes],
    position: Callable[[int], tuple[int, int]] = generator,
    blobs: Callable[[int], dict[str, bytes]] = lambda step: {},
) -> int:
    """The step of a folder's newest checkpoint after every byte of it was checked; -1: none.

    Args:
        graph_file: from the step to the bytes that its graph file must have.
        position: maps the step to key and counter of the random generator.
        blobs: from the step to the program's own saved state.

    Raises:
        Lost: it is damaged, incomplete or not what was saved.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prefix = tf.train.latest_checkpoint(os.fspath(folder))
        except DAMAGED as error:
            raise Lost(f"there are checkpoints and none can be restored: {error}") from None
    if prefix is None:
        return -1
    return step_of(prefix, graph_file, position, blobs)


def step_of(
    prefix: str,
    graph_file: Callable[[int], bytes],
    position: Callable[[int], tuple[int, int]] = generator,
    blobs: Callable[[int], dict[str, bytes]] = lambda step: {},
) -> int:
    """The step of a checkpoint after every byte of it was checked; arguments and errors as newest.

    Raises:
        NotFoundError: there is none.
    """
    try:
        found = read_checkpoint(prefix)
        graph = found.meta()
    except errors.NotFoundError as error:
        if "graph file" not in error.message:
            raise
        raise Lost(f"the newest checkpoint has lost its graph file: {error}") from None
    except DAMAGED as error:
        raise Lost(f"the newest checkpoint cannot be read: {error}") from None
    step = int(found.variables["n"])
    if found.step is not None and found.step != step:
        raise Lost(f"the checkpoint of step {found.step} has values of step {step}")
    for name in SHAPES:
        if found.variables[name].tobytes() != value(name, step).tobytes():
            raise Lost(f"variable '{name}' is not what was saved at step {step}")
    if found.generators.get(GENERATOR) != position(step):
        raise Lost(f"the random generator is not where it was at step {step}")
    if {n: b for n, b in found.resources.items() if isinstance(b, bytes)} != blobs(step):
        raise Lost(f"what the program saved is not that of step {step}")
    if graph != graph_file(step):
        raise Lost(f"the graph file is not that of step {step}")
    return step
