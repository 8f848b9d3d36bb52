"""Training steps in turns: the two-layer net and numpy by hand, the digits CNN and torch.

python -m benchmarks.peers.training perceptron|cnn [--seconds 2] [--engines a;b]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .models import Array
from .turns import burst, in_turns, summary

Step = Callable[[], float]  # one update; returns the loss before it
Arrays = dict[str, Array]
SEED = 1
BATCH = 64
SLOW, FAST = 1e-6, 2e-3  # rates of gradient descent on the net and of Adam on the CNN


def drawn(**shapes: tuple[int, ...]) -> Arrays:
    """Normal float32 arrays of these shapes."""
    random = np.random.RandomState(SEED)
    return {k: random.standard_normal(s).astype(np.float32) for k, s in shapes.items()}


# ---- two layers, gradient descent on the sum of squares ----


def net_data() -> Arrays:
    """Batch, target outputs and first weights."""
    return drawn(x=(BATCH, 1000), y=(BATCH, 10), a=(1000, 100), b=(100, 10))


def net_numpy() -> Step:
    """Written by hand."""
    x, y, a, b = net_data().values()

    def step() -> float:
        before = x @ a
        hidden = np.maximum(before, 0)
        error = hidden @ b - y
        loss = np.square(error).sum()
        slope = 2 * error
        back = slope @ b.T
        back[before < 0] = 0
        np.subtract(b, SLOW * (hidden.T @ slope), out=b)
        np.subtract(a, SLOW * (x.T @ back), out=a)
        return float(loss)

    return step


def net_graphio(target: str) -> Step:
    """A Session that fetches the loss and runs the optimizer, fed at each step."""
    import graphio as tf

    x, y, a, b = net_data().values()
    with tf.Graph().as_default() as graph:
        inputs, targets = tf.placeholder(tf.float32, x.shape), tf.placeholder(tf.float32, y.shape)
        first, second = tf.Variable(a), tf.Variable(b)
        error = tf.matmul(tf.nn.relu(tf.matmul(inputs, first)), second) - targets
        loss = tf.reduce_sum(tf.square(error))
        update = tf.train.GradientDescentOptimizer(SLOW).minimize(loss)
        start = tf.global_variables_initializer()
    session = tf.Session(target, graph=graph)
    session.run(start)
    return lambda: float(session.run([loss, update], {inputs: x, targets: y})[0])


def net_torch(compiled: bool) -> Step:
    """torch's gradients and an update in place."""
    import torch

    torch.set_num_threads(1)
    x, y, a, b = (torch.from_numpy(v) for v in net_data().values())
    parameters: list[Any] = [a.requires_grad_(), b.requires_grad_()]

    def loss_of(first: Any, second: Any) -> Any:
        return ((x @ first).clamp(min=0) @ second - y).square().sum()

    function = torch.compile(loss_of) if compiled else loss_of

    def step() -> float:
        loss = function(*parameters)
        loss.backward()
        with torch.no_grad():
            for parameter in parameters:
                parameter -= SLOW * parameter.grad
                parameter.grad = None
        return float(loss.item())

    return step


# ---- the digits CNN, Adam on the cross entropy ----


def cnn_data() -> tuple[Array, Array, Arrays]:
    """Images (batch, 8, 8), labels, and first weights with channels last, in order of use."""
    random = np.random.RandomState(SEED)
    images = random.uniform(0, 1, (BATCH, 8, 8)).astype(np.float32)
    labels = random.randint(0, 10, BATCH)
    weights = drawn(conv1=(3, 3, 1, 16), conv2=(3, 3, 16, 32), dense1=(512, 64), dense2=(64, 10))
    for value in weights.values():
        value *= float(np.prod(value.shape[:-1])) ** -0.5
    return images, labels, weights


