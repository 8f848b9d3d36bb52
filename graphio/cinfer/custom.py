"""Custom operators for the C library: from shared libraries, or Python's kernels."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphio.cinfer import arrays
from graphio.cinfer._native import ffi, lib
from graphio.cinfer.host import Host, say
from graphio.engine import custom
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.schema import operators


class Operators:
    """The ci_operator structs that a model is opened with; they must outlive it.

    Args:
        libraries: paths of shared libraries, the first that has an operator serves it. After
            them come those of the registered operators, then kernels in Python.
        host: what keeps an exception that a kernel raises.
    """

    def __init__(self, libraries: Sequence[str | os.PathLike[str]], host: Host) -> None:
        known = custom.registered()
        paths = [*map(custom.library_path, libraries), *(c.library for c in known if c.library)]
        self._libraries = [_open(path) for path in dict.fromkeys(paths)]
        self._kernels = [_Kernel(c, host) for c in known if c.kernel is not None]
        found = [op for library in self._libraries for op in library.operators]
        found += [kernel.operator for kernel in self._kernels]
        self._all = ffi.new("ci_operator *[]", found)

    def fill(self, options: Any) -> None:
        """Puts the operators into ci_options."""
        options.operators, options.operator_count = self._all, len(self._all)


class _Library:
    """A shared library that is open, and what it exports."""

    def __init__(self, path: str) -> None:
        try:
            self.handle = ctypes.CDLL(path)
            address = ctypes.cast(self.handle.ci_operators, ctypes.c_void_p).value
        except (OSError, AttributeError) as error:
            raise errors.InvalidArgumentError(
                message=f"'{path}' is not a library of operators: {error}; it must export "
                "`const ci_operator *ci_operators(int32_t *count)` (cinfer.h)"
            ) from error
        count = ffi.new("int32_t *")
        listed = ffi.cast("ci_operators_fn", address)(count)
        if count[0] < 0 or (count[0] and not listed):
            raise errors.InvalidArgumentError(message=f"'{path}' lists {count[0]} operators")
        size = int(listed[0].size) if count[0] else 0
        first = ffi.cast("char *", listed)
        self.operators = [ffi.cast("ci_operator *", first + i * size) for i in range(count[0])]


_open_libraries: dict[tuple[str, int], _Library] = {}


def _open(path: str) -> _Library:
    """The library, opened once: a process cannot close what a model may still use."""
    key = (path, os.stat(path).st_mtime_ns)
    if key not in _open_libraries:
        _open_libraries[key] = _Library(path)
    return _open_libraries[key]


class _Kernel:
    """A kernel in Python as a ci_operator."""

    def __init__(self, made: custom.CustomOperator, host: Host) -> None:
        row = made.row
        self._made, self._host = made, host
        self._handle = ffi.new_handle(self)
        self._domain, self._name = (ffi.new("char[]", t.encode()) for t in (row.domain, row.op))
        self.operator = ffi.new(
            "ci_operator *",
            {
                "size": ffi.sizeof("ci_operator"),
                "domain": self._domain,
                "name": self._name,
                "since": row.version,
                "min_inputs": _never_absent(row.inputs),
                "max_inputs": min(row.max_inputs, 127),
                "min_outputs": row.min_outputs,
                "max_outputs": row.max_outputs,
                "stateful": int(row.stateful),
                "user": self._handle,
                "shape": lib.graphio_custom_shape,
                "run": lib.graphio_custom_run,
            },
        )

    def shape(self, call: Any) -> None:
        """Gives the outputs their types."""
        inputs = [call.inputs[i] for i in range(call.input_count)]
        dims = [tuple(t.dims[0 : t.rank]) if t.dtype else None for t in inputs]
        types = self._made.output_types([t.dtype for t in inputs])
        shapes = self._made.shapes(dims, self._attributes(call))
        for i in range(call.output_count):
            known = [d for d in shapes[i] or () if d is not None]
            if shapes[i] is None or len(known) != len(shapes[i] or ()):
                raise errors.InvalidArgumentError(
                    message=f"the shape rule of {self._made.title} gave {shapes[i]} for known sizes"
                )
            call.outputs[i].dtype = types[i]
            arrays.set_shape(call.outputs[i], known)

    def run(self, call: Any) -> None:
        """Computes the outputs."""
        inputs = [call.inputs[i] for i in range(call.input_count)]
        held = [arrays.held(t) if t.dtype else None for t in inputs]
        found = self._made.compute(held, self._attributes(call))
        for i in range(call.output_count):
            output = call.outputs[i]
            ffi.memmove(output.data, found[i].tobytes(), output.bytes)

    def _attributes(self, call: Any) -> dict[str, Any]:
        specs = self._made.row.attributes
        given = [name for name in specs if call.services.has(call, name.encode())]
        return self._made.attributes(
            {name: _READERS[specs[name].kind](call, name.encode()) for name in given}
        )

    def called(self, work: Any, call: Any, error: Any) -> int:
        """A status from what `work` does or raises."""
        try:
            work(call)
        except errors.OpError as failed:
            self._host.keep(failed.__cause__)
            say(error, failed.message)
            return failed.error_code
        except BaseException as failed:
            self._host.keep(failed)
            say(error, f"{type(failed).__name__}: {failed}")
            return int(lib.CI_CANCELLED)
        return int(lib.CI_OK)


def _never_absent(inputs: Sequence[operators.Parameter]) -> int:
    """How many of the first inputs always have a value."""
    return sum(1 for _ in itertools.takewhile(lambda p: p.least > 0, inputs))


def _check(code: int) -> None:
    if code:
        raise errors.InvalidArgumentError(message="")  # the library has filled in the message


def _int(call: Any, name: bytes) -> int:
    value = ffi.new("int64_t *")
    _check(call.services.get_int(call, name, 0, value))
    return int(value[0])


def _float(call: Any, name: bytes) -> float:
    value = ffi.new("double *")
    _check(call.services.get_float(call, name, 0.0, value))
    return float(value[0])


def _string(call: Any, name: bytes) -> str:
    data, length = ffi.new("char **"), ffi.new("size_t *")
    _check(call.services.get_string(call, name, data, length))
    return str(ffi.buffer(data[0], length[0])[:].decode("utf-8", "replace"))


def _ints(call: Any, name: bytes) -> list[int]:
    values, count = ffi.new("int64_t **"), ffi.new("int32_t *")
    _check(call.services.get_ints(call, name, values, count))
    return [int(v) for v in values[0][0 : count[0]]]


def _floats(call: Any, name: bytes) -> list[float]:
    values, count = ffi.new("float **"), ffi.new("int32_t *")
    _check(call.services.get_floats(call, name, values, count))
    return [float(v) for v in values[0][0 : count[0]]]


#: by kind; of attributes that the node has
_READERS = {"int": _int, "float": _float, "string": _string, "ints": _ints, "floats": _floats}


@ffi.def_extern(error=lib.CI_UNKNOWN)  # type: ignore[untyped-decorator]
def graphio_custom_shape(user: Any, call: Any, error: Any) -> int:
    """Called by C while it plans."""
    kernel = ffi.from_handle(user)
    return int(kernel.called(kernel.shape, call, error))


@ffi.def_extern(error=lib.CI_UNKNOWN)  # type: ignore[untyped-decorator]
def graphio_custom_run(user: Any, call: Any, error: Any) -> int:
    """Called by C in a run."""
    kernel = ffi.from_handle(user)
    return int(kernel.called(kernel.run, call, error))
