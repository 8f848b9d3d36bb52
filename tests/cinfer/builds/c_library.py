"""A shared library of cinfer other than the one of the Python package, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import CINFER

from graphio.schema import dtypes

Array = np.ndarray[Any, Any]
MAX_RANK = 16


class Tensor(ctypes.Structure):
    """ci_tensor"""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * MAX_RANK),
    ]


class Error(ctypes.Structure):
    """ci_error"""

    _fields_ = [
        ("status", ctypes.c_int32),
        ("node", ctypes.c_char * 128),
        ("op", ctypes.c_char * 64),
        ("source", ctypes.c_char * 160),
        ("message", ctypes.c_char * 1024),
    ]


class Info(ctypes.Structure):
    """ci_info"""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * MAX_RANK),
        ("symbol", ctypes.c_char_p * MAX_RANK),
    ]


class Refused(Exception):
    """A call failed; the message of its error."""


def tool(name: str) -> str:
    """A program of the system or of this virtual environment; skips without it."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def build(folder: Path, *options: str) -> Path:
    """The stripped shared library that CMake makes with these options."""
    made = folder / "build"
    cache = shutil.which("ccache")
    launcher = [f"-DCMAKE_C_COMPILER_LAUNCHER={cache}"] if cache else []
    for command in (
        [tool("cmake"), "-S", str(CINFER), "-B", str(made), "-DCINFER_TESTS=OFF", *launcher],
        [tool("cmake"), "--build", str(made), "--target", "cinfer_shared", "-j2"],
    ):
        expected = command + list(options) if "-S" in command else command
        done = subprocess.run(expected, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    library = folder / "libcinfer.so"
    subprocess.run([tool("strip"), "-o", library, made / "libcinfer.so"], check=True)
    return library


class Library:
    """The calls that predict."""

    def __init__(self, path: Path) -> None:
        self._c = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL)
        self._c.ci_input.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        for name in ("ci_output_count", "ci_input_count"):
            getattr(self._c, name).argtypes = [ctypes.c_void_p, ctypes.c_int]
        for name in ("ci_close", "ci_session_close"):
            getattr(self._c, name).argtypes = [ctypes.c_void_p]
            getattr(self._c, name).restype = None
        self._c.ci_session_state.argtypes = [ctypes.c_void_p]
        self._c.ci_session_state.restype = ctypes.c_void_p

    def open(self, data: bytes) -> ctypes.c_void_p:
        """A model; Refused if it cannot be loaded."""
        model = ctypes.c_void_p()
        self._call("ci_open_memory", data, ctypes.c_size_t(len(data)), None, ctypes.byref(model))
        return model

    def session(self, model: ctypes.c_void_p) -> ctypes.c_void_p:
        session = ctypes.c_void_p()
        self._call("ci_session_open", model, None, None, ctypes.byref(session))
        return session

    def run(self, data: bytes, feeds: Mapping[str, Array]) -> list[Array]:
        """The outputs of the first signature."""
        model = self.open(data)
        session = self.session(model)
        try:
            return self._run(model, session, feeds)
        finally:
            self._c.ci_session_close(session)
            self._c.ci_close(model)

    def save(self, data: bytes, prefix: Path) -> None:
        """A checkpoint of a session's state."""
        model = self.open(data)
        session = self.session(model)
        state = ctypes.c_void_p(self._c.ci_session_state(session))
        try:
            step = ctypes.c_int64(1)
            self._call("ci_save", state, model, str(prefix).encode(), step)
        finally:
            self._c.ci_session_close(session)
            self._c.ci_close(model)

    def _run(
        self, model: ctypes.c_void_p, session: ctypes.c_void_p, feeds: Mapping[str, Array]
    ) -> list[Array]:
        count = self._c.ci_input_count(model, 0)
        inputs, outputs = (Tensor * count)(), (Tensor * self._c.ci_output_count(model, 0))()
        info, kept = Info(), []
        for i, tensor in enumerate(inputs):
            self._c.ci_input(model, 0, i, ctypes.byref(info))
            value = np.ascontiguousarray(feeds[(info.name or b"").decode()])
            kept.append(value)
            tensor.data, tensor.bytes = value.ctypes.data, value.nbytes
            tensor.dtype, tensor.rank = dtypes.of_numpy(value.dtype).number, value.ndim
            tensor.dims[: value.ndim] = value.shape
        self._call("ci_run", session, 0, inputs, count, outputs, len(outputs))
        return [self._array(tensor) for tensor in outputs]

    @staticmethod
    def _array(tensor: Tensor) -> Array:
        dtype = dtypes.of_number(tensor.dtype).numpy
        text = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
        return np.frombuffer(text, dtype).reshape(tensor.dims[: tensor.rank])

    def _call(self, name: str, *arguments: Any) -> None:
        error = Error()
        if getattr(self._c, name)(*arguments, ctypes.byref(error)) != 0:
            raise Refused(error.message.decode())
