"""cuDNN's weights as one vector: what a net computes with them, and checkpoints of both forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

cudnn = tf.contrib.cudnn_rnn
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
N, DEPTH, STEPS, BATCH = 3, 2, 4, 2
#: net -> converter, saveable, number of gates
KINDS = {
    "CudnnLSTM": ("LSTM", "CudnnLSTMSaveable", 4),
    "CudnnGRU": ("GRU", "CudnnGRUSaveable", 3),
    "CudnnRNNTanh": ("Tanh", "CudnnRNNTanhSaveable", 1),
    "CudnnRNNRelu": ("Relu", "CudnnRNNReluSaveable", 1),
}
NETS = pytest.mark.parametrize(
    ("kind", "direction"), [(k, d) for k in KINDS for d in ("unidirectional", "bidirectional")]
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(kind: str, w: Any, r: Any, b: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """The next state by cuDNN's documentation; b: biases of inputs, then of the state."""
    count = len(w)
    of_input = [x @ w[i].T + b[i] for i in range(count)]
    of_state = [h @ r[i].T + b[count + i] for i in range(count)]
    both = [one + two for one, two in zip(of_input, of_state, strict=True)]
    if kind == "CudnnLSTM":  # input, forget, new memory, output
        c = sigmoid(both[1]) * c + sigmoid(both[0]) * np.tanh(both[2])
        return sigmoid(both[3]) * np.tanh(c), c
    if kind == "CudnnGRU":  # reset, update, new memory
        new = np.tanh(of_input[2] + sigmoid(both[0]) * of_state[2])
        update = sigmoid(both[1])
        return (1 - update) * new + update * h, c
    return (np.tanh(both[0]) if kind == "CudnnRNNTanh" else np.maximum(both[0], 0)), c


def parameters(gates: int, layers: int, ways: int) -> tuple[Any, list[Any], list[Any]]:
    """An opaque vector, and each cell's matrices and biases in it."""
    random = np.random.default_rng(7)
    matrices = []
    for cell in range(layers * ways):
        width = DEPTH if cell < ways else N * ways
        matrices.append([random.normal(size=(N, width)) for _ in range(gates)])
        matrices[-1] += [random.normal(size=(N, N)) for _ in range(gates)]
    biases = [[random.normal(size=N) for _ in range(2 * gates)] for _ in range(layers * ways)]
    flat = [x.ravel() for several in (*matrices, *biases) for x in several]
    return np.concatenate(flat), matrices, biases


