"""ONNX models in: what is taken, and what is refused with all its reasons at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphio as tf
import graphio.onnx as tfonnx

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
ENGINES = pytest.mark.parametrize("target", ["runtime", "cinfer"])
Node = onnx.NodeProto
node = helper.make_node


def model(
    nodes: list[Node],
    inputs: dict[str, Any],
    outputs: list[str],
    weights: dict[str, np.ndarray] | None = None,
    opset: int = 21,
    **more: Any,
) -> onnx.ModelProto:
    """A model; inputs: name to (type, shape)."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)
    return made


def run(source: Any, target: str, **feeds: Any) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = tfonnx.load(source, target).signature("predict")(**feeds)
    return found


def in_onnxruntime(source: onnx.ModelProto, **feeds: Any) -> dict[str, np.ndarray]:
    """The results of ONNX Runtime."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(source.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds), strict=True))


X = {"x": (FLOAT, ["batch", 3])}
DATA = np.float32([[1, -2, 3], [0, 5, -6]])

# ---- forms that are accepted ----


@ENGINES
@pytest.mark.parametrize("shape", [[2, 32], ["batch", "length"], [None, None]])
def test_a_real_signal_needs_no_dimension_for_its_one_part(target: str, shape: list[Any]) -> None:
    """torch.onnx.export writes every torch.stft of a real signal so."""
    weights = {"step": np.array(4), "window": np.hanning(8).astype(np.float32)}
    stft = node("STFT", ["x", "step", "window"], ["y"], onesided=1)
    made = model([stft], {"x": (FLOAT, shape)}, ["y"], weights, opset=17, ir_version=8)
    made.graph.output[0].type.tensor_type.elem_type = FLOAT
    x = np.random.RandomState(0).randn(2, 32).astype(np.float32)
    found = run(made, target, x=x)["y"]
    assert found.shape == (2, 7, 5, 2)
    np.testing.assert_allclose(found, in_onnxruntime(made, x=x)["y"], rtol=1e-5, atol=1e-5)


@ENGINES
@pytest.mark.parametrize(
    ("op", "shape", "weights"),
    [("Conv", (1, 2, 5, 5), (3, 2, 3, 3)), ("Gemm", (2, 4), (4, 3))],
)
def test_a_node_without_a_bias_takes_the_activation_behind_it(
    target: str, op: str, shape: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    draw = np.random.RandomState(0)
    x, w = (draw.randn(*s).astype(np.float32) for s in (shape, weights))
    nodes = [node(op, ["x", "w"], ["h"]), node("Relu", ["h"], ["y"])]
    made = model(nodes, {"x": (FLOAT, shape)}, ["y"], {"w": w}, ir_version=10)
    made.graph.output[0].type.tensor_type.elem_type = FLOAT
    expected = in_onnxruntime(made, x=x)["y"]
    np.testing.assert_allclose(run(made, target, x=x)["y"], expected, rtol=1e-4, atol=1e-5)


TRANSPOSED: list[dict[str, Any]] = [
    {"output_shape": [3, 1]},
    {"output_shape": [7, 5], "strides": [3, 2], "auto_pad": "SAME_LOWER"},
    {"strides": [3, 3], "auto_pad": "SAME_LOWER"},
    {"strides": [3, 2], "auto_pad": "SAME_UPPER", "output_padding": [1, 0]},
    {"strides": [3, 2], "auto_pad": "VALID", "output_padding": [1, 0], "group": 2},
    {"strides": [3, 2], "pads": [0, 1, 1, 0], "dilations": [2, 1]},
]


@ENGINES
@pytest.mark.parametrize("attributes", TRANSPOSED)
@pytest.mark.parametrize("shape", [[1, 2, 3, 2], ["batch", 2, None, "width"], None])
def test_the_shape_of_a_transposed_convolution_is_what_runs(
    target: str, shape: list[Any] | None, attributes: dict[str, Any]
) -> None:
    nodes = [node("ConvTranspose", ["x", "w"], ["y"], **attributes), node("Shape", ["y"], ["s"])]
    weights = {"w": np.ones((2, 2 // attributes.get("group", 1), 2, 2), np.float32)}
    made = model(nodes, {"x": (FLOAT, shape)}, ["y", "s"], weights, ir_version=10)
    found = run(made, target, x=np.ones((1, 2, 3, 2), np.float32))
    assert found["s"].tolist() == list(found["y"].shape)


@ENGINES
@pytest.mark.parametrize("equation", ["ij,ij->ij", "ij,ij->ji", "ji,ij->i", "...j,...j->j..."])
@pytest.mark.parametrize("rows", [1, None])
def test_the_shape_of_an_einsum_is_what_runs_where_a_letter_spreads(
    target: str, equation: str, rows: int | None
) -> None:
    nodes = [node("Einsum", ["x", "w"], ["y"], equation=equation), node("Shape", ["y"], ["s"])]
    weights = {"w": np.ones((3, 3), np.float32)}
    made = model(nodes, {"x": (FLOAT, [rows, 3])}, ["y", "s"], weights, ir_version=10)
    found = run(made, target, x=np.ones((1, 3), np.float32))
    assert found["s"].tolist() == list(found["y"].shape)


@ENGINES
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("shape", [[3, 2], [None, 2], [None, None]])
def test_a_slice_backwards_from_before_the_first_element_is_from_the_first(
    target: str, shape: list[Any], kind: Any
) -> None:
    """The standard brings the start into the dimension; Python takes nothing then."""
    slices = {"y": ([-5], [-8], [0], [-1]), "z": ([-9, -4], [9, -9], [-1, 0], [1, -2])}
    weights, nodes = {}, []
    for output, numbers in slices.items():
        names = [f"{output}{k}" for k in range(4)]
        weights |= {n: np.array(v, kind) for n, v in zip(names, numbers, strict=True)}
        nodes.append(node("Slice", ["x", *names], [output]))
    made = model(nodes, {"x": (FLOAT, shape)}, [*slices], weights, opset=17, ir_version=8)
    for output in made.graph.output:
        output.type.tensor_type.elem_type = FLOAT
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    found, expected = run(made, target, x=x), in_onnxruntime(made, x=x)
    assert expected["y"].tolist() == [[0, 1]]
    for output in slices:
        np.testing.assert_array_equal(found[output], expected[output])


@ENGINES
def test_names_of_inputs_and_outputs_are_kept_whatever_they_are(target: str) -> None:
    made = model([node("Relu", ["input:0"], ["out put"])], {"input:0": X["x"]}, ["out put"])
    found = run(made, target, **{"input:0": DATA})
    np.testing.assert_array_equal(found["out put"], np.maximum(DATA, 0))


@ENGINES
@pytest.mark.parametrize("ir_version", [3, 14, 99])
def test_nothing_is_refused_for_its_ir_version(target: str, ir_version: int) -> None:
    made = model([node("Relu", ["x"], ["y"])], X, ["y"])
    made.ir_version = ir_version
    np.testing.assert_array_equal(run(made, target, x=DATA)["y"], np.maximum(DATA, 0))


@ENGINES
def test_functions_of_the_model_are_expanded(target: str) -> None:
    function = helper.make_function(
        "mine",
        "Scaled",
        ["v"],
        ["w"],
        [
            node("Constant", [], ["k"]),
            node("Mul", ["v", "k"], ["w"]),
        ],
        [helper.make_opsetid("", 12)],
        ["factor"],
    )
    reference = function.node[0].attribute.add()
    reference.name, reference.ref_attr_name = "value_float", "factor"
    reference.type = onnx.AttributeProto.FLOAT
    calls = [
        node("Scaled", ["x"], ["a"], domain="mine", factor=2.0),
        node("Scaled", ["a"], ["y"], domain="mine", factor=0.25),
    ]
    made = model(calls, X, ["y"], functions=[function])
    made.opset_import.append(helper.make_opsetid("mine", 1))
    np.testing.assert_array_equal(run(made, target, x=DATA)["y"], DATA / 2)


@ENGINES
@pytest.mark.parametrize("shape", [[2, 3, 8, 5], ["batch", 3, "height", "width"]])
@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_corners_are_aligned_by_whole_sizes_until_opset_18(
    target: str, shape: list[Any], mode: str
) -> None:
    """As the opsets' documentation says, and as torch computes: 8 * 0.7 are 5 pixels, not 5.6."""
    resize = node(
        *("Resize", ["x", "", "scales"], ["y"]),
        mode=mode,
        coordinate_transformation_mode="align_corners",
    )
    weights = {"scales": np.float32([1, 1, 0.7, 1.3])}
    made = model([resize], {"x": (FLOAT, shape)}, ["y"], weights, opset=18, ir_version=8)
    made.graph.output[0].type.tensor_type.elem_type = FLOAT
    with tf.Graph().as_default():
        known = tfonnx.import_model(made).outputs["y"].shape.as_list()
        assert known == ([2, 3, 5, 6] if shape[0] == 2 else [None, 3, None, None])
    x = np.random.RandomState(0).randn(2, 3, 8, 5).astype(np.float32)
    found = run(made, target, x=x)["y"]
    np.testing.assert_allclose(found, in_onnxruntime(made, x=x)["y"], rtol=1e-4, atol=1e-5)


