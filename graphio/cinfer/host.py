"""Functions of the program that HostCall nodes reach from C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphio.cinfer import arrays
from graphio.cinfer._native import ffi, lib
from graphio.engine import host
from graphio.engine.interface import Array, HostFunction
from graphio.engine.run_lock import RunLock
from graphio.support import errors

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class Host:
    """The functions of one session of the C library.

    Attributes:
        functions: by name; a name is looked up when a run reaches its node.
        running: whether one of them is being called.
        parallel: how many may be called at the same time, where none waits for another.

    Args:
        functions, parallel: the attributes.
        lock: of the state, which the run holds; functions on other threads share it.
    """

    def __init__(
        self, functions: Mapping[str, HostFunction], parallel: int = 1, lock: RunLock | None = None
    ) -> None:
        self.functions = functions
        self.running = False
        self.parallel = parallel
        self._lock = lock or RunLock()
        self._begun: dict[Any, Future[list[Array]]] = {}  # by the call's kernel
        self._pool: ThreadPoolExecutor | None = None
        self._raised: BaseException | None = None
        self._handle = ffi.new_handle(self)

    def fill(self, options: Any) -> None:
        """Puts the functions into ci_session_options; they must outlive the session."""
        options.host.user = self._handle
        options.host.call = lib.graphio_host_call
        self.heed_signals(options)

    def heed_signals(self, options: Any) -> None:
        """Puts into ci_options or ci_session_options that handlers of signals run in long calls."""
        options.interrupt.user = self._handle
        options.interrupt.requested = lib.graphio_interrupted

    def raised(self) -> BaseException | None:
        """The error that the failed run got from a function, once; all begun calls are over."""
        for future in self._begun.values():
            future.cancel()
        for future in self._begun.values():
            if not future.cancelled():
                future.exception()
        self._begun.clear()
        found, self._raised = self._raised, None
        return found

    def keep(self, raised: BaseException | None) -> None:
        """Notes what a function of the program raised, for the error of the run."""
        self._raised = raised

    def call(self, call: Any, error: Any) -> int:
        """One call from C; returns a status."""
        self.running = True
        try:
            begun = self._begun.pop(call.kernel, None)
            if begun is None and self.parallel > 1:
                self._begin_others(call)
            results = begun.result() if begun is not None else self._work(call)()
            return _give(call, results, error)
        except errors.OpError as failed:
            self._raised = failed.__cause__
            say(error, failed.message)
            return failed.error_code
        except BaseException as failed:  # such as KeyboardInterrupt, which the run passes on
            self._raised = failed
            say(error, f"{type(failed).__name__}: {failed}")
            return int(lib.CI_CANCELLED)
        finally:
            self.running = False

    def _work(self, call: Any) -> Callable[[], list[Array]]:
        """The work of a call, which needs no look at C's memory."""
        name = ffi.string(call.function).decode("utf-8", "replace")
        inputs = [arrays.held(call.inputs[i]) for i in range(call.input_count)]
        outputs = [_declared(call.outputs[i]) for i in range(call.output_count)]
        return lambda: host.call(self.functions, name, inputs, outputs)

    def _begin_others(self, call: Any) -> None:
        """Begins the calls that follow this one at once and do not need it."""
        following = ffi.new("ci_host_call *")
        for n in range(1, self.parallel):
            if not lib.ci_host_peek(call, n, following):
                return
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(self.parallel - 1, "graphio-host")
            if following.kernel not in self._begun:
                work = self._work(following[0])
                self._begun[following.kernel] = self._pool.submit(self._sharing, work)

    def _sharing(self, work: Callable[[], list[Array]]) -> list[Array]:
        with self._lock.shared():
            return work()


def _declared(info: Any) -> host.Declared:
    if info.rank < 0:
        return info.dtype, None
    return info.dtype, tuple(d if d >= 0 else None for d in info.dims[0 : info.rank])


def _give(call: Any, results: list[arrays.Array], error: Any) -> int:
    tensor = ffi.new("ci_tensor *")
    for i, array in enumerate(results):
        keep = arrays.point_at(tensor, array)
        code = int(lib.ci_host_give(call, i, tensor, error))
        del keep
        if code:
            return code
    return 0


def say(error: Any, text: str) -> None:
    """Writes a message into a ci_error as far as it fits."""
    data = text.encode(errors="replace")[: len(error.message) - 1]
    ffi.memmove(error.message, data + b"\0", len(data) + 1)


@ffi.def_extern(error=lib.CI_UNKNOWN)  # type: ignore[untyped-decorator]
def graphio_host_call(user: Any, call: Any, error: Any) -> int:
    """Called by C; see Host.call."""
    return int(ffi.from_handle(user).call(call, error))
