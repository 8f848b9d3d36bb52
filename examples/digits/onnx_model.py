"""The trained digits network as ONNX, to compare the times of ONNX Runtime and our engines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import graphio.runtime


def digits_onnx(model: Path) -> bytes:
    """The predict signature of a digits.gio, channels first inside, weights as initializers."""
    state = graphio.runtime.load(model).state
    weights = {name: state.get(name) for name in state.names() if name.startswith("net/")}
    weights = {name: w for name, w in weights.items() if "/Adam" not in name}
    for name in ("net/conv1/w", "net/conv2/w"):
        weights[name] = np.ascontiguousarray(weights[name].transpose(3, 2, 0, 1))
    node = helper.make_node
    nodes = [
        node("Reshape", ["x", "image_shape"], ["i"]),
        node("Conv", ["i", "net/conv1/w", "net/conv1/b"], ["c1"], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"]),
        node("Conv", ["r1", "net/conv2/w", "net/conv2/b"], ["c2"], pads=[1, 1, 1, 1]),
        node("Relu", ["c2"], ["r2"]),
        node("MaxPool", ["r2"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Transpose", ["m"], ["t"], perm=[0, 2, 3, 1]),
        node("Reshape", ["t", "flat_shape"], ["f"]),
        node("Gemm", ["f", "net/dense1/w", "net/dense1/b"], ["d"]),
        node("Relu", ["d"], ["r3"]),
        node("Gemm", ["r3", "net/dense2/w", "net/dense2/b"], ["l"]),
        node("Softmax", ["l"], ["probabilities"], axis=1),
        node("ArgMax", ["l"], ["classes"], axis=1, keepdims=0),
    ]
    weights["image_shape"] = np.int64([-1, 1, 8, 8])
    weights["flat_shape"] = np.int64([-1, 512])
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "digits",
        [info("x", onnx.TensorProto.FLOAT, [None, 64])],
        [
            info("probabilities", onnx.TensorProto.FLOAT, [None, 10]),
            info("classes", onnx.TensorProto.INT64, [None]),
        ],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
