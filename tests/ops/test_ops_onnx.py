"""Every ONNX node that builders and gradients emit is legal at its version, and onnx's own
inference of its output agrees with ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from test_gradients_ops import CASES, IMAGES, NEEDS_SIZES
from test_ops_shapes import SHAPES

import graphio as tf
from graphio.dtypes import DType

#: onnx takes fewer dtypes than we do, or computes no shape, for these
BEYOND_ONNX = {"Constant"}


def attribute(name: str, value: Any) -> onnx.AttributeProto:
    if isinstance(value, DType):
        value = value.number
    if isinstance(value, np.ndarray):
        value = numpy_helper.from_array(value)
    return helper.make_attribute(name, value)


def dims(tensor: Any) -> list[int | None] | None:
    return None if tensor.shape.ndims is None else tensor.shape.as_list()


def one_node_model(op: Any) -> onnx.ModelProto:
    names = ["" if x is None else f"x{i}" for i, x in enumerate(op.inputs)]
    outputs = [f"y{i}" for i in range(len(op.outputs))]
    node = helper.make_node(op.op, names, outputs)
    node.attribute.extend(attribute(k, v) for k, v in op.attrs.items())
    given, constants = [], []
    for name, x in zip(names, op.inputs, strict=True):
        if x is None:
            continue
        if x.op.op == "Constant":
            constants.append(numpy_helper.from_array(np.asarray(x.op.attrs["value"]), name))
        else:
            given.append(helper.make_tensor_value_info(name, x.dtype.number, dims(x)))
    results = [
        helper.make_tensor_value_info(n, y.dtype.number, None)
        for n, y in zip(outputs, op.outputs, strict=True)
    ]
    graph = helper.make_graph([node], "node", given, results, constants)
    opset = helper.make_opsetid("", op.version)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def check_node(op: Any) -> None:
    model = one_node_model(op)
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 10, {"": op.version}
    onnx.checker.check_node(model.graph.node[0], context)
    inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    for found, ours in zip(inferred.graph.output, op.outputs, strict=True):
        kind = found.type.tensor_type
        assert kind.elem_type == ours.dtype.number, op
        if not kind.HasField("shape") or ours.shape.ndims is None:
            continue
        theirs = [d.dim_value if d.HasField("dim_value") else None for d in kind.shape.dim]
        assert ours.shape.is_compatible_with(theirs), (op, theirs, ours.shape)


def check_graph(graph: tf.Graph) -> None:
    for op in graph.get_operations():
        if op.domain == "" and op.op not in BEYOND_ONNX:
            check_node(op)


@pytest.mark.parametrize("name", list(SHAPES))
def test_builders_emit_legal_nodes(name: str) -> None:
    with tf.Graph().as_default() as graph:
        SHAPES[name][0]()
        check_graph(graph)


@pytest.mark.parametrize(
    ("name", "known"),
    [(n, True) for n in (*CASES, *IMAGES)] + [(n, False) for n in CASES if n not in NEEDS_SIZES],
)
def test_gradients_emit_legal_nodes(name: str, known: bool) -> None:
    function, *values = {**CASES, **IMAGES}[name]
    with tf.Graph().as_default() as graph:
        xs = [tf.placeholder(tf.float64, v.shape if known else [None] * v.ndim) for v in values]
        tf.gradients(function(*xs), xs)
        check_graph(graph)