@ENGINES
def test_resize_takes_sizes_that_only_the_run_knows(target: str) -> None:
    resize = node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest")
    made = model([resize], {**X, "sizes": (INT64, [2])}, ["y"])
    found = run(made, target, x=DATA, sizes=np.array([2, 6]))["y"]
    np.testing.assert_array_equal(found, np.repeat(DATA, 2, axis=1))


@ENGINES
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_mean_variance_normalization_of_other_floats(target: str, dtype: Any) -> None:
    x = np.arange(12).reshape(2, 3, 2, 1).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    call = node("MeanVarianceNormalization", ["x"], ["y"], axes=[0, 2, 3])
    found = run(model([call], {"x": (kind, None)}, ["y"]), target, x=x)["y"]
    wide = x.astype(np.float64)
    expected = (wide - wide.mean((0, 2, 3), keepdims=True)) / wide.std((0, 2, 3), keepdims=True)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=4e-3 if dtype == np.float16 else 1e-7)


@ENGINES
def test_numbers_known_while_importing_wrap_as_they_do_in_a_run(target: str) -> None:
    weights = {"a": np.int16([32767, 3]), "b": np.int16([2, -5]), "dims": np.array([2, 3])}
    nodes = [
        node("Add", ["a", "b"], ["sum"]),
        node("Abs", ["sum"], ["y"]),
        node("ReduceSum", ["dims"], ["kept"], noop_with_empty_axes=1),
        node("ConstantOfShape", ["kept"], ["zeros"]),
    ]
    found = run(model(nodes, X, ["y", "zeros"], weights), target, x=DATA)
    np.testing.assert_array_equal(found["y"], np.abs(np.int16([-32767, -2])))
    assert found["zeros"].shape == (2, 3)


