"""Gradients of RNN, GRU and LSTM against torch and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_check import check, dense_gradients

import graphio as tf
from graphio import onnx

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
NAMES = {
    "RNN": ["Softsign"],
    "GRU": ["HardSigmoid", "Affine"],
    "LSTM": ["ScaledTanh", "Softplus", "Elu"],
}


def weights(op: str, steps: int, both: bool, layout: int = 0) -> list[np.ndarray]:
    """X, W, R, B, initial_h (and initial_c) for 3 rows, 4 features and 2 units."""
    rng = np.random.RandomState(11)
    d, batch, width, n = 1 + both, 3, 4, 2
    size = GATES[op] * n
    state = (batch, d, n) if layout else (d, batch, n)
    shape = (batch, steps, width) if layout else (steps, batch, width)
    shapes = [shape, (d, size, width), (d, size, n), (d, 2 * size), state]
    if op == "LSTM":
        shapes.append(state)
    return [0.5 * rng.randn(*s) for s in shapes]


def layer(op: str, tensors: Any, lengths: Any = None, **attrs: Any) -> list[Any]:
    x, w, r, b, *states = tensors
    outputs = 3 if op == "LSTM" else 2
    return onnx.call(op, x, w, r, b, lengths, *states, outputs=outputs, hidden_size=2, **attrs)


def total(outputs: list[Any]) -> Any:
    """One tensor that depends on every output in its own way."""
    return tf.add_n([tf.reduce_sum(tf.sin(y * (0.7 + i))) for i, y in enumerate(outputs)])


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", list(GATES))
def test_a_layer_has_the_gradient_of_its_differences(op: str, way: str, unknown: bool) -> None:
    values = weights(op, 3, way == "bidirectional")
    lengths = np.array([3, 1, 2], np.int32)
    check(
        lambda *t: total(layer(op, t, lengths, direction=way)),
        values,
        shapes=lambda v: [None] * v.ndim if unknown else v.shape,
        second=not unknown and way == "forward",
    )


@pytest.mark.parametrize("op", list(GATES))
def test_attributes_count_in_the_gradient(op: str) -> None:
    attrs: dict[str, Any] = {"layout": 1, "activations": NAMES[op], "activation_alpha": [0.7, 0.4]}
    attrs["activation_beta"] = [0.6, 0.3]
    attrs["clip"] = 0.75
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    if op == "LSTM":
        attrs["input_forget"] = 1
    check(lambda *t: total(layer(op, t, **attrs)), weights(op, 2, False, 1), second=False)


def test_peepholes_have_a_gradient() -> None:
    values = [*weights("LSTM", 2, False), np.random.RandomState(5).randn(1, 6)]

    def function(*t: Any) -> Any:
        x, w, r, b, h, c, p = t
        return total(onnx.call("LSTM", x, w, r, b, None, h, c, p, outputs=3, hidden_size=2))

    check(function, values, second=False)


def reordered(op: str, weight: np.ndarray) -> np.ndarray:
    """ONNX's gates i o f c, z r h in torch's order i f c o, r z h."""
    order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}[op]
    parts = np.split(weight, GATES[op])
    return np.concatenate([parts[k] for k in order])


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("steps", [4, 20])
@pytest.mark.parametrize("op", list(GATES))
def test_gradients_are_those_of_torch(op: str, steps: int, both: bool) -> None:
    torch = pytest.importorskip("torch")
    values = weights(op, steps, both)
    x, w, r, b, *states = values
    module = getattr(torch.nn, op)(4, 2, bidirectional=both, dtype=torch.float64)
    parameters = []
    for d in range(1 + both):
        tail = "_l0_reverse" if d else "_l0"
        halves = np.split(b[d], 2)
        for key, value in zip(
            ("weight_ih", "weight_hh", "bias_ih", "bias_hh"), (w[d], r[d], *halves), strict=True
        ):
            parameter = getattr(module, key + tail)
            parameter.data = torch.tensor(reordered(op, value))
            parameters.append((key, d, parameter))
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, *states)]
    y, last = module(leaves[0], tuple(leaves[1:]) if op == "LSTM" else leaves[1])
    y = y.reshape(steps, 3, 1 + both, 2).permute(0, 2, 1, 3)
    outputs = [y, *(last if op == "LSTM" else [last])]
    sum(torch.sin(v * (0.7 + i)).sum() for i, v in enumerate(outputs)).backward()

    attrs: dict[str, Any] = {"direction": "bidirectional"} if both else {}
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [tf.constant(v) for v in values]
        gradients = dense_gradients(total(layer(op, tensors, **attrs)), tensors)
        dx, dw, dr, db, *dstates = session.run(gradients)
    for found, leaf in zip([dx, *dstates], leaves, strict=True):
        np.testing.assert_allclose(found, leaf.grad.numpy(), rtol=1e-6, atol=1e-12)
    where = {"weight_ih": dw, "weight_hh": dr}
    for key, d, parameter in parameters:
        halves = np.split(db[d], 2)
        found = where[key][d] if key in where else halves[key == "bias_hh"]
        np.testing.assert_allclose(
            reordered(op, found), parameter.grad.numpy(), rtol=1e-6, atol=1e-12
        )


@pytest.mark.parametrize("op", list(GATES))
def test_the_engines_agree_on_the_gradient(op: str) -> None:
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    values = weights(op, 5, True)
    lengths = np.array([5, 0, 2], np.int32)
    found = []
    for target in ("runtime", "cinfer"):
        with tf.Graph().as_default(), tf.Session(target) as session:
            xs = [tf.placeholder(tf.float64, [None] * v.ndim) for v in values]
            y = total(layer(op, xs, lengths, direction="bidirectional"))
            found.append(session.run(dense_gradients(y, xs), dict(zip(xs, values, strict=True))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("op", list(GATES))
def test_a_row_does_not_depend_on_the_others(op: str) -> None:
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    rng = np.random.RandomState(3)
    n, size = 40, GATES[op] * 40
    shapes = ((6, 19, 33), (2, size, 33), (2, size, n), (2, 2 * size))
    x, *rest = [rng.randn(*s).astype(np.float32) for s in shapes]
    with tf.Graph().as_default(), tf.Session("cinfer") as session:
        given = tf.placeholder(tf.float32, [None, None, 33])
        call: Any = onnx.call(op, given, *rest, direction="bidirectional", hidden_size=n)
        whole = session.run(call, {given: x})
        for row in (0, 13, 18):
            alone = session.run(call, {given: x[:, row : row + 1]})
            np.testing.assert_array_equal(alone, whole[:, :, row : row + 1])
