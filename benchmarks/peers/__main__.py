"""cinfer and the Python runtime beside every other engine that is installed, on the same models.

    python -m benchmarks.peers [--only tiny,mlp] [--threads 1] [--json now.json]
                               [--compare before.json] [--chart chart.svg]

Each model has a process of its own, in which the engines take turns in bursts. An engine whose
outputs differ from the expected ones is named and not counted. The models are made when they are
missing, with torch and skl2onnx where they are installed, and kept in build/peers. ORT_LIB names a
libonnxruntime.so for the calls from C where the Python package has none.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from . import report
from .goals import STARTS
from .latency import ENGINES
from .models import ROOT, SUITE

PACKAGE = "benchmarks.peers"
OTHERS = {  # rows that are no models: the module that measures them and its arguments
    "first sight tiny": ("batches", "tiny"),
    "first sight mlp": ("batches", "mlp"),
    **{f"start {model}": ("startup", "FOLDER", model) for model in STARTS},
    "train perceptron": ("training", "perceptron"),
    "train cnn": ("training", "cnn"),
    "node": ("node",),
}


def child(threads: int, *arguments: str) -> str:
    """What a module of this package prints, run in a process of its own.

    Raises:
        RuntimeError: it failed.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(threads))
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr[-2000:]}")
    return done.stdout


def made(name: str, chosen: argparse.Namespace) -> bool:
    """Whether a model's files are there; makes them if it can."""
    if not (chosen.folder / f"{name}.npz").exists() and not SUITE[name].installed:
        print(f"{name} needs {SUITE[name].maker}: left out", file=sys.stderr)
        return False
    child(chosen.threads, f"{PACKAGE}.prepare", str(chosen.folder), name)
    return True


def figures(name: str, chosen: argparse.Namespace) -> Any:
    """What was measured for a model or another row; None when what it needs is not installed."""
    if name in SUITE:
        module, arguments = "latency", [str(chosen.folder), name, f"--engines={chosen.engines}"]
        arguments += [f"--threads={chosen.threads}", f"--seconds={chosen.seconds}"]
    else:
        module, *arguments = OTHERS[name]
        arguments = [str(chosen.folder) if a == "FOLDER" else a for a in arguments]
    models = [a for a in arguments if a in SUITE and module in ("latency", "startup")]
    if not all(made(model, chosen) for model in models):
        return None
    printed = child(chosen.threads, f"{PACKAGE}.{module}", *arguments)
    return json.loads(printed.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join([*SUITE, *OTHERS]), help="rows, by name")
    parser.add_argument("--engines", default=";".join(ENGINES), help="separated by ;")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each engine and model")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "peers" / "models")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compare", type=Path)
    chosen = parser.parse_args()
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "threads": chosen.threads,
        "machine": report.machine(),
        "models": {},
        "others": {},
    }
    for name in chosen.only.split(","):
        print(f"{name} ...", file=sys.stderr, flush=True)
        row = figures(name, chosen)
        if row is not None:
            found["models" if name in SUITE else "others"][name] = row
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1) + "\n")
    print(report.page(found))
    if chosen.compare:
        print(report.comparison(json.loads(chosen.compare.read_text()), found))


if __name__ == "__main__":
    main()
