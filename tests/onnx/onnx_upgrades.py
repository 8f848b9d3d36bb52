"""Models of old opsets for tests, and what gives their values."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graphio.onnx.upgrade import TARGET, upgrade

RNG = np.random.default_rng(7)


def f32(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def parse(opset, body, inputs, ir=8):
    """A model of one graph: inputs x0, x1, ... as the arrays say, outputs y0, y1, ..."""
    model = onnx.parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["": {opset}]> g () => () {{ {body} }}'
    )
    for i, x in enumerate(inputs):
        number = helper.np_dtype_to_tensor_dtype(x.dtype)
        model.graph.input.append(helper.make_tensor_value_info(f"x{i}", number, x.shape))
    made = {o for n in model.graph.node for o in n.output}
    model.graph.output.extend(
        onnx.ValueInfoProto(name=f"y{i}") for i in range(9) if f"y{i}" in made
    )
    return model


def typed(model, values):
    """The model whose outputs have the types of these values."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for info, value in zip(result.graph.output, values, strict=True):
        number = helper.np_dtype_to_tensor_dtype(value.dtype)
        info.type.CopyFrom(helper.make_tensor_type_proto(number, [None] * value.ndim))
    return result


def upgrade_without_shapes(model):
    """Upgrades the model while nothing says how its inputs are shaped."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for info in (*result.graph.input, *result.graph.output):
        info.type.tensor_type.ClearField("shape")
    result = upgrade(result)
    for k, info in enumerate(model.graph.input):
        result.graph.input[k].CopyFrom(info)
    for k, info in enumerate(model.graph.output):
        result.graph.output[k].CopyFrom(info)
    return result


def in_function(model):
    """The same nodes as a function's body."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    graph = model.graph
    names = [v.name for v in graph.input], [v.name for v in graph.output]
    function = result.functions.add(name="f", domain="local")
    function.input.extend(names[0])
    function.output.extend(names[1])
    function.node.extend(graph.node)
    function.opset_import.extend(model.opset_import)
    result.opset_import.append(helper.make_opsetid("local", 1))
    result.graph.node.append(helper.make_node("f", *names, domain="local", name="call"))
    return result


#: onnx's evaluator lacks them, or scans forward only
UNKNOWN_TO_REFERENCE = {"GlobalLpPool", "GroupNormalization", "Scan"}


def operators(model):
    """Names of the operators in a model's graph, in its functions and in their subgraphs."""
    for owner in (model.graph, *model.functions):
        yield from operators_in(owner)


def operators_in(owner):
    for node in owner.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators_in(attribute.g)


def evaluate(model, inputs):
    if UNKNOWN_TO_REFERENCE & set(operators(model)):
        result = onnx.ModelProto()
        result.CopyFrom(model)
        result.ir_version = 10
        for owner in (result, *result.functions):
            owner.opset_import[0].version = 21  # these operators mean the same there
        return by_onnxruntime(result, inputs)
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    return ReferenceEvaluator(model).run(None, feeds)


def by_onnxruntime(model, inputs):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def agree(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def check(opset, body, inputs, expected=None):
    """The upgraded model is valid and gives what is expected, or what onnxruntime gives.

    So does the upgrade of the model without shapes, and of the model as a function's body.
    """
    model = parse(opset, body, inputs)
    if expected is None:
        expected = by_onnxruntime(model, inputs)
    model = typed(model, expected)
    original = model.SerializeToString(deterministic=True)
    for upgraded in (upgrade(model), upgrade_without_shapes(model), upgrade(in_function(model))):
        onnx.checker.check_model(upgraded, full_check=True)
        assert [o.version for o in upgraded.opset_import if not o.domain] == [TARGET]
        agree(evaluate(upgraded, inputs), expected)
    assert model.SerializeToString(deterministic=True) == original
    return upgrade(model)


def softmax_2d(x, axis):
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    e = np.exp(flat - flat.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape)
