"""Networks exported from torch: the same outputs and gradients, and back to ONNX after a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engines import BOTH, module

import graphio as tf
import graphio.onnx as tfonnx

torch = pytest.importorskip("torch")

import torch_models as networks  # noqa: E402 (needs torch)

Array = np.ndarray[Any, Any]
NETWORKS = pytest.mark.parametrize("name", networks.CASES)
EXPORTERS = pytest.mark.parametrize("dynamo", [False, True], ids=["script", "dynamo"])


def exported(name: str, dynamo: bool, named: bool = False) -> bytes:
    if dynamo:
        pytest.importorskip("onnxscript", reason="torch's newer exporter needs onnxscript")
    return networks.exported(name, dynamo, named)


def assert_close(got: Array, expected: Array, relative: float, scale: float = 0.0) -> None:
    """Equal up to a part of the largest element, or of `scale` where that is larger."""
    assert got.shape == expected.shape
    largest = max(float(np.abs(expected).max(initial=0.0)), scale)
    assert np.abs(got - expected).max(initial=0.0) <= relative * largest


@BOTH
@EXPORTERS
@NETWORKS
def test_outputs(name: str, dynamo: bool, engine: str) -> None:
    module(engine)
    predict = tfonnx.load(exported(name, dynamo), engine).signature("predict")
    for n in (1, 3):
        feeds = networks.CASES[name].feed(n)
        got = predict(**feeds)
        for key, expected in networks.outputs(name, feeds).items():
            assert_close(got[key], expected.detach().numpy(), 1e-4)


@BOTH
@EXPORTERS
def test_a_decoder_goes_on_from_its_cache(dynamo: bool, engine: str) -> None:
    """A word at a time from an empty cache gives what all words at once give."""
    module(engine)
    predict = tfonnx.load(exported("gpt", dynamo), engine).signature("predict")
    ids = networks.words(2, 7)
    empty = np.zeros((2, 2, 4, 0, 6), np.float32)
    expected = networks.outputs("gpt", {"ids": ids, "keys": empty, "values": empty})["logits"]
    keys = values = empty
    steps = []
    for part in np.split(ids, [3, 4, 5, 6], axis=1):
        got = predict(ids=part, keys=keys, values=values)
        keys, values = got["new_keys"], got["new_values"]
        steps.append(got["logits"])
    assert_close(np.concatenate(steps, 1), expected.detach().numpy(), 1e-4)


def weighted(outputs: dict[str, Any]) -> list[tuple[Any, Array]]:
    """Each output with fixed weights; the loss is the sum of the means of outputs times weights."""
    shapes = [tuple(y.shape) for y in outputs.values()]
    return [
        (y, networks.values(*shape, seed=i))
        for i, (y, shape) in enumerate(zip(outputs.values(), shapes, strict=True))
    ]


def torch_gradients(name: str, feeds: dict[str, Array]) -> dict[str, Array]:
    found = weighted(networks.outputs(name, feeds))
    loss = sum((y * torch.from_numpy(r)).mean() for y, r in found)
    parameters = dict(networks.network(name).named_parameters())
    gradients = torch.autograd.grad(loss, parameters.values())
    return {k: g.numpy() for k, g in zip(parameters, gradients, strict=True)}


class Trained:
    """An imported network with trainable weights, its loss and a step of gradient descent."""

    def __init__(self, name: str, dynamo: bool, feeds: dict[str, Array]) -> None:
        self.found = tfonnx.import_model(exported(name, dynamo, named=True), trainable=True)
        self.variables = {k: v for k, v in self.found.variables.items() if v.trainable}
        expected = networks.outputs(name, feeds)
        factors = [r for _, r in weighted(expected)]
        parts = [
            tf.reduce_mean(self.found.outputs[key] * r)
            for key, r in zip(expected, factors, strict=True)
        ]
        self.loss = tf.add_n(parts)
        self.feeds = {self.found.inputs[k]: x for k, x in feeds.items() if k in self.found.inputs}


@BOTH
@EXPORTERS
@NETWORKS
def test_gradients(name: str, dynamo: bool, engine: str) -> None:
    module(engine)
    feeds = networks.CASES[name].feed(3)
    expected = torch_gradients(name, feeds)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        trained = Trained(name, dynamo, feeds)
        assert sorted(trained.variables) == sorted(expected)
        session.run(tf.global_variables_initializer())
        gradients = tf.gradients(trained.loss, list(trained.variables.values()))
        got = session.run(gradients, trained.feeds)
    scale = 1e-3 * max(np.abs(g).max() for g in expected.values())
    for key, gradient in zip(trained.variables, got, strict=True):
        assert_close(gradient, expected[key], 1e-3, scale)


@BOTH
@NETWORKS
def test_a_step_and_back_to_onnx(name: str, engine: str) -> None:
    """One step of gradient descent gives the weights of torch, and the model that is written then
    the same outputs in ONNX Runtime."""
    module(engine)
    ort = pytest.importorskip("onnxruntime")
    feeds = networks.CASES[name].feed(3)
    slopes = torch_gradients(name, feeds)
    with tf.Graph().as_default(), tf.Session(engine) as session:
        trained = Trained(name, False, feeds)
        step = tf.train.GradientDescentOptimizer(0.5).minimize(trained.loss)
        session.run(tf.global_variables_initializer())
        session.run(step, trained.feeds)
        found = trained.found
        for key, parameter in networks.network(name).named_parameters():
            expected = parameter.detach().numpy() - 0.5 * slopes[key]
            assert_close(session.run(trained.variables[key]), expected, 1e-4)
        got = session.run(list(found.outputs.values()), trained.feeds)
        model = tfonnx.export(None, session, found.inputs, found.outputs)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    there = ort.InferenceSession(model.SerializeToString(), options)
    fed = {k: x for k, x in feeds.items() if k in found.inputs}
    for mine, theirs in zip(got, there.run(list(found.outputs), fed), strict=True):
        assert_close(theirs, mine, 1e-4)
