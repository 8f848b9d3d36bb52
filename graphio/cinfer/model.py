"""Models of cinfer: opening, closing, signatures by name."""

from __future__ import annotations

import functools
import operator
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphio.cinfer import limits as limits_of
from graphio.cinfer import status
from graphio.cinfer._native import ffi, lib
from graphio.cinfer.custom import Operators
from graphio.cinfer.feeds import closed
from graphio.cinfer.host import Host
from graphio.cinfer.signature import Signature
from graphio.cinfer.state import State
from graphio.cinfer.watch import checked_timeout, nanoseconds
from graphio.engine import calls, pickling, reprs
from graphio.engine.interface import HostFunction
from graphio.schema import foreign
from graphio.storage import files, stores
from graphio.support import errors, html

ISA = {
    "best": lib.CI_ISA_BEST,
    "portable": lib.CI_ISA_PORTABLE,
    "avx2": lib.CI_ISA_AVX2,
    "avx512": lib.CI_ISA_AVX512,
    "neon": lib.CI_ISA_NEON,
    "simd128": lib.CI_ISA_SIMD128,
}


def load(
    source: str | os.PathLike[str] | bytes,
    *,
    state: State | None = None,
    lazy: bool = False,
    threads: int = 1,
    isa: str = "best",
    host: Mapping[str, HostFunction] | None = None,
    parallel: int = 1,
    operators: Sequence[str | os.PathLike[str]] = (),
    limits: Mapping[str, int] | None = None,
    timeout: float | None = None,
) -> Model:
    """Opens a model file, or its bytes.

    Args:
        source: a path, a URL of an object store, or what the file would hold.
        state: the state with its variables; None: a new one.
        lazy: True checks the bytes of big tensors when they are first used.
        threads: how many a run may use; results do not depend on it.
        isa: "best", "portable", "avx2", "avx512", "neon" or "simd128"; results do not depend on it.
        host: functions that HostCall nodes call, by name: a list of arrays to a list of arrays.
            A name is looked up when a run reaches its node.
        parallel: how many of them may be called at the same time: those of nodes that follow each
            other and of which none reads or waits for another.
        operators: shared libraries with custom operators, in addition to those that
            graphio.register_operator has made known.
        limits: of what the file and its runs may take, by the names and with the defaults of
            ci_limits in cinfer.h: max_bytes of the file, max_nodes, max_memory in bytes,
            max_loop_steps, max_depth of subgraphs, max_load (memory that opening takes, for each
            byte of the file).
        timeout: seconds that opening may take; None: no end. What runs may take is
            `Model.timeout`. Ctrl-C ends an open and a run, too, before its next node.

    Raises:
        ResourceExhaustedError: the file wants more than a limit.
        DeadlineExceededError: opening took longer than timeout.
        NotFoundError, DataLossError: there is no such file, or it is damaged or of another kind.
        InvalidArgumentError: the path is not a regular file; threads, isa, limits or a timeout
            that there are not.
        UnimplementedError: operators (all are named) or an instruction set that are not there.
    """
    if isa not in ISA:
        raise errors.InvalidArgumentError(message=f"isa is {isa!r}, expected one of {list(ISA)}")
    foreign.check_source(source)
    chosen = calls.state_or_new(state, State)
    count = _count_of(threads)
    host_calls = Host({} if host is None else host, parallel, chosen.lock)
    customs = Operators(operators, host_calls)
    most = limits_of.checked({} if limits is None else limits)
    end = checked_timeout(timeout)
    given = stores.loadable(source)
    handles = Handles(given, chosen, lazy, count, ISA[isa], host_calls, customs, most, end)
    options = {
        "lazy": lazy, "threads": count, "isa": isa, "host": host, "parallel": parallel,
        "operators": [os.path.abspath(os.fspath(path)) for path in operators], "limits": most,
        "timeout": timeout,
    }  # fmt: skip
    handles.recipe = pickling.Recipe("cinfer", source, options, chosen, state is None)
    return Model(handles)


