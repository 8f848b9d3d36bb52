"""Writes net.gio, the model of these examples: three numbers in, two probabilities out; it trains.

python make_model.py [net.gio]
"""

from __future__ import annotations

import sys

import numpy as np

import graphio as tf


def main(path: str) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 2], name="y")
    start = np.float32([[0.5, -0.5], [0.0, 0.25], [-0.25, 0.5]])
    w = tf.get_variable("w", initializer=tf.constant(start))
    b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
    p = tf.nn.softmax(tf.matmul(x, w) + b)
    loss = -tf.reduce_mean(tf.reduce_sum(y * tf.log(p), axis=1))
    train = tf.train.MomentumOptimizer(0.5, 0.9).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        signatures = {
            "predict": ({"x": x}, {"p": p}),
            "train": ({"x": x, "y": y}, {"loss": loss}, [train]),
        }
        tf.saved_model.save(path, session, signatures)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "net.gio")
