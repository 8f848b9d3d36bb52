"""Gradients of normalizations, activations and Attention: finite differences and torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check, dense_gradients

import graphio as tf
from graphio.onnx import call
from graphio.ops.base.emit import operation
from graphio.ops.base.shapes import dims_of


def unknown(x: np.ndarray) -> list[None]:
    return [None] * x.ndim


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randn(*shape)


def node(op: str, **attrs: Any) -> Callable[..., Any]:
    return lambda *xs: call(op, *xs, **attrs)


def wide(op: str, outputs: int = 1, **attrs: Any) -> Callable[..., Any]:
    """The node in float64 where the standard has it for float32 alone."""

    def build(*xs: Any) -> Any:
        types = [(tf.float64, None)] * outputs
        inputs = [tf.convert_to_tensor(x) for x in xs]
        made = operation(op, inputs, [(tf.float64, dims_of(inputs[0])), *types[1:]], attrs=attrs)
        return made.outputs[0] if outputs == 1 else both(made.outputs)

    return build


def both(results: Sequence[Any]) -> Any:
    """One tensor of several."""
    return tf.concat([tf.reshape(r, [-1]) for r in results], 0)


X, SCALE, BIAS = draw(2, 4, 3), draw(4, seed=1), draw(4, seed=2)
ROW, SHIFT = draw(3, seed=3), draw(3, seed=4)
MEAN, VARIANCE = draw(4, seed=5), np.abs(draw(4, seed=6)) + 0.5
A = away(3, 4) * 3

NORMS = {
    "LayerNormalization": (node("LayerNormalization"), X, ROW, SHIFT),
    "LayerNormalization without bias": (node("LayerNormalization", axis=1), X, draw(4, 3)),
    "LayerNormalization with statistics": (
        wide("LayerNormalization", outputs=3, stash_type=11),
        X,
        ROW,
        SHIFT,
    ),
    "RMSNormalization": (node("RMSNormalization"), X, ROW),
    "InstanceNormalization": (node("InstanceNormalization"), X, SCALE, BIAS),
    "GroupNormalization": (node("GroupNormalization", num_groups=2), X, SCALE, BIAS),
    "BatchNormalization": (node("BatchNormalization"), X, SCALE, BIAS, MEAN, VARIANCE),
    "BatchNormalization in training": (
        lambda *xs: both(call("BatchNormalization", *xs, outputs=3, training_mode=1)),
        X,
        SCALE,
        BIAS,
        MEAN,
        VARIANCE,
    ),
    "LpNormalization 2": (node("LpNormalization", axis=1), away(2, 4, 3)),
    "LpNormalization 1": (node("LpNormalization", axis=1, p=1), away(2, 4, 3)),
    "LRN": (node("LRN", size=3, alpha=0.3, beta=0.75, bias=2.0), draw(2, 5, 3)),
    "LRN of an even size": (node("LRN", size=4, alpha=0.3, beta=0.6), draw(2, 5)),
    "Gelu": (node("Gelu"), A),
    "Gelu by tanh": (node("Gelu", approximate="tanh"), A),
    "Mish": (node("Mish"), A),
    "Swish": (node("Swish", alpha=1.5), A),
    "HardSigmoid": (node("HardSigmoid"), A),
    "HardSwish": (node("HardSwish"), away(3, 4) * 9),
    "Softsign": (node("Softsign"), A),
    "PRelu": (node("PRelu"), A, draw(4)),
    "RotaryEmbedding": (
        wide("RotaryEmbedding"),
        draw(2, 3, 5, 8),
        draw(2, 5, 4, seed=1),
        draw(2, 5, 4, seed=2),
    ),
    "RotaryEmbedding in pairs": (
        wide("RotaryEmbedding", interleaved=1, rotary_embedding_dim=4, num_heads=3),
        draw(2, 5, 24),
        draw(2, 5, 2, seed=1),
        draw(2, 5, 2, seed=2),
    ),
    "RotaryEmbedding by positions": (
        lambda *xs: wide("RotaryEmbedding")(*xs, np.array([[0, 2, 1], [3, 3, 0]])),
        draw(2, 1, 3, 4),
        draw(4, 2, seed=1),
        draw(4, 2, seed=2),
    ),
}


@pytest.mark.parametrize("shapes", [np.shape, unknown], ids=["known", "unknown"])
@pytest.mark.parametrize("name", NORMS)
def test_first_and_second_derivatives(name: str, shapes: Callable[[np.ndarray], Any]) -> None:
    function, *values = NORMS[name]
    check(function, values, shapes=shapes)


Q, K, V = draw(2, 4, 3, 5), draw(2, 2, 6, 5, seed=1), draw(2, 2, 6, 3, seed=2)
MASK = draw(3, 6, seed=3)
HOLDS = np.random.RandomState(4).rand(2, 1, 3, 6) < 0.7
HOLDS[1, 0, 2] = False
PAST = draw(2, 2, 4, 5, seed=5), draw(2, 2, 4, 3, seed=6)
LENGTHS = np.array([5, 2])

ATTENTIONS: dict[str, tuple[Any, ...]] = {
    "plain": (node("Attention"), Q, K, V),
    "causal": (node("Attention", is_causal=1, scale=0.7), Q, K, V),
    "softcap, mask": (node("Attention", softcap=2.0), Q, K, V, MASK),
    "short mask": (node("Attention"), Q, K, V, MASK[:, :4]),
    "bool mask with an empty row": (lambda q, k, v: call("Attention", q, k, v, HOLDS), Q, K, V),
    "rank 3": (
        node("Attention", q_num_heads=4, kv_num_heads=2),
        draw(2, 3, 20),
        draw(2, 6, 10, seed=1),
        draw(2, 6, 6, seed=2),
    ),
    "past": (
        lambda q, k, v, m, a, b: both(
            call("Attention", q, k, v, m, a, b, outputs=4, is_causal=1, qk_matmul_output_mode=3)
        ),
        Q,
        K,
        V,
        draw(3, 10),
        *PAST,
    ),
    "lengths and window": (
        lambda q, k, v: call(
            "Attention",
            q,
            k,
            v,
            None,
            None,
            None,
            LENGTHS,
            is_causal=1,
            left_window_size=2,
            right_window_size=1,
        ),
        Q,
        K,
        V,
    ),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention(name: str) -> None:
    function, *values = ATTENTIONS[name]
    check(function, values, second=name in ("plain", "softcap, mask"))


def test_attention_of_unknown_sizes() -> None:
    check(node("Attention", is_causal=1), [Q, K, V, MASK], shapes=unknown, second=False)


# ---- the same numbers as torch ----


def compare(
    function: Callable[..., Any], other: Callable[..., Any], values: Sequence[np.ndarray]
) -> None:
    """Value and gradients, float64."""
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]
    expected = other(torch, *theirs)
    weights = draw(*expected.shape, seed=9)
    (expected * torch.tensor(weights)).sum().backward()
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.constant(np.asarray(v, np.float64)) for v in values]
        y = function(*xs)
        found = session.run([y, *dense_gradients(tf.reduce_sum(y * tf.constant(weights)), xs)])
    expected_values = [expected.detach().numpy(), *(t.grad.numpy() for t in theirs)]
    for a, b in zip(found, expected_values, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


TORCH: dict[str, tuple[Any, ...]] = {
    "layer_norm": (
        node("LayerNormalization"),
        lambda t, x, s, b: t.nn.functional.layer_norm(x, (3,), s, b),
        [X, ROW, SHIFT],
    ),
    "group_norm": (
        node("GroupNormalization", num_groups=2),
        lambda t, x, s, b: t.nn.functional.group_norm(x, 2, s, b),
        [X, SCALE, BIAS],
    ),
    "batch_norm": (
        lambda x, s, b: call(
            "BatchNormalization", x, s, b, MEAN, VARIANCE, outputs=3, training_mode=1
        )[0],
        lambda t, x, s, b: t.nn.functional.batch_norm(
            x, t.tensor(MEAN), t.tensor(VARIANCE), s, b, training=True
        ),
        [X, SCALE, BIAS],
    ),
    "gelu": (node("Gelu"), lambda t, x: t.nn.functional.gelu(x), [A]),
    "gelu tanh": (
        node("Gelu", approximate="tanh"),
        lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
        [A],
    ),
    "mish": (node("Mish"), lambda t, x: t.nn.functional.mish(x), [A]),
    "hardswish": (node("HardSwish"), lambda t, x: t.nn.functional.hardswish(x), [away(3, 4) * 9]),
    "local_response_norm": (
        node("LRN", size=3, alpha=0.3, beta=0.6, bias=2.0),
        lambda t, x: t.nn.functional.local_response_norm(x, 3, 0.3, 0.6, 2.0),
        [draw(2, 5, 3)],
    ),
    "attention": (
        node("Attention"),
        lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(
            q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), m
        ),
        [Q, K, V, MASK],
    ),
    "causal attention": (
        node("Attention", is_causal=1),
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(
            q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), is_causal=True
        ),
        [Q, K, V],
    ),
}


@pytest.mark.parametrize("name", TORCH)
def test_torch_gives_the_same(name: str) -> None:
    function, other, values = TORCH[name]
    compare(function, other, values)


def test_no_gradient_passes_through_hardmax() -> None:
    with tf.Graph().as_default():
        x = tf.constant(X)
        assert tf.gradients(call("Hardmax", x), [x]) == [None]


def test_a_vector_of_zeros_has_a_finite_gradient() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.zeros((2, 3)))
        [dx] = tf.gradients(call("LpNormalization", x), [x])
        assert np.isfinite(session.run(dx)).all()