def cnn_graphio(target: str) -> Step:
    """A Session that fetches the loss and runs Adam, fed at each step."""
    import graphio as tf

    images, labels, weights = cnn_data()
    with tf.Graph().as_default() as graph:
        x, y = tf.placeholder(tf.float32, images.shape), tf.placeholder(tf.int64, labels.shape)
        kernels = {k: tf.Variable(v) for k, v in weights.items()}
        bias = {k: tf.Variable(np.zeros(v.shape[-1], np.float32)) for k, v in weights.items()}
        h = tf.reshape(x, [-1, 8, 8, 1])
        for name in ("conv1", "conv2"):
            h = tf.nn.relu(tf.nn.conv2d(h, kernels[name], [1] * 4, "SAME") + bias[name])
        h = tf.reshape(tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [-1, 512])
        h = tf.nn.relu(tf.matmul(h, kernels["dense1"]) + bias["dense1"])
        logits = tf.matmul(h, kernels["dense2"]) + bias["dense2"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_mean(losses)
        update = tf.train.AdamOptimizer(FAST).minimize(loss)
        start = tf.global_variables_initializer()
    session = tf.Session(target, graph=graph)
    session.run(start)
    return lambda: float(session.run([loss, update], {x: images, y: labels})[0])


def cnn_torch(compiled: bool) -> Step:
    """torch with its fused Adam; compiled: forward, backward and Adam by torch.compile."""
    import torch
    from torch import nn

    from benchmarks.peers.modules import digits_cnn

    torch.set_num_threads(1)
    images, labels, weights = cnn_data()
    module = digits_cnn()[:-1]  # the loss has the softmax
    # what comes flattened has channels first here
    dense = weights["dense1"].reshape(4, 4, 32, 64).transpose(3, 2, 0, 1).reshape(64, 512)
    transposed = [weights["conv1"].transpose(3, 2, 0, 1), weights["conv2"].transpose(3, 2, 0, 1)]
    transposed += [dense, weights["dense2"].T]
    layers: list[Any] = [layer for layer in module if hasattr(layer, "weight")]
    with torch.no_grad():
        for layer, value in zip(layers, transposed, strict=True):
            layer.weight.copy_(torch.from_numpy(np.ascontiguousarray(value)))
            layer.bias.zero_()
    x, y = torch.from_numpy(images)[:, None], torch.from_numpy(labels)
    optimizer = torch.optim.Adam(module.parameters(), FAST, fused=not compiled)

    def loss_of(x: Any) -> Any:
        return nn.functional.cross_entropy(module(x), y)

    function = torch.compile(loss_of) if compiled else loss_of
    update = torch.compile(optimizer.step) if compiled else optimizer.step

    def step() -> float:
        optimizer.zero_grad()
        loss = function(x)
        loss.backward()
        update()
        return float(loss.item())

    return step


MAKERS: dict[str, dict[str, Callable[[], Step]]] = {
    "perceptron": {
        "cinfer": partial(net_graphio, "cinfer"),
        "Python runtime": partial(net_graphio, ""),
        "numpy": net_numpy,
        "torch": partial(net_torch, False),
        "torch.compile": partial(net_torch, True),
    },
    "cnn": {
        "cinfer": partial(cnn_graphio, "cinfer"),
        "Python runtime": partial(cnn_graphio, ""),
        "torch": partial(cnn_torch, False),
        "torch.compile": partial(cnn_torch, True),
    },
}
ENGINES = list(MAKERS["perceptron"])
TITLES = {
    "perceptron": "Training step, 64 x 1000-100-10, gradient descent",
    "cnn": "Training step of the digits CNN, batch 64, Adam",
}
AGREEING = 10  # steps whose losses are compared
TOLERANCE = 1e-3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network", choices=list(MAKERS))
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--engines", default=";".join(ENGINES))
    chosen = parser.parse_args()
    steps: dict[str, Step] = {}
    for name, make in MAKERS[chosen.network].items():
        if name not in chosen.engines.split(";"):
            continue
        try:
            steps[name] = make()
        except ImportError:
            continue
    losses = {name: [step() for _ in range(AGREEING)] for name, step in steps.items()}
    reference = losses["Python runtime"]
    found: dict[str, Any] = {}
    for name, got in losses.items():
        same = np.allclose(got, reference, rtol=TOLERANCE)
        found[name] = {"note": "same" if same else f"losses {got[-1]:.6g}, not {reference[-1]:.6g}"}
    bursts = {k: partial(burst, v) for k, v in steps.items() if found[k]["note"] == "same"}
    for name, times in in_turns(bursts, chosen.seconds).items():
        found[name] |= summary(times)
    print(json.dumps({"title": TITLES[chosen.network], "engines": found}))


if __name__ == "__main__":
    main()
