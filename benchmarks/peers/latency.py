"""One model in all engines, in turns within this process; a line of JSON at the end.

python -m benchmarks.peers.latency FOLDER MODEL [--engines a;b] [--threads 1] [--seconds 3]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from . import engines, others
from .engines import Engine, Unfit
from .models import Array, Case
from .turns import in_turns, summary

ENGINES: dict[str, type[Engine]] = {
    e.name: e
    for e in (
        engines.CinferC,
        engines.Cinfer,
        engines.CinferBound,
        engines.Runtime,
        engines.OrtC,
        engines.Ort,
        engines.OrtBound,
        others.OpenVinoC,
        others.OpenVino,
        others.LiteRt,
        others.Ncnn,
        others.Torch,
        others.TorchCompiled,
        others.Tl2cgen,
        others.ScikitLearn,
        engines.Hand,
    )
}
OURS = [name for name, e in ENGINES.items() if e.role == "ours"]
PEERS = [name for name, e in ENGINES.items() if e.role == "peer"]
TOLERANCE = 1e-4  # of the largest expected value; half precision is above it


def compared(found: list[Array] | None, expected: list[Array]) -> str:
    """ "same", "not compared", or what differs."""
    if found is None:
        return "not compared"
    for got, reference in zip(found, expected, strict=True):
        got = np.asarray(got).reshape(reference.shape)
        if reference.dtype.kind != "f":
            if not np.array_equal(got, reference):
                return f"differs in {np.sum(got != reference)} of {reference.size}"
            continue
        error = np.abs(got - reference).max() / (np.abs(reference).max() + 1e-9)
        if not error < TOLERANCE:
            return f"differs by {error:.1e}"
    return "same"


def ready(names: list[str], case: Case, threads: int) -> tuple[dict[str, Engine], dict[str, str]]:
    """The engines that give the expected outputs, and a note on each."""
    live: dict[str, Engine] = {}
    notes: dict[str, str] = {}
    for name in names:
        engine = ENGINES[name]()
        try:
            engine.load(case, threads)
            for _ in range(3):
                engine.call()
            notes[name] = compared(engine.results(), list(case.expected.values()))
        except (Unfit, ImportError):
            continue
        except Exception as error:  # an engine that fails has a row that says so
            notes[name] = " ".join(f"failed: {type(error).__name__}: {error}".split())[:200]
            continue
        if notes[name] in ("same", "not compared"):
            live[name] = engine
    return live, notes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--engines", default=";".join(ENGINES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5)
    chosen = parser.parse_args()
    case = Case(chosen.folder, chosen.model)
    live, notes = ready(chosen.engines.split(";"), case, chosen.threads)
    found: dict[str, dict[str, Any]] = {name: {"note": note} for name, note in notes.items()}
    bursts = {name: engine.burst for name, engine in live.items()}
    for name, times in in_turns(bursts, chosen.seconds).items():
        found[name] |= summary(times)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
