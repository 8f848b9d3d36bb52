"""Gradients of what reads images between pixels: DeformConv, MaxRoiPool and their likes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.conv_nd import deform
from gradient_check import away, check

import graphio as tf
from graphio import onnx

Array = np.ndarray


def offsets(*shape: int, seed: int = 5) -> Array:
    """Between -2 and 2, away from whole numbers, where bilinear samples have kinks."""
    rng = np.random.RandomState(seed)
    whole = rng.randint(-2, 2, shape)
    return np.asarray(whole + 0.02 + 0.96 * rng.rand(*shape))


DEFORM: dict[str, tuple[Any, ...]] = {
    "plain": ((2, 2, 4, 5), (3, 2, 2, 3), (3, 3), {}, 1),
    "groups": (
        (2, 4, 4, 4),
        (2, 2, 2, 2),
        (3, 4),
        {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": 2, "offset_group": 2},
        2,
    ),
    "dilated": ((1, 3, 6, 5), (2, 3, 2, 2), (4, 5), {"dilations": [2, 1], "pads": [0, 0, 0, 1]}, 1),
}


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("label", DEFORM)
def test_deform_conv(label: str, unknown: bool) -> None:
    x, w, out, attrs, parts = DEFORM[label]
    taps = w[2] * w[3]
    given = [
        away(*x),
        away(*w, seed=2),
        offsets(x[0], 2 * parts * taps, *out),
        away(w[0], seed=3),
        away(x[0], parts * taps, *out, seed=4),
    ]

    def shapes(value: Array) -> Any:
        return [None] * value.ndim if unknown and value.shape != w else value.shape

    check(lambda *t: onnx.call("DeformConv", *t, **attrs), given, shapes=shapes, second=not unknown)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_deform_conv_without_bias_and_mask(target: str) -> None:
    """Against differences of the definition, in loops."""
    x, w, out, attrs, _ = DEFORM["dilated"]
    values = [away(*x) / 4, away(*w, seed=2), offsets(x[0], 2 * 4, *out)]
    b, mask = np.zeros(w[0]), np.ones((x[0], 4, *out))
    dy = away(x[0], w[0], *out, seed=9)

    def loss(*given: Array) -> float:
        return float(np.sum(dy * deform(*given, b, mask, offset_group=1, **attrs)))

    with tf.Graph().as_default(), tf.Session(target) as session:
        tensors = [tf.placeholder(tf.float64, v.shape) for v in values]
        y = onnx.call("DeformConv", *tensors, **attrs)
        gradients = tf.gradients(y, tensors, [tf.constant(dy)])
        found = session.run(gradients, dict(zip(tensors, values, strict=True)))
    rng = np.random.RandomState(0)
    for k, gradient in enumerate(found):
        way = rng.randn(*gradient.shape)
        ends = [
            loss(*(v + s * 1e-5 * way if i == k else v for i, v in enumerate(values)))
            for s in (1, -1)
        ]
        np.testing.assert_allclose(np.sum(gradient * way), (ends[0] - ends[1]) / 2e-5, rtol=1e-6)


# ---- MaxRoiPool ----

X = away(2, 3, 6, 7)
ROIS = np.array(
    [[0, 0, 0, 6, 5], [1, 1.4, 2, 4.6, 3], [1, 3, 3, 3, 3], [0, -4, 1, 20, 30], [0, 9, 9, 11, 12]],
    np.float64,
)


@pytest.mark.parametrize("unknown", [False, True])
def test_max_roi_pool(unknown: bool) -> None:
    def pool(x: Any) -> Any:
        attrs = {"pooled_shape": [2, 3], "spatial_scale": 0.8}
        return onnx.call("MaxRoiPool", x, tf.constant(ROIS), **attrs)

    check(pool, [X], shapes=lambda v: [None] * v.ndim if unknown else v.shape)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_the_first_of_equal_elements_of_a_bin_takes_it_all(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [1, 1, 2, 4])
        rois = tf.constant(np.float32([[0, 0, 0, 3, 1], [0, 2, 0, 3, 1]]))
        y = onnx.call("MaxRoiPool", x, rois, pooled_shape=[1, 2])
        (dx,) = tf.gradients(y, [x])
        found = session.run(dx, {x: np.float32([[[[1, 1, 0, 2], [1, 0, 2, 2]]]])})
    np.testing.assert_array_equal(found, [[[[1, 0, 0, 2], [0, 0, 1, 0]]]])
