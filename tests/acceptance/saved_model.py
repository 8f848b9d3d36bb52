"""Saves a model with two signatures, loads it alone, predicts and trains in both engines."""

import importlib

import numpy as np

import graphio as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
y = tf.placeholder(tf.float32, [None], name="y")
w = tf.get_variable("w", [2], initializer=tf.constant_initializer([0.5, -0.5]))
prediction = tf.reduce_sum(x * w, axis=1)
loss = tf.reduce_mean(tf.square(prediction - y))
train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    signatures = {
        "predict": ({"x": x}, {"prediction": prediction}),
        "train": ({"x": x, "y": y}, {"loss": loss}, [train]),
    }
    tf.saved_model.save("model.gio", session, signatures)

points = np.float32([[1, 0], [0, 1], [1, 1]])
targets = np.float32([2, 3, 5])
for engine in ("graphio.runtime", "graphio.cinfer"):
    model = importlib.import_module(engine).load("model.gio")
    predict, step = model.signature("predict"), model.signature("train")
    np.testing.assert_array_equal(predict(x=points)["prediction"], np.float32([0.5, -0.5, 0]))
    for _ in range(200):
        error = step(x=points, y=targets)["loss"]
    assert error < 1e-3, f"{engine}: the loss is {error} after 200 steps"
    np.testing.assert_allclose(predict(x=points)["prediction"], targets, atol=0.1)
