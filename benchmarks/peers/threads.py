"""cinfer with one thread and with two, in turns.

python -m benchmarks.peers.threads FOLDER MODEL [--seconds 2]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .engines import CinferC
from .latency import compared
from .models import Case
from .turns import in_turns, summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=2.0)
    chosen = parser.parse_args()
    case = Case(chosen.folder, chosen.model)
    engines = {"1 thread": CinferC(), "2 threads": CinferC()}
    found: dict[str, Any] = {}
    for number, (name, engine) in enumerate(engines.items(), start=1):
        engine.load(case, number)
        engine.call()
        found[name] = {"note": compared(engine.results(), list(case.expected.values()))}
    times = in_turns({k: e.burst for k, e in engines.items()}, chosen.seconds)
    for name in engines:
        found[name] |= summary(times[name])
    title = f"cinfer with two threads, {case.model.title}"
    print(json.dumps({"title": title, "engines": found}))


if __name__ == "__main__":
    main()
