"""Signatures of cinfer: a run is one C call."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.cinfer import arrays
from graphio.cinfer._native import ffi, lib
from graphio.cinfer.arrays import Array
from graphio.cinfer.watch import Steps, ended_at
from graphio.schema import calls, dtypes, errors
from graphio.schema.engine import NodeTime, TensorSpec

if TYPE_CHECKING:
    from graphio.cinfer.model import Handles

_run = lib.ci_run
_from_buffer = ffi.from_buffer
_NULL = ffi.NULL


class Signature:
    """A named way to run a model. Thread-safe: runs on one state wait for each other.

    Attributes:
        name: its name in the model.
        inputs, outputs: dtype and static shape by key, in the order of `run`.
    """

    def __init__(self, handles: Handles, name: str) -> None:
        self.name = name
        self._handles = handles
        self._number = lib.ci_signature(handles.model, name.encode())
        self.inputs = self._specs(lib.ci_input_count, lib.ci_input, lib.ci_input_kind)
        self.outputs = self._specs(lib.ci_output_count, lib.ci_output, lib.ci_output_kind)
        lock = handles.state.lock
        self._lock = lock if handles.host.parallel > 1 else lock.inner
        self._in = ffi.new("ci_tensor[]", max(len(self.inputs), 1))
        self._out = ffi.new("ci_tensor[]", max(len(self.outputs), 1))
        self._call = (self._number, self._in, len(self.inputs), self._out, len(self.outputs))
        self._feeds = [_Feed(self._in[i], s) for i, s in enumerate(self.inputs.values())]
        self._results = [self._out[i] for i in range(len(self.outputs))]
        self._readers = self._readers_of(self._results)

    def _readers_of(self, results: Sequence[Any]) -> list[Callable[[], Any]]:
        """What copies each output."""
        return [
            functools.partial(arrays.held, result) if spec.kinds else arrays.reader(result)
            for result, spec in zip(results, self.outputs.values(), strict=True)
        ]

    def _specs(
        self, count: Callable[..., int], get: Callable[..., int], kind: Callable[..., int]
    ) -> dict[str, TensorSpec]:
        info = ffi.new("ci_info *")
        found = {}
        for i in range(count(self._handles.model, self._number)):
            get(self._handles.model, self._number, i, info)
            spec = arrays.spec(info, kind(self._handles.model, self._number, i))
            found[spec.name] = spec
        return found

    def __call__(self, /, **inputs: Any) -> dict[str, Array]:
        """Runs by names.

        Args:
            inputs: one value a key of `inputs`; Python numbers and lists are converted.

        Returns:
            Fresh arrays by the keys of `outputs`; strings as object arrays of bytes.

        Raises:
            InvalidArgumentError: missing or unknown names (all are listed), a wrong dtype or shape.
        """
        if inputs.keys() != self.inputs.keys():
            raise calls.wrong_names(self.name, self.inputs, inputs)
        ready = []
        for key, spec in self.inputs.items():
            value = inputs[key]
            if type(value) is not np.ndarray or value.dtype is not spec.dtype:
                what = f"input {key!r} of signature {self.name!r}"
                value = calls.convert_value(value, spec.kinds, spec.dtype, what)
            elif not value.flags.c_contiguous:
                value = value.copy(order="C")
            ready.append(value)
        return dict(zip(self.outputs, self.run(ready), strict=True))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs in the signature's order.

        Args:
            inputs: arrays of exactly the wanted dtype, C-contiguous.

        Returns:
            Fresh arrays in the order of `outputs`.

        Raises:
            InvalidArgumentError: a wrong number of arrays, dtype or shape.
        """
        handles = self._handles
        with self._lock:
            if len(inputs) != len(self._feeds):
                raise self._wrong_count(len(inputs))
            keep = []
            for feed, array in zip(self._feeds, inputs):  # noqa: B905 - the lengths were compared
                try:
                    fits = array.dtype is feed.dtype and array.shape == feed.shape
                    if fits:
                        feed.tensor.data = buffer = _from_buffer(array)
                except (AttributeError, ValueError):  # no array, or not contiguous
                    fits = False
                keep.append(buffer if fits else feed.point_at(array))
            for tensor in self._results:
                tensor.data = _NULL
            session = handles.session
            if session is None:
                raise _closed()
            if code := _run(session, *self._call, handles.error):
                raise handles.failed(code)
            return [read() for read in self._readers]

    def run_watched(
        self, inputs: Sequence[Array], times: list[NodeTime] | None, deadline: float | None
    ) -> list[Array]:
        """As run, under observation.

        Args:
            inputs: as for `run`.
            times: takes the time of each step; None: nobody asks. What C does ahead of a run, or
                as a part of another step, is not among them.
            deadline: a moment of time.monotonic at which the run is ended; None: there is none.

        Raises:
            DeadlineExceededError: the moment has come.
        """
        handles, steps = self._handles, Steps()
        watching = contextlib.nullcontext() if times is None else steps.watching(handles.session)
        with self._lock, watching, ended_at(deadline, handles) as late:
            try:
                results = self.run(inputs)
            except errors.CancelledError as error:
                if not late.is_set():
                    raise
                raise _too_late(error) from None
        if times is not None:
            times.extend(steps.times())
        return results

    def bind(
        self, *inputs: Array, outputs: Sequence[Array] | None = None
    ) -> Callable[[], list[Array]]:
        """A call on fixed buffers: what happens to them between calls is what the next one sees.

        Args:
            inputs: as for `run`.
            outputs: arrays that every call fills and returns, of the right dtype and size; None:
                fresh ones each time.

        Returns:
            A function without arguments that runs and returns the outputs.
        """
        if len(inputs) != len(self.inputs):
            raise self._wrong_count(len(inputs))
        n_out = len(self.outputs)
        if outputs is not None and len(outputs) != n_out:
            raise errors.InvalidArgumentError(
                message=f"signature {self.name!r} has {n_out} outputs, {len(outputs)} were bound"
            )
        for key, spec in self.outputs.items() if outputs is not None else ():
            if spec.kinds:
                raise errors.InvalidArgumentError(
                    message=f"output {key!r} of signature {self.name!r} is {' '.join(spec.kinds)}, "
                    "for which no array can be bound: leave `outputs` out"
                )
        tensors = ffi.new("ci_tensor[]", max(len(inputs), 1))
        results = ffi.new("ci_tensor[]", max(n_out, 1))
        feeds = [_Feed(tensors[i], spec) for i, spec in enumerate(self.inputs.values())]
        keep = [feed.point_at(array) for feed, array in zip(feeds, inputs, strict=True)]
        call = (self._number, tensors, len(inputs), results, n_out)
        if outputs is None:
            readers = self._readers_of([results[i] for i in range(n_out)])
            return self._bound(call, keep, lambda: [read() for read in readers], results)
        given = list(outputs)
        capacity = [_writable(results[i], array) for i, array in enumerate(given)]
        return self._bound(call, (keep, capacity), lambda: given, None)

    def _bound(
        self, call: tuple[Any, ...], keep: Any, collect: Callable[[], list[Array]], borrowed: Any
    ) -> Callable[[], list[Array]]:
        handles, lock = self._handles, self._lock
        results, most = call[3:]
        sizes = [(results[i], results[i].bytes) for i in range(most)]

        def run(_keep: Any = keep) -> list[Array]:
            with lock:
                for tensor, size in sizes:
                    tensor.bytes = size
                    if borrowed is not None:
                        tensor.data = _NULL
                if handles.session is None:
                    raise _closed()
                if code := _run(handles.session, *call, handles.error):
                    raise handles.failed(code)
                return collect()

        return run

    def _wrong_count(self, count: int) -> errors.OpError:
        return errors.InvalidArgumentError(
            message=f"signature {self.name!r} takes {len(self.inputs)} inputs "
            f"({', '.join(self.inputs) or 'none'}), {count} were given"
        )

    def __repr__(self) -> str:
        return f"<graphio.cinfer.Signature {self.name}: {[*self.inputs]} -> {[*self.outputs]}>"


