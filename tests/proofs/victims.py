"""Small files that hold everything a file of ours can hold, and how each engine reads them."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf
from graphio.schema import checkpoint, dtypes, small_types
from graphio.schema.model_pb2 import IteratorState
from graphio.support import errors

Array = np.ndarray[Any, Any]
Load = Callable[[], Any]

#: errors that a damaged file may raise
DAMAGED = (errors.DataLossError, errors.InvalidArgumentError, errors.UnimplementedError)
ENGINES = ("runtime", "cinfer")


def engine(name: str) -> Any:
    """The module of an engine."""
    return importlib.import_module(f"graphio.{name}")


def variables() -> dict[str, Array]:
    """A variable of each element type, a scalar, an empty one, one of 64 bytes, odd names."""
    found: dict[str, Array] = {
        "ü/Gewicht:0 \"'\\": np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4),
        "empty": np.zeros([0, 3], np.float64),
        "scalar": np.array(7, np.int64),
        "w/Adam": np.arange(5, dtype=np.float32),
    }
    for row in dtypes.TABLE:
        if row.number == dtypes.STRING:
            found["of_string"] = np.array([[b"", "ä".encode()], [b"\0\xff", b"abc"]], object)
        elif row.numpy is not None:
            found[f"of_{row.name}"] = np.array([[1, 0, 1]]).astype(row.numpy)
        else:
            found[f"of_{row.name}"] = np.array([1, 1, 0]).astype(small_types.numpy_dtype(row))
    return found


RESOURCES: dict[str, Any] = {
    "a generator": (0x0123456789ABCDEF, 42),
    "an iterator": IteratorState(epoch=1, offset=2, shuffle_seed=3, detail=b"somewhere"),
    "bytes": bytes(range(48)),
}


def graph_file(change: int = 0) -> bytes:
    """A model of about 1 KB: a random operator, a variable and a collection."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        w = tf.get_variable("w", [4, 4], initializer=tf.ones_initializer())
        tf.add_to_collection("out", tf.nn.dropout(tf.matmul(x, w), rate=0.5) + change)
        return bytes(tf.train.export_meta_graph(graph=graph).SerializeToString())


def bundle(seed: int, rows: int = 8) -> bytes:
    """A model file that predicts and trains: of about 4 KB, or of so many rows of 32 bytes."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(seed)
        x = tf.placeholder(tf.float32, [None, rows], name="x")
        start = np.linspace(-1, seed, 8 * rows).reshape(rows, 8)
        w = tf.Variable(start.astype(np.float32), name="w")
        y = tf.nn.dropout(tf.matmul(x, w), rate=0.5)
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(y))
        session.run(tf.global_variables_initializer())
        session.run(train, {x: np.ones((2, rows))})
        signatures = {"predict": ({"x": x}, {"y": y}), "train": ({"x": x}, {"y": y}, [train])}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m.gio")
            tf.saved_model.save(str(path), session, signatures)
            return path.read_bytes()


def write(prefix: Path, *, save_id: int = 1, change: int = 0, two_shards: bool = True) -> None:
    """A checkpoint of all of it.

    Args:
        save_id: the same gives the same names.
        change: what is added to the variable `scalar`: another checkpoint of the same form.
    """
    values = variables()
    values["scalar"] = values["scalar"] + change
    checkpoint.write_checkpoint(
        prefix,
        values,
        RESOURCES,
        step=7,
        meta=graph_file(change),
        slots={"w/Adam": ("of_float32", "Adam")},
        shard_bytes=200 if two_shards else None,
        save_id=save_id,
        time=1_790_000_000 + change,
    )


def files_of(prefix: Path) -> list[Path]:
    """The files of a checkpoint: index, graph file, shards."""
    return sorted(p for p in prefix.parent.iterdir() if p.name.startswith(prefix.name + "."))


def blank_state(name: str, prefix: Path) -> Any:
    """A state that has all variables of a checkpoint, each zero or empty."""
    state = engine(name).new_state(0)
    for row in checkpoint.read_index(prefix).variable:
        state.declare(row.name, row.dtype, list(row.dims))
        state.set(row.name, blank(row.dtype, tuple(row.dims)))
    return state


def blank(dtype: int, dims: tuple[int, ...]) -> Array:
    """Zeros; for strings empty ones."""
    if dtype == dtypes.STRING:
        return np.full(dims, b"", object)
    return np.zeros(dims, np.uint8).astype(small_types.numpy_dtype(dtypes.of_number(dtype)))


def same(a: Array, b: Array) -> bool:
    """Whether two arrays agree in dtype, shape and every bit."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def is_blank(state: Any) -> bool:
    """Whether nothing was restored into a blank state."""
    return all(
        same(state.get(n), np.full_like(state.get(n), b"" if state.get(n).dtype == object else 0))
        for n in state.names()
    )


