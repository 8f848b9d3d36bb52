"""Windows and pixels at the edges of an axis, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphio.onnx as tfonnx

ENGINES = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def model(op: str, names: list[str], opset: int, **attrs: Any) -> onnx.ModelProto:
    """One node of float32 from x, of one plane, and other inputs."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *names], ["y"], **attrs)],
        "test",
        [info("x", TensorProto.FLOAT, [1, 1, "size"])]
        + [info(name, TensorProto.FLOAT, [3]) for name in names if name],
        [onnx.ValueInfoProto(name="y")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    made.ir_version = 10
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return made


def both(made: onnx.ModelProto, target: str, **feeds: Any) -> tuple[Any, Any]:
    """The results of graphio and of ONNX Runtime."""
    runtime = pytest.importorskip("onnxruntime")
    (expected,) = runtime.InferenceSession(made.SerializeToString()).run(None, feeds)
    return tfonnx.load(made, target).signature("predict")(**feeds)["y"], expected


@ENGINES
@pytest.mark.parametrize("scale", [1.5, 2.2, 0.7, 1.3])
@pytest.mark.parametrize("positions", ["half_pixel", "half_pixel_symmetric", "asymmetric"])
@pytest.mark.parametrize("nearest", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_nearest_pixels_are_those_of_onnx_runtime(
    nearest: str, positions: str, scale: float, target: str
) -> None:
    made = model(
        *("Resize", ["", "scales"], 19),
        mode="nearest",
        nearest_mode=nearest,
        coordinate_transformation_mode=positions,
    )
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 5)
    y, expected = both(made, target, x=x, scales=np.asarray([1, 1, scale], np.float32))
    np.testing.assert_array_equal(y, expected)


@ENGINES
@pytest.mark.parametrize("size, window, step", [(2, 4, 3), (1, 3, 3), (3, 5, 4)])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
def test_a_window_that_ends_outside_is_one_where_sizes_are_rounded_up(
    op: str, size: int, window: int, step: int, target: str
) -> None:
    made = model(op, [], 22, kernel_shape=[window], strides=[step], ceil_mode=1)
    x = np.arange(1, size + 1, dtype=np.float32).reshape(1, 1, size)
    y, expected = both(made, target, x=x)
    assert y.shape == (1, 1, 1)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@ENGINES
def test_a_window_without_a_position_is_refused(target: str) -> None:
    made = model("MaxPool", [], 22, kernel_shape=[4], strides=[2], ceil_mode=1)
    with pytest.raises(Exception, match="a window of 4 does not fit axis 2 of size 2 padded by 0"):
        tfonnx.load(made, target).signature("predict")(x=np.ones((1, 1, 2), np.float32))
