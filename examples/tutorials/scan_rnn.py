"""A recurrent network written as a loop in the graph: it learns to add up a sequence.

    python examples/tutorials/scan_rnn.py [steps]

The target at each step is the sum of the inputs so far, so that the network must learn to carry it.
"""

from __future__ import annotations

import sys

import numpy as np

import graphio as tf

STEPS, BATCH, UNITS = 12, 32, 16


def network(x: tf.Tensor) -> tf.Tensor:
    """Predictions [time, batch, 1] from inputs [time, batch, 1] of any number of steps."""
    w = tf.get_variable("w", (1, UNITS))
    u = tf.get_variable("u", (UNITS, UNITS), initializer=tf.orthogonal_initializer(seed=3))
    b = tf.get_variable("b", (UNITS,), initializer=tf.zeros_initializer())
    out = tf.get_variable("out", (UNITS, 1))

    def cell(state: tf.Tensor, now: tf.Tensor) -> tf.Tensor:
        return tf.tanh(tf.matmul(now, w) + tf.matmul(state, u) + b)

    start = tf.zeros((tf.shape(x)[1], UNITS))
    states = tf.scan(cell, x, initializer=start)
    return tf.tensordot(states, out, axes=1)


def main(steps: int = 400) -> list[float]:
    """Trains for some steps and gives the mean squared error of each."""
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, (None, None, 1))
    target = tf.cumsum(x, axis=0)
    loss = tf.reduce_mean(tf.squared_difference(network(x), target))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)

    rng = np.random.RandomState(0)
    errors = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            batch = rng.uniform(-0.3, 0.3, (STEPS, BATCH, 1))
            error, _ = sess.run([loss, train], {x: batch})
            errors.append(float(error))
            if step % 100 == 0 or step == steps - 1:
                print(f"step {step:4d}  error {error:.5f}")
        longer = rng.uniform(-0.3, 0.3, (2 * STEPS, BATCH, 1))
        print(f"sequences of twice the length: error {sess.run(loss, {x: longer}):.5f}")
    return errors


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
