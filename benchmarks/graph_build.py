"""Costs before a program's first step: imports, and a graph of 10,000 nodes and its plan.

    python benchmarks/graph_build.py

The plan is the preparation of a first run: the nodes needed, the model's bytes, the engine's
load. Imports are medians of fresh processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import numpy as np

import graphio as tf

ADDITIONS = 5000  # each makes a constant and an Add
PROCESSES = 7
IMPORTS = {
    "import graphio": "import graphio",
    "import graphio and first use of the builder": "import graphio; graphio.Graph",
}


def import_time(statement: str) -> float:
    """Seconds that a statement takes in a process that has numpy already; the median."""
    code = (
        f"import time, numpy; start = time.perf_counter()\n{statement}\n"
        "print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", code]
    times = [float(subprocess.check_output(command, text=True)) for _ in range(PROCESSES)]
    return statistics.median(times)


def main() -> None:
    for what, statement in IMPORTS.items():
        print(f"{what}, beyond numpy: {1000 * import_time(statement):.0f} ms")
    start = time.perf_counter()
    x = y = tf.placeholder(tf.float32, [None, 3])
    for _ in range(ADDITIONS):
        y = y + 1.0
    built = time.perf_counter() - start
    print(f"{len(tf.get_default_graph().get_operations())} nodes built in {built:.2f} s")
    for engine in ("runtime", "cinfer"):
        with tf.Session(engine) as session:
            seconds = []
            for _ in range(2):
                start = time.perf_counter()
                session.run(y, {x: np.zeros((1, 3), np.float32)})
                seconds.append(time.perf_counter() - start)
        first, second = seconds
        print(f"{engine}: plan {first - second:.3f} s, a run {1000 * second:.2f} ms")


if __name__ == "__main__":
    main()
