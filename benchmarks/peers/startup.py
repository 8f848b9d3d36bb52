"""From the start of a C process to its first answer, and its peak memory: fresh processes in turns.

python -m benchmarks.peers.startup FOLDER MODEL [--rounds 7]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import native
from .latency import compared
from .models import Case
from .turns import summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=7)
    chosen = parser.parse_args()
    case = Case(chosen.folder, chosen.model)
    program, library = os.fspath(native.start_program()), native.onnxruntime_library()
    files = {"cinfer, C": [os.fspath(case.gio)]}
    if library is not None:
        files["onnxruntime, C"] = [os.fspath(case.onnx), library]
    with tempfile.TemporaryDirectory() as folder:
        where = _arguments(case, folder)
        times: dict[str, list[float]] = {name: [] for name in files}
        peaks: dict[str, list[float]] = {name: [] for name in files}
        outcomes: dict[str, str] = {}
        for number in range(chosen.rounds + 1):
            for name, (model, *more) in files.items():
                command = [program, model, *where, *more]
                printed = subprocess.run(command, check=True, capture_output=True, text=True)
                milliseconds, kilobytes = map(float, printed.stdout.split())
                if number == 0:  # puts the files into the page cache
                    outcomes[name] = _compared(case, where[-1])
                    continue
                times[name].append(milliseconds / 1e3)
                peaks[name].append(kilobytes / 1024)
    weights = case.gio.stat().st_size / 2**20
    found: dict[str, Any] = {
        name: summary(times[name])
        | {
            "note": outcomes[name],
            "more": {"peak MB": round(float(np.median(peaks[name])), 1)},
            "limits": {"peak MB": round(3 + 1.3 * weights, 1)},
        }
        for name in files
    }
    title = f"C process from file to first answer, {case.model.title} ({weights:.1f} MB)"
    print(json.dumps({"title": title, "engines": found}))


def _arguments(case: Case, folder: str) -> list[str]:
    """Input and output as start.c takes them."""
    ((in_name, x),) = case.inputs.items()
    ((out_name, y),) = case.expected.items()
    x.tofile(f"{folder}/in")
    dims = [",".join(map(str, a.shape)) for a in (x, y)]
    return [in_name, dims[0], f"{folder}/in", out_name, dims[1], f"{folder}/out"]


def _compared(case: Case, path: str) -> str:
    return compared([np.fromfile(path, np.float32)], list(case.expected.values()))


if __name__ == "__main__":
    main()
