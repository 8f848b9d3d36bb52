"""The cost of tf.distribute.DataParallel: sharding, two ranks, the tree next to MPI's Allreduce.

    python benchmarks/distribute.py [--steps 40] [--rounds 3]

Needs the extra [mpi]. All are measured side by side in each round, and the best round counts; of
several ranks it is the slowest one's time. The network has convolutions, batch normalization and
dropout, with Adam, on images of 8 x 8.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf

MPIEXEC = Path(sys.executable).parent / "mpiexec"
SHARDS = 8
LENGTHS = (14_000, 101_000, 670_000)  # float32


def network() -> tuple[Any, Any, Any]:
    """The loss, and the placeholders of images and classes."""
    tf.set_random_seed(2)
    x = tf.placeholder(tf.float32, (None, 8, 8, 1))
    y = tf.placeholder(tf.int64, (None,))
    h = x
    for filters in (16, 32):
        h = tf.layers.conv2d(h, filters, 3, padding="same", use_bias=False)
        h = tf.layers.batch_normalization(h, momentum=0.9, training=True)
        h = tf.layers.max_pooling2d(tf.nn.relu(h), 2, 2)
    h = tf.layers.dense(tf.layers.flatten(h), 64, activation=tf.nn.relu)
    h = tf.layers.dropout(h, 0.3, training=True)
    return tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(h, 10)), x, y


def data(rows: int) -> tuple[Any, Any]:
    draw = np.random.default_rng(0)
    return draw.random((rows, 8, 8, 1), np.float32), draw.integers(0, 10, rows)


class Clock(tf.train.SessionRunHook):
    """The minimum time between two steps, in seconds."""

    def __init__(self) -> None:
        self.least, self._last = float("inf"), 0.0

    def after_run(self, context: Any, values: Any) -> None:
        now = time.perf_counter()
        if self._last:
            self.least = min(self.least, now - self._last)
        self._last = now


def plain(batch: int, steps: int) -> float:
    """Seconds a step of a training on the complete batch, without DataParallel."""
    with tf.Graph().as_default():
        loss, x, y = network()
        updates = tf.group(*tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        step = tf.train.AdamOptimizer(0.004).minimize(loss)
        train, clock = tf.group(step, updates), Clock()
        images, classes = data(batch)
        with tf.train.MonitoredSession(hooks=[clock]) as session:
            for _ in range(steps):
                session.run(train, {x: images, y: classes})
    return clock.least


def sharded(batch: int, steps: int) -> float:
    """Seconds a step of DataParallel on the ranks of this job."""
    with tf.Graph().as_default():
        loss, x, y = network()
        trainer = tf.distribute.DataParallel(loss, tf.train.AdamOptimizer(0.004), SHARDS)
        images, classes = (part.reshape(SHARDS, -1, *part.shape[1:]) for part in data(batch))
        clock = Clock()
        trainer.train(
            None,
            steps=steps,
            feed=lambda step, shard: {x: images[shard], y: classes[shard]},
            progress=False,
            hooks=[clock],
        )
    return clock.least


def best(call: Callable[[], Any], times: int) -> float:
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def sums() -> dict[str, list[float]]:
    """Of each length the seconds of the tree's sum, and of MPI's Allreduce."""
    from mpi4py import MPI

    from graphio.distribute.communicators.mpi import MPI as Ranks
    from graphio.distribute.reduction import Group, Reduction

    found = {}
    for length in LENGTHS:
        reduction = Reduction(Ranks(60.0), SHARDS, [Group(np.dtype(np.float32), length)])
        value, out = np.ones(length, np.float32), np.empty(length, np.float32)
        own = reduction.run[1] - reduction.run[0]
        leaves = np.ones((SHARDS, length), np.float32)
        tree = best(lambda r=reduction, v=leaves: r(lambda shard: [v[shard]]), 60)  # type: ignore[misc]
        local = best(lambda v=leaves, n=own: [np.add(v[0], v[i], v[0]) for i in range(1, n)], 60)  # type: ignore[misc]
        peer = best(lambda v=value, o=out: MPI.COMM_WORLD.Allreduce(v, o), 60)  # type: ignore[misc]
        found[str(length)] = [tree - local, peer]
    return found


def job(ranks: int, *arguments: str) -> list[Any]:
    """The figures of each rank of a job of this program."""
    command = [sys.executable, __file__, *arguments]
    if ranks > 1:
        command = [str(MPIEXEC), "-n", str(ranks), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "["))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", choices=("steps", "sums"), help="as a rank of a job")
    given = parser.parse_args()
    if given.measure == "steps":
        found = [sharded(256, given.steps), plain(256, given.steps)]
        print(json.dumps(found) + "\n", end="", flush=True)
        return
    if given.measure == "sums":
        print(json.dumps(sums()) + "\n", end="", flush=True)
        return
    one: list[float] = []
    two: list[float] = []
    unsharded: list[float] = []
    for _ in range(given.rounds):
        ((alone, without),) = job(1, "--measure", "steps", "--steps", str(given.steps))
        one.append(alone)
        unsharded.append(without)
        pair = job(2, "--measure", "steps", "--steps", str(given.steps))
        two.append(max(each[0] for each in pair))
    print(f"batch 256, unsharded       {1e3 * min(unsharded):8.3f} ms a step")
    print(
        f"batch 256, 8 shards, 1 rank {1e3 * min(one):7.3f} ms, {min(one) / min(unsharded):.3f} x"
    )
    print(
        f"batch 256, 8 shards, 2 ranks {1e3 * min(two):6.3f} ms, {min(one) / min(two):.2f} x faster"
    )
    rounds = [job(2, "--measure", "sums") for _ in range(given.rounds)]
    for length in map(str, LENGTHS):
        tree = min(max(rank[length][0] for rank in each) for each in rounds)
        peer = min(max(rank[length][1] for rank in each) for each in rounds)
        print(
            f"{length:>8s} floats: tree {1e3 * tree:7.3f} ms, Allreduce {1e3 * peer:7.3f} ms, "
            f"{tree / peer:.2f} x"
        )


if __name__ == "__main__":
    main()
