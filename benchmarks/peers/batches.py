"""Batch sizes that are new to an engine: the first call of each size compared with the second.

python -m benchmarks.peers.batches tiny|mlp [--rounds 5] [--sizes 32] [--no-growth]

One of the perceptrons, sizes 1 to --sizes in random order, fresh sessions in each round; then
10,000 sizes of the perceptron 64-32-10 and what memory they leave behind.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import native
from .models import SUITE, Array, small
from .turns import summary

Call = Callable[[int], float]  # the seconds of a call with this batch size
GROWTH_SIZES = 10_000
WIDTHS = {"tiny": (64, 10), "mlp": (1000, 10)}


def _values(family: str, most: int) -> tuple[Array, Array]:
    rows, columns = WIDTHS[family]
    x = np.random.RandomState(1).standard_normal((most, rows)).astype(np.float32)
    return x, np.empty((most, columns), np.float32)


def _timed(call: Callable[[Array], object], x: Array) -> Call:
    def measured(size: int) -> float:
        rows = x[:size]
        start = time.perf_counter()
        call(rows)
        return time.perf_counter() - start

    return measured


def cinfer_python(folder: str, family: str, most: int) -> Call:
    """cinfer from Python."""
    import graphio.cinfer

    signature = graphio.cinfer.load(f"{folder}/{family}.gio").signature()
    return _timed(lambda rows: signature.run([rows]), _values(family, most)[0])


def ort_python(folder: str, family: str, most: int) -> Call:
    """ONNX Runtime from Python."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    path, providers = f"{folder}/{family}.onnx", ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(path, options, providers=providers)
    return _timed(lambda rows: session.run(None, {"in0": rows}), _values(family, most)[0])


def cinfer_c(folder: str, family: str, most: int) -> Call:
    """cinfer from C."""
    import graphio.cinfer
    from graphio.cinfer import _native

    model, client = graphio.cinfer.load(f"{folder}/{family}.gio"), native.client()
    session = int(_native.ffi.cast("uintptr_t", model._handles.session))
    run = ctypes.CDLL(_native.__file__).ci_run
    job = ctypes.c_void_p(client.client_cinfer(run, ctypes.c_void_p(session)))
    x, y = _values(family, most)

    def measured(size: int, _model: Any = model) -> float:
        client.client_cinfer_clear(job)
        client.client_cinfer_input(job, *native.description(x[:size]))
        client.client_cinfer_output(job, *native.description(y[:size])[:2])
        return native.seconds(client.client_cinfer_run, job, 1)[0]

    return measured


def ort_c(folder: str, family: str, most: int) -> Call:
    """ONNX Runtime from C.

    Raises:
        ImportError: its library is not there.
    """
    library, client = native.onnxruntime_library(), native.client()
    if library is None:
        raise ImportError("no libonnxruntime.so")
    path = os.fsencode(f"{folder}/{family}.onnx")
    job = ctypes.c_void_p(client.client_ort(os.fsencode(library), path, 1))
    x, y = _values(family, most)

    def measured(size: int) -> float:
        client.client_ort_clear(job)
        client.client_ort_input(job, b"in0", *native.description(x[:size]))
        client.client_ort_output(job, b"out0", *native.description(y[:size]))
        return native.seconds(client.client_ort_run, job, 1)[0]

    return measured


def hand_c(folder: str, family: str, most: int) -> Call:
    """Layers written by hand, which know all sizes: what the arithmetic alone takes."""
    client, x = native.client(), _values(family, most)[0]
    job = native.dense_layers(f"{folder}/{family}.onnx", x)

    def measured(size: int, _rows: Array = x) -> float:
        client.client_dense_rows(job, size)
        return native.seconds(client.client_dense_run, job, 1)[0]

    return measured


MAKERS: dict[str, Callable[[str, str, int], Call]] = {
    "cinfer, C": cinfer_c,
    "cinfer, Python": cinfer_python,
    "onnxruntime, C": ort_c,
    "onnxruntime, Python": ort_python,
    "by hand, C": hand_c,
}


def write(folder: str) -> None:
    """Both perceptrons with any batch size, as ONNX and ours."""
    import onnx

    import graphio.onnx

    for family in WIDTHS:
        onnx.save(small(family, None), f"{folder}/{family}.onnx")
        graphio.onnx.convert(f"{folder}/{family}.onnx", f"{folder}/{family}.gio")


def first_calls(folder: str, family: str, rounds: int, sizes: int) -> dict[str, dict[str, Any]]:
    """First and second call of each size, the engines in turns at each."""
    first: dict[str, list[float]] = {}
    second: dict[str, list[float]] = {}
    for number in range(rounds):
        calls: dict[str, Call] = {}
        for name, make in MAKERS.items():
            try:
                calls[name] = make(folder, family, sizes + 1)
            except ImportError:
                continue
        for call in calls.values():
            call(sizes + 1)  # excludes the work that a session does once
        for size in np.random.RandomState(number).permutation(sizes) + 1:
            for name, call in calls.items():
                first.setdefault(name, []).append(call(int(size)))
                second.setdefault(name, []).append(call(int(size)))
    return {
        name: summary(first[name])
        | {
            "more": {
                "second call": _microseconds(second[name]),
                "added": _microseconds(np.subtract(first[name], second[name])),
            }
        }
        for name in first
    }


def _microseconds(times: Any) -> str:
    return f"{1e6 * float(np.median(times)):.2f} us"


def resident() -> float:
    """Megabytes that this process has in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(folder: str, name: str) -> float:
    """Megabytes by which this process grows over 10,000 batch sizes, after the largest."""
    call = MAKERS[name](folder, "tiny", GROWTH_SIZES)
    order = np.random.RandomState(1).permutation(GROWTH_SIZES) + 1
    call(GROWTH_SIZES)
    for size in order[:100]:
        call(int(size))
    before = resident()
    for size in order:
        call(int(size))
    return resident() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("family", choices=list(WIDTHS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, default=32)
    parser.add_argument("--no-growth", action="store_true")
    parser.add_argument("--growth", nargs=2, metavar=("FOLDER", "ENGINE"), help="only that")
    chosen = parser.parse_args()
    if chosen.growth:
        print(growth(*chosen.growth))
        return
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        found = first_calls(folder, chosen.family, chosen.rounds, chosen.sizes)
        grows = (
            chosen.family == "tiny" and not chosen.no_growth and Path("/proc/self/statm").exists()
        )
        for name in found if grows else ():
            module = [sys.executable, "-m", "benchmarks.peers.batches", "tiny"]
            command = [*module, "--growth", folder, name]
            grown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[name]["more"]["growth MB"] = round(float(grown.split()[-1]), 2)
    title = (
        f"First call at a new batch size, {SUITE[chosen.family].title}, sizes 1 to {chosen.sizes}"
    )
    print(json.dumps({"title": title, "engines": found}))


if __name__ == "__main__":
    main()