def _count_of(threads: Any) -> int:
    try:
        found = operator.index(threads)
    except TypeError:
        found = 0
    if not 1 <= found < 1 << 31:
        raise errors.InvalidArgumentError(
            message=f"threads is {threads!r}, expected an int from 1 to 2^31 - 1"
        )
    return found


class Stats(NamedTuple):
    """Counts and times of a model's runs.

    Attributes:
        runs: how many there were.
        plans: for how many shapes of inputs a plan was made.
        refits: how many of these were older plans, fitted to new shapes.
        arena_bytes: held for values.
        allocations: calls of the allocator since the model was opened.
        run_allocations: those of them that runs made for values whose shape only the run tells.
    """

    runs: int
    plans: int
    refits: int
    arena_bytes: int
    allocations: int
    run_allocations: int


class Handles:
    """A model and a session of the C library, closed together. Model and Signature share it."""

    recipe: pickling.Recipe

    def __init__(
        self,
        source: Any,
        state: State,
        lazy: bool,
        threads: int,
        isa: int,
        host: Host,
        customs: Operators,
        limits: Mapping[str, int],
        timeout: float | None,
    ) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        self.timeout: float | None = None  # of each run
        self.state = state
        self.host = host
        self.error = status.new_error()  # written under state.lock
        is_path = isinstance(source, (str, os.PathLike))
        data = None if is_path else ffi.from_buffer(source)
        self.model = self._open_model(source if is_path else data, lazy, isa, customs, limits, end)
        # NULL in it once the model is closed
        self.session_cell = self._open_session(threads, limits, end)
        # The borrowed bytes and the functions must outlive both handles.
        kept = (data, host, customs)
        self._closer = weakref.finalize(self, _close, self.session, self.model, kept)
        self._closer.atexit = False

    def _open_model(
        self,
        source: Any,
        lazy: bool,
        isa: int,
        customs: Operators,
        limits: Mapping[str, int],
        end: float | None,
    ) -> Any:
        options = ffi.new("ci_options *", lib.ci_defaults())
        options.abi, options.lazy, options.isa = lib.CI_ABI, int(lazy), isa
        customs.fill(options)
        self.host.heed_signals(options)
        options.deadline = _left(end)
        limits_of.fill(options, limits)
        handle = ffi.new("ci_model **")
        if isinstance(source, (str, os.PathLike)):
            code = lib.ci_open(os.fsencode(source), options, handle, self.error)
        else:
            options.borrow = 1
            code = lib.ci_open_memory(source, len(source), options, handle, self.error)
        if code:
            error = self.failed(code)
            raise _named(error, source) if isinstance(error, errors.OpError) else error
        return handle[0]

    def _open_session(self, threads: int, limits: Mapping[str, int], end: float | None) -> Any:
        options = ffi.new("ci_session_options *", lib.ci_session_defaults())
        options.threads = threads
        self.host.fill(options)
        options.deadline = _left(end)
        limits_of.fill(options, limits)
        handle = ffi.new("ci_session **")
        with self.state.lock:
            code = lib.ci_session_open(self.model, self.state.handle, options, handle, self.error)
        if code:
            lib.ci_close(self.model)
            raise self.failed(code)
        if end is not None:
            lib.ci_session_set_deadline(handle[0], 0, self.error)
        return handle

    def set_deadline(self, seconds: float | None) -> None:
        """How long each of the session's calls may take from now on; under the state's lock."""
        if self.session is None:
            raise closed()
        code = lib.ci_session_set_deadline(self.session, nanoseconds(seconds), self.error)
        status.check(code, self.error)

    @property
    def session(self) -> Any:
        """The C session, or None when the model is closed."""
        return self.session_cell[0] or None

    def close(self) -> None:
        """Waits for a run in progress, then frees both.

        Raises:
            FailedPreconditionError: a function that the run calls wants to close it.
        """
        with self.state.lock:
            if self.host.running:
                raise errors.FailedPreconditionError(
                    message="the model is being run by the caller: close it after the run"
                )
            self.session_cell[0] = ffi.NULL
            self._closer()

    def failed(self, code: int) -> BaseException:
        """The error of a run that gave this status, with what a host function raised as cause."""
        raised = self.host.raised()
        if raised is not None and not isinstance(raised, Exception):
            return raised
        error = status.of(code, self.error)
        error.__cause__ = raised
        return error


