"""Session.run of one small node: the sum of two fed vectors of ten floats.

python -m benchmarks.peers.node [--seconds 1]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import graphio as tf

from .turns import burst, in_turns, summary


def call(target: str) -> Callable[[], Any]:
    """Session.run in an engine."""
    x = np.arange(10, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        a, b = tf.placeholder(tf.float32, [10]), tf.placeholder(tf.float32, [10])
        total = a + b
    session, feeds = tf.Session(target, graph=graph), {a: x, b: x}
    return lambda: session.run(total, feeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    x = np.arange(10, dtype=np.float32)
    calls: dict[str, Callable[[], Any]] = {
        "Python runtime": call(""),
        "cinfer": call("cinfer"),
        "numpy": lambda: x + x,
    }
    found: dict[str, Any] = {}
    times = in_turns({k: partial(burst, v) for k, v in calls.items()}, chosen.seconds)
    for name, function in calls.items():
        same = np.array_equal(function(), x + x)
        found[name] = summary(times[name]) | {"note": "same" if same else "differs"}
    title = "Session.run of one node, the sum of two vectors of ten floats"
    print(json.dumps({"title": title, "engines": found}))


if __name__ == "__main__":
    main()
