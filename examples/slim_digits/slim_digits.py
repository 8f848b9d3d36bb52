"""A slim network of handwritten digits, read from TFRecord files through queues.

    python examples/slim_digits/slim_digits.py [--engine runtime] [--steps 300] [--folder FOLDER]

Writes 1437 images of scikit-learn's digits to TFRecord files, trains on them and prints the
accuracy on the other 360, which are in a file, too.
"""

from __future__ import annotations

import argparse
import os
import tempfile

import numpy as np

import graphio as tf
from graphio.contrib import slim

FILES = 4  # of the training set


def write_records(folder: str) -> dict[str, int]:
    """Writes the files train-* and test-*; the number of records of each set."""
    from sklearn.datasets import load_digits

    found = load_digits()
    pixels = (found.images * 15.9375).astype(np.uint8)  # from 0 to 255
    order = np.random.RandomState(0).permutation(len(pixels))
    sets = {"train": order[:1437], "test": order[1437:]}
    for name, rows in sets.items():
        for number, part in enumerate(np.array_split(rows, FILES if name == "train" else 1)):
            path = os.path.join(folder, f"{name}-{number}.tfrecord")
            with tf.python_io.TFRecordWriter(path) as writer:
                for row in part:
                    writer.write(example(pixels[row], int(found.target[row])))
    return {name: len(rows) for name, rows in sets.items()}


def example(pixels: np.ndarray, label: int) -> bytes:
    """A record: the bytes of an image, and its digit."""
    feature = {
        "image/raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[pixels.tobytes()])),
        "image/label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def digits(folder: str, name: str, count: int) -> slim.dataset.Dataset:
    """The records of a set as a slim Dataset with the items image and label."""

    def decoded(features: dict[str, tf.Tensor]) -> tf.Tensor:
        image = tf.reshape(tf.decode_raw(features["image/raw"], tf.uint8), [8, 8, 1])
        return tf.to_float(image) / 255.0

    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {
            "image/raw": tf.FixedLenFeature([], tf.string),
            "image/label": tf.FixedLenFeature([], tf.int64),
        },
        {
            "image": slim.tfexample_decoder.ItemHandlerCallback("image/raw", decoded),
            "label": slim.tfexample_decoder.Tensor("image/label"),
        },
    )
    pattern = os.path.join(folder, f"{name}-*.tfrecord")
    descriptions = {"image": "8 x 8 grey pixels from 0 to 1", "label": "a digit"}
    return slim.dataset.Dataset(
        pattern, tf.TFRecordReader, decoder, count, descriptions, num_classes=10
    )


def batches(dataset: slim.dataset.Dataset, size: int, training: bool) -> list[tf.Tensor]:
    """Batches of images and labels; the test set comes in order."""
    provider = slim.dataset_data_provider.DatasetDataProvider(
        dataset, num_readers=2 if training else 1, shuffle=training, common_queue_capacity=400,
        common_queue_min=200, seed=1,
    )  # fmt: skip
    image, label = provider.get(["image", "label"])
    images, labels = tf.train.batch([image, label], batch_size=size, capacity=4 * size)
    return slim.prefetch_queue.prefetch_queue([images, labels]).dequeue()


def network(images: tf.Tensor, training: bool) -> tf.Tensor:
    """Logits [n, 10]."""
    normalizer = {"is_training": training, "decay": 0.9}
    with slim.arg_scope(
        [slim.conv2d, slim.fully_connected],
        weights_regularizer=slim.l2_regularizer(1e-4),
        normalizer_fn=slim.batch_norm,
        normalizer_params=normalizer,
    ):
        with slim.arg_scope([slim.conv2d], kernel_size=3):
            x = slim.conv2d(images, 16, scope="conv1")
            x = slim.max_pool2d(x, 2, scope="pool1")
            x = slim.conv2d(x, 32, scope="conv2")
            x = slim.max_pool2d(x, 2, scope="pool2")
        x = slim.fully_connected(slim.flatten(x), 64, scope="hidden")
    x = slim.dropout(x, 0.7, is_training=training, scope="dropout")
    return slim.fully_connected(x, 10, activation_fn=None, scope="logits")


def train(dataset: slim.dataset.Dataset, logs: str, engine: str, steps: int) -> float:
    """Trains and saves checkpoints in a folder: the last loss."""
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        images, labels = batches(dataset, 64, training=True)
        tf.losses.sparse_softmax_cross_entropy(labels, network(images, training=True))
        step = slim.get_or_create_global_step()
        rate = tf.train.exponential_decay(0.01, step, decay_steps=100, decay_rate=0.5)
        loss = tf.losses.get_total_loss()
        train_op = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(rate))
        return slim.learning.train(
            train_op, logs, number_of_steps=steps, master=engine, log_every_n_steps=50,
            save_summaries_secs=0,
        )  # fmt: skip


def evaluate(dataset: slim.dataset.Dataset, logs: str, engine: str) -> float:
    """The accuracy of the latest checkpoint."""
    size = 60
    with tf.Graph().as_default():
        images, labels = batches(dataset, size, training=False)
        found = tf.argmax(network(images, training=False), 1)
        value, update = tf.metrics.accuracy(labels, found)
        accuracy = slim.evaluation.evaluate_once(
            engine, tf.train.latest_checkpoint(logs), logs, dataset.num_samples // size,
            eval_op=update, final_op=value, summary_op=None,
        )  # fmt: skip
        return float(accuracy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="", help="cinfer, the default, or runtime")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--folder", help="of the files and checkpoints; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        os.makedirs(folder, exist_ok=True)
        counts = write_records(folder)
        logs = os.path.join(folder, "logs")
        loss = train(digits(folder, "train", counts["train"]), logs, options.engine, options.steps)
        accuracy = evaluate(digits(folder, "test", counts["test"]), logs, options.engine)
        print(f"loss {loss:.4f}  accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