def _close(session: Any, model: Any, _data: Any) -> None:
    lib.ci_session_close(session)
    lib.ci_close(model)


def _left(end: float | None) -> int:
    """Nanoseconds until a moment of time.monotonic; None: 0, which means no end."""
    return nanoseconds(None if end is None else end - time.monotonic())


def _named(error: errors.OpError, source: Any) -> errors.OpError:
    """The error of an open with the file's name, or with the file's kind if it is not a model."""
    from graphio.schema import container  # which a load that succeeds does without

    damaged = isinstance(error, errors.DataLossError)
    if not isinstance(source, (str, os.PathLike)):
        if damaged:
            container.check_beginning(ffi.buffer(source))
        return error
    where = os.fsdecode(source)
    if damaged:
        container.check_beginning(files.map_file(where), where)
    if isinstance(error, errors.InvalidArgumentError):
        error = container.named_as_folder(error, where)
    if where in error.message:
        return error
    return type(error)(message=f"{os.path.basename(where)}: {error.message}")


class Model:
    """A model on a state. Closed when nothing refers to it any more, or by `close` or `with`."""

    def __init__(self, handles: Handles) -> None:
        self.state = handles.state
        self._handles = handles
        self._made: dict[str, Signature] = {}
        names = map(
            functools.partial(lib.ci_signature_name, handles.model),
            range(lib.ci_signature_count(handles.model)),
        )
        self.signatures: tuple[str, ...] = tuple(map(status.text, names))
        self.metadata: dict[str, str] = _metadata(handles.model)
        self.isa: str = status.text(lib.ci_isa_name(handles.model))

    def signature(self, name: str | None = None) -> Signature:
        """The signature of a name; None: the only one, or "serving_default" where TensorFlow has
        written the same several times.

        Raises:
            ValueError: there is no such signature, or several and no name.
        """
        name = calls.choose(name, self.signatures, self.metadata)
        if name not in self._made:
            self._made[name] = Signature(self._handles, name)
        return self._made[name]

    @property
    def timeout(self) -> float | None:
        """Seconds that each run may take, what it plans included; None, as at first: no end.

        A run that takes longer raises DeadlineExceededError before its next node.
        """
        return self._handles.timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        timeout = checked_timeout(seconds)
        with self.state.lock:
            self._handles.set_deadline(timeout)
            self._handles.timeout = timeout

    def stats(self) -> Stats:
        """Counts and times of the runs so far."""
        session = self._handles.session
        if session is None:
            raise closed()
        found = ffi.new("ci_stats *")
        found.size = ffi.sizeof("ci_stats")
        lib.ci_session_stats(session, found)
        return Stats(*(getattr(found, field) for field in Stats._fields))

    def __reduce__(self) -> pickling.Reduced:
        if self._handles.session is None:
            raise closed()
        return self._handles.recipe.model()

    def close(self) -> None:
        """Frees the C side; the model's signatures cannot be run afterwards."""
        self._handles.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        ending = self.isa if self._handles.session is not None else "closed"
        return reprs.model("cinfer", self.signatures, self.state, ending)

    def _repr_html_(self) -> str:
        rows = html.signature_rows(self.signature(name) for name in self.signatures)
        return html.table(
            f"graphio.cinfer.Model on {self.isa}", ("signature", "name", "way", "type"), rows
        )


def _metadata(model: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    while key := lib.ci_metadata_key(model, len(found)):
        found[status.text(key)] = status.text(lib.ci_metadata(model, key))
    return found
