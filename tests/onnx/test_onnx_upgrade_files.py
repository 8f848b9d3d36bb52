"""Upgrades of ONNX files: unchanged parts, names of new nodes, functions, refusals."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper
from onnx_upgrades import agree, evaluate, f32, parse, softmax_2d

from graphio.onnx.upgrade import TARGET, upgrade

X234 = f32(2, 3, 4)


def test_names_stay_and_new_ones_derive_from_them():
    model = parse(11, "a = Identity(x0) y0 = Unsqueeze<axes=[0]>(a)", [f32(2)])
    model.graph.node[0].name = "u/axes"
    model.graph.node[1].name = "u"
    nodes = upgrade(model).graph.node
    assert [n.name for n in nodes] == ["u/axes", "u/axes_1", "u"]
    assert list(nodes[2].input) == ["a", "u/axes_1"]
    assert list(nodes[2].output) == ["y0"]


def test_without_an_opset_it_is_opset_1():
    model = parse(1, "y0 = Softmax(x0)", [X234])
    del model.opset_import[:]
    model.ir_version = 2
    agree(evaluate(upgrade(model), [X234]), [softmax_2d(X234, 1)])


def test_other_domains_stay():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    model.graph.node.append(
        helper.make_node("Scaler", ["x0"], ["z"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
    )
    result = upgrade(model)
    assert [(o.domain, o.version) for o in result.opset_import] == [("", TARGET), ("ai.onnx.ml", 2)]
    assert result.graph.node[-1] == model.graph.node[-1]


def test_the_domain_has_two_names():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.opset_import[0].domain = "ai.onnx"
    model.graph.node[0].domain = "ai.onnx"
    result = upgrade(model)
    assert [(o.domain, o.version) for o in result.opset_import] == [("", TARGET)]
    assert [n.domain for n in result.graph.node] == ["", ""]


def test_functions_have_their_own_opset_and_parameters():
    """A function of opset 11 in a model of opset 13, its axes given by the caller."""
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 13, "local": 1]>
        g (float[2, 3] x0) => (float[1, 2, 3] y0, float[2, 3] y1)
        { y0 = local.f<axes = [0]>(x0) y1 = Softmax(x0) }
        <opset_import: ["": 11], domain: "local"> f <axes> (x) => (y)
        { s = Softmax<axis = 0>(x) y = Unsqueeze<axes: ints = @axes>(s) }
    """)
    x = f32(2, 3)
    result = upgrade(model)
    onnx.checker.check_model(result, full_check=True)
    agree(evaluate(result, [x]), [softmax_2d(x, 0)[None], softmax_2d(x, 1)])


def test_parameters_of_functions_become_constants():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 10, "local": 1]>
        g (float[2, 3] x0) => (float[3, 3] y0) { y0 = local.f<most = 0.5, pads = [1, 0, 0, 0]>(x0) }
        <opset_import: ["": 10], domain: "local"> f <most, pads> (x) => (y)
        { c = Clip<max: float = @most>(x) y = Pad<pads: ints = @pads, value: float = @most>(c) }
    """)
    x = f32(2, 3)
    result = upgrade(model)
    onnx.checker.check_model(result, full_check=True)
    expected = np.pad(np.minimum(x, 0.5), ((1, 0), (0, 0)), constant_values=0.5)
    agree(evaluate(result, [x]), [expected])


def test_parameters_that_rules_must_know():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 6, "local": 1]>
        g (float[2, 3] x0) => (float[2, 3] y0) { y0 = local.f<test = 1>(x0) }
        <opset_import: ["": 6], domain: "local"> f <test> (x) => (y)
        { y = Dropout<is_test: int = @test>(x) }
    """)
    with pytest.raises(ValueError, match="'is_test' is the function's parameter 'test'"):
        upgrade(model)


def test_a_function_of_the_model_is_no_operator():
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 11, "local": 1]>
        g (float[2] x0) => (float[2] y0) { y0 = local.Softmax(x0) }
        <opset_import: ["": 11], domain: "local"> Softmax (x) => (y) { y = Relu(x) }
    """)
    assert upgrade(model).graph.node[0] == model.graph.node[0]


def test_the_newest_opset_stays():
    model = parse(TARGET, "y0 = Softmax(x0)", [X234])
    assert upgrade(model).graph == model.graph


def test_in_place():
    model = parse(11, "y0 = Squeeze<axes=[0]>(x0)", [f32(1, 2)])
    model.graph.initializer.append(numpy_helper.from_array(f32(4), "w"))
    result = upgrade(model, copy=False)
    assert result is model
    assert [n.op_type for n in model.graph.node] == ["Constant", "Squeeze"]
    assert model.graph.initializer[0].name == "w"


REFUSED = {
    "experimental": (6, "y0 = GRUUnit(x0)", "GRUUnit of opset 6"),
    "too new": (9, "y0 = Gelu(x0)", "no such operator"),
    "no default": (6, "y0 = ScaledTanh<beta=1.0>(x0)", "no attribute 'alpha'"),
    "deprecated": (12, "y0 = Scatter(x0, x0, x0)", "no more since opset 11"),
    "saved mean": (
        9,
        "y0, a, b, y1, y2 = BatchNormalization(x0, x0, x0, x0, x0)",
        "'y1' has no equal",
    ),
    "fraction": (1, "y0 = GlobalLpPool<p=2.5>(x0)", "p is 2.5"),
    "kernel": (1, "y0 = LpPool(x0)", "kernel_shape"),
    "axis": (1, "y0 = Split(x0)", "no attribute 'axis'"),
    "type": (1, 'y0 = Cast<to="REAL">(x0)', "no type 'REAL'"),
    "shape": (1, "y0 = Reshape(x0)", "no attribute 'shape'"),
    "lengths": (
        8,
        "y0, y1 = Scan(x0, x0, x0) <num_scan_inputs = 1, body = b (s, e) => (t, o)"
        " { t = Add(s, e) o = Identity(t) }>",
        "different lengths",
    ),
    "malformed": (18, "y0 = GroupNormalization(x0, x0, x0)", "malformed"),
    "half pixel": (
        11,
        'y0 = Resize<mode="linear", coordinate_transformation_mode="tf_half_pixel_for_nn">'
        "(x0, x0, x0)",
        "tf_half_pixel_for_nn",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    opset, body, text = REFUSED[name]
    model = parse(opset, body, [f32(2, 2)])
    before = model.SerializeToString(deterministic=True)
    with pytest.raises(ValueError, match="1 node cannot be upgraded") as caught:
        upgrade(model, copy=False)
    assert text in str(caught.value)
    assert model.SerializeToString(deterministic=True) == before


def test_all_refusals_at_once():
    model = parse(6, "y0 = GRUUnit(x0) y1 = ATen(x0) y2 = Relu(x0)", [f32(2)])
    model.graph.node[0].name = "unit"
    with pytest.raises(ValueError, match="2 nodes") as caught:
        upgrade(model)
    assert "'unit' (GRUUnit of opset 6)" in str(caught.value)
    assert "'y1' (ATen of opset 6)" in str(caught.value)


def test_an_opset_below_one_is_refused():
    with pytest.raises(ValueError, match="opset 0; the first one is 1"):
        upgrade(parse(0, "y0 = Relu(x0)", [f32(2)]))


def test_an_opset_of_the_future_counts_as_the_newest():
    model = parse(TARGET + 71, "y0 = Relu(x0)", [f32(2)])
    upgraded = upgrade(model)
    assert [o.version for o in upgraded.opset_import] == [TARGET]
    assert upgraded.graph.node == model.graph.node
