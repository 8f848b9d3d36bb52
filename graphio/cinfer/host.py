"""Functions of the program that HostCall nodes reach from C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.cinfer import arrays
from graphio.cinfer._native import ffi, lib
from graphio.schema import errors, host
from graphio.schema.engine import HostFunction


class Host:
    """The functions of one session of the C library.

    Attributes:
        functions: by name; a name is looked up when a run reaches its node.
        running: whether one of them is being called.
    """

    def __init__(self, functions: Mapping[str, HostFunction]) -> None:
        self.functions = functions
        self.running = False
        self._raised: BaseException | None = None
        self._handle = ffi.new_handle(self)

    def fill(self, options: Any) -> None:
        """Puts the functions into ci_session_options; they must outlive the session."""
        options.host.user = self._handle
        options.host.call = lib.graphio_host_call

    def raised(self) -> BaseException | None:
        """What the run that just failed got from a function, once."""
        found, self._raised = self._raised, None
        return found

    def call(self, call: Any, error: Any) -> int:
        """One call from C; returns a status."""
        self.running = True
        try:
            results = host.call(
                self.functions,
                ffi.string(call.function).decode("utf-8", "replace"),
                [arrays.held(call.inputs[i]) for i in range(call.input_count)],
                [_declared(call.outputs[i]) for i in range(call.output_count)],
            )
            return _give(call, results, error)
        except errors.OpError as failed:
            self._raised = failed.__cause__
            _say(error, failed.message)
            return failed.error_code
        except BaseException as failed:  # such as KeyboardInterrupt, which the run passes on
            self._raised = failed
            _say(error, f"{type(failed).__name__}: {failed}")
            return int(lib.CI_CANCELLED)
        finally:
            self.running = False


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


def _say(error: Any, text: str) -> None:
    """Writes the message as far as there is room for it."""
    data = text.encode()[: len(error.message) - 1]
    ffi.memmove(error.message, data + b"\0", len(data) + 1)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def graphio_host_call(user: Any, call: Any, error: Any) -> int:
    """What C calls; see Host.call."""
    return int(ffi.from_handle(user).call(call, error))
