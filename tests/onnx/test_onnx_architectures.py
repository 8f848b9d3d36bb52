"""The nine architectures of 224 x 224 images that the onnx package brings along.

Their files make every weight with ConstantOfShape, so all channels are equal and the outputs too;
the same networks with weights that differ are compared with ONNX Runtime.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from bundled_models import bundled
from engines import BOTH, module
from onnx import helper, numpy_helper

import graphio.onnx as tfonnx

Array = np.ndarray[Any, Any]
NAMES = [
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
]
ARCHITECTURES = pytest.mark.parametrize("name", NAMES)


def run(source: Any, engine: str, x: Array) -> Array:
    module(engine)
    model = tfonnx.load(source, engine)
    result: Array = model.signature("predict").run([x])[0]
    return result


@BOTH
@ARCHITECTURES
def test_as_bundled(name: str, engine: str) -> None:
    path, expected = bundled(name)
    size = 3 * 224 * 224
    x = (np.arange(size).reshape(1, 3, 224, 224) / size).astype(np.float32)
    np.testing.assert_allclose(run(path, engine, x), expected, rtol=1e-3, atol=1e-7)


# ---- weights that differ ----


def varied(name: str) -> onnx.ModelProto:
    """The network without its softmax, with weights that keep the scale of a signal. The graph
    computes them from small vectors, which keeps the file small."""
    model = onnx.load(bundled(name)[0])
    graph = model.graph
    shapes = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    made = {n.output[0]: n for n in graph.node if n.op_type == "ConstantOfShape"}
    roles = weight_roles(graph)
    numbers = np.random.RandomState(0)
    nodes = []
    for key, node in made.items():
        shape = [int(d) for d in shapes[node.input[0]]]
        rows, columns = (shape[0], int(np.prod(shape[1:])))
        low, high = bounds(roles.get(key, "bias"), columns)
        for part, dims in (("/rows", (rows, 1)), ("/columns", (1, columns))):
            values = np.float32(numbers.randint(0, 1 << 12, dims) / (1 << 12))
            graph.initializer.append(numpy_helper.from_array(values, key + part))
        for part, value in (("/low", low), ("/range", high - low)):
            graph.initializer.append(numpy_helper.from_array(np.float32(value), key + part))
        nodes += [
            helper.make_node("Add", [f"{key}/rows", f"{key}/columns"], [f"{key}/sum"]),
            helper.make_node("Floor", [f"{key}/sum"], [f"{key}/whole"]),
            helper.make_node("Sub", [f"{key}/sum", f"{key}/whole"], [f"{key}/fraction"]),
            helper.make_node("Mul", [f"{key}/fraction", f"{key}/range"], [f"{key}/scaled"]),
            helper.make_node("Add", [f"{key}/scaled", f"{key}/low"], [f"{key}/flat"]),
            helper.make_node("Reshape", [f"{key}/flat", node.input[0]], [key]),
        ]
    if graph.node[-1].op_type == "Softmax":
        graph.output[0].name = graph.node.pop().input[0]
        graph.output[0].type.tensor_type.ClearField("shape")
    kept = [n for n in graph.node if n.op_type != "ConstantOfShape"]
    del graph.node[:]
    graph.node.extend([*nodes, *kept])
    model.ir_version = max(model.ir_version, 4)  # initializers that are not inputs
    return model


def weight_roles(graph: onnx.GraphProto) -> dict[str, str]:
    """The roles of the weights: a filter, a factor near 1, or else a bias."""
    roles: dict[str, str] = {}
    views = {n.output[0]: n.input[0] for n in graph.node if n.op_type == "Unsqueeze"}
    for node in graph.node:
        if node.op_type in ("Conv", "Gemm"):
            roles[node.input[1]] = "filter"
        elif node.op_type == "BatchNormalization":
            roles[node.input[1]] = roles[node.input[4]] = "factor"
        elif node.op_type == "Mul":
            name = node.input[1]
            while name in views:
                name = views[name]
            roles[name] = "factor"
    return roles


def bounds(role: str, inputs: int) -> tuple[float, float]:
    """Least and largest weight."""
    if role == "filter":
        largest = float(np.sqrt(6 / inputs))
        return -largest, largest
    return (0.5, 1.5) if role == "factor" else (-0.1, 0.1)


@cache
def in_onnxruntime(name: str) -> tuple[bytes, Array, Array]:
    """A varied network, an image and its output."""
    ort = pytest.importorskip("onnxruntime")
    model = varied(name).SerializeToString()
    x = np.random.RandomState(1).randn(1, 3, 224, 224).astype(np.float32)
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return model, x, session.run(None, {session.get_inputs()[0].name: x})[0]


@BOTH
@ARCHITECTURES
def test_as_in_onnxruntime(name: str, engine: str) -> None:
    if (name, engine) == ("vgg19", "runtime"):
        pytest.skip("143 million weights; this network runs in the C library only")
    model, x, expected = in_onnxruntime(name)
    got = run(model, engine, x)
    largest = np.abs(expected).max()
    assert expected.std() > 0.05 * largest  # it says something
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 * largest)
