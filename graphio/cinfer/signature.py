"""Signatures of cinfer: a run is one C call."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.cinfer import arrays
from graphio.cinfer._native import Bound, ffi, lib
from graphio.cinfer.arrays import Array
from graphio.cinfer.feeds import Feed, Help, closed, writable
from graphio.cinfer.watch import Steps, ended_at
from graphio.engine import calls, pickling, reprs
from graphio.engine.interface import NodeTime, TensorSpec
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.cinfer.model import Handles

_run = lib.ci_run
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
        self._feeds = [Feed(self._in[i], s) for i, s in enumerate(self.inputs.values())]
        self._help = Help(handles, name, self.inputs, self.outputs)
        self._runner = self._help.runner(self._number, self._lock)
        if self._runner is not None:  # a call less of Python in each run
            self.run = self._runner.run  # type: ignore[method-assign]
        self._results = [self._out[i] for i in range(len(self.outputs))]
        self._readers = self._readers_of(self._results)

    def _readers_of(self, results: Sequence[Any]) -> list[Callable[[], Any]]:
        """A function for each output, which copies it."""
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

    def __reduce__(self) -> pickling.Reduced:
        if self._handles.session is None:
            raise closed()
        return self._handles.recipe.signature(self.name)

    def __call__(self, /, *alone: Any, **named: Any) -> dict[str, Array]:
        """Runs by names.

        Args:
            alone: the value of the only input of a signature that has one.
            named: one value a key of `inputs`; Python numbers and lists are converted.

        Returns:
            Fresh arrays by the keys of `outputs`; strings as object arrays of bytes.

        Raises:
            InvalidArgumentError: missing or unknown names (all are listed), a wrong dtype or shape.
            TypeError: inputs without names, where there are several.
        """
        inputs = calls.with_name(self.name, self.inputs, alone, named) if alone else named
        if inputs.keys() != self.inputs.keys():
            raise calls.wrong_names(self.name, self.inputs, inputs)
        ready = []
        for key, spec in self.inputs.items():
            value = inputs[key]
            if type(value) is not np.ndarray or value.dtype is not spec.dtype:
                what = f"input {key!r} of signature {self.name!r}"
                value = calls.convert_value(value, spec.kinds, spec.dtype, what)
            elif not calls.lies_plainly(value):
                value = value.copy(order="C")
            ready.append(value)
        return dict(zip(self.outputs, self.run(ready), strict=True))

    def run(
        self, inputs: Sequence[Array] | Array, out: Sequence[Array] | Array | None = None
    ) -> list[Array]:
        """Runs in the signature's order.

        Args:
            inputs: arrays of exactly the expected dtype, C-contiguous; of one input, the
                array alone will do.
            out: arrays that take the results, of their dtypes and shapes, contiguous and writable;
                None: fresh ones.

        Returns:
            The results in the order of `outputs`: `out`, or fresh arrays.

        Raises:
            InvalidArgumentError: a wrong number of arrays, dtype or shape. A wrong shape of `out`
                may be found only when the run is over.
        """
        if isinstance(inputs, np.ndarray) and len(self._feeds) == 1:
            inputs = [inputs]
        if out is not None:
            raise errors.InvalidArgumentError(
                message=f"signature {self.name!r} has inputs or outputs that are not tensors of "
                "numbers: leave `out` away"
            )
        return self._run_any(list(inputs))

    @property
    def run_checked(self) -> Callable[[Sequence[Array]], list[Array]]:
        """As run, for a list of inputs of which the caller knows that they fit."""
        return self._run_any if self._runner is None else self.run

    def _run_any(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs signatures with strings, sequences, optional values and types that numpy lacks."""
        handles = self._handles
        with self._lock:
            if len(inputs) != len(self._feeds):
                self._help.wrong_inputs(len(inputs), inputs)
            keep = [feed.point_at(array) for feed, array in zip(self._feeds, inputs, strict=True)]
            for tensor in self._results:
                tensor.data = _NULL
            session = handles.session
            if session is None:
                raise closed()
            if code := _run(session, *self._call, handles.error):
                raise handles.failed(code)
            results = [read() for read in self._readers]
            del keep  # results may lie where the inputs do
            return results

    def run_watched(
        self, inputs: Sequence[Array], times: list[NodeTime] | None, deadline: float | None
    ) -> list[Array]:
        """As run, under observation.

        Args:
            inputs: as for `run`.
            times: takes the time of each step; None: not measured. What C does before a run, or
                as a part of another step, is not among them.
            deadline: a moment of time.monotonic at which the run is ended; None: there is none.

        Raises:
            DeadlineExceededError: the moment has come.
        """
        handles, steps = self._handles, Steps()
        watching = contextlib.nullcontext() if times is None else steps.watching(handles.session)
        with self._lock, watching, ended_at(deadline, handles):
            try:
                results = self.run(inputs)
            except errors.DeadlineExceededError as error:
                if deadline is None or error.__cause__ is not None:  # it is not ours
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
            outputs: arrays that every call fills and returns, of the right dtype and shape; None:
                fresh ones each time.

        Returns:
            A function without arguments that runs and returns the outputs; it raises as `run`.
        """
        if len(inputs) != len(self.inputs):
            self._help.wrong_inputs(len(inputs), inputs)
        n_in, n_out = len(inputs), len(self.outputs)
        if outputs is not None and len(outputs) != n_out:
            self._help.wrong_outputs(len(outputs), outputs)
        tensors = ffi.new("ci_tensor[]", n_in + n_out + 1)
        feeds = [Feed(tensors[i], spec) for i, spec in enumerate(self.inputs.values())]
        keep = [feed.point_at(array) for feed, array in zip(feeds, inputs, strict=True)]
        results = [tensors[n_in + i] for i in range(n_out)]
        given = None if outputs is None else list(outputs)
        if given is not None:
            for tensor, spec, array in zip(results, self.outputs.values(), given, strict=True):
                keep.append(writable(tensor, spec, self.name, array))
        if self._runner is not None:
            address = int(ffi.cast("intptr_t", tensors))
            return self._runner.bind(Bound, address, (keep, tensors), given).run
        call = (self._number, tensors, n_in, tensors + n_in, n_out)
        if given is None:
            readers = self._readers_of(results)
            return self._bound(call, keep, lambda: [read() for read in readers], results)
        return self._bound(call, keep, lambda: given, None)

    def _bound(
        self, call: tuple[Any, ...], keep: Any, collect: Callable[[], list[Array]], borrowed: Any
    ) -> Callable[[], list[Array]]:
        handles, lock = self._handles, self._lock
        tensors, most = call[3:]
        sizes = [(tensors[i], tensors[i].bytes) for i in range(most)]

        def run(_keep: Any = keep) -> list[Array]:
            with lock:
                for tensor, size in sizes:
                    tensor.bytes = size
                    if borrowed is not None:
                        tensor.data = _NULL
                if handles.session is None:
                    raise closed()
                if code := _run(handles.session, *call, handles.error):
                    raise handles.failed(code)
                return collect()

        return run

    def __repr__(self) -> str:
        return reprs.signature("cinfer", self.name, self.inputs, self.outputs)


def _too_late(error: errors.OpError) -> errors.OpError:
    return errors.from_code(
        errors.DEADLINE_EXCEEDED,
        f"Timed out waiting for notification: {error.message}",
        error.node_name,
    )
