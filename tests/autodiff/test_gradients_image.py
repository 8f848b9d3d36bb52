"""Gradients of pooling, resizing and other operators on images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf
from graphio import onnx

X2, X3 = away(2, 2, 5, 6), away(1, 2, 4, 3, 5)
CASES: dict[str, tuple[Any, ...]] = {
    "max": ("MaxPool", X2, {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}),
    "max 3-d": ("MaxPool", X3, {"kernel_shape": [2, 2, 2], "ceil_mode": 1, "strides": [2, 2, 2]}),
    "max columns": ("MaxPool", X2, {"kernel_shape": [2, 2], "storage_order": 1}),
    "average": ("AveragePool", X2, {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "average padded": (
        "AveragePool",
        X2,
        {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1, "strides": [2, 2]},
    ),
    "average same": ("AveragePool", X3, {"kernel_shape": [2, 3, 2], "auto_pad": "SAME_LOWER"}),
    "average dilated": (
        "AveragePool",
        X2,
        {"kernel_shape": [2, 2], "dilations": [2, 3], "ceil_mode": 1, "strides": [2, 2]},
    ),
    "lp 1": ("LpPool", X2, {"kernel_shape": [2, 2], "p": 1}),
    "lp 2": ("LpPool", X2, {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 0]}),
    "lp 3": ("LpPool", X2, {"kernel_shape": [2, 3], "p": 3}),
    "global average": ("GlobalAveragePool", X3, {}),
    "global max": ("GlobalMaxPool", X2, {}),
    "global lp": ("GlobalLpPool", X2, {"p": 3}),
    "depth to space": ("DepthToSpace", away(1, 8, 2, 3), {"blocksize": 2}),
    "depth to space crd": ("DepthToSpace", away(1, 8, 2, 3), {"blocksize": 2, "mode": "CRD"}),
    "space to depth": ("SpaceToDepth", away(1, 2, 4, 6), {"blocksize": 2}),
}


@pytest.mark.parametrize("shape", [np.shape, lambda v: [None] * v.ndim], ids=["known", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_differences(name: str, shape: Any) -> None:
    op, x, attrs = CASES[name]
    check(lambda t: onnx.call(op, t, **attrs), [x], shapes=shape)


RESIZES: dict[str, dict[str, Any]] = {
    "nearest": {},
    "linear": {"mode": "linear"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
    "cubic exclude": {"mode": "cubic", "exclude_outside": 1},
    "linear antialias": {"mode": "linear", "antialias": 1},
}


@pytest.mark.parametrize("scale", [0.6, 1.7])
@pytest.mark.parametrize("name", RESIZES)
def test_resize(name: str, scale: float) -> None:
    scales = np.asarray([1, 1, scale, 2.0], np.float32)

    def resize(x: Any) -> Any:
        return onnx.call("Resize", x, None, tf.constant(scales), **RESIZES[name])

    check(resize, [X2])


def test_crop_and_resize() -> None:
    roi = np.asarray([0, 0, 0.2, -0.3, 1, 1, 0.9, 0.8], np.float32)
    sizes = np.asarray([2, 2, 3, 4])

    def resize(x: Any) -> Any:
        return onnx.call(
            "Resize",
            x,
            tf.constant(roi),
            None,
            tf.constant(sizes),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=5.0,
        )

    check(resize, [X2])


def test_max_unpool() -> None:
    def unpool(x: Any, *sizes: Any) -> Any:
        indices = tf.constant(np.asarray([5, 7, 13, 15]).reshape(1, 1, 2, 2))
        return onnx.call("MaxUnpool", x, indices, *sizes, kernel_shape=[2, 2], strides=[2, 2])

    x = away(1, 1, 2, 2)
    check(unpool, [x])
    check(lambda t: unpool(t, tf.constant(np.asarray([1, 1, 5, 5]))), [x])


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_resize_as_torch(mode: str, antialias: bool) -> None:
    torch = pytest.importorskip("torch")
    if antialias and mode == "bicubic":
        pytest.skip("torch has another coefficient there")
    size = (9, 11)
    t = torch.tensor(X2, requires_grad=True)
    expected = torch.nn.functional.interpolate(t, size, mode=mode, antialias=antialias)
    (expected**2).sum().backward()
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X2)
        sizes = tf.constant(np.asarray([2, 2, *size]))
        kind = {"bilinear": "linear", "bicubic": "cubic"}[mode]
        y = onnx.call("Resize", x, None, None, sizes, mode=kind, antialias=int(antialias))
        (dx,) = tf.gradients(tf.reduce_sum(y * y), [x])
        found, gradient = session.run([y, dx])
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_grid_sample_as_torch(mode: str, padding: str, align: int) -> None:
    torch = pytest.importorskip("torch")
    grid_value = np.random.RandomState(5).uniform(-1.3, 1.3, (2, 4, 3, 2))
    tx, tg = (torch.tensor(v, requires_grad=True) for v in (X2, grid_value))
    kind = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    expected = torch.nn.functional.grid_sample(tx, tg, kind, padding, bool(align))
    (expected**2).sum().backward()
    with tf.Graph().as_default(), tf.Session() as session:
        x, grid = tf.constant(X2), tf.constant(grid_value)
        y = onnx.call("GridSample", x, grid, mode=mode, padding_mode=padding, align_corners=align)
        found = session.run([y, *tf.gradients(tf.reduce_sum(y * y), [x, grid])])
    for value, expected_values in zip(found, (expected.detach(), tx.grad, tg.grad), strict=True):
        np.testing.assert_allclose(value, expected_values.numpy(), rtol=1e-6, atol=1e-9)


def test_grid_sample_volumes() -> None:
    grid = np.random.RandomState(5).uniform(-0.9, 0.9, (1, 2, 2, 3, 3))
    check(lambda x, g: onnx.call("GridSample", x, g, mode="cubic"), [X3, grid])


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_roi_align(mode: str, ratio: int) -> None:
    rois = np.asarray([[0.3, 0.2, 4.1, 3.3], [1.0, -0.6, 2.2, 4.0], [0.2, 0.7, 5.5, 3.9]])

    def align(x: Any) -> Any:
        return onnx.call(
            "RoiAlign",
            x,
            tf.constant(rois),
            tf.constant(np.asarray([1, 0, 1])),
            mode=mode,
            sampling_ratio=ratio,
            output_height=2,
            output_width=3,
        )

    check(align, [X2])
