"""Engines: one class for each way to run a model. Ours, ONNX Runtime and the floor by hand."""

from __future__ import annotations

import abc
import ctypes
import os
from typing import Any, ClassVar

import numpy as np

from . import native
from .models import Array, Case
from .turns import burst


class Unfit(Exception):
    """An engine does not run this model; only named engines report the reason."""


class Engine(abc.ABC):
    """A way to run a model.

    Attributes:
        name: in tables and JSON.
        role: "ours", "peer", or "other" for what is shown and never the best peer.
    """

    name: ClassVar[str]
    role: ClassVar[str] = "peer"

    @abc.abstractmethod
    def load(self, case: Case, threads: int) -> None:
        """Gets ready to call.

        Raises:
            Unfit: it is not meant for this model.
            ImportError: it is not installed.
        """

    @abc.abstractmethod
    def call(self) -> None:
        """One prediction on the inputs of the case."""

    @abc.abstractmethod
    def results(self) -> list[Array] | None:
        """The outputs of the last call in the order of the case; None: they cannot be compared."""

    def burst(self, count: int) -> list[float]:
        """The seconds of each of `count` calls."""
        return burst(self.call, count)


class Native(Engine):
    """An engine that is called from C.

    function and argument, a C function of one pointer and that pointer, are set by `load`.
    """

    function: Any
    argument: Any

    def call(self) -> None:
        self.burst(1)

    def burst(self, count: int) -> list[float]:
        return native.seconds(self.function, self.argument, count)


# ---- ours ----


class Cinfer(Engine):
    """The C library from Python, as a program calls it."""

    name, role = "cinfer, Python", "ours"

    signature: Any
    found: Any

    def load(self, case: Case, threads: int) -> None:
        import graphio.cinfer

        self.model = graphio.cinfer.load(case.gio, threads=threads)
        self.signature = self.model.signature()
        self.inputs = list(case.inputs.values())
        self.order = list(case.expected)

    def call(self) -> None:
        self.found = self.signature.run(self.inputs)

    def results(self) -> list[Array] | None:
        named = dict(zip(self.signature.outputs, self.found, strict=True))
        return [named[name] for name in self.order]


class CinferBound(Cinfer):
    """The same on fixed buffers."""

    name = "cinfer, Python, bound"

    def load(self, case: Case, threads: int) -> None:
        super().load(case, threads)
        self.found = [np.empty_like(case.expected[name]) for name in self.signature.outputs]
        self.bound = self.signature.bind(*self.inputs, outputs=self.found)

    def call(self) -> None:
        self.bound()


class CinferC(Native):
    """The C library from C: a loop around ci_run."""

    name, role = "cinfer, C", "ours"

    def load(self, case: Case, threads: int) -> None:
        import graphio.cinfer
        from graphio.cinfer import _native

        self.model = graphio.cinfer.load(case.gio, threads=threads)
        self.signature = self.model.signature()
        client = native.client()
        library = ctypes.CDLL(_native.__file__)
        session = int(_native.ffi.cast("uintptr_t", self.model._handles.session))
        job = client.client_cinfer(library.ci_run, ctypes.c_void_p(session))
        self.argument, self.function = ctypes.c_void_p(job), client.client_cinfer_run
        self.inputs, self.order = list(case.inputs.values()), list(case.expected)
        self.found = [np.empty_like(case.expected[name]) for name in self.signature.outputs]
        for array in self.inputs:
            client.client_cinfer_input(self.argument, *native.description(array))
        for array in self.found:
            client.client_cinfer_output(self.argument, *native.description(array)[:2])

    def results(self) -> list[Array] | None:
        named = dict(zip(self.signature.outputs, self.found, strict=True))
        return [named[name] for name in self.order]


class Runtime(Cinfer):
    """The Python runtime."""

    name = "Python runtime"

    def load(self, case: Case, threads: int) -> None:
        import graphio.runtime

        self.signature = graphio.runtime.load(case.gio).signature()
        self.inputs, self.order = list(case.inputs.values()), list(case.expected)


# ---- ONNX Runtime ----


class Ort(Engine):
    """ONNX Runtime from Python."""

    name = "onnxruntime, Python"

    def load(self, case: Case, threads: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        providers = ["CPUExecutionProvider"]
        path = os.fspath(case.onnx)
        self.session = onnxruntime.InferenceSession(path, options, providers=providers)
        self.feeds, self.names = case.inputs, list(case.expected)

    def call(self) -> None:
        self.found = self.session.run(self.names, self.feeds)

    def results(self) -> list[Array] | None:
        return list(self.found)


class OrtBound(Ort):
    """ONNX Runtime from Python on fixed buffers."""

    name = "onnxruntime, Python, bound"

    def load(self, case: Case, threads: int) -> None:
        super().load(case, threads)
        self.binding = self.session.io_binding()
        for name, array in case.inputs.items():
            self.binding.bind_cpu_input(name, array)
        self.found = [np.empty_like(array) for array in case.expected.values()]
        for name, array in zip(self.names, self.found, strict=True):
            data = array.ctypes.data
            self.binding.bind_output(name, "cpu", 0, array.dtype, array.shape, data)

    def call(self) -> None:
        self.session.run_with_iobinding(self.binding)


class OrtC(Native):
    """ONNX Runtime from C on fixed buffers, its fastest way."""

    name = "onnxruntime, C"

    def load(self, case: Case, threads: int) -> None:
        library, client = native.onnxruntime_library(), native.client()
        if library is None:
            raise ImportError("no libonnxruntime.so")
        path = os.fsencode(case.onnx)
        job = client.client_ort(os.fsencode(library), path, threads)
        if not job:
            raise RuntimeError("onnxruntime does not open the model")
        self.argument, self.function = ctypes.c_void_p(job), client.client_ort_run
        self.inputs = case.inputs
        self.found = [np.empty_like(array) for array in case.expected.values()]
        for name, array in case.inputs.items():
            client.client_ort_input(self.argument, name.encode(), *native.description(array))
        for name, array in zip(case.expected, self.found, strict=True):
            client.client_ort_output(self.argument, name.encode(), *native.description(array))

    def results(self) -> list[Array] | None:
        return self.found


# ---- by hand ----


class Hand(Native):
    """Dense layers written by hand in C, for this shape of network only."""

    name, role = "by hand, C", "other"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family not in ("tiny", "mlp"):
            raise Unfit
        (self.x,), (self.expected,) = case.inputs.values(), case.expected.values()
        self.argument = native.dense_layers(os.fspath(case.onnx), self.x)
        self.function = native.client().client_dense_run

    def results(self) -> list[Array] | None:
        stride = ctypes.c_int()
        data = native.client().client_dense_result(self.argument, ctypes.byref(stride))
        rows, columns = self.expected.shape
        found = np.ctypeslib.as_array((ctypes.c_float * (rows * stride.value)).from_address(data))
        return [found.reshape(rows, -1)[:, :columns].copy()]
