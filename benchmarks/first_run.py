"""First runs of a session, which make the plan: both engines, a fresh graph each time.

    python benchmarks/first_run.py [--rounds 25]

"first" is the first Session.run of the outputs or of the train operation, after the variables have
got their values; "second" is the same run again, which the plan is there for. The times are
processor time of the one thread that does all: those of the clock on a machine that is free.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import graphio as tf

LAYERS, WIDTH, BATCH = 60, 64, 8
ENGINES = ("runtime", "cinfer")
#: the fetches and their feeds
Net = tuple[Any, dict[Any, np.ndarray]]


def dense() -> Net:
    """60 layers of 64 units: the output for a batch of 8."""
    x = tf.placeholder(tf.float32, [None, WIDTH])
    h = x
    for _ in range(LAYERS):
        h = tf.layers.dense(h, WIDTH, activation=tf.nn.relu)
    return h, {x: np.ones((BATCH, WIDTH), np.float32)}


def dense_training() -> Net:
    """A step of Adam on these layers."""
    h, feeds = dense()
    return adam(tf.reduce_mean(tf.square(h))), feeds


def convolutions() -> Net:
    """A step of Adam on a small network of convolutions, with images of 28 x 28."""
    x, y = tf.placeholder(tf.float32, [None, 28, 28, 1]), tf.placeholder(tf.int64, [None])
    h = x
    for channels in (8, 16):
        h = tf.layers.conv2d(h, channels, 3, padding="same", activation=tf.nn.relu)
        h = tf.layers.max_pooling2d(h, 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(h), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    images = np.ones((BATCH, 28, 28, 1), np.float32)
    return adam(loss), {x: images, y: np.arange(BATCH) % 10}


def recurrent() -> Net:
    """A step of Adam on an LSTM of 32 units over 20 steps."""
    x = tf.placeholder(tf.float32, [None, 20, 16])
    cell = tf.nn.rnn_cell.BasicLSTMCell(32)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs[:, -1]))
    return adam(loss), {x: np.ones((BATCH, 20, 16), np.float32)}


def adam(loss: Any) -> Any:
    return tf.train.AdamOptimizer(1e-3).minimize(loss)


CASES: dict[str, Callable[[], Net]] = {
    f"{LAYERS} dense layers": dense,
    f"{LAYERS} dense layers, training": dense_training,
    "small CNN, training": convolutions,
    "LSTM, training": recurrent,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    print("| first run of | engine | minimum | median | second run |\n|---|---|---|---|---|")
    for name, make in CASES.items():
        times: dict[str, list[tuple[float, float]]] = {engine: [] for engine in ENGINES}
        for _ in range(rounds):
            for engine in ENGINES:
                times[engine].append(measured(engine, make))
        for engine, pairs in times.items():
            first, second = zip(*pairs, strict=True)
            least, middle, again = min(first), statistics.median(first), statistics.median(second)
            print(
                f"| {name} | {engine} | {least * 1e3:.1f} ms | {middle * 1e3:.1f} ms "
                f"| {again * 1e3:.2f} ms |"
            )


def measured(engine: str, make: Callable[[], Net]) -> tuple[float, float]:
    """Seconds of the first and of the second run of a fresh graph."""
    with tf.Graph().as_default() as graph:
        fetches, feeds = make()
        start = tf.global_variables_initializer()
    with tf.Session(engine, graph=graph) as session:
        session.run(start)
        return timed(session, fetches, feeds), timed(session, fetches, feeds)


def timed(session: tf.Session, fetches: Any, feeds: dict[Any, np.ndarray]) -> float:
    start = time.thread_time()
    session.run(fetches, feed_dict=feeds)
    return time.thread_time() - start


if __name__ == "__main__":
    main()
