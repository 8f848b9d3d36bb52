"""Exports a trained network to ONNX, runs the file in both engines, and trains it further."""

import numpy as np
import onnx

import graphio as tf

rng = np.random.RandomState(6)
images = rng.rand(16, 6, 6, 1).astype(np.float32)
bright = images.reshape(16, -1).mean(axis=1, keepdims=True)

x = tf.placeholder(tf.float32, [None, 6, 6, 1], name="x")
y = tf.placeholder(tf.float32, [None, 1], name="y")
maps = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
pooled = tf.layers.flatten(tf.layers.max_pooling2d(maps, 2, 2))
prediction = tf.layers.dense(pooled, 1, name="prediction")
loss = tf.losses.mean_squared_error(y, prediction)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run(train, {x: images, y: bright})
    expected, error = session.run([prediction, loss], {x: images, y: bright})
    tf.onnx.export("model.onnx", session, {"x": x}, {"prediction": prediction})

onnx.checker.check_model("model.onnx", full_check=True)
for engine in ("runtime", "cinfer"):  # the Python runtime, the C library
    outputs = tf.onnx.load("model.onnx", engine).signature()(x=images)
    np.testing.assert_allclose(outputs["prediction"], expected, atol=1e-5)

with tf.Graph().as_default(), tf.Session() as session:
    model = tf.onnx.import_model("model.onnx", trainable=True)
    y = tf.placeholder(tf.float32, [None, 1])
    loss = tf.losses.mean_squared_error(y, model.outputs["prediction"])
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    session.run(tf.global_variables_initializer())
    feed = {model.inputs["x"]: images, y: bright}
    np.testing.assert_allclose(session.run(loss, feed), error, rtol=1e-3)
    for _ in range(30):
        session.run(train, feed)
    assert session.run(loss, feed) < error, "the imported weights train further"
