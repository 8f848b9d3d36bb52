"""A custom operator, in Python and in C: trained through, saved, and run again from the file.

    python examples/custom_operator/custom_operator.py [libscaled_tanh.so]

With the library (see scaled_tanh.c) cinfer runs its kernel, else it calls Python's.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import graphio as tf
import graphio.cinfer
import graphio.runtime


def kernel(x: Any, scale: float) -> Any:
    """How numpy computes it."""
    return np.tanh(x.dtype.type(scale) * x)


def gradient(operation: tf.Operation, dy: tf.Tensor) -> tf.Tensor:
    """d tanh(s x) / dx = s (1 - y^2)."""
    scale = operation.get_attr("scale")
    return dy * scale * (1.0 - tf.square(operation.outputs[0]))


def main(library: str | None = None) -> None:
    """Trains a small net through the operator and predicts from its file in both engines."""
    scaled_tanh = tf.register_operator(
        "com.example",
        "ScaledTanh",
        inputs=["x: T"],
        outputs=["y: T"],
        types={"T": "float32"},
        attributes={"scale": ("float", 1.0)},
        shape=lambda shapes, scale: shapes,
        kernel=kernel,
        library=library,
        gradient=gradient,
    )
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    hidden = scaled_tanh(tf.layers.dense(x, 16), scale=2.0)
    y = tf.layers.dense(hidden, 1)[:, 0]
    points = np.random.RandomState(0).uniform(-1, 1, (256, 2)).astype(np.float32)
    targets = points[:, 0] * points[:, 1]
    loss = tf.reduce_mean(tf.square(y - targets))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session, tempfile.TemporaryDirectory() as folder:
        session.run(tf.global_variables_initializer())
        for _ in range(300):
            value, _ = session.run([loss, train], {x: points})
        print(f"loss {value:.5f}")
        path = Path(folder) / "net.gio"
        tf.saved_model.save(path, session, {"predict": ({"x": x}, {"y": y})})
        for engine in (graphio.runtime, graphio.cinfer):
            model = engine.load(path)
            print(engine.__name__, model.signature("predict")(x=points[:3])["y"])


if __name__ == "__main__":
    main(*sys.argv[1:2])
