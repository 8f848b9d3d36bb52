"""Gradients of quantisation: straight through within the limits, none beyond, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.onnx import call

X = np.array([[-3.1, -0.26, 0.0, 0.74, 40.0], [1.1, 0.2, -0.9, -50.0, 0.35]], np.float32)


def run(build: Any, *values: np.ndarray, static: bool = True) -> list[Any]:
    """The output and its gradients by the inputs, with 1, 2, 3... arriving."""
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.placeholder(v.dtype, v.shape if static else [None] * v.ndim) for v in values]
        y = build(*xs)
        arriving = tf.reshape(tf.range(1.0, 11.0), tf.shape(y))
        fetched = [y, *tf.gradients(y, xs, arriving)]
        found: list[Any] = session.run(fetched, dict(zip(xs, values, strict=True)))
        return found


def pair(x: Any, scale: Any, **attrs: Any) -> Any:
    q = call("QuantizeLinear", x, scale, np.int8(3), output_dtype=3, **attrs)
    return call("DequantizeLinear", q, scale, np.int8(3), **attrs)


@pytest.mark.parametrize("static", [True, False])
def test_a_pair_passes_what_lies_within_the_limits(static: bool) -> None:
    torch = pytest.importorskip("torch")
    scale = np.float32(0.25)
    y, dx, _ = run(pair, X, scale, static=static)
    x = torch.tensor(X, requires_grad=True)
    expected = torch.fake_quantize_per_tensor_affine(x, 0.25, 3, -128, 127)
    expected.backward(torch.arange(1.0, 11.0).reshape(2, 5))
    np.testing.assert_allclose(y, expected.detach().numpy())
    np.testing.assert_allclose(dx, x.grad.numpy())


def test_the_scale_learns_as_in_learned_step_sizes() -> None:
    scale = np.float32(0.25)
    _, _, found = run(pair, X, scale)
    ratio = X.astype(np.float64) / scale
    inside = (ratio + 3 >= -128) & (ratio + 3 <= 127)
    q = np.clip(np.rint(ratio) + 3, -128, 127) - 3
    by_element = np.where(inside, q - ratio, q)
    np.testing.assert_allclose(found, np.sum(by_element.ravel() * np.arange(1, 11)), rtol=1e-5)


def quantized(kind: str) -> Any:
    return lambda x, s: call(
        "DequantizeLinear", call("QuantizeLinear", x, s, output_dtype=tf.as_dtype(kind).number), s
    )


@pytest.mark.parametrize("kind", ["float8e4m3fn", "int16"])
def test_the_input_of_a_pair_of_other_types(kind: str) -> None:
    _, dx, _ = run(quantized(kind), X, np.float32(0.25))
    np.testing.assert_allclose(dx.ravel(), np.arange(1, 11))


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize(
    ("attrs", "shape"),
    [({"axis": 1}, (5,)), ({"axis": -2}, (2,)), ({"axis": 1, "block_size": 2}, (2, 3))],
)
def test_scales_of_an_axis_and_of_blocks(attrs: Any, shape: Any, static: bool) -> None:
    q = np.arange(-5, 5, dtype=np.int8).reshape(2, 5)
    scale = np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)

    def build(s: Any) -> Any:
        return call("DequantizeLinear", tf.constant(q), s, **attrs)

    y, found = run(build, scale, static=static)
    terms = q * np.arange(1.0, 11.0).reshape(2, 5)
    if "block_size" in attrs:
        spread = np.repeat(scale, 2, 1)[:, :5]
        expected = np.add.reduceat(terms, [0, 2, 4], axis=1)
    else:
        spread = scale if shape == (5,) else scale[:, None]
        expected = terms.sum(0 if shape == (5,) else 1)
    np.testing.assert_allclose(y, q * spread)
    np.testing.assert_allclose(found, expected)


def test_a_float8_in_between_takes_a_gradient_in_float32() -> None:
    def build(x: Any) -> Any:
        return tf.cast(tf.cast(x, tf.as_dtype("float8e5m2")), tf.float32)

    y, dx = run(build, X)
    assert y.dtype == dx.dtype == np.float32
    np.testing.assert_array_equal(dx.ravel(), np.arange(1, 11))


def test_matmuls_of_integers_stop_gradients() -> None:
    a = np.arange(10, dtype=np.int8).reshape(2, 5)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, (2, 5))
        q = call("QuantizeLinear", x, np.float32(1), np.int8(0))
        y = tf.cast(call("MatMulInteger", q, tf.constant(a.T.copy())), tf.float32)
        assert tf.gradients(y, x) == [None]
