"""The benchmark's own C code: compiled when first used, kept under build/peers."""

from __future__ import annotations

import ctypes
import functools
import glob
import hashlib
import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .models import ROOT, Array

HERE = Path(__file__).resolve().parent
CACHE = ROOT / "build" / "peers" / "native"
CINFER = ROOT / "cinfer"
COMPILER = [os.environ.get("CC", "cc"), "-std=c11", f"-I{CINFER / 'include'}"]
OURS = [HERE / "client.c", HERE / "client.h", CINFER / "include" / "cinfer.h"]


def made(name: str, command: list[str], sources: list[Path]) -> Path:
    """The file that a command makes (its -o is added); rebuilt when a source has changed."""
    digest = hashlib.sha256(repr(command).encode())
    for path in sources:
        digest.update(path.read_bytes())
    target = CACHE / digest.hexdigest()[:16] / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            new = Path(folder) / name
            subprocess.run([*command, "-o", os.fspath(new)], check=True)
            os.replace(new, target)
    return target


@functools.cache
def client() -> Any:
    """The library of client.c."""
    flags = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
    command = [*COMPILER, *flags, os.fspath(HERE / "client.c"), "-ldl"]
    library = ctypes.CDLL(os.fspath(made("client.so", command, OURS)))
    for name in ("client_cinfer", "client_ort", "client_dense", "client_dense_result"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


def start_program() -> Path:
    """The program of start.c, with cinfer in it as its own build makes it."""
    folder = CACHE.parent / "cinfer"
    settings = ["-DCMAKE_BUILD_TYPE=Release", "-DCINFER_TESTS=OFF"]
    configure = ["cmake", "-S", os.fspath(CINFER), "-B", os.fspath(folder), *settings]
    build = ["cmake", "--build", os.fspath(folder), "--target", "cinfer_static"]
    for command in (configure, build):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    library = folder / "libcinfer.a"
    sources = [HERE / "start.c", HERE / "client.c"]
    command = [*COMPILER, "-O2", *map(os.fspath, [*sources, library]), "-Wl,--as-needed"]
    return made("start", [*command, "-lm", "-ldl", "-pthread"], [*sources, *OURS, library])


def address(array: Array) -> ctypes.c_void_p:
    """Where an array's data lie."""
    return ctypes.c_void_p(array.ctypes.data)


def description(array: Array) -> tuple[Any, ...]:
    """An array as C functions take it: data, bytes, element type, rank, dimensions."""
    numbers = {"float32": 1, "int32": 6, "int64": 7, "float64": 11}
    dims = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    kind = numbers[array.dtype.name]
    return address(array), ctypes.c_size_t(array.nbytes), kind, array.ndim, dims


def dense_layers(path: str, x: Array) -> Any:
    """The job of client.c for a perceptron's weights and these rows: layers written by hand."""
    import onnx
    from onnx import numpy_helper

    job = ctypes.c_void_p(client().client_dense(address(x), len(x)))
    arrays = {t.name: numpy_helper.to_array(t).copy() for t in onnx.load(path).graph.initializer}
    for layer in ("0", "2"):
        weight, bias = arrays[f"{layer}.weight"], arrays[f"{layer}.bias"]
        out, width = weight.shape
        client().client_dense_layer(job, address(weight), address(bias), width, out)
    return job


def seconds(call: Any, argument: Any, count: int) -> list[float]:
    """The seconds of each of `count` calls of a C function, without Python in between.

    Raises:
        RuntimeError: a call failed.
    """
    times = np.empty(count)
    if client().client_time(call, argument, ctypes.c_long(count), address(times)):
        raise RuntimeError("the call from C failed")
    return times.tolist()  # type: ignore[no-any-return]


def peak() -> float:
    """GFLOP/s of one core in float32, the best of many short tries."""
    function = client().client_peak
    function.restype = ctypes.c_double
    return float(max(function(ctypes.c_long(20_000)) for _ in range(500)))


def onnxruntime_library() -> str | None:
    """A library of ONNX Runtime with its C interface: $ORT_LIB, or one in its Python package."""
    if "ORT_LIB" in os.environ:
        return os.environ["ORT_LIB"]
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or spec.origin is None:
        return None
    found = glob.glob(f"{os.path.dirname(spec.origin)}/capi/libonnxruntime.so*")
    return found[0] if found else None
