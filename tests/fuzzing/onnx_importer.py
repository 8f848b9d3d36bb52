"""ONNX models as bytes."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, TensorProto, TypeProto, helper

import graphio as tf
import graphio.onnx
from fuzzing.messages import Mutator
from fuzzing.target import Mutate, Target, refusals
from graphio import runtime

#: a value for an attribute that must be there, by its type
SAMPLES = {1: 1.0, 2: 1, 3: "ij->i", 6: [1.0], 7: [1, 1], 8: ["a"]}


def run(data: bytes) -> None:
    """Imports a model to train it if its length is odd, else converts it; that must be valid."""
    made = None
    with refusals():
        if len(data) % 2:
            with tf.Graph().as_default():
                graphio.onnx.import_model(data, trainable=True)
        else:
            made = graphio.onnx.convert(data)
    if made is not None:
        runtime.load(made)


def change(data: bytes, rng: random.Random, mutate: Mutate) -> bytes:
    """Changes fields of the message, now and then its bytes."""
    if rng.random() < 0.05:
        return mutate(data, 4096)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return mutate(data, 4096)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if rng.random() < 0.3 and model.graph.node:
            _change_attribute(rng.choice(model.graph.node), rng, mutate)
        else:
            Mutator(rng, WORDS, mutate).change(model)
    return model.SerializeToString()


def _change_attribute(node: onnx.NodeProto, rng: random.Random, mutate: Mutate) -> None:
    """Gives a node one of its operator's attributes, or changes one that it has."""
    if node.attribute and rng.random() < 0.5:
        Mutator(rng, WORDS, mutate).change(rng.choice(node.attribute))
        return
    if f"{node.op_type}" not in WORDS["op_type"] or not onnx.defs.has(node.op_type, node.domain):
        return
    known = onnx.defs.get_schema(node.op_type, domain=node.domain).attributes
    if known:
        name = rng.choice(sorted(known))
        attribute = node.attribute.add(name=name, type=int(known[name].type.value))
        Mutator(rng, WORDS, mutate).change(attribute, 2)


def _words() -> dict[str, list[str]]:
    schemas = onnx.defs.get_all_schemas()
    return {
        "op_type": sorted({s.name for s in schemas}),
        "onnx.NodeProto.domain": ["", "ai.onnx.ml", "ai.onnx.preview.training", "graphio"],
        "onnx.OperatorSetIdProto.domain": ["", "ai.onnx.ml"],
        "onnx.AttributeProto.name": sorted({name for s in schemas for name in s.attributes}),
        "onnx.StringStringEntryProto.key": ["location", "offset", "length"],
        "onnx.TensorShapeProto.Dimension.dim_param": ["N", "M"],
    }


WORDS = _words()


def seeds() -> Iterator[bytes]:
    """Models of every kind of construct, and a node of every operator."""
    yield _loop().SerializeToString()
    yield _function().SerializeToString()
    yield _weights().SerializeToString()
    for schema in onnx.defs.get_all_schemas():
        if schema.domain in ("", "ai.onnx.ml"):
            yield _single(schema).SerializeToString()


def _single(schema: onnx.defs.OpSchema) -> onnx.ModelProto:
    """A node with as few inputs and attributes as may be: matrices, and vectors of integers."""
    kinds = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    inputs, weights, names = [], [], []
    for i in range(max(schema.min_input, 1) if schema.inputs else 0):
        parameter = schema.inputs[min(i, len(schema.inputs) - 1)]
        allowed = kinds.get(parameter.type_str, [parameter.type_str])
        names.append(f"x{i}")
        if "tensor(float)" in allowed:
            inputs.append(helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, [2, 3]))
        else:
            weights.append(helper.make_tensor(names[-1], TensorProto.INT64, [1], [1]))
    outputs = [f"y{i}" for i in range(schema.min_output)]
    attributes = {
        name: SAMPLES[int(spec.type.value)]
        for name, spec in schema.attributes.items()
        if spec.required and int(spec.type.value) in SAMPLES
    }
    node = helper.make_node(schema.name, names, outputs, domain=schema.domain, **attributes)
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    return _model(helper.make_graph([node], schema.name, inputs, results, weights))


def _loop() -> onnx.ModelProto:
    """A Loop that doubles, with an If inside."""
    one = helper.make_tensor_value_info("v", TensorProto.FLOAT, [2])
    yes = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    count = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    out = helper.make_tensor_value_info("w", TensorProto.FLOAT, [2])
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["v", "v"], [f"{name}_value"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_value", TensorProto.FLOAT, [2])],
        )
        for name, op in (("then", "Add"), ("else", "Mul"))
    }
    nodes = [
        helper.make_node("If", ["go"], ["w"], **branches),
        helper.make_node("Identity", ["go"], ["go_on"]),
    ]
    go_on = helper.make_tensor_value_info("go_on", TensorProto.BOOL, [])
    body = helper.make_graph(nodes, "body", [count, yes, one], [go_on, out])
    made = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        "loop",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])],
    )
    return _model(made)


def _function() -> onnx.ModelProto:
    """A function of the model's own with an attribute."""
    scale = helper.make_node("Constant", [], ["c"])
    scale.attribute.add(name="value_float", type=AttributeProto.FLOAT, ref_attr_name="by")
    function = helper.make_function(
        "own", "Scale", ["x"], ["y"], [scale, helper.make_node("Mul", ["x", "c"], ["y"])],
        [helper.make_opsetid("", 21)], ["by"],
    )  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Scale", ["x"], ["y"], domain="own", by=2.0)],
        "function",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])],
    )
    return _model(graph, functions=[function])


def _weights() -> onnx.ModelProto:
    """Initializers in every form: raw, typed, sparse, text, external."""
    raw = helper.make_tensor("w", TensorProto.FLOAT, [2, 2], bytes(16), raw=True)
    typed = helper.make_tensor("b", TensorProto.INT32, [2], [1, 2])
    text = helper.make_tensor("t", TensorProto.STRING, [1], [b"text"])
    far = TensorProto(name="e", data_type=1, dims=[1], data_location=TensorProto.EXTERNAL)
    far.external_data.add(key="location", value="weights.bin")
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["xw"]),
            helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["xw", "c"], ["y"]),
            helper.make_node("Add", ["y", "s"], ["z"]),
        ],
        "weights",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
        [raw, typed, text],
    )
    sparse = graph.sparse_initializer.add(dims=[2])
    sparse.values.CopyFrom(helper.make_tensor("s", TensorProto.FLOAT, [1], [3.0]))
    sparse.indices.CopyFrom(helper.make_tensor("si", TensorProto.INT64, [1], [1]))
    graph.value_info.add(name="xw", type=TypeProto())
    return _model(graph)


def _model(graph: onnx.GraphProto, **more: object) -> onnx.ModelProto:
    opsets = [helper.make_opsetid(*row) for row in (("", 21), ("own", 1), ("ai.onnx.ml", 5))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, **more)


TARGET = Target("onnx_importer", run, change, seeds)
