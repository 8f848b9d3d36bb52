"""The digits network: two convolutions, one pooling, two dense layers; and its data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

import graphio as tf

BATCH = 64
TRAIN_IMAGES = 1437


@dataclass
class Digits:
    """Images (n, 64) in [0, 1] float32 and labels (n) int32, split once for all."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray

    @property
    def steps_per_epoch(self) -> int:
        return len(self.train_x) // BATCH

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Batch number `step`; each epoch has a different order, a function of its number."""
        epoch, position = divmod(step, self.steps_per_epoch)
        order = np.random.RandomState(1000 + epoch).permutation(len(self.train_x))
        rows = order[position * BATCH : (position + 1) * BATCH]
        return self.train_x[rows], self.train_y[rows]


def data() -> Digits:
    """The 1,797 images of scikit-learn's load_digits, 1,437 to train on and 360 to test."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    x = (images[order] / 16).astype(np.float32)
    y = labels[order].astype(np.int32)
    n = TRAIN_IMAGES
    return Digits(x[:n], y[:n], x[n:], y[n:])


@dataclass
class Network:
    """The tensors and operations of the graph that a program uses."""

    graph: tf.Graph
    x: tf.Tensor
    y: tf.Tensor
    loss: tf.Tensor
    train: tf.Operation
    step: tf.Variable
    probabilities: tf.Tensor
    classes: tf.Tensor


def build(seed: int = 1) -> Network:
    """Builds the network, training included, in a separate graph."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(seed)
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        y = tf.placeholder(tf.int32, [None], name="y")
        logits = _logits(x, training=False)
        with tf.name_scope("training"):
            dropped = _logits(x, training=True)
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=dropped),
                name="loss",
            )
        step = tf.Variable(0, trainable=False, dtype=tf.int64, name="global_step")
        train = tf.train.AdamOptimizer(2e-3).minimize(loss, global_step=step, name="train")
        return Network(
            graph=graph,
            x=x,
            y=y,
            loss=loss,
            train=train,
            step=step,
            probabilities=tf.nn.softmax(logits, name="probabilities"),
            classes=tf.argmax(logits, 1, name="classes"),
        )


def _logits(x: tf.Tensor, training: bool) -> tf.Tensor:
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        image = tf.reshape(x, [-1, 8, 8, 1])
        h = _convolution(image, 1, 16, "conv1")
        h = _convolution(h, 16, 32, "conv2")
        h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
        h = tf.nn.relu(_dense(tf.reshape(h, [-1, 4 * 4 * 32]), 512, 64, "dense1"))
        if training:
            h = tf.nn.dropout(h, rate=0.25)
        return _dense(h, 64, 10, "dense2")


def _convolution(x: tf.Tensor, inputs: int, outputs: int, name: str) -> tf.Tensor:
    with tf.variable_scope(name):
        w = tf.get_variable("w", [3, 3, inputs, outputs])
        b = tf.get_variable("b", [outputs], initializer=tf.zeros_initializer())
        return tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME") + b)


def _dense(x: tf.Tensor, inputs: int, outputs: int, name: str) -> tf.Tensor:
    with tf.variable_scope(name):
        w = tf.get_variable("w", [inputs, outputs])
        b = tf.get_variable("b", [outputs], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b


def state_digest(state: tf.State) -> str:
    """SHA-256 over every variable and generator of a state."""
    digest = hashlib.sha256()
    for name in state.names():
        value = state.get(name)
        digest.update(f"{name} {value.dtype} {value.shape}\n".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    for name, (key, counter) in sorted(state.generators().items()):
        digest.update(f"{name} {key} {counter}\n".encode())
    return digest.hexdigest()