class Reader:
    """One who reads a checkpoint again and again.

    Args:
        name: of READERS.
        prefix: of the checkpoint.
    """

    def __init__(self, name: str, prefix: Path) -> None:
        self.prefix = prefix
        if name in ENGINES:
            state = self._state = blank_state(name, prefix)
            self.load = lambda: state.restore(prefix)
        elif name in ("mapped", "verify"):
            self._state = None
            self.load = self._mapped if name == "mapped" else lambda: tf.train.verify(prefix)
        else:
            self.load = self._by_saver("" if name == "Saver" else "cinfer")

    def _by_saver(self, target: str) -> Load:
        with tf.Graph().as_default():
            session = tf.Session(target)
            for row in checkpoint.read_index(self.prefix).variable:
                if row.name in OF_SAVER:
                    value = blank(row.dtype, tuple(row.dims))
                    tf.Variable(
                        value.astype(str) if row.dtype == dtypes.STRING else value,
                        name=row.name,
                        dtype=tf.as_dtype(dtypes.name(row.dtype)),
                    )
            saver = tf.train.Saver(iterators=False)
            session.run(tf.global_variables_initializer())
        self._state = session.state
        return lambda: saver.restore(session, self.prefix)

    def _mapped(self) -> None:
        """Each value is checked when it is looked at."""
        found = checkpoint.read_checkpoint(self.prefix, lazy=True)
        dict(found.variables)
        found.meta()

    def check_unchanged(self, tally: Tally) -> None:
        """Nothing was assigned, and something is when the undamaged files are restored."""
        if self._state is not None and not is_blank(self._state):
            tally.taken.append("a failed restore changed the state")
        self.load()
        assert self._state is None or not is_blank(self._state)


READERS = (*ENGINES, "Saver", "Saver of cinfer", "mapped", "verify")
#: variables that the Savers restore; all files are still checked in full
OF_SAVER = ("of_float32", "of_string", "of_bool", "scalar")


@dataclass
class Tally:
    """The outcomes of loading damaged files.

    Attributes:
        tried: how many loads.
        refused: how many were errors that say so.
        taken: which were not, by what was done to the file.
    """

    tried: int = 0
    refused: int = 0
    taken: list[str] = field(default_factory=list)

    def refuse(self, load: Load, what: str) -> None:
        """Loads what must not load. Anything but an error of DAMAGED with words comes out."""
        self.tried += 1
        try:
            load()
        except DAMAGED as error:
            assert len(error.message) > 20, (what, error.message)
            self.refused += 1
        else:
            self.taken.append(what)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.tried + other.tried, self.refused + other.refused, self.taken + other.taken
        )


def flipped(path: Path, bits: Iterable[int]) -> Iterator[int]:
    """Gives each bit's number while that bit of the file is the other way round."""
    data = path.read_bytes()
    handle = os.open(path, os.O_WRONLY)
    try:
        for bit in bits:
            at = bit // 8
            os.pwrite(handle, bytes([data[at] ^ 1 << bit % 8]), at)
            try:
                yield bit
            finally:
                os.pwrite(handle, data[at : at + 1], at)
    finally:
        os.close(handle)
