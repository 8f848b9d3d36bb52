"""A convolutional classifier of handwritten digits, fed by tf.data, with batch normalisation.

    python examples/conv_digits/conv_digits.py [--engine runtime] [--epochs 12]

Trains on 1437 images of scikit-learn's digits and prints the accuracy on the other 360.
"""

from __future__ import annotations

import argparse

import numpy as np

import graphio as tf

Array = np.ndarray


def digits() -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Training and test set: images float32 [n, 8, 8, 1] from 0 to 1, labels int64 [n]."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = (found.images[..., None] / 16).astype(np.float32)
    order = np.random.RandomState(0).permutation(len(images))
    images, labels = images[order], found.target[order].astype(np.int64)
    return (images[:1437], labels[:1437]), (images[1437:], labels[1437:])


def network(images: tf.Tensor, training: tf.Tensor) -> tf.Tensor:
    """Logits [n, 10]. Batch normalisation and dropout depend on whether it is trained."""
    x = images
    for filters in (16, 32):
        x = tf.layers.conv2d(x, filters, 3, padding="same", use_bias=False)
        x = tf.layers.batch_normalization(x, momentum=0.9, training=training)
        x = tf.nn.relu(x)
        x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.dense(tf.layers.flatten(x), 64, activation=tf.nn.relu)
    x = tf.layers.dropout(x, 0.3, training=training)
    return tf.layers.dense(x, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args()
    tf.set_random_seed(2)

    seen, unseen = digits()
    training_set = tf.data.Dataset.from_tensor_slices(seen).shuffle(1437, seed=3).batch(64)
    test_set = tf.data.Dataset.from_tensor_slices(unseen).batch(360)
    iterator = tf.data.Iterator.from_structure(
        training_set.output_types, training_set.output_shapes
    )
    start_training, start_test = map(iterator.make_initializer, (training_set, test_set))
    images, labels = iterator.get_next()

    training = tf.placeholder_with_default(False, [], name="training")
    logits = network(images, training)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    correct = tf.equal(tf.argmax(logits, 1), labels)
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.004, step, decay_steps=23, decay_rate=0.85)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)

    with tf.Session(options.engine) as session:
        session.run(tf.global_variables_initializer())
        for epoch in range(options.epochs):
            session.run(start_training)
            losses = []
            while True:
                try:
                    losses.append(session.run([loss, train], {training: True})[0])
                except tf.errors.OutOfRangeError:
                    break
            session.run(start_test)
            found = float(session.run(accuracy))
            print(f"epoch {epoch}  loss {np.mean(losses):.4f}  accuracy {found:.4f}", flush=True)


if __name__ == "__main__":
    main()
