"""Gradients of ONNX's convolutions: finite differences, and torch where it is there."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf
import graphio.onnx

CONV: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1-D": ((2, 2, 7), (3, 2, 3), {"strides": [2], "pads": [1, 0]}),
    "2-D": ((2, 2, 5, 4), (3, 2, 3, 2), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
    "2-D groups": ((1, 4, 5, 5), (6, 2, 2, 3), {"group": 2, "dilations": [2, 1]}),
    "depthwise": ((2, 3, 5, 5), (3, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "1 x 1": ((2, 3, 3, 4), (2, 3, 1, 1), {}),
    "unused border": ((1, 1, 6, 6), (2, 1, 2, 2), {"strides": [3, 4]}),
    "same": ((1, 2, 5, 6), (2, 2, 3, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "3-D": ((1, 2, 4, 3, 4), (2, 1, 2, 2, 3), {"group": 2, "pads": [0, 1, 1, 1, 0, 0]}),
}
TRANSPOSE: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1-D": ((2, 2, 4), (2, 3, 3), {"strides": [2], "pads": [1, 0], "output_padding": [1]}),
    "2-D": ((1, 2, 3, 4), (2, 2, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1]}),
    "groups": ((1, 4, 3, 3), (4, 1, 2, 3), {"group": 2, "dilations": [2, 1]}),
    "output_shape": (
        (1, 1, 3, 3),
        (1, 2, 3, 3),
        {"strides": [3, 2], "output_shape": [10, 8], "output_padding": [1, 1]},
    ),
    "larger": ((1, 1, 3), (1, 1, 2), {"strides": [2], "output_shape": [12]}),
    "same": ((1, 1, 3, 3), (1, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "3-D": ((1, 2, 2, 3, 2), (2, 2, 2, 1, 2), {"strides": [2, 1, 1]}),
}


def _unknown(value: np.ndarray) -> list[None]:
    return [None] * value.ndim


@pytest.mark.parametrize("name", CONV)
@pytest.mark.parametrize("static", [True, False], ids=["static", "unknown sizes"])
def test_conv(name: str, static: bool) -> None:
    x, w, attrs = CONV[name]
    check(
        lambda x, w, b: graphio.onnx.call("Conv", x, w, b, **attrs),
        [away(*x), away(*w, seed=8), away(w[0], seed=9)],
        shapes=np.shape if static else _unknown,
    )


@pytest.mark.parametrize("name", TRANSPOSE)
def test_conv_transpose(name: str) -> None:
    x, w, attrs = TRANSPOSE[name]
    check(
        lambda x, w, b: graphio.onnx.call("ConvTranspose", x, w, b, **attrs),
        [away(*x), away(*w, seed=8), away(w[1] * attrs.get("group", 1), seed=9)],
    )


def test_conv_transpose_of_unknown_sizes() -> None:
    x, w, attrs = TRANSPOSE["2-D"]
    check(
        lambda x, w: graphio.onnx.call("ConvTranspose", x, w, **attrs),
        [away(*x), away(*w, seed=8)],
        shapes=_unknown,
    )


@pytest.mark.parametrize(
    "attrs", [{}, {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}]
)
def test_col2im(attrs: dict[str, Any]) -> None:
    image, block = ([4, 5], [2, 3]) if not attrs else ([4, 5], [2, 2])
    taps = block[0] * block[1]
    windows = 9 if not attrs else 2 * 5
    check(
        lambda x: graphio.onnx.call("Col2Im", x * x, image, block, **attrs),
        [away(2, 3 * taps, windows)],
    )


TORCH = {k: v for k, v in CONV.items() if "auto_pad" not in v[2]}


@pytest.mark.parametrize("engine", engines.NAMES)
@pytest.mark.parametrize("name", TORCH)
def test_against_torch(name: str, engine: str) -> None:
    """Value and gradients at once, in both engines."""
    torch = pytest.importorskip("torch")
    engines.module(engine)
    x_shape, w_shape, attrs = TORCH[name]
    rng = np.random.RandomState(5)
    x, w, b = rng.randn(*x_shape), rng.randn(*w_shape), rng.randn(w_shape[0])
    rank = len(x_shape) - 2
    pads = attrs.get("pads", [0] * (2 * rank))
    leaves = [torch.tensor(v, requires_grad=True) for v in (x, w, b)]
    around = [p for i in reversed(range(rank)) for p in (pads[i], pads[rank + i])]
    function = getattr(torch.nn.functional, f"conv{rank}d")
    y = function(torch.nn.functional.pad(leaves[0], around), leaves[1], leaves[2],
                 stride=attrs.get("strides", 1), dilation=attrs.get("dilations", 1),
                 groups=attrs.get("group", 1))  # fmt: skip
    (y * y).sum().backward()
    with tf.Graph().as_default(), tf.Session(engine) as session:
        tensors = [tf.constant(v) for v in (x, w, b)]
        found = graphio.onnx.call("Conv", *tensors, **attrs)
        gradients = tf.gradients(tf.reduce_sum(found * found), tensors)
        results = session.run([found, *gradients])
    expected = [y.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)]
    for got, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9)
