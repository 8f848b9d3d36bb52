"""A training that a scheduler may end at any moment, and that ends with the same bits all the same.

    python examples/preemption/train.py FOLDER [--engine runtime] [--steps 400]

SIGTERM (what clusters send before they take a machine away, what `kill` sends) finishes the running
step, saves, and ends the process. The same command goes on from there: with the same rows of
the shuffled data, the same dropout, the same moments of Adam.
"""

from __future__ import annotations

import argparse
import hashlib

import numpy as np

import graphio as tf


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Points of the plane, and whether they are in the ring."""
    points = np.random.RandomState(0).uniform(-2, 2, (1024, 2)).astype(np.float32)
    distance = np.hypot(*points.T)
    return points, ((distance > 1) & (distance < 2)).astype(np.int64)


def network() -> tuple[tf.Tensor, tf.Operation]:
    """The loss and the operation of a step; all that it depends on is in a checkpoint."""
    tf.set_random_seed(1)
    data = tf.data.Dataset.from_tensor_slices(rows()).shuffle(1024, seed=2).repeat().batch(32)
    x, y = data.make_one_shot_iterator().get_next()
    hidden = tf.layers.dense(x, 32, tf.nn.relu)
    hidden = tf.layers.dropout(hidden, 0.1, training=True)
    logits = tf.layers.dense(hidden, 2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    return loss, tf.train.AdamOptimizer(0.03).minimize(loss)


def digest(session: tf.Session) -> str:
    """One number for all variables, slots of the optimizer included."""
    found = hashlib.sha256()
    for variable in tf.global_variables():
        found.update(session.run(variable).tobytes())
    return found.hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    loss, train = network()
    options = {"steps": arguments.steps, "save_steps": 100, "target": arguments.engine}
    loop = tf.train.TrainingLoop(train, arguments.folder, metrics={"loss": loss}, **options)
    with loop:
        print(f"from step {loop.step}", flush=True)
        for step in loop:
            found = loop.run()
            if step % 20 == 19:
                print(f"step {step + 1} loss {found['loss']:.4f}", flush=True)
        print(f"step {loop.step} sha256 {digest(loop.session)}", flush=True)


if __name__ == "__main__":
    main()
