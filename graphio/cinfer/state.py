"""The state of cinfer: variables and random generators by name."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from graphio.cinfer import arrays, status
from graphio.cinfer._native import Lock, ffi, lib
from graphio.cinfer.arrays import Array
from graphio.engine import calls, pickling, reprs
from graphio.engine.run_lock import RunLock
from graphio.schema import dtypes
from graphio.storage import stores
from graphio.support import errors, html

if TYPE_CHECKING:
    from graphio.schema.tensors import Stored


def new_state(seed: int | None = None) -> State:
    """An empty state.

    Args:
        seed: gives the keys of generators that a model does not seed; None: from the system.
    """
    return State(seed)


@contextlib.contextmanager
def _near(prefix: str | os.PathLike[str]) -> Iterator[str]:
    """A prefix on this machine for the checkpoint of a remote one, for a while."""
    with tempfile.TemporaryDirectory(prefix="graphio-") as folder:
        yield os.path.join(folder, stores.split(prefix)[1])


class State:
    """Variables and random generators; may be shared by several models. Thread-safe."""

    lasting = False  # a run writes to the memory of the variables

    def __init__(self, seed: int | None = None) -> None:
        options = ffi.new("ci_state_options *", lib.ci_state_defaults())
        options.seed = int.from_bytes(os.urandom(8), "little") if seed is None else seed % (1 << 64)
        self._error = status.new_error()
        handle = ffi.new("ci_state **")
        status.check(lib.ci_state_open(options, handle, self._error), self._error)
        self.handle = handle[0]
        # Also held while a session on this state runs; a function that it calls may look into it.
        self.lock = RunLock(Lock())  # which runner.c knows, too
        self._buffers: weakref.WeakValueDictionary[int, _Buffer] = weakref.WeakValueDictionary()
        weakref.finalize(self, lib.ci_state_close, self.handle).atexit = False

    def __repr__(self) -> str:
        return reprs.state("cinfer", self)

    def _repr_html_(self) -> str:
        return html.state_table("graphio.cinfer.State", self)

    def __reduce__(self) -> pickling.Reduced:
        with self.lock:
            infos = [self._info(i) for i in range(lib.ci_variable_count(self.handle))]
            declared = {status.text(i.name): (int(i.dtype), arrays.static_shape(i)) for i in infos}
            return pickling.state_recipe("cinfer", self, declared)

    def names(self) -> list[str]:
        """Names of all variables, sorted."""
        with self.lock:
            count = lib.ci_variable_count(self.handle)
            return sorted(status.text(self._info(i).name) for i in range(count))

    def initialized(self, name: str) -> bool:
        """Whether the variable has a value. Raises NotFoundError for an unknown one."""
        with self.lock:
            return bool(lib.ci_variable_initialized(self.handle, self._index(name)))

    def get(self, name: str) -> Array:
        """A copy of the value. Raises FailedPreconditionError, NotFoundError."""
        tensor = ffi.new("ci_tensor *")
        with self.lock:
            index = self._index(name)
            self._check(lib.ci_variable_view(self.handle, index, tensor, self._error))
            return arrays.reader(tensor[0])()

    def views(self, names: Sequence[str]) -> list[Array]:
        """The values themselves, not to be written to, for who holds the lock and until the
        variables change; copies of strings. Raises as get."""
        tensor = ffi.new("ci_tensor *")
        found = []
        with self.lock:
            for name in names:
                index = self._index(name)
                self._check(lib.ci_variable_view(self.handle, index, tensor, self._error))
                found.append(arrays.view(tensor[0]))
        return found

    def set(self, name: str, value: Any) -> None:
        """Gives the value; dtype and shape must agree, else InvalidArgumentError."""
        tensor = ffi.new("ci_tensor *")
        with self.lock:
            index = self._index(name)
            dtype = arrays.numpy_dtype(self._info(index).dtype)
            keep = arrays.point_at(tensor, calls.convert(value, dtype, f"variable {name!r}"))
            self._check(lib.ci_variable_set(self.handle, index, tensor, self._error))
            del keep

    def declare(self, name: str, dtype: int, shape: Sequence[int | None] | None) -> None:
        """Adds a variable without value if there is none of the name.

        Args:
            dtype: the element type's number.
            shape: None: any; None as a dimension: any.
        """
        encoded = ffi.new("char[]", name.encode())
        info = ffi.new("ci_info *", {"name": encoded, "dtype": dtype, "rank": -1})
        if shape is not None:
            arrays.set_shape(info, [-1 if d is None else d for d in shape])
        with self.lock:
            self._check(lib.ci_variable_declare(self.handle, info, ffi.NULL, self._error))

    @contextlib.contextmanager
    def _declared(
        self, rows: Mapping[str, tuple[int, Sequence[int | None] | None]]
    ) -> Iterator[None]:
        """Variables are declared, unless what follows fails."""
        count = lib.ci_variable_count(self.handle)
        try:
            for name, (dtype, shape) in rows.items():
                self.declare(name, dtype, shape)
            yield
        except BaseException:
            lib.ci_variable_forget(self.handle, count, ffi.NULL)
            raise

    def generators(self) -> dict[str, tuple[int, int]]:
        """Key and counter of every generator in use."""
        value, used = ffi.new("ci_generator *"), ffi.new("int *")
        found = {}
        with self.lock:
            for i in range(lib.ci_generator_count(self.handle)):
                lib.ci_generator_get(self.handle, i, value, used)
                if used[0]:
                    name = status.text(lib.ci_generator_name(self.handle, i))
                    found[name] = (int(value.key), int(value.counter))
        return found

    def set_generator(self, name: str, key: int, counter: int) -> None:
        """Sets the state of a generator."""
        value = ffi.new("ci_generator *", (key, counter))
        with self.lock:
            self._check(lib.ci_generator_set(self.handle, name.encode(), value, self._error))

    def buffer(self, dtype: int, dims: Sequence[int]) -> Array:
        """An array for a value that assign is then given; the element type's number, its shape."""
        kind = arrays.numpy_dtype(dtype)
        nbytes = math.prod(dims) * kind.itemsize
        if not nbytes or kind == arrays.OBJECT:
            return np.empty(dims, kind)
        buffer = _Buffer(self, nbytes)
        self._buffers[buffer.address] = buffer
        return np.asarray(buffer).view(kind).reshape(dims)

    def blobs(self) -> dict[str, bytes]:
        """Data of the program by name, sorted: set by set_blob and by checkpoints."""
        with self.lock:
            names = [
                ffi.string(lib.ci_state_blob_name(self.handle, i))
                for i in range(lib.ci_state_blob_count(self.handle))
            ]
            return {name.decode(): self._blob(name) for name in names}

    def set_blob(self, name: str, data: bytes) -> None:
        """Keeps bytes, which save commits together with the variables.

        Raises:
            InvalidArgumentError: no usable name.
            AlreadyExistsError: a random generator is called so.
            ResourceExhaustedError: all blobs together have more than 2^24 bytes.
        """
        encoded, view = _encoded(name), ffi.from_buffer(data)
        with self.lock:
            code = lib.ci_state_set_blob(self.handle, encoded, view, len(view), self._error)
            self._check(code)

    def remove_blob(self, name: str) -> None:
        """Forgets a blob, or the position of an iterator of a checkpoint. Raises NotFoundError."""
        with self.lock:
            self._check(lib.ci_state_remove_blob(self.handle, _encoded(name), self._error))

    def _blob(self, name: bytes) -> bytes:
        data, size = ffi.new("void **"), ffi.new("size_t *")
        self._check(lib.ci_state_blob(self.handle, name, data, size, self._error))
        return bytes(ffi.buffer(data[0], size[0]))

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
            values: name of a variable to its value, of its dtype; a Stored one stays in its file
                and is checked when it is first used, if file and memory have equal bytes, else now.
            generators: name to key and counter.
            given: True: memory of `buffer` becomes the state's; no other code may use it.
            declared: variables to be declared before: name to element type's number and shape.
        """
        positions = generators or {}
        tensors = ffi.new("ci_tensor[]", len(values))
        files = _Files(len(values))
        keep: list[Any] = [files]
        for i, (tensor, value) in enumerate(zip(tensors, values.values(), strict=True)):
            if _is_mapped(value):
                files.point_at(i, tensor, value)
            else:
                array = np.ascontiguousarray(_array(value)).reshape(value.shape)
                keep.append(arrays.point_at(tensor, array))
        names = [ffi.new("char[]", name.encode()) for name in positions]
        with self.lock, self._declared(declared or {}):
            indices = ffi.new("int[]", [self._index(name) for name in values])
            keep += [indices, pointers := ffi.new("char *[]", names)]
            keep.append(at := ffi.new("ci_generator[]", list(positions.values())))
            made = [self._buffers.get(int(ffi.cast("uintptr_t", t.data))) for t in tensors]
            made = [b if given and b and not b.taken else None for b in made]
            taken = ffi.new("uint8_t[]", [buffer is not None for buffer in made])
            request = (indices, tensors, len(values), pointers, at, len(names), taken)
            request = ffi.new("ci_assignment *", (*request, *files.fields()))
            self._check(lib.ci_state_assign(self.handle, request, self._error))
            for buffer in made:
                if buffer is not None:
                    buffer.taken = True
        del keep

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
        """
        if stores.is_remote(prefix):  # the C library knows files only
            from graphio.schema import checkpoint

            with _near(prefix) as near:
                self.save(near, step, meta)
                checkpoint.copy(near, prefix, shard_bytes)
            return
        options = ffi.new("ci_save_options *", lib.ci_save_defaults())
        options.step = -1 if step is None else step
        options.shard_bytes = 0 if shard_bytes is None else max(shard_bytes, 1)
        with self.lock:
            self._check(
                lib.ci_checkpoint_save(
                    self.handle,
                    ffi.NULL if meta is None else ffi.from_buffer(meta),
                    0 if meta is None else len(meta),
                    os.fsencode(stores.plain(prefix)),
                    options,
                    self._error,
                )
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
            InvalidArgumentError: dtypes or shapes differ (all are named).
            DataLossError: a file is damaged.
        """
        if stores.is_remote(prefix):
            from graphio.schema import checkpoint

            with _near(prefix) as near:
                checkpoint.copy(prefix, near)
                return self.restore(near, strict=strict)
        options = ffi.new("ci_restore_options *", lib.ci_restore_defaults())
        if not strict:
            options.partial = lib.CI_PARTIAL_MISSING | lib.CI_PARTIAL_DIFFERENT
        found = ffi.new("ci_restored *")
        found.size = ffi.sizeof("ci_restored")
        where = os.fsencode(stores.plain(prefix))
        with self.lock:
            self._check(lib.ci_restore_with(self.handle, where, options, found, self._error))
        return int(found.step) if found.step >= 0 else None

    def _index(self, name: str) -> int:
        index = int(lib.ci_variable_index(self.handle, name.encode()))
        if index < 0:
            raise errors.NotFoundError(message=f"the state has no variable {name!r}")
        return index

    def _info(self, index: int) -> Any:
        info = ffi.new("ci_info *")
        lib.ci_variable(self.handle, index, info)
        return info

    def _check(self, code: int) -> None:
        status.check(code, self._error)


def _is_mapped(value: Array | Stored) -> TypeGuard[Stored]:
    """Whether C may take it from its file: checked, and as it is in memory."""
    if isinstance(value, np.ndarray) or value.location is None or value.crc is None:
        return False
    return value.number != dtypes.STRING and dtypes.of_number(value.number).bits >= 8


class _Files:
    """The fields of ci_assignment for values in files."""

    def __init__(self, count: int) -> None:
        self._in_file = ffi.new("ci_in_file[]", [{"file": -1}] * count)
        self._numbers: dict[str, int] = {}
        self._checkpoint: Any = ffi.NULL
        self._names: list[Any] = []

    def point_at(self, index: int, tensor: Any, value: Stored) -> None:
        """Makes a ci_tensor the type of a value that is in a file."""
        assert value.location is not None
        path, offset, checkpoint = value.location
        tensor.dtype = value.number
        arrays.set_shape(tensor, value.shape)
        number = self._numbers.setdefault(path, len(self._numbers))
        self._in_file[index] = (number, value.crc, offset)
        if not self._checkpoint:
            self._checkpoint = ffi.new("char[]", os.fsencode(checkpoint))

    def fields(self) -> tuple[Any, Any, int, Any]:
        """Of ci_assignment; good as long as this."""
        self._names = [ffi.new("char[]", os.fsencode(path)) for path in self._numbers]
        self._list = ffi.new("char *[]", self._names)
        return self._in_file, self._list, len(self._names), self._checkpoint


def _array(value: Array | Stored) -> Array:
    return value if isinstance(value, np.ndarray) else value.array()


def _encoded(name: str) -> bytes:
    if "\0" in name:
        raise errors.InvalidArgumentError(message=f"a blob cannot be called {name!r}")
    return name.encode()


class _Buffer:
    """Memory of a state's that assign may take over; numpy makes an array of bytes of it."""

    def __init__(self, state: State, nbytes: int) -> None:
        pointer, error = ffi.new("void **"), status.new_error()
        self.taken = True  # nothing to free yet
        status.check(lib.ci_state_alloc(state.handle, nbytes, pointer, error), error)
        self._state, self._data, self._nbytes = state, pointer[0], nbytes
        self.address = int(ffi.cast("uintptr_t", pointer[0]))
        self.taken = False

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as numpy's array interface."""
        return {
            "version": 3,
            "typestr": "|u1",
            "shape": (self._nbytes,),
            "data": (self.address, False),
        }

    def __del__(self) -> None:
        if not self.taken:
            lib.ci_state_free(self._state.handle, self._data, self._nbytes)
