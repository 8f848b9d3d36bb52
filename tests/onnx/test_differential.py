"""Random ONNX graphs: the Python runtime, cinfer and ONNX Runtime agree.

GRAPHIO_DEEP=900 python tests/onnx/differential.py looks at more of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

pytest.importorskip("onnxruntime")
pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")

from differential import Checker, check
from differential_rows import ROWS

import graphio.onnx

GRAPHS = 450


def test_random_graphs_agree() -> None:
    checker = Checker()
    check(checker, GRAPHS, derandomize=True)
    assert checker.graphs > GRAPHS / 2
    assert len(checker.nodes) > 0.8 * len(ROWS)  # which ones is hypothesis's choice
    assert sum(checker.theirs.values()) > 0.7 * sum(checker.nodes.values())


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
@pytest.mark.parametrize("between", ["", "Reshape"])
def test_data_and_updates_of_a_scatter_may_be_one_tensor(target: str, between: str) -> None:
    """The result must not be written where updates are still read."""
    x, indices = np.arange(1, 7, dtype=np.float32), np.array([5, 0, 0, 1, 2, 0])
    updates = "r" if between else "y"
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("Shape", ["y"], ["s"]),
        helper.make_node("Reshape", ["y", "s"], ["r"]),
        helper.make_node("ScatterElements", ["y", "i", updates], ["z"], reduction="add"),
    ]
    inputs: list[Any] = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [6]),
        helper.make_tensor_value_info("i", TensorProto.INT64, [6]),
    ]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "scatter", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    found = graphio.onnx.load(model, target).signature()(x=x, i=indices)["z"]
    expected = -x
    np.add.at(expected, indices, -x)
    np.testing.assert_array_equal(found, expected)
