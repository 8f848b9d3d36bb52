"""Fits a line by gradient descent and compares it with the solution by `lstsq`."""

import numpy as np

import graphio as tf

rng = np.random.RandomState(0)
points = rng.uniform(-1.0, 1.0, [64, 3]).astype(np.float32)
targets = points @ np.float32([[1.5], [-2.0], [0.5]]) + 0.25
targets += 0.01 * rng.randn(64, 1).astype(np.float32)

x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
weights = tf.Variable(tf.zeros([3, 1]), name="weights")
bias = tf.Variable(tf.zeros([1]), name="bias")
loss = tf.losses.mean_squared_error(y, tf.matmul(x, weights) + bias)
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, train], {x: points, y: targets})[0] for _ in range(150)]
    fitted = np.concatenate([session.run(weights), session.run(bias)[:, None]])

assert all(after <= before for before, after in zip(losses, losses[1:20], strict=False)), losses
columns = np.concatenate([points, np.ones([64, 1], np.float32)], axis=1)
solution = np.linalg.lstsq(columns, targets, rcond=None)[0]
np.testing.assert_allclose(fitted, solution, atol=1e-3)
