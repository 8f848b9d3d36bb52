"""Models of every kind, small enough for emulators, and their inputs, for tools/bits_matrix.py.

A signature a model. Those of ROWS run on a batch of 64, at once and row by row; `train` runs a few
steps on a separate state.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from bits_families import Array, Tensor, call, ensemble, numbers, weights

import graphio as tf
from graphio.ops.ml.trees import tree_ensemble

BATCH = 64


def dense(x: Tensor, width: int, seed: int) -> Tensor:
    inner = int(x.shape[-1])
    return tf.matmul(x, weights(inner, width, seed=seed)) + weights(width, seed=seed + 1)


def perceptron(x: Tensor) -> Tensor:
    return tf.nn.softmax(0.1 * dense(tf.nn.relu(dense(x, 33, 1)), 10, 3))


def cnn(x: Tensor) -> Tensor:
    x = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 2, 8), strides=1, padding="SAME"))
    x = tf.nn.max_pool(x, 2, 2, "VALID")
    x = tf.nn.relu(tf.nn.conv2d(x, weights(3, 3, 8, 12, seed=2), strides=2, padding="SAME"))
    return tf.nn.softmax(0.02 * dense(tf.reshape(x, [-1, 3 * 3 * 12]), 10, 3))


def lstm(x: Tensor) -> Tensor:
    units = 13
    w, r = weights(1, 4 * units, 9), weights(1, 4 * units, units, seed=2)
    bias = weights(1, 8 * units, seed=3)
    _, last, _ = call("LSTM", x, w, r, bias, hidden_size=units, layout=1, outputs=3)
    return dense(tf.reshape(last, [-1, units]), 5, 4)


def transformer(x: Tensor) -> Tensor:
    """A block with four heads on sequences of nine."""
    width, inner = 24, 56

    def norm(value: Tensor, seed: int) -> Tensor:
        return call("LayerNormalization", value, weights(width, seed=seed), weights(width, seed=9))

    def linear(value: Tensor, to: int, seed: int) -> Tensor:
        return call("MatMul", value, weights(int(value.shape[-1]), to, seed=seed))

    y = norm(x, 1)
    q, k, v = (linear(y, width, seed) for seed in (2, 3, 4))
    x = x + linear(call("Attention", q, k, v, q_num_heads=4, kv_num_heads=4, is_causal=1), width, 5)
    return x + linear(call("Gelu", linear(norm(x, 6), inner, 7)), width, 8)


def trees(x: Tensor) -> Tensor:
    return tree_ensemble(x, ensemble(np.float32, 1, 3), 4, "SUM")


def denormals(x: Tensor) -> Tensor:
    """Numbers below 2^-126, which a host may have set its processor to flush."""
    small = x * tf.constant(np.float32(1e-39)) + weights(30) * tf.constant(np.float32(1e-40))
    return tf.concat([small, tf.sqrt(tf.abs(small)), small / 3.0, tf.exp(x * 2.0 - 97.0)], 1)


def train(x: Tensor, labels: Tensor) -> tuple[Tensor, Any]:
    """A step of Adam on a perceptron with dropout."""
    hidden = tf.layers.dense(x, 19, tf.nn.tanh, kernel_initializer=tf.constant_initializer(0.1))
    logits = tf.layers.dense(
        tf.nn.dropout(hidden, rate=0.3, seed=5), 7,
        kernel_initializer=tf.constant_initializer(numbers(19, 7)))  # fmt: skip
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    return loss, tf.train.AdamOptimizer(0.01).minimize(loss)


ROWS = {
    perceptron: numbers(BATCH, 20),
    cnn: numbers(BATCH, 12, 12, 2),
    lstm: numbers(BATCH, 11, 9),
    transformer: numbers(BATCH, 9, 24),
    trees: numbers(BATCH, 6),
    denormals: numbers(BATCH, 30),
}


def build(path: Path) -> dict[str, tuple[int, list[Array]]]:
    """Writes the model; returns the inputs of its signatures as write_inputs takes them."""
    signatures: dict[str, Any] = {}
    sets: dict[str, tuple[int, list[Array]]] = {}
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        for function, array in ROWS.items():
            name = function.__name__
            with tf.name_scope(name):
                x = tf.placeholder(array.dtype, [None, *array.shape[1:]])
                signatures[name] = {"x": x}, {"y": function(x)}, []
            sets[name] = 1, [array]
        images, labels = numbers(BATCH, 11), np.arange(BATCH, dtype=np.int32) % 7
        given = {
            "labels": tf.placeholder(tf.int32, [BATCH]),
            "x": tf.placeholder(tf.float32, images.shape),
        }
        loss, step = train(**given)
        signatures["train"] = given, {"loss": loss}, [step]
        sets["train"] = 0, [labels, images]
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, signatures)
    return sets
