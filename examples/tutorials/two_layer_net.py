"""A two-layer network on random data: gradients and updates are part of the graph.

    python examples/tutorials/two_layer_net.py [steps]

Prints the loss as it falls by four orders of magnitude in 100 steps.
"""

from __future__ import annotations

import sys

import numpy as np

import graphio as tf

N, D, H, D_OUT = 64, 1000, 100, 10
LEARNING_RATE = 1e-6


def main(steps: int = 100) -> list[float]:
    """Trains for some steps and gives the loss of each."""
    x = tf.placeholder(tf.float32, shape=(None, D))
    y = tf.placeholder(tf.float32, shape=(None, D_OUT))
    w1 = tf.Variable(tf.random_normal((D, H), seed=1))
    w2 = tf.Variable(tf.random_normal((H, D_OUT), seed=2))

    h = tf.maximum(tf.matmul(x, w1), tf.zeros(1))
    y_pred = tf.matmul(h, w2)
    loss = tf.reduce_sum((y - y_pred) ** 2.0)
    grad_w1, grad_w2 = tf.gradients(loss, [w1, w2])

    # Nothing has been computed yet; an assignment happens when it is run.
    new_w1 = w1.assign(w1 - LEARNING_RATE * grad_w1)
    new_w2 = w2.assign(w2 - LEARNING_RATE * grad_w2)
    updates = tf.group(new_w1, new_w2)

    rng = np.random.RandomState(0)
    feed = {x: rng.randn(N, D), y: rng.randn(N, D_OUT)}
    losses = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(steps):
            value, _ = sess.run([loss, updates], feed_dict=feed)
            losses.append(float(value))
            if step % 20 == 0 or step == steps - 1:
                print(f"step {step:4d}  loss {value:.4g}")
    return losses


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