def computed(kind: str, ways: int, matrices: list[Any], biases: list[Any], x: Any) -> Any:
    """The outputs (time, batch, ways * n) of the net."""
    gates = len(biases[0]) // 2
    for layer in range(len(matrices) // ways):
        found = []
        for way in range(ways):
            weights, b = matrices[layer * ways + way], biases[layer * ways + way]
            h, c, outputs = np.zeros((BATCH, N)), np.zeros((BATCH, N)), []
            for now in x[::-1] if way else x:
                h, c = step(kind, weights[:gates], weights[gates:], b, now, h, c)
                outputs.append(h)
            found.append(np.stack(outputs[::-1] if way else outputs))
        x = np.concatenate(found, -1)
    return x


def converter(kind: str, *arguments: Any, **options: Any) -> Any:
    made = {
        "GRU": cudnn.CudnnParamsFormatConverterGRU,
        "LSTM": cudnn.CudnnParamsFormatConverterLSTM,
        "Relu": cudnn.CudnnParamsFormatConverterRelu,
        "Tanh": cudnn.CudnnParamsFormatConverterTanh,
    }
    return made[KINDS[kind][0]](*arguments, **options)


@TARGETS
@NETS
def test_a_net_with_the_converted_weights_computes_what_cudnn_does(
    kind: str, direction: str, target: str
) -> None:
    ways = 1 if direction == "unidirectional" else 2
    opaque, matrices, biases = parameters(KINDS[kind][2], 2, ways)
    formats = converter(kind, 2, N, DEPTH, direction=direction)
    weights, both = formats.opaque_to_tf_canonical(tf.constant(opaque))
    again = formats.tf_canonical_to_opaque([*weights, *both])
    net = getattr(cudnn, kind)(2, N, direction=direction, dtype=tf.float64)
    x = np.random.default_rng(8).normal(size=(STEPS, BATCH, DEPTH))
    y, _ = net(tf.constant(x))
    kernels = [v for v in tf.global_variables() if "kernel" in v.op.name]
    rest = [v for v in tf.global_variables() if "bias" in v.op.name.rsplit("/", 1)[-1]]
    fill = [tf.assign(v, t) for v, t in zip([*kernels, *rest], [*weights, *both], strict=True)]
    with tf.Session(target=target) as session:
        session.run(fill)
        found, vector = session.run([y, again])
        first = session.run(formats.opaque_to_tf_canonical(tf.constant(vector)))
        expected = session.run([weights, both])
    np.testing.assert_allclose(found, computed(kind, ways, matrices, biases, x), rtol=1e-9)
    assert vector.shape == opaque.shape
    for one, two in zip([*first[0], *first[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_array_equal(one, two)


@NETS
def test_a_net_restores_what_was_saved_as_a_vector_and_back(
    kind: str, direction: str, tmp_path: Path
) -> None:
    opaque, _, _ = parameters(KINDS[kind][2], 2, 1 if direction == "unidirectional" else 2)
    vector = tf.get_variable("opaque", initializer=tf.constant(opaque))
    saveable = getattr(cudnn, KINDS[kind][1])(
        vector, 2, N, DEPTH, direction=direction, scope="net/inner"
    )
    with tf.Session() as session:
        session.run(vector.initializer)
        path = tf.train.Saver([saveable]).save(session, tmp_path / "vector")
    with tf.variable_scope("net"):
        net = getattr(cudnn, kind)(2, N, direction=direction, dtype=tf.float64, name="inner")
        y, _ = net(tf.ones([STEPS, BATCH, DEPTH], tf.float64))
    with tf.Session() as session:
        tf.train.Saver(net.variables).restore(session, path)
        before = session.run(y)
        path = tf.train.Saver(net.variables).save(session, tmp_path / "cells")
        tf.train.Saver([saveable]).restore(session, path)
        weights, biases = saveable.format_converter.opaque_to_tf_canonical(vector)
        found = session.run([*weights, *biases])
    reader = tf.train.load_checkpoint(path)
    for value, name in zip(found, saveable.declared(), strict=True):
        np.testing.assert_array_equal(value, reader.get_tensor(f"net/inner/{name}"))
    assert np.isfinite(before).all()


@TARGETS
def test_projections_come_after_the_matrices_of_their_cell(target: str) -> None:
    formats = converter("CudnnLSTM", 2, N, DEPTH, num_proj=2)
    sizes = [4 * N * (DEPTH + 2) + 2 * N, 4 * N * (2 + 2) + 2 * N]
    opaque = np.arange(sum(sizes) + 2 * 8 * N, dtype=np.float64)
    weights, biases, projections = formats.opaque_to_tf_canonical(tf.constant(opaque))
    back = formats.tf_canonical_to_opaque([*weights, *biases], projections)
    with tf.Session(target=target) as session:
        first, last, vector = session.run([projections[0], projections[1], back])
    np.testing.assert_array_equal(first, opaque[sizes[0] - 2 * N : sizes[0]].reshape(2, N).T)
    np.testing.assert_array_equal(last, opaque[sum(sizes) - 2 * N : sum(sizes)].reshape(2, N).T)
    np.testing.assert_array_equal(vector[: sum(sizes)], opaque[: sum(sizes)])


def test_other_vectors_numbers_of_variables_and_modes_are_refused() -> None:
    formats = converter("CudnnGRU", 1, N, DEPTH)
    with pytest.raises(ValueError, match=r"opaque_param has shape \(5,\), expected \(63,\)"):
        formats.opaque_to_tf_canonical(tf.zeros([5]))
    with pytest.raises(ValueError, match="tf_canonicals has 2 tensors, expected 6"):
        formats.tf_canonical_to_opaque([tf.zeros([5]), tf.zeros([5])])
    with pytest.raises(ValueError, match="input_mode='auto_select'"):
        converter("CudnnGRU", 1, N, N, input_mode="auto_select")
    with pytest.raises(ValueError, match="Invalid direction: sideways"):
        converter("CudnnGRU", 1, N, DEPTH, direction="sideways")


@pytest.mark.parametrize("num_proj, given, expected", [(2, None, 2), (None, 1, 0), (2, 1, 2)])
def test_each_cell_has_one_projection_if_there_are_some(
    num_proj: int | None, given: int | None, expected: int
) -> None:
    formats = converter("CudnnLSTM", 2, N, DEPTH, num_proj=num_proj)
    variables = [tf.zeros([1])] * 4
    projections = None if given is None else [tf.zeros([N, 2])] * given
    with pytest.raises(ValueError, match=f"has {given or 0} tensors, expected {expected}"):
        formats.tf_canonical_to_opaque(variables, projections)


@TARGETS
@pytest.mark.parametrize("mode", ["recursive", "parallel", "hard"])
def test_scores_become_weights_of_monotonic_attention(mode: str, target: str) -> None:
    score = np.random.default_rng(9).normal(size=(2, 5))
    before = np.float64([[0.5, 0.3, 0.2, 0, 0], [1, 0, 0, 0, 0]])
    if mode == "hard":
        before = np.float64([[0, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
    found = tf.contrib.seq2seq.monotonic_probability_fn(score, before, 0.0, mode)
    p = (score > 0) * 1.0 if mode == "hard" else sigmoid(score)
    expected, q = np.zeros_like(p), np.zeros(2)
    for t in range(5):
        q = (1 - p[:, t - 1] if t else 1) * q + before[:, t]
        expected[:, t] = p[:, t] * q
    with tf.Session(target=target) as session:
        np.testing.assert_allclose(session.run(found), expected, rtol=1e-9)
