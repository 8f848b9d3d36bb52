"""Complex numbers in ONNX files: parts where something computes, complex tensors where elements
move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import graphio as tf

ENGINES = ("runtime", "cinfer")
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def fresh_graph() -> None:
    tf.reset_default_graph()


def exported(
    session: Any, inputs: Mapping[str, Any], outputs: Mapping[str, Any]
) -> onnx.ModelProto:
    """The model, which the standard's checker has accepted."""
    made = tf.onnx.export(None, session, inputs, outputs)
    onnx.checker.check_model(made, full_check=True)
    return made


def in_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, dict(feeds)))


def random(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_complex_arithmetic_between_real_inputs_and_outputs_becomes_real_operators() -> None:
    a = tf.placeholder(tf.float32, [None, 4], name="a")
    b = tf.placeholder(tf.float32, [None, 4], name="b")
    z = tf.complex(a, b)
    z = tf.transpose(tf.reshape(z * z / (1 + 2j), [-1, 2, 2]), [0, 2, 1])
    both = tf.concat([z, tf.conj(z)], 1)
    size = tf.abs(both[:, 1:, 0])
    gram = tf.real(tf.matmul(both, both, adjoint_a=True))
    feeds = {"a": random(3, 4), "b": random(3, 4)[::-1].copy()}
    with tf.Session() as session:
        model = exported(session, {"a": a, "b": b}, {"size": size, "gram": gram})
        expected = session.run([size, gram], {a: feeds["a"], b: feeds["b"]})
    assert {node.domain for node in model.graph.node} == {""}
    for found, value in zip(in_onnxruntime(model, feeds), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=2e-6, atol=2e-6)


def test_variables_and_split_values_keep_their_parts() -> None:
    start = (random(4, 2) + 1j * random(4, 2)[::-1]).astype(np.complex64)
    weights = tf.Variable(start, name="weights")
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    left, right = tf.split(tf.matmul(tf.cast(x, tf.complex64), weights), 2, axis=1)
    outputs = {"re": tf.real(left), "im": tf.imag(right), "rows": tf.shape(left)}
    feed = random(5, 4)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        model = exported(session, {"x": x}, outputs)
    expected = feed @ start
    re, im, rows = in_onnxruntime(model, {"x": feed})
    np.testing.assert_allclose(re, expected.real[:, :1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(im, expected.imag[:, 1:], rtol=1e-5, atol=1e-6)
    assert rows.tolist() == [5, 1]


def test_a_spectrogram_is_exported_from_raw_samples() -> None:
    samples = tf.placeholder(tf.float32, [None, 400], name="samples")
    spectrum = tf.signal.stft(samples, frame_length=64, frame_step=32)
    sizes = tf.log(tf.abs(spectrum) + 1e-3)
    feed = random(2, 400)
    with tf.Session() as session:
        model = exported(session, {"samples": samples}, {"sizes": sizes})
    starts = range(0, 400 - 63, 32)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(64) / 64)
    frames = np.stack([feed[:, s : s + 64] * window for s in starts], 1)
    expected = np.log(np.abs(np.fft.rfft(frames)) + 1e-3)
    (found,) = in_onnxruntime(model, {"samples": feed})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_an_inverse_transform_is_exported_with_its_parts() -> None:
    x = tf.placeholder(tf.float32, [2, 24], name="x")
    filtered = tf.signal.irfft(tf.signal.rfft(x) * (0.5 + 0.5j))
    feed = random(2, 24)
    with tf.Session() as session:
        model = exported(session, {"x": x}, {"y": filtered})
    expected = np.fft.irfft(np.fft.rfft(feed) * (0.5 + 0.5j))
    np.testing.assert_allclose(in_onnxruntime(model, {"x": feed})[0], expected, atol=1e-5)


def test_a_complex_input_of_which_elements_only_move_stays_complex() -> None:
    z = tf.placeholder(tf.complex64, [None, 3], name="z")
    with tf.Session() as session:
        model = exported(session, {"z": z}, {"moved": tf.transpose(z)[1:]})
    feed = (random(2, 3) + 1j).astype(np.complex64)
    (found,) = ReferenceEvaluator(model).run(None, {"z": feed})
    assert found.dtype == np.complex64
    assert np.array_equal(found, feed.T[1:])


def test_all_complex_values_that_onnx_cannot_have_are_listed_with_what_to_do() -> None:
    z = tf.placeholder(tf.complex64, [3], name="z")
    re = tf.placeholder(tf.float32, [3], name="re")
    made = tf.complex(re, re)
    with tf.Session() as session, pytest.raises(tf.errors.UnimplementedError) as refusal:
        tf.onnx.export(None, session, {"z": z, "re": re}, {"size": tf.abs(z), "made": made})
    assert "the complex 'z'; make it of two real inputs, with tf.complex" in refusal.value.message
    assert "output 'made' is complex" in refusal.value.message
    assert "export tf.real and tf.imag of it" in refusal.value.message


@pytest.mark.parametrize("target", ENGINES)
@pytest.mark.parametrize(("number", "dtype"), [
    (TensorProto.COMPLEX64, np.complex64), (TensorProto.COMPLEX128, np.complex128),
])  # fmt: skip
def test_files_that_move_complex_elements_run(number: int, dtype: Any, target: str) -> None:
    nodes = [
        helper.make_node("Transpose", ["z"], ["t"], perm=[1, 0]),
        helper.make_node("Concat", ["t", "c"], ["wide"], axis=1),
        helper.make_node("Gather", ["wide", "at"], ["taken"], axis=1),
        helper.make_node("Where", ["mask", "taken", "c"], ["y"]),
    ]
    constant = (random(3, 1) - 2j).astype(dtype)
    graph = helper.make_graph(
        nodes, "moves",
        [helper.make_tensor_value_info("z", number, [2, 3]),
         helper.make_tensor_value_info("mask", TensorProto.BOOL, [3, 1])],
        [helper.make_tensor_value_info("y", number, [3, 2])],
        [onnx.numpy_helper.from_array(constant, "c"),
         onnx.numpy_helper.from_array(np.array([2, 0]), "at")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    feeds = {
        "z": (random(2, 3) + 1j * random(3, 2).T).astype(dtype),
        "mask": np.array([[True], [False], [True]]),
    }
    loaded = tf.onnx.load(model.SerializeToString(), target=target)
    found = loaded.signature()(**feeds)["y"]
    expected = ReferenceEvaluator(model).run(None, feeds)[0]
    assert found.dtype == dtype
    assert np.array_equal(found, expected)
