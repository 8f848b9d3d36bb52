"""State: variables and random generators by name, what outlives a run."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.engine import calls, pickling, reprs
from graphio.engine.run_lock import RunLock
from graphio.runtime import philox
from graphio.runtime.failure import describe, shape_text
from graphio.runtime.registry import numpy_dtype
from graphio.schema import dtypes
from graphio.schema.tensors import Stored
from graphio.support import buffers, errors, html

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from graphio.runtime.watch import Watch
    from graphio.schema.checkpoint_pb2 import CheckpointVariable
    from graphio.schema.model_pb2 import IteratorState

Array = np.ndarray[Any, Any]
Shape = tuple[int | None, ...]
MOST_BLOB_BYTES = 1 << 24  # of all together: they are in the index, which is one message


class Slot:
    """A variable. Its array is replaced, never changed, so a value once read stays as it was."""

    __slots__ = ("dtype", "link", "name", "number", "ruled", "shape", "static", "value")

    def __init__(self, name: str, number: int, shape: Shape | None) -> None:
        self.name = name
        self.number = number
        self.dtype = numpy_dtype(number)
        self.value: Array | Stored | None = None  # Stored: checked when it is first read
        self.link: tuple[str, str] | None = None  # an optimizer's slot: of which variable, which
        self.ruled = True  # False: only a checkpoint had it, and the first model says its shape
        self.rule(shape)

    def rule(self, shape: Shape | None) -> None:
        """Says which shapes a value may have."""
        self.shape = shape
        self.static = shape is not None and None not in shape

    def read(self) -> Array:
        """The value; FailedPreconditionError if there is none, DataLossError if it is damaged."""
        value = self.value
        if value.__class__ is np.ndarray:
            return value
        if value is None:
            raise uninitialized(self.name)
        self.value = array = value.array() if isinstance(value, Stored) else value
        return array

    def check(self, value: Array | Stored) -> None:
        """Refuses a value of another dtype or shape."""
        if value.dtype == self.dtype and (
            self.shape is None or calls.fits(value.shape, self.shape)
        ):
            return
        if isinstance(value, Stored):
            value = value.array()
        if value.dtype != self.dtype:
            raise errors.InvalidArgumentError(
                message=f"variable '{self.name}' is {dtypes.name(self.number)}, the value is "
                f"{describe(value)}"
            )
        raise errors.InvalidArgumentError(
            message=f"variable '{self.name}' has shape {shape_text(self.shape)}, the value is "
            f"{describe(value)}"
        )


class Generator:
    """A random generator: a Philox stream and where it stands."""

    __slots__ = ("counter", "key", "name", "seed_key")

    def __init__(self, name: str) -> None:
        self.name = name
        self.seed_key: int | None = None  # from the model; None: from the state's seed
        self.key: int | None = None  # None until it is first used
        self.counter = 0


class State:
    """Variables and random generators; may be shared by several models. Thread-safe."""

    lasting = True  # a Slot's array is replaced, never changed

    def __init__(self, seed: int | None = None) -> None:
        self.lock = RunLock()  # also held while a model runs on this state
        self.journal: list[str] = []  # variables assigned by the run in progress
        self.watch: Watch | None = None  # of the run in progress
        self._seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed % (1 << 64)
        self._slots: dict[str, Slot] = {}
        self._generators: dict[str, Generator] = {}
        self._kept: dict[str, bytes | IteratorState] = {}  # blobs, and positions of iterators
        self._pool: ThreadPoolExecutor | None = None
        self._pool_lock, self._pool_size = threading.Lock(), 0

    def __repr__(self) -> str:
        return reprs.state("runtime", self)

    def _repr_html_(self) -> str:
        return html.state_table("graphio.runtime.State", self)

    def __reduce__(self) -> pickling.Reduced:
        declared = {name: (slot.number, slot.shape) for name, slot in self._slots.items()}
        return pickling.state_recipe("runtime", self, declared)

    def pool(self, threads: int) -> ThreadPoolExecutor:
        """Threads for operations that run at the same time; made at its first use."""
        from concurrent.futures import ThreadPoolExecutor

        with self._pool_lock:
            if self._pool is None or self._pool_size < threads:
                self._pool = ThreadPoolExecutor(threads, thread_name_prefix="graphio")
                self._pool_size = threads
            return self._pool

    def names(self) -> list[str]:
        """Names of all variables, sorted."""
        with self.lock:
            return sorted(self._slots)

    def initialized(self, name: str) -> bool:
        """Whether the variable has a value. Raises NotFoundError for an unknown one."""
        return self.slot(name).value is not None

    def get(self, name: str) -> Array:
        """A copy of the value. Raises FailedPreconditionError, NotFoundError."""
        return np.array(self.slot(name).read(), order="C")

    def views(self, names: Sequence[str]) -> list[Array]:
        """The values themselves, not to be written to; they stay as they are. Raises as get."""
        with self.lock:
            return [self.slot(name).read() for name in names]

    def set(self, name: str, value: Any) -> None:
        """Gives the value; dtype and shape must agree, else InvalidArgumentError."""
        slot = self.slot(name)
        array = calls.convert(value, slot.dtype, f"variable {name!r}")
        slot.check(array)
        with self.lock:
            slot.value = array.copy()

    def declare(self, name: str, dtype: int, shape: Sequence[int | None] | None) -> None:
        """Adds a variable without value if there is none of the name.

        Args:
            name: of the variable.
            dtype: the element type's number.
            shape: None: any; None as a dimension: any.

        Raises:
            InvalidArgumentError: it is there with a dtype or shape that contradicts.
        """
        expected = None if shape is None else tuple(shape)
        with self.lock:
            slot = self._slots.get(name)
            if slot is None:
                self._slots[name] = Slot(name, dtype, expected)
            elif slot.number != dtype or not _meet(slot.shape, expected):
                raise errors.InvalidArgumentError(
                    message=f"variable '{name}' is declared as {dtypes.name(dtype)}"
                    f"{shape_text(expected)}, but the state has it as {dtypes.name(slot.number)}"
                    f"{shape_text(slot.shape)}"
                )
            elif not slot.ruled:
                slot.rule(expected)
                slot.ruled = True

    @contextlib.contextmanager
    def _declared(
        self, rows: Mapping[str, tuple[int, Sequence[int | None] | None]]
    ) -> Iterator[None]:
        """Variables are declared, unless what follows fails."""
        before = {name: self._slots.get(name) for name in rows}
        loose = [(slot, slot.shape) for slot in before.values() if slot and not slot.ruled]
        try:
            for name, (dtype, shape) in rows.items():
                self.declare(name, dtype, shape)
            yield
        except BaseException:
            for name, found in before.items():
                if found is None:
                    self._slots.pop(name, None)
            for slot, shape in loose:
                slot.rule(shape)
                slot.ruled = False
            raise

    def generators(self) -> dict[str, tuple[int, int]]:
        """Key and counter of every generator in use."""
        with self.lock:
            return {
                g.name: (g.key, g.counter)
                for g in sorted(self._generators.values(), key=lambda g: g.name)
                if g.key is not None
            }

    def set_generator(self, name: str, key: int, counter: int) -> None:
        """Sets the state of a generator."""
        with self.lock:
            generator = self.generator(name)
            generator.key, generator.counter = key % (1 << 64), counter % (1 << 64)

    def slot(self, name: str) -> Slot:
        """The variable; NotFoundError if there is none."""
        try:
            return self._slots[name]
        except KeyError:
            raise errors.NotFoundError(message=f"the state has no variable {name!r}") from None

    def generator(self, name: str) -> Generator:
        """The generator, made if it is new. Raises AlreadyExistsError: a blob is called so."""
        self._admit(name)
        return self._generators.setdefault(name, Generator(name))

    def _admit(self, generator: str) -> None:
        """One name has one value in a checkpoint."""
        if generator in self._kept:
            raise errors.AlreadyExistsError(
                message=f"{generator!r} is {_kind(self._kept[generator])} of the state, so no "
                "random generator can be called that: remove it by remove_blob, or call the "
                "generator otherwise"
            )

    def draw(self, generator: Generator, blocks: int) -> tuple[int, int]:
        """Reserves blocks of a stream: its key and the first block's counter."""
        if generator.key is None:
            generator.key = generator.seed_key
        if generator.key is None:
            generator.key = philox.key_of(self._seed, generator.name)
        first = generator.counter
        generator.counter = (first + blocks) % (1 << 64)
        return generator.key, first

    def buffer(self, dtype: int, dims: Sequence[int]) -> Array:
        """An array for a value that assign is then given; the element type's number, its shape."""
        return buffers.uncleared(dims, numpy_dtype(dtype))

    def blobs(self) -> dict[str, bytes]:
        """Data of the program by name, sorted: set by set_blob and by checkpoints."""
        with self.lock:
            return {n: kept for n, kept in sorted(self._kept.items()) if isinstance(kept, bytes)}

    def set_blob(self, name: str, data: bytes) -> None:
        """Keeps bytes, which save commits together with the variables.

        Raises:
            InvalidArgumentError: no usable name.
            AlreadyExistsError: a random generator is called so.
            ResourceExhaustedError: all blobs together have more than 2^24 bytes.
        """
        if not 0 < len(name.encode()) <= 4096 or "\0" in name:
            raise errors.InvalidArgumentError(message=f"a blob cannot be called {name!r}")
        with self.lock:
            if name in self._generators:
                raise errors.AlreadyExistsError(
                    message=f"{name!r} is a random generator of the state: call the blob otherwise"
                )
            total = len(data) + sum(len(b) for n, b in self.blobs().items() if n != name)
            if total > MOST_BLOB_BYTES:
                raise errors.ResourceExhaustedError(
                    message=f"with {name!r} the blobs of the state have {total} bytes, the limit "
                    f"is {MOST_BLOB_BYTES}: large values are for variables"
                )
            self._kept[name] = bytes(data)

    def remove_blob(self, name: str) -> None:
        """Forgets a blob, or the position of an iterator of a checkpoint. Raises NotFoundError."""
        with self.lock:
            if self._kept.pop(name, None) is None:
                raise errors.NotFoundError(message=f"the state has no blob {name!r}")

    def assign(
        self,
        values: Mapping[str, Array | Stored],
        generators: Mapping[str, tuple[int, int]] | None = None,
        *,
        given: bool = False,
        declared: Mapping[str, tuple[int, Sequence[int | None] | None]] | None = None,
    ) -> None:
        """Gives many variables and generators their values: all of them, or none when it raises.

        Args:
            values: name of a variable to its value, of its dtype; a Stored one is checked when it
                is first read.
            generators: name to key and counter.
            given: True: the arrays belong to the state from now on and need no copy.
            declared: variables to be declared before: name to element type's number and shape.

        Raises:
            AlreadyExistsError: a blob is called as one of the generators.
        """
        with self.lock, self._declared(declared or {}):
            slots = [self.slot(name) for name in values]
            for slot, value in zip(slots, values.values(), strict=True):
                slot.check(value)
            for name in generators or {}:
                self._admit(name)
            made = [
                value
                if isinstance(value, Stored) or (given and value.flags.c_contiguous)
                else np.array(value, order="C")
                for value in values.values()
            ]
            for slot, value in zip(slots, made, strict=True):
                slot.value = value
            for name, (key, counter) in (generators or {}).items():
                self.set_generator(name, key, counter)

    def save(
        self,
        prefix: str | os.PathLike[str],
        step: int | None = None,
        meta: bytes | None = None,
        shard_bytes: int | None = None,
    ) -> None:
        """Writes a checkpoint of all initialised variables, durable when this returns.

        Args:
            prefix: of its files' names.
            step: the global step, or None.
            meta: the bytes of the graph file `prefix`.meta, or None for none.
            shard_bytes: how large a data file may become; None: there is one.

        Raises:
            NotFoundError, InvalidArgumentError: the folder is not there, or is none.
            ResourceExhaustedError, UnavailableError: other errors of the operating system.
        """
        from graphio.schema import checkpoint

        with self.lock:
            values = {n: s.read() for n, s in self._slots.items() if s.value is not None}
            checkpoint.write_checkpoint(
                os.fspath(prefix),
                values,
                {**self.generators(), **self._kept},
                step=step,
                meta=meta,
                slots={n: s.link for n, s in self._slots.items() if s.link is not None},
                shard_bytes=shard_bytes,
            )

    def restore(self, prefix: str | os.PathLike[str], *, strict: bool = True) -> int | None:
        """Reads a checkpoint, all or nothing; returns its step.

        Variables and generators that the state lacks are added. Blobs and positions of iterators
        become those of the checkpoint, and save writes them again.

        Args:
            prefix: of its files' names.
            strict: False leaves variables as they are that it lacks, or of which it has another
                dtype or shape.

        Raises:
            NotFoundError: there is none, or it misses variables (all are named).
            InvalidArgumentError: dtypes or shapes differ (all are named); a blob or the position of
                an iterator is called as a random generator of the state.
            DataLossError: a file is damaged.
        """
        from graphio.schema import restore

        with self.lock:
            expected = {name: (slot.number, slot.shape) for name, slot in self._slots.items()}
            found = restore.read_fitting(prefix, expected if strict else {})
            rows = restore.rows_of(found.index)
            others = {
                name
                for name in expected.keys() & rows.keys()
                if restore.find_problems(rows, {name: expected[name]})
            }
            taken = [
                (row, found.variables[row.name])
                for row in found.index.variable
                if row.name not in others
            ]
            kept = {n: k for n, k in found.resources.items() if not isinstance(k, tuple)}
            self._check_apart(kept, prefix)
            for row, value in taken:
                self._take(row, value)
            self._kept = kept
            for name, (key, counter) in found.generators.items():
                self.set_generator(name, key, counter)
            return found.step

    def _check_apart(self, kept: Mapping[str, Any], prefix: str | os.PathLike[str]) -> None:
        for name in sorted(kept.keys() & self._generators.keys()):
            raise errors.InvalidArgumentError(
                message=f"{name!r} is {_kind(kept[name])} in the checkpoint "
                f"{os.path.basename(prefix)!r} and a random generator of the state, which cannot "
                "have both: restore into a state without that generator, or call one of them "
                "otherwise and save again"
            )

    def _take(self, row: CheckpointVariable, value: Array) -> None:
        slot = self._slots.get(row.name)
        if slot is None:
            slot = self._slots[row.name] = Slot(row.name, row.dtype, tuple(row.dims))
            slot.ruled = False
        slot.value = value
        if slot.link is None and row.slot_of:
            slot.link = (row.slot_of, row.slot)


def _kind(kept: bytes | IteratorState) -> str:
    return "a blob" if isinstance(kept, bytes) else "the position of an iterator"


def _meet(one: Shape | None, other: Shape | None) -> bool:
    """Whether a value may fit both shapes."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        None in pair or pair[0] == pair[1] for pair in zip(one, other, strict=True)
    )


def uninitialized(name: str) -> errors.OpError:
    """The error of reading a variable without value."""
    return errors.FailedPreconditionError(message=f"Attempting to use uninitialized value {name}")


def new_state(seed: int | None = None) -> State:
    """An empty state.

    Args:
        seed: gives the keys of generators that a model does not seed; None: from the system.
    """
    return State(seed)
