"""Overhead of a Session over numpy: a step of the two-layer net against the same step by hand.

    python benchmarks/session_overhead.py [--rounds 40] [--dump]

Batch 64, 1000-100-10, gradient descent, one thread. "values" feeds the weights' variables and
fetches [loss, new_w1, new_w2]; "train op" runs GradientDescentOptimizer's operation alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import graphio as tf

BATCH, INPUT, HIDDEN, OUTPUT, RATE = 64, 1000, 100, 10, 1e-6
Array = np.ndarray
Step = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    rng = np.random.RandomState(0)
    shapes = ((BATCH, INPUT), (BATCH, OUTPUT), (INPUT, HIDDEN), (HIDDEN, OUTPUT))
    data = [rng.randn(*shape).astype(np.float32) for shape in shapes]
    print("| engine | what | step | by hand | ratio |\n|---|---|---|---|---|")
    for target in ("runtime", "cinfer"):
        for what, ours, by_hand in (
            ("values", graph_step(target, data, False), numpy_step(data, False)),
            ("train op", graph_step(target, data, True), numpy_step(data, True)),
        ):
            mine, theirs, ratio = compared(ours, by_hand, rounds)
            print(
                f"| {target} | {what} | {mine * 1e6:.0f} us | {theirs * 1e6:.0f} us | {ratio:.3f} |"
            )


def compared(ours: Step, by_hand: Step, rounds: int) -> tuple[float, float, float]:
    """The medians of both, and the median of the rounds' ratios; the steps take turns."""
    times: list[tuple[float, float]] = []
    for _ in range(rounds):
        mine, theirs = [], []
        for _ in range(20):
            mine.append(timed(ours))
            theirs.append(timed(by_hand))
        times.append((statistics.median(mine), statistics.median(theirs)))
    first, second = zip(*times, strict=True)
    ratio = statistics.median(a / b for a, b in times)
    return statistics.median(first), statistics.median(second), ratio


def timed(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def graph_step(target: str, data: list[Array], train_op: bool) -> Step:
    """The step as a program of the TensorFlow-1 kind writes it."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, INPUT])
        y = tf.placeholder(tf.float32, [None, OUTPUT])
        w1, w2 = tf.Variable(data[2]), tf.Variable(data[3])
        hidden = tf.maximum(tf.matmul(x, w1), tf.zeros(1))
        loss = tf.reduce_sum((y - tf.matmul(hidden, w2)) ** 2.0)
        fetches: object
        if train_op:
            fetches = tf.train.GradientDescentOptimizer(RATE).minimize(loss)
        else:
            g1, g2 = tf.gradients(loss, [w1, w2])
            fetches = [loss, w1.assign(w1 - RATE * g1), w2.assign(w2 - RATE * g2)]
        start = tf.global_variables_initializer()
    session = tf.Session(target, graph=graph)
    session.run(start)
    feeds = {x: data[0], y: data[1]}
    return lambda: session.run(fetches, feed_dict=feeds)


def numpy_step(data: list[Array], train_op: bool) -> Step:
    """The step by hand: nothing is computed twice, the weights change in place."""
    x, y = data[:2]
    w1, w2 = data[2].copy(), data[3].copy()
    rate, two = np.float32(RATE), np.float32(2)

    def gradients() -> tuple[np.float32, Array, Array]:
        h = x @ w1
        a = np.maximum(h, 0)
        error = a @ w2 - y
        loss = np.square(error).sum()
        g = two * error
        back = (g @ w2.T) * (h >= 0)
        return loss, x.T @ back, a.T @ g

    def train() -> np.float32:
        loss, g1, g2 = gradients()
        np.subtract(w1, rate * g1, out=w1)
        np.subtract(w2, rate * g2, out=w2)
        return loss

    def values() -> list[object]:
        nonlocal w1, w2
        loss, g1, g2 = gradients()
        w1, w2 = w1 - rate * g1, w2 - rate * g2
        return [loss, w1, w2]

    return train if train_op else values


if __name__ == "__main__":
    main()