def test_an_input_with_a_default_is_a_weight_and_is_not_fed() -> None:
    nodes, weights = [node("Add", ["x", "b"], ["y"])], {"b": np.float32([1, 2, 3])}
    made = model(nodes, {**X, "b": (FLOAT, [3])}, ["y"], weights)
    np.testing.assert_array_equal(run(made, "", x=DATA)["y"], DATA + weights["b"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="unknown b; its inputs are x"):
        run(made, "", x=DATA, b=weights["b"])


@ENGINES
def test_nodes_may_come_in_any_order(target: str) -> None:
    nodes = [node("Add", ["a", "b"], ["y"]), node("Neg", ["a"], ["b"]), node("Relu", ["x"], ["a"])]
    np.testing.assert_array_equal(run(model(nodes, X, ["y"]), target, x=DATA)["y"], 0 * DATA)


@ENGINES
def test_branches_and_loops_see_values_around_them(target: str) -> None:
    def branch(op: str) -> onnx.GraphProto:
        return helper.make_graph(
            [node(op, ["x", "w"], ["r"])], op, [], [helper.make_tensor_value_info("r", FLOAT, None)]
        )

    body = helper.make_graph(
        [node("Add", ["v", "w"], ["v2"]), node("Identity", ["c"], ["c2"]),
         node("Identity", ["v2"], ["s"])],
        "body",
        [helper.make_tensor_value_info("i", INT64, []),
         helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("v", FLOAT, None)],
        [onnx.ValueInfoProto(name=n) for n in ("c2", "v2", "s")],
    )  # fmt: skip
    nodes = [
        node("ReduceSum", ["x"], ["total"], keepdims=0),
        node("Greater", ["total", "zero"], ["positive"]),
        node("If", ["positive"], ["picked"], then_branch=branch("Add"), else_branch=branch("Sub")),
        node("Loop", ["count", "", "picked"], ["y", "steps"], body=body),
    ]
    weights = {"w": np.float32([1, 10, 100]), "zero": np.float32(0), "count": np.int64(3)}
    made = model(nodes, X, ["y", "steps"], weights)
    found = run(made, target, x=DATA)
    np.testing.assert_array_equal(found["y"], DATA + 4 * weights["w"])
    assert found["steps"].shape == (3, 2, 3)
    found = run(made, target, x=-DATA)
    np.testing.assert_array_equal(found["y"], -DATA + 2 * weights["w"])


@ENGINES
def test_weights_beside_the_file_are_read(target: str, tmp_path: Path) -> None:
    weights = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
    made = model([node("MatMul", ["x", "w"], ["y"])], X, ["y"], weights)
    onnx.save(
        made, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    found = run(tmp_path / "m.onnx", target, x=DATA)["y"]
    np.testing.assert_array_equal(found, DATA @ weights["w"])


def test_weights_are_trainable_by_choice() -> None:
    weights = {
        "w": np.ones((3, 4), np.float32),
        "b": np.zeros(4, np.float32),
        "shape": np.int64([-1, 2, 2]),
        "low": np.float32(0),
    }
    nodes = [
        node("Gemm", ["x", "w", "b"], ["a"]),
        node("Clip", ["a", "low"], ["c"]),
        node("Reshape", ["c", "shape"], ["y"]),
    ]
    made = model(nodes, X, ["y"], weights)
    for trainable, expected in (
        (False, set()),
        (True, {"w", "b"}),
        (lambda name: name == "b", {"b"}),
    ):
        with tf.Graph().as_default():
            found = tfonnx.import_model(made, trainable=trainable)
            assert set(found.variables) == expected
            assert {v.op.name for v in tf.trainable_variables()} == expected
            assert found.outputs["y"].shape.as_list() == [None, 2, 2]


def test_an_imported_model_is_trained_further() -> None:
    weights = {"w": np.float32([[1], [0], [0]]), "mean": np.zeros(1, np.float32)}
    with tf.Graph().as_default(), tf.Session() as session:
        made = model([node("MatMul", ["x", "w"], ["y"])], X, ["y"], weights)
        found = tfonnx.import_model(made, trainable=True, prefix="net")
        loss = tf.reduce_mean(tf.square(found.outputs["y"] - [[1.0], [2.0]]))
        step = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = [session.run([loss, step], {found.inputs["x"]: DATA})[0] for _ in range(50)]
        assert losses[-1] < 0.1 * losses[0]
        assert found.variables["w"].op.name == "net/w"


def test_a_model_becomes_a_file(tmp_path: Path) -> None:
    made = model([node("Neg", ["x"], ["y"])], X, ["y"])
    helper.set_model_props(made, {"author": "me"})
    assert tfonnx.convert(made, tmp_path / "m.gio") is None
    loaded = tf.saved_model.load(tmp_path / "m.gio")
    np.testing.assert_array_equal(loaded.signature("predict")(x=DATA)["y"], -DATA)
    assert loaded.metadata["author"] == "me"


# ---- refusals ----

Bad = Callable[[], onnx.ModelProto]
WEIGHT = np.ones((4, 2), np.float32)


def cyclic() -> onnx.ModelProto:
    return model([node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"])], X, ["b"])


def negative_dims() -> onnx.ModelProto:
    made = model([node("Add", ["x", "w"], ["y"])], X, ["y"], {"w": WEIGHT})
    made.graph.initializer[0].dims[0] = -4
    return made


def short_data() -> onnx.ModelProto:
    made = model([node("Add", ["x", "w"], ["y"])], X, ["y"], {"w": WEIGHT})
    made.graph.initializer[0].raw_data = b"123"
    return made


def strange_type(number: int = 999) -> onnx.ModelProto:
    made = model([node("Add", ["x", "w"], ["y"])], X, ["y"], {"w": WEIGHT})
    made.graph.initializer[0].data_type = number
    return made


REFUSED: dict[str, tuple[Bad, type[Exception], list[str]]] = {
    "unknown operator": (
        lambda: model([node("Frobnicate", ["x"], ["y"], "f")], X, ["y"]),
        tf.errors.UnimplementedError,
        ["Frobnicate 'f'", "the standard has no operator Frobnicate"],
    ),
    "unknown domain": (
        lambda: model([node("Op", ["x"], ["y"], "f", domain="com.example")], X, ["y"]),
        tf.errors.UnimplementedError,
        ["Op 'f'", "com.example.Op", "no function of that name"],
    ),
    "wrong attribute type": (
        lambda: model([node("Softmax", ["x"], ["y"], "s", axis=1.5)], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Softmax 's'", "attribute 'axis' is of kind float, expected int"],
    ),
    "unknown attribute": (
        lambda: model([node("Relu", ["x"], ["y"], "r", slope=1)], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Relu 'r'", "has no attribute 'slope'"],
    ),
    "missing attribute": (
        lambda: model([node("Concat", ["x", "x"], ["y"], "c")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Concat 'c'", "attribute 'axis' is missing"],
    ),
    "missing input": (
        lambda: model([node("Add", ["x"], ["y"], "a")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Add 'a'", "has 1 inputs, expected 2"],
    ),
    "absent input": (
        lambda: model([node("Add", ["", "x"], ["y"], "a")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Add 'a'", "input A is missing"],
    ),
    "shapes that clash": (
        lambda: model([node("MatMul", ["x", "w"], ["y"], "m")], X, ["y"], {"w": WEIGHT}),
        tf.errors.InvalidArgumentError,
        ["MatMul 'm'", "Incompatible dimensions"],
    ),
    "types that clash": (
        lambda: model([node("Add", ["x", "i"], ["y"], "a")], {**X, "i": (INT64, [3])}, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Add 'a'", "float32", "int64"],
    ),
    "type outside the constraint": (
        lambda: model([node("Not", ["x"], ["y"], "n")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Not 'n'", "float32", "bool"],
    ),
    "a value that nothing makes": (
        lambda: model([node("Relu", ["z"], ["y"], "r")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Relu 'r'", "nothing makes its input 'z'"],
    ),
    "an output that nothing makes": (
        lambda: model([node("Relu", ["x"], ["y"])], X, ["z"]),
        tf.errors.InvalidArgumentError,
        ["output 'z'", "nothing makes it"],
    ),
    "two producers": (
        lambda: model([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"], "n")], X, ["y"]),
        tf.errors.InvalidArgumentError,
        ["Neg 'n'", "'y' is made twice"],
    ),
    "a cycle": (
        cyclic,
        tf.errors.InvalidArgumentError,
        ["2 nodes wait for one another in a cycle", "Add 'first'"],
    ),
    "negative dimensions": (
        negative_dims,
        tf.errors.InvalidArgumentError,
        ["tensor 'w' has dimensions [-4, 2]"],
    ),
    "short data": (short_data, tf.errors.InvalidArgumentError, ["tensor 'w' of shape [4, 2]"]),
    "an element type that is none": (
        strange_type,
        tf.errors.InvalidArgumentError,
        ["tensor 'w' has element type 999"],
    ),
    "an element type that graphio lacks": (
        lambda: strange_type(28),
        tf.errors.InvalidArgumentError,
        ["tensor 'w' has element type TensorProto.FLOAT6E3M2, which graphio lacks"],
    ),
    "no outputs": (
        lambda: model([node("Relu", ["x"], ["y"])], X, []),
        tf.errors.InvalidArgumentError,
        ["the graph has no outputs"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_model_is_refused_with_words_that_help(name: str) -> None:
    make, error, words = REFUSED[name]
    with pytest.raises(error) as caught:
        tfonnx.convert(make())
    for word in words:
        assert word in str(caught.value)


def test_a_failed_import_leaves_the_graph_as_it_was() -> None:
    weights = {"w": np.ones((3, 3), np.float32)}
    good = [node("MatMul", ["x", "w"], ["a"], "m"), node("Dropout", ["a"], ["b"], "d")]
    broken = model([*good, node("Frobnicate", ["b"], ["y"])], X, ["y"], weights)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        kept = tf.Variable(np.float32(1), name="kept")
        names = [op.name for op in graph.get_operations()]
        with pytest.raises(tf.errors.UnimplementedError, match="Frobnicate"):
            tfonnx.import_model(broken, trainable=True)
        assert [op.name for op in graph.get_operations()] == names
        assert tf.global_variables() == [kept]
        found = tfonnx.import_model(model(good, X, ["b"], weights), trainable=True)
        assert found.variables["w"].op.name == "w"
        session.run(tf.global_variables_initializer())
        made = session.run(found.outputs["b"], {found.inputs["x"]: DATA})
        np.testing.assert_array_equal(made, DATA @ weights["w"])
    with pytest.raises(TypeError, match="trainable is"):
        tfonnx.import_model(broken, trainable=["w"])


def test_all_problems_are_listed_at_once() -> None:
    nodes = [
        node("Frobnicate", ["x"], ["a"], "one"),
        node("Relu", ["a"], ["b"], "follows"),
        node("Softmax", ["x"], ["c"], "two", axis="no"),
        node("Add", ["x", "nowhere"], ["d"], "three"),
    ]
    with pytest.raises(tf.errors.UnimplementedError) as caught:
        tfonnx.convert(model(nodes, X, ["b", "c", "d"]))
    message = str(caught.value)
    assert "3 problems" in message and "follows" not in message
    for word in ("'one'", "'two'", "'three'"):
        assert word in message


def test_all_nodes_that_no_rule_upgrades_are_listed_one_a_line() -> None:
    nodes = [node("Split", ["x"], ["y", "z"], name="a\nb"), node("Cast", ["x"], ["c"], to="REAL")]
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tfonnx.convert(model(nodes, X, ["y", "c"], opset=1))
    first, *listed = str(caught.value).split("\n")
    assert first.endswith("cannot be imported, 2 problems:")
    assert [line.split(": ")[0] for line in listed] == [
        "  'a\\nb' (Split of opset 1)",
        "  'c' (Cast of opset 1)",
    ]


def test_no_protobuf_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\xff" * 100)
    with pytest.raises(tf.errors.DataLossError, match="not an ONNX model"):
        tfonnx.convert(tmp_path / "m.onnx")
    with pytest.raises(tf.errors.DataLossError, match="but empty: its writer"):
        tfonnx.convert(b"")
    with pytest.raises(tf.errors.NotFoundError, match="there is no file"):
        tfonnx.convert(tmp_path / "other.onnx")
    with pytest.raises(tf.errors.InvalidArgumentError, match="is a folder"):
        tfonnx.convert(tmp_path)


OUTSIDE = {
    "above": ("../secret", 0, 24),
    "absolute": ("/etc/passwd", 0, 24),
    "a device": ("/dev/zero", 0, 24),
    "empty": ("", 0, 24),
    "missing": ("nothing.bin", 0, 24),
    "a link out": ("link", 0, 24),
    "a hard link": ("hard", 0, 24),
    "behind the end": ("w.bin", 20, 24),
    "too long": ("w.bin", 0, 48),
    "a strange offset": ("w.bin", -4, 24),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_external_data_stay_in_their_folder(name: str, tmp_path: Path) -> None:
    location, offset, length = OUTSIDE[name]
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(64))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "w.bin").write_bytes(bytes(24))
    (folder / "link").symlink_to(secret)
    os.link(secret, folder / "hard")
    made = model([node("MatMul", ["x", "w"], ["y"])], X, ["y"], {"w": np.zeros((3, 2), np.float32)})
    weight = made.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        weight.external_data.add(key=key, value=str(value))
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(tf.errors.InvalidArgumentError, match="tensor 'w'"):
        tfonnx.convert(folder / "m.onnx")
    with pytest.raises(tf.errors.InvalidArgumentError, match="give the path of its file"):
        tfonnx.convert(made)


# ---- checks at run time ----

RUN_TIME: dict[str, tuple[Node, dict[str, Any], list[str]]] = {
    "an index": (
        node("Gather", ["x", "i"], ["y"], "g", axis=1),
        {"x": DATA, "i": np.int64([7])},
        ["Gather 'g'", "7"],
    ),
    "an axis": (
        node("ReduceSum", ["x", "i"], ["y"], "r"),
        {"x": DATA, "i": np.int64([5])},
        ["ReduceSum 'r'", "5"],
    ),
    "a shape": (
        node("Reshape", ["x", "i"], ["y"], "r"),
        {"x": DATA, "i": np.int64([4, 5])},
        ["Reshape 'r'"],
    ),
    "a split": (
        node("Split", ["x", "i"], ["y", "z"], "s", axis=1),
        {"x": DATA, "i": np.int64([1, 5])},
        ["Split 's'"],
    ),
}


@ENGINES
@pytest.mark.parametrize("name", RUN_TIME)
def test_numbers_out_of_range_are_refused_in_the_run(name: str, target: str) -> None:
    made, feeds, words = RUN_TIME[name]
    inputs = {
        "x": (FLOAT, ["n", "m"]),
        "i": (INT64, ["k"]),
    }
    loaded = tfonnx.load(model([made], inputs, ["y"]), target)
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        loaded.signature("predict")(**feeds)
    for word in words:
        assert word in str(caught.value)


def shapes(source: Any) -> dict[str, Any]:
    """Static shapes of the outputs."""
    with tf.Graph().as_default():
        found = tfonnx.import_model(source)
        return {n: t.shape.as_list() for n, t in found.outputs.items()}


def test_sizes_that_are_computed_from_a_shape_are_known_as_far_as_it_is() -> None:
    """Exporters compute the shape of a Reshape with nodes; gradients need the ranks."""
    nodes = [
        node("Shape", ["x"], ["all"]),
        node("Slice", ["all", "zero", "one"], ["batch"]),
        node("Concat", ["batch", "two", "minus"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["reshaped"]),
        node("Expand", ["one_by_three", "to_wide"], ["expanded"]),
        node("Concat", ["batch", "two", "one"], ["to_wide"], axis=0),
        node("ConstantOfShape", ["to_wide"], ["filled"]),
        node("Mod", ["six", "four"], ["rest"]),
        node("Reshape", ["x", "rest"], ["remainder"]),
    ]
    numbers = {"zero": 0, "one": 1, "two": 2, "minus": -1}
    weights = {k: np.array([v], np.int64) for k, v in numbers.items()}
    weights["one_by_three"] = np.ones((1, 3), np.float32)
    weights |= {"six": np.array([6, 6], np.int64), "four": np.array([4, 3], np.int64)}
    outputs = ["reshaped", "expanded", "filled", "remainder"]
    found = shapes(model(nodes, {"x": (FLOAT, ["n", 6])}, outputs, weights))
    assert found["reshaped"] == [None, 2, None] and found["filled"] == [None, 2, 1]
    assert found["expanded"] == [None, 2, 3] and found["remainder"] == [2, 6]


def test_weights_are_found_behind_what_rearranges_them() -> None:
    nodes = [
        node("Slice", ["a", "zero", "two"], ["rows"]),
        node("Concat", ["rows", "b"], ["joined"], axis=0),
        node("Transpose", ["joined"], ["turned"]),
        node("MatMul", ["x", "turned"], ["y"]),
        node("Max", ["y", "floor"], ["z"]),
    ]
    weights = {
        "a": np.ones((4, 3), np.float32),
        "b": np.ones((1, 3), np.float32),
        "zero": np.array([0], np.int64),
        "two": np.array([2], np.int64),
        "floor": np.zeros(1, np.float32),
    }
    with tf.Graph().as_default():
        found = tfonnx.import_model(model(nodes, X, ["z"], weights), trainable=True)
        assert sorted(found.variables) == ["a", "b"]


@ENGINES
@pytest.mark.parametrize("sizes", ["sizes", "each"])
def test_a_sequence_whose_elements_are_read_by_number_is_a_split(sizes: str, target: str) -> None:
    nodes = [
        node("SplitToSequence", ["x", sizes], ["parts"], axis=1),
        node("SequenceAt", ["parts", "last"], ["a"]),
        node("SequenceAt", ["parts", "zero"], ["b"]),
        node("SequenceConstruct", ["a", "b", "x"], ["three"]),
        node("ConcatFromSequence", ["three"], ["y"], axis=-1),
    ]
    weights = {"sizes": np.array([2, 1], np.int64), "each": np.array(2, np.int64)}
    weights |= {"last": np.array(-1, np.int64), "zero": np.array(0, np.int32)}
    made = model(nodes, X, ["y"], weights)
    expected = np.concatenate([DATA[:, 2:], DATA[:, :2], DATA], axis=1)
    np.testing.assert_array_equal(run(made, target, x=DATA)["y"], expected)
    with tf.Graph().as_default():
        found = tfonnx.import_model(made)
        assert None not in tf.gradients(found.outputs["y"], [found.inputs["x"]])


@ENGINES
@pytest.mark.parametrize("keeps", [True, False])
def test_a_carried_value_without_a_declared_shape_may_change_its_rank(
    target: str, keeps: bool
) -> None:
    step = [node("Identity", ["go"], ["go_on"])]
    step += [node("MatMul", ["v", "v"], ["next"])] if keeps else [
        node("Unsqueeze", ["v", "front"], ["next"])
    ]  # fmt: skip
    body = helper.make_graph(
        step,
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", FLOAT, None),
        ],
        [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("next", FLOAT, None)],
        [numpy_helper.from_array(np.array([0]), "front")],
    )  # fmt: skip
    made = model([node("Loop", ["m", "", "x"], ["y"], body=body)],
                 {"m": (INT64, []), "x": (FLOAT, [2, 2])}, ["y"])  # fmt: skip
    x = np.float32([[1, 2], [0, 1]])
    with tf.Graph().as_default():
        assert tfonnx.import_model(made).outputs["y"].shape.ndims == (2 if keeps else None)
    y = run(made, target, m=np.array(2), x=x)["y"]
    np.testing.assert_array_equal(y, x @ x @ (x @ x) if keeps else x[None, None])


# ---- strange models ----


def function(name: str, nodes: list[Node], output: str = "o") -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)]
    return helper.make_function("f", name, ["i"], [output], nodes, imports)


def calling(*functions: onnx.FunctionProto) -> onnx.ModelProto:
    made = model([node("A0", ["x"], ["y"], "a", domain="f")], X, ["y"])
    made.functions.extend(functions)
    made.opset_import.append(helper.make_opsetid("f", 1))
    return made


def twice(callee: str) -> list[Node]:
    return [node(callee, ["i"], ["t"], domain="f"), node(callee, ["i"], ["o"], domain="f")]


def two_inputs() -> onnx.ModelProto:
    made = model([node("Relu", ["x"], ["y"])], X, ["y"])
    made.graph.input.extend([made.graph.input[0], onnx.ValueInfoProto()])
    return made


def reference() -> onnx.ModelProto:
    made = model([node("Softmax", ["x"], ["y"], "s")], X, ["y"])
    made.graph.node[0].attribute.add(name="axis", ref_attr_name="a", type="INT")
    return made


NEG = node("Neg", ["i"], ["o"])
STRANGE: dict[str, tuple[Bad, list[str]]] = {
    "a function that calls itself": (
        lambda: calling(function("A0", twice("A0"))),
        ["function 'A0' of domain 'f' calls itself"],
    ),
    "functions that double": (
        lambda: calling(*(function(f"A{i}", twice(f"A{i + 1}")) for i in range(28)),
                        function("A28", [NEG])),
        ["expand to", "nodes, at most 1000000"],
    ),
    "a function twice": (
        lambda: calling(function("A0", [NEG]), function("A0", [NEG])),
        ["two functions are named 'A0' in domain 'f'"],
    ),
    "a function's output that nothing makes": (
        lambda: calling(function("A0", [NEG], "lost")),
        ["A0 'a'", "nothing makes the function's output 'lost'"],
    ),
    "inputs of one name or none": (
        two_inputs, ["2 problems", "two inputs are named 'x'", "an input has no name"]
    ),
    "a reference outside a function": (
        reference, ["Softmax 's'", "attribute 'axis' refers to one of a function"]
    ),
    "an empty node": (
        lambda: model([Node(), node("Relu", ["x"], ["y"])], X, ["y"]),
        ["a node without operator without outputs"],
    ),
    "a number of parts that ends onnx's own inference": (
        lambda: model([node("Split", ["x"], ["y", "z"], "p", num_outputs=1)], X, ["y"]),
        ["Split 'p'", "num_outputs is 1, the node has 2 outputs"],
    ),
    "an axis that ends onnx's own inference": (
        lambda: model([node("LayerNormalization", ["x", "x"], ["y"], "n", axis=2**31)], X, ["y"]),
        ["LayerNormalization 'n'", "axis 2147483648 is outside the rank"],
    ),
    "an attribute that is not UTF-8": (
        lambda: model([node("Conv", ["x", "x"], ["y"], "c", auto_pad=b"\xff\xfe")], X, ["y"]),
        ["Conv 'c'", "attribute 'auto_pad' is", "no UTF-8 text"],
    ),
    "a type that is none, and more": (
        lambda: model([node("Relu", ["x"], ["y"])], {"x": (99, [1])}, ["z"]),
        ["2 problems", "input 'x': element type 99", "output 'z'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_model_is_refused_at_once(name: str) -> None:
    make, words = STRANGE[name]
    with pytest.raises(tf.errors.OpError) as caught:
        tfonnx.convert(make())
    for word in words:
        assert word in str(caught.value)


def test_a_name_that_is_no_text_is_no_model() -> None:
    data = model([node("Relu", ["x"], ["y"], "name_of_it")], X, ["y"]).SerializeToString()
    with pytest.raises(tf.errors.DataLossError, match="not UTF-8"):
        tfonnx.convert(data.replace(b"name_of_it", b"name_\xff\xfe_it"))


def test_many_nodes_in_reverse_order_are_sorted() -> None:
    nodes = [node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(300)][::-1]
    made = model([*nodes, node("Relu", ["v300"], ["y"])], {"v0": X["x"]}, ["y"])
    np.testing.assert_array_equal(run(made, "", v0=DATA)["y"], np.maximum(DATA, 0))


@ENGINES
def test_an_input_may_be_named_self(target: str) -> None:
    made = model([node("Neg", ["self"], ["y"])], {"self": X["x"]}, ["y"])
    np.testing.assert_array_equal(run(made, target, self=DATA)["y"], -DATA)


def test_long_results_are_not_made_while_importing() -> None:
    sizes = {"a": np.int64(0), "b": np.int64(2**40), "c": np.int64(1), "s": np.int64([2**32] * 2)}
    nodes = [
        node("Range", ["a", "b", "c"], ["r"]),
        node("Size", ["r"], ["n"]),
        node("ConstantOfShape", ["s"], ["f"], value=numpy_helper.from_array(np.int64([1]))),
        node("Size", ["f"], ["m"]),
        node("Reshape", ["n", "r"], ["k"]),
    ]
    weights = {k: np.asarray(v) for k, v in sizes.items()}
    with tf.Graph().as_default():
        tfonnx.import_model(model(nodes, {}, ["k", "m"], weights))


def sparse(kind: int, values: list[Any], index_kind: int = INT64) -> onnx.ModelProto:
    made = model([node("Identity", ["w"], ["y"])], {}, ["y"])
    tensor = helper.make_tensor("w", kind, [1], values)
    indices = helper.make_tensor("at", index_kind, [1], [1])
    made.graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, indices, [2]))
    return made


def test_sparse_weights_are_strings_too_and_have_whole_indices() -> None:
    found = run(sparse(TensorProto.STRING, [b"q"]), "")["y"]
    assert found.tolist() in ([b"", b"q"], ["", "q"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="has float32 indices"):
        tfonnx.convert(sparse(FLOAT, [1.0], FLOAT))
    made = sparse(FLOAT, [1.0])
    made.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="two initializers are named 'w'"):
        tfonnx.convert(made)


@ENGINES
def test_an_eye_like_a_value_of_unknown_type_is_imported(target: str) -> None:
    """onnx's own inference ends the process there."""
    nodes = [
        node("Resize", ["x", "", "", "sizes"], ["z"], mode="nearest"),
        node("ReduceSumSquare", ["z", "axes"], ["total"], keepdims=0),
        node("EyeLike", ["total"], ["eye"], dtype=TensorProto.UINT8, k=-2),
        node("ReduceLogSum", ["x"], ["asks_for_its_type"]),
    ]
    inputs = {"x": (INT64, [3, 1, 2, 5]), "sizes": (INT64, ["n"]), "axes": (INT64, ["m"])}
    made = model(nodes, inputs, ["eye"], opset=25)
    found = tfonnx.load(made, target).signature()
    x = np.arange(30).reshape(3, 1, 2, 5)
    got = found(x=x, sizes=np.array([3, 1, 2, 5]), axes=np.array([0, 1]))["eye"]
    np.testing.assert_array_equal(got, np.eye(2, 5, -2, np.uint8))


@ENGINES
def test_the_type_behind_a_resize_to_sizes_of_the_run_is_known(target: str) -> None:
    """onnx's inference gives none there; ReduceLogSum of integers is computed in float64."""
    nodes = [
        node("Resize", ["x", "", "", "sizes"], ["z"], mode="nearest"),
        node("ReduceLogSum", ["z"], ["y"]),
    ]
    inputs = {"x": (TensorProto.INT32, ["a", "b"]), "sizes": (INT64, ["n"])}
    made = model(nodes, inputs, ["y"], opset=25)
    x = np.array([[20, 30], [40, 58]], np.int32)
    found = tfonnx.load(made, target).signature()(x=x, sizes=np.array([2, 2]))["y"]
    assert found.dtype == np.int32 and found.tolist() == [[4]]  # log 148 = 4.997
