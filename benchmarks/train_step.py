"""A training step of the demo's network: cinfer, the Python runtime and torch in turns.

    python benchmarks/train_step.py [--rounds 20]

Batch 64, Adam, dropout, one thread. torch is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "digits"))

import numpy as np
from model import build, data

import graphio as tf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    x, y = data().batch(0)
    steps: dict[str, Callable[[], object]] = {
        "cinfer": graphio_step("cinfer", x, y),
        "Python runtime": graphio_step("", x, y),
    }
    torch_step = make_torch_step(x, y)
    if torch_step is not None:
        steps["torch"] = torch_step
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(arguments.rounds):
        for name, step in steps.items():
            for _ in range(10):
                start = time.perf_counter()
                step()
                times[name].append(time.perf_counter() - start)
    reference = statistics.median(times["torch" if torch_step else "cinfer"])
    print("| engine | median | least | x torch |\n|---|---|---|---|")
    for name, t in times.items():
        median = statistics.median(t)
        print(
            f"| {name} | {median * 1e3:.2f} ms | {min(t) * 1e3:.2f} ms | {median / reference:.2f} |"
        )


def graphio_step(target: str, x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    network = build()
    session = tf.Session(target, graph=network.graph)
    with network.graph.as_default():
        session.run(tf.global_variables_initializer())
    feeds = {network.x: x, network.y: y}
    return lambda: session.run([network.loss, network.train], feeds)


def make_torch_step(x: np.ndarray, y: np.ndarray) -> Callable[[], object] | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    layers = torch.nn
    network = layers.Sequential(
        layers.Conv2d(1, 16, 3, padding=1),
        layers.ReLU(),
        layers.Conv2d(16, 32, 3, padding=1),
        layers.ReLU(),
        layers.MaxPool2d(2),
        layers.Flatten(),
        layers.Linear(512, 64),
        layers.ReLU(),
        layers.Dropout(0.25),
        layers.Linear(64, 10),
    )
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    images = torch.from_numpy(x).reshape(-1, 1, 8, 8)
    labels = torch.from_numpy(y).long()

    def step() -> float:
        optimizer.zero_grad()
        loss = layers.functional.cross_entropy(network(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


if __name__ == "__main__":
    main()
