"""A data pipeline as part of the graph: one model, a training and a validation set.

python examples/tutorials/data_pipeline.py
"""

from __future__ import annotations

import numpy as np

import graphio as tf

COEFFICIENTS = np.array([[1.0], [-2.0], [0.5]], np.float32)


def points(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [count, 3] and outputs [count, 1] of a line with a little noise."""
    rng = np.random.RandomState(seed)
    x = rng.randn(count, 3).astype(np.float32)
    noise = 0.01 * rng.randn(count, 1).astype(np.float32)
    return x, x @ COEFFICIENTS + noise


def main(epochs: int = 5) -> float:
    """Trains and gives the error on the validation set."""
    training = tf.data.Dataset.from_tensor_slices(points(512, 0)).shuffle(512, seed=4).batch(32)
    validation = tf.data.Dataset.from_tensor_slices(points(128, 1)).batch(128)
    iterator = tf.data.Iterator.from_structure(training.output_types, training.output_shapes)
    start_training = iterator.make_initializer(training)
    start_validation = iterator.make_initializer(validation)
    x, y = iterator.get_next()

    w = tf.get_variable("w", (3, 1))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(epochs):
            sess.run(start_training)
            while True:
                try:
                    sess.run(train)
                except tf.errors.OutOfRangeError:  # the end of the data
                    break
            sess.run(start_validation)
            error = float(sess.run(loss))
            print(f"epoch {epoch}  validation error {error:.6f}")
        print("learned", sess.run(w).ravel(), "true", COEFFICIENTS.ravel())
    return error


if __name__ == "__main__":
    main()