def _too_late(error: errors.OpError) -> errors.OpError:
    return errors.from_code(
        errors.DEADLINE_EXCEEDED,
        f"Timed out waiting for notification: the run took longer than timeout_in_ms; "
        f"{error.message}",
        error.node_name,
    )


class _Feed:
    """One input of a signature and its ci_tensor.

    shape is the one that the ci_tensor has now, so that an array of the same shape needs only its
    pointer set. It stays None for strings, which have no one pointer.
    """

    __slots__ = ("dtype", "kinds", "name", "shape", "tensor")

    def __init__(self, tensor: Any, spec: TensorSpec) -> None:
        self.tensor = tensor
        self.name = spec.name
        self.kinds = spec.kinds
        self.dtype = spec.dtype
        self.shape: tuple[int, ...] | None = None

    def point_at(self, array: Array) -> Any:
        """The careful way: checks everything; returns what must be kept during the call."""
        if self.kinds:
            self._check_held(array, self.kinds)
            return arrays.point_at_held(self.tensor, array)
        self._check(array)
        self.shape = None if self.dtype == arrays.OBJECT else array.shape
        return arrays.point_at(self.tensor, array)

    def _check_held(self, value: Any, kinds: tuple[str, ...]) -> None:
        if not kinds:
            self._check(value)
        elif kinds[0] == "optional":
            if value is not None:
                self._check_held(value, kinds[1:])
        elif isinstance(value, list):
            for inner in value:
                self._check_held(inner, kinds[1:])
        else:
            raise errors.InvalidArgumentError(
                message=f"input {self.name!r} is {type(value).__name__}, expected a list"
            )

    def _check(self, array: Any) -> None:
        if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
            found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise errors.InvalidArgumentError(
                message=f"input {self.name!r} is {found}, expected an array of "
                f"{dtypes.of_numpy(self.dtype).name}; call the signature by names to convert it"
            )
        if not array.flags.c_contiguous:
            raise errors.InvalidArgumentError(
                message=f"input {self.name!r} is not contiguous; use numpy's ascontiguousarray"
            )


def _writable(tensor: Any, array: Array) -> Any:
    """Makes a ci_tensor a place for results."""
    if not isinstance(array, np.ndarray):
        raise errors.InvalidArgumentError(
            message=f"outputs that are bound must be arrays, not {type(array).__name__}"
        )
    if array.dtype == arrays.OBJECT or not array.flags.c_contiguous or not array.flags.writeable:
        raise errors.InvalidArgumentError(
            message="outputs that are bound must be contiguous, writable and hold no strings"
        )
    return arrays.point_at(tensor, array)


def _closed() -> errors.OpError:
    return errors.FailedPreconditionError(message="the model was closed")
