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
from .latency import ENGINES
from .models import ROOT, SUITE


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


def measured(name: str, chosen: argparse.Namespace) -> Any:
    """The figures of one model; None when the package that makes it is not installed."""
    if not (chosen.folder / f"{name}.npz").exists() and not SUITE[name].installed:
        print(f"{name} needs {SUITE[name].maker}: left out", file=sys.stderr)
        return None
    package = __package__ or "benchmarks.peers"
    child(chosen.threads, f"{package}.prepare", str(chosen.folder), name)
    arguments = [str(chosen.folder), name, f"--threads={chosen.threads}"]
    arguments += [f"--seconds={chosen.seconds}", f"--engines={chosen.engines}"]
    printed = child(chosen.threads, f"{package}.latency", *arguments)
    return json.loads(printed.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SUITE), help="models")
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
        engines = measured(name, chosen)
        if engines is not None:
            found["models"][name] = engines
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1) + "\n")
    print(report.page(found))
    if chosen.compare:
        print(report.comparison(json.loads(chosen.compare.read_text()), found))


if __name__ == "__main__":
    main()
