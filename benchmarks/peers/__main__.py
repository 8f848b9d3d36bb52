"""cinfer and the Python runtime compared with other engines that are installed, on the same models.

    python -m benchmarks.peers [--only tiny,mlp] [--threads 1] [--json now.json]
                               [--compare before.json] [--chart chart.svg] [--quick]
    python -m benchmarks.peers --show now.json [--chart chart.svg] [--page docs/performance.md]

Each model has a separate process, in which the engines take turns in bursts. An engine whose
outputs differ from the expected ones is named and not counted. The models are made when they are
missing, with torch and skl2onnx where they are installed, and kept in build/peers. ORT_LIB names a
libonnxruntime.so for the calls from C where the Python package has none. --quick measures next to
nothing and fails when a row does not run or an engine's outputs differ.
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

from . import native, report
from .goals import LARGE, STARTS
from .latency import ENGINES
from .models import ROOT, SUITE, prepare

PACKAGE = "benchmarks.peers"
OTHERS = {  # rows that are not models: the module that measures them and its arguments
    "first call tiny": ("batches", "tiny"),
    "first call mlp": ("batches", "mlp"),
    **{f"start {model}": ("startup", "FOLDER", model) for model in STARTS},
    "train perceptron": ("training", "perceptron"),
    "train cnn": ("training", "cnn"),
    "node": ("node",),
    **{f"two threads {model}": ("threads", "FOLDER", model) for model in LARGE},
}
ROWS = [*SUITE, *OTHERS]
QUICK = [m.name for m in SUITE.values() if m.quick]
QUICK += ["first call tiny", "train perceptron", "node"]
OWN = [n for n in ENGINES if n.startswith(("cinfer", "Python", "onnxruntime", "by hand"))]
SHORT = {  # arguments of a module in the short form, which needs nothing but ONNX Runtime
    "latency": ("--seconds=0", f"--engines={';'.join(OWN)}"),
    "batches": ("--rounds=1", "--sizes=4", "--no-growth"),
    "training": ("--seconds=0", "--engines=cinfer;Python runtime;numpy"),
    "node": ("--seconds=0",),
}


def child(threads: int, *arguments: str) -> str:
    """The output of a module of this package, run in a separate process.

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
    if (chosen.folder / f"{name}.npz").exists():
        return True
    if not SUITE[name].installed:
        print(f"{name} needs {SUITE[name].maker}: left out", file=sys.stderr)
        return False
    if SUITE[name].maker == "nodes":
        prepare(chosen.folder, name)
    else:  # torch and what it needs stay out of this process
        child(chosen.threads, f"{PACKAGE}.prepare", str(chosen.folder), name)
    return True


def figures(name: str, chosen: argparse.Namespace) -> Any:
    """Results of a model or another row; None when what it needs is not installed."""
    if name in SUITE:
        module, arguments = "latency", [str(chosen.folder), name, f"--engines={chosen.engines}"]
        arguments += [f"--threads={chosen.threads}", f"--seconds={chosen.seconds}"]
    else:
        module, *arguments = OTHERS[name]
        arguments = [str(chosen.folder) if a == "FOLDER" else a for a in arguments]
    models = [a for a in arguments if a in SUITE and module in ("latency", "startup", "threads")]
    if not all(made(model, chosen) for model in models):
        return None
    arguments += SHORT[module] if chosen.quick else ()
    printed = child(chosen.threads, f"{PACKAGE}.{module}", *arguments)
    return json.loads(printed.splitlines()[-1])


def measured(chosen: argparse.Namespace) -> dict[str, Any]:
    """Results of the chosen rows; written to --json after each one."""
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "threads": chosen.threads,
        "machine": report.machine(),
        "peak": native.peak(),
        "models": {},
        "others": {},
    }
    for name in chosen.only.split(",") if chosen.only else QUICK if chosen.quick else ROWS:
        print(f"{name} ...", file=sys.stderr, flush=True)
        row = figures(name, chosen)
        if row is not None:
            found["models" if name in SUITE else "others"][name] = row
        if chosen.json:
            chosen.json.write_text(json.dumps(found, indent=1) + "\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help=f"some of the rows {', '.join(ROWS)}")
    parser.add_argument("--engines", default=";".join(ENGINES), help="separated by ;")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each engine and model")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "peers" / "models")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--compare", type=Path)
    parser.add_argument("--chart", type=Path, help="needs matplotlib")
    parser.add_argument("--show", type=Path, help="measures nothing, shows what was stored")
    parser.add_argument("--page", type=Path, help="puts the tables between its marks")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    found = json.loads(chosen.show.read_text()) if chosen.show else measured(chosen)
    print(report.page(found))
    if chosen.page:
        chosen.page.write_text(report.put(chosen.page.read_text(), report.page(found)))
    if chosen.compare:
        print(report.comparison(json.loads(chosen.compare.read_text()), found))
    if chosen.chart:
        from .chart import draw

        draw(found, chosen.chart)
    if chosen.quick and (wrong := report.notes(found)):
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
