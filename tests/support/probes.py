"""Small models, one for each thing that the file format must carry.

A probe builds a graph with named signatures and a script: which signatures to run, on what. The
tests take each one through build, bytes, the Python runtime and cinfer; tests/golden keeps its
bytes for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import graphio as tf

Inputs = dict[str, np.ndarray]


@dataclass
class Probe:
    """signatures: name to (inputs, outputs[, operations]); script: (signature, inputs) to run."""

    signatures: dict[str, tuple]
    script: list[tuple[str, Inputs]]
    metadata: dict[str, str] = field(default_factory=dict)


PROBES: dict[str, Callable[[], Probe]] = {}


def probe(function: Callable[[], Probe]) -> Callable[[], Probe]:
    PROBES[function.__name__] = function
    return function


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@probe
def branches() -> Probe:
    """An If whose branches capture a variable and a placeholder, and its gradient."""
    x = tf.placeholder(tf.float32, [3], name="x")
    w = tf.Variable([1.0, -2.0, 3.0], name="w")
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x * w), lambda: x - w * w)
    (dw,) = tf.gradients(y, [w])
    run = ({"x": x}, {"y": y, "dw": dw})
    return Probe(
        {"run": run},
        [("run", {"x": np.float32([1, 2, 3])}), ("run", {"x": np.float32([-1, -2, -3])})],
    )


@probe
def loop_gradient_with_dropout() -> Probe:
    """A Loop with dropout inside and the gradient through it."""
    tf.set_random_seed(7)
    x = tf.placeholder(tf.float32, [4, 8], name="x")
    w = tf.Variable(0.3 * floats(8, 8), name="w")

    def body(i: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return i + 1, tf.nn.dropout(tf.tanh(tf.matmul(h, w)), rate=0.5)

    _, h = tf.while_loop(lambda i, h: i < 5, body, [0, x])
    loss = tf.reduce_sum(h * h)
    (dw,) = tf.gradients(loss, [w])
    run = ({"x": x}, {"loss": loss, "dw": dw})
    return Probe({"run": run}, [("run", {"x": floats(4, 8, seed=s)}) for s in range(3)])


@probe
def embedding_gradient() -> Probe:
    """The gradient of an embedding lookup with repeated rows, applied."""
    ids = tf.placeholder(tf.int32, [None], name="ids")
    table = tf.Variable(floats(6, 4), name="table")
    looked_up = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_sum(looked_up * looked_up)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    signatures = {"train": ({"ids": ids}, {"loss": loss}, [train]), "table": ({}, {"table": table})}
    ids_1, ids_2 = np.int32([1, 3, 3, 5]), np.int32([0, 3])
    script: list[tuple[str, Inputs]] = [
        ("train", {"ids": ids_1}),
        ("train", {"ids": ids_2}),
        ("table", {}),
    ]
    return Probe(signatures, script)


@probe
def string_constant() -> Probe:
    """Strings: bytes of any kind, an empty one among them."""
    names = tf.constant([b"zero", b"", b"\xff\x00tail", "π".encode()], name="names")
    return Probe({"run": ({}, {"names": tf.identity(names)})}, [("run", {})])


@probe
def unknown_batch_and_width() -> Probe:
    """Two unknown dimensions; the shape is worked out from the input."""
    x = tf.placeholder(tf.float32, [None, None], name="x")
    flat = tf.reshape(x, tf.stack([tf.shape(x)[0] * tf.shape(x)[1], 1]))
    run = ({"x": x}, {"flat": flat, "mean": tf.reduce_mean(x, axis=1)})
    return Probe(
        {"run": run}, [("run", {"x": floats(*s)}) for s in ((2, 3), (5, 1), (0, 4), (2, 3))]
    )


@probe
def two_signatures_on_one_state() -> Probe:
    """predict sees what train has done."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    w = tf.Variable(tf.zeros([3, 1]), name="w")
    predicted = tf.matmul(x, w)
    loss = tf.reduce_mean((predicted - y) ** 2)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    signatures = {
        "predict": ({"x": x}, {"y": predicted}),
        "train": ({"x": x, "y": y}, {"loss": loss}, [train]),
    }
    a, b = floats(8, 3), floats(8, 1, seed=1)
    script = [("predict", {"x": a}), ("train", {"x": a, "y": b}), ("predict", {"x": a})]
    return Probe(signatures, script)


@probe
def adam_step() -> Probe:
    """Adam's step as one operator, with the body that says what it means."""
    x = tf.placeholder(tf.float32, [5], name="x")
    w = tf.Variable(floats(5), name="w")
    loss = tf.reduce_sum((w - x) ** 2)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    signatures = {"train": ({"x": x}, {"loss": loss}, [train]), "w": ({}, {"w": w})}
    script: list[tuple[str, Inputs]] = [("train", {"x": floats(5, seed=s)}) for s in range(4)]
    return Probe(signatures, [*script, ("w", {})])


@probe
def random_stream() -> Probe:
    """Generators whose streams go on from run to run: uniform, normal, truncated, integer."""
    tf.set_random_seed(3)
    outputs = {
        "uniform": tf.random_uniform([5]),
        "normal": tf.random_normal([5]),
        "truncated": tf.truncated_normal([5]),
        "integer": tf.random_uniform([5], 0, 1000, dtype=tf.int32),
    }
    return Probe({"draw": ({}, outputs)}, [("draw", {})] * 3)


@probe
def variable_assigned_in_a_loop() -> Probe:
    """A variable that a loop body assigns, and one made in the body's order."""
    total = tf.Variable(0.0, name="total")
    n = tf.placeholder(tf.int32, [], name="n")

    def body(i: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([total.assign_add(tf.cast(i, tf.float32))]):
            return i + 1

    last = tf.while_loop(lambda i: i < n, body, [0])
    signatures = {"count": ({"n": n}, {"last": last}), "total": ({}, {"total": total})}
    script: list[tuple[str, Inputs]] = [
        ("count", {"n": np.int32(4)}),
        ("total", {}),
        ("count", {"n": np.int32(3)}),
        ("total", {}),
    ]
    return Probe(signatures, script)


@probe
def convolution() -> Probe:
    """Convolution, pooling, softmax cross entropy and their gradients, one Momentum step."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 2], name="x")
    y = tf.placeholder(tf.int32, [None], name="y")
    w = tf.Variable(0.2 * floats(3, 3, 2, 4), name="w")
    v = tf.Variable(0.2 * floats(36, 3, seed=1), name="v")
    h = tf.nn.relu(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    logits = tf.matmul(tf.reshape(h, [-1, 36]), v)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True).minimize(loss)
    signatures = {
        "train": ({"x": x, "y": y}, {"loss": loss}, [train]),
        "predict": ({"x": x}, {"p": tf.nn.softmax(logits), "class": tf.argmax(logits, 1)}),
    }
    images, labels = floats(5, 6, 6, 2), np.int32([0, 1, 2, 1, 0])
    script: list[tuple[str, Inputs]] = [("train", {"x": images, "y": labels})] * 3
    return Probe(signatures, [*script, ("predict", {"x": images})])


def build(name: str) -> tuple[tf.Graph, Probe]:
    graph = tf.Graph()
    with graph.as_default():
        return graph, PROBES[name]()


def run_script(model: Any, probe: Probe) -> list[dict[str, np.ndarray]]:
    """The outputs of every line of the script, on a loaded model."""
    return [model.signature(name)(**inputs) for name, inputs in probe.script]
