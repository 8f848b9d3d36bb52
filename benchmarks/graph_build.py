"""How long a graph of 10,000 nodes takes to build, and its first and second run.

python benchmarks/graph_build.py
"""

from __future__ import annotations

import time

import numpy as np

import graphio as tf

ADDITIONS = 5000  # each makes a constant and an Add


def main() -> None:
    """Builds a chain of additions and runs it."""
    start = time.perf_counter()
    x = y = tf.placeholder(tf.float32, [None, 3])
    for _ in range(ADDITIONS):
        y = y + 1.0
    built = time.perf_counter()
    print(f"{len(tf.get_default_graph().get_operations())} nodes built in {built - start:.2f} s")
    with tf.Session() as session:
        for label in ("first run, with the plan", "second run"):
            start = time.perf_counter()
            session.run(y, {x: np.zeros((1, 3), np.float32)})
            print(f"{label}: {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
