"""tf.graph_util: frozen graphs, parts of graphs, graphs without training nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
X = np.float32([[1, 2], [-1, 0.5]])


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    graph = tf.Graph()
    with graph.as_default():
        yield graph


def session(target: str = "cinfer") -> tf.Session:
    engines.module(target)
    return tf.Session(target)


def net() -> tf.Tensor:
    """out = (x w + b) (sum(w) + 1)^2, by a loop that reads w again."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0, 2.0], [0.5, -1.0]], name="w")
    b = tf.Variable(0.5, name="b")
    tf.Variable(1.0, name="unused")
    y = tf.add(tf.matmul(x, w), b, name="y")
    out = tf.while_loop(
        lambda i, a: i < 2, lambda i, a: (i + 1, a * (tf.reduce_sum(w.read_value()) + 1)), [0, y]
    )
    return tf.identity(out[1], name="out")


def want() -> np.ndarray[Any, Any]:
    w = np.float64([[1, 2], [0.5, -1]])
    result: np.ndarray[Any, Any] = (X @ w + 0.5) * (w.sum() + 1) ** 2
    return result


def frozen(target: str, outputs: list[str], **options: Any) -> tf.GraphDef:
    with session(target) as sess:
        sess.run(tf.global_variables_initializer())
        freeze = tf.graph_util.convert_variables_to_constants
        return freeze(sess, sess.graph_def, outputs, **options)


def types(graph_def: tf.GraphDef) -> dict[str, str]:
    return {node.name: node.op for node in graph_def.node}


@TARGETS
def test_a_frozen_graph_needs_no_initialisation(target: str) -> None:
    out = net()
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(out))
    made = frozen(target, ["out"])
    found = types(made)
    assert (found["w"], found["w/read"], found["b"]) == ("Const", "Identity", "Const")
    assert not any("Variable" in op or op == "Assign" for op in found.values())
    assert "unused" not in found and "Adam" not in found
    with tf.Graph().as_default(), session(target) as sess:
        x, result = tf.import_graph_def(made, return_elements=["x:0", "out:0"], name="")
        np.testing.assert_allclose(sess.run(result, {x: X}), want(), rtol=1e-6)


@TARGETS
def test_a_frozen_graph_is_written_as_onnx_and_as_a_model(target: str, tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    net()
    made = frozen(target, ["out"])
    with tf.Graph().as_default(), session(target) as sess:
        x, result = tf.import_graph_def(made, return_elements=["x:0", "out:0"])
        tf.onnx.export(str(tmp_path / "m.onnx"), sess, {"x": x}, {"out": result})
        tf.saved_model.save(tmp_path / "m.gio", sess, {"run": ({"x": x}, {"out": result})})
    onnx_session = ort.InferenceSession(str(tmp_path / "m.onnx"))
    np.testing.assert_allclose(onnx_session.run(None, {"x": X})[0], want(), rtol=1e-6)
    loaded = tf.saved_model.load(tmp_path / "m.gio", target)
    np.testing.assert_allclose(loaded.signature()(x=X)["out"], want(), rtol=1e-6)


def test_chosen_variables_stay_variables() -> None:
    net()
    found = types(frozen("runtime", ["y"], variable_names_whitelist=["w"]))
    assert (found["w"], found["b"]) == ("Const", "VariableV2")
    made = frozen("runtime", ["y"], variable_names_blacklist=["w"])
    assert (types(made)["w"], types(made)["b"]) == ("VariableV2", "Const")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        tf.import_graph_def(made, name="")
        w = graph.get_tensor_by_name("w:0")
        assert sess.run("y:0", {"x:0": [[1, 1]], "w/read:0": [[1, 0], [0, 1]]}).tolist() == [
            [1.5, 1.5]
        ]
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
            sess.run(w)


def test_the_given_graph_stays_as_it_is() -> None:
    net()
    given = tf.get_default_graph().as_graph_def()
    copy = tf.GraphDef()
    copy.CopyFrom(given)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        tf.graph_util.convert_variables_to_constants(sess, given, ["out"])
    tf.graph_util.remove_training_nodes(given)
    tf.graph_util.extract_sub_graph(given, ["y"])
    assert given == copy


def test_freezing_refuses_what_it_cannot_do() -> None:
    net()
    w = tf.global_variables()[0]
    tf.identity(w.assign_add(w), name="grown")
    graph_def = tf.get_default_graph().as_graph_def()
    freeze = tf.graph_util.convert_variables_to_constants
    with tf.Session() as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
            freeze(sess, graph_def, ["y"])
        sess.run(tf.global_variables_initializer())
        with pytest.raises(AssertionError, match="nothing is not in graph"):
            freeze(sess, graph_def, ["nothing"])
        with pytest.raises(ValueError, match="'AssignAdd', which assigns 'w'"):
            freeze(sess, graph_def, ["grown"])
        with pytest.raises(TypeError, match="GraphDef"):
            freeze(sess, 3, ["y"])


def test_a_sub_graph_has_what_its_nodes_need() -> None:
    net()
    given = tf.get_default_graph().as_graph_def()
    made = tf.graph_util.extract_sub_graph(given, ["w/Assign"])
    assert [n.name for n in made.node] == ["w/initial_value", "w", "w/Assign"]
    loop = types(tf.graph_util.extract_sub_graph(given, ["out"]))
    assert "w" in loop and "unused" not in loop
    with pytest.raises(TypeError, match="must be a list"):
        tf.graph_util.extract_sub_graph(given, "y")
    with pytest.raises(AssertionError, match="q is not in graph"):
        tf.graph_util.extract_sub_graph(given, ["q"])
    with pytest.raises(TypeError, match="GraphDef"):
        tf.graph_util.extract_sub_graph(3, ["y"])


@TARGETS
def test_nodes_that_only_pass_on_can_go(target: str) -> None:
    out = net()
    passed = tf.identity(out, name="goes")
    with tf.control_dependencies([tf.identity(out, name="waited_for")]):
        tf.identity(passed, name="stays")
    tf.negative(tf.get_default_graph().get_tensor_by_name("stays:0"), name="end")
    made = tf.graph_util.remove_training_nodes(frozen(target, ["end"]), protected_nodes=["y"])
    found = types(made)
    assert "waited_for" in found and "stays" in found
    assert not {"goes", "w/read", "b/read", "out"} & set(found)
    with tf.Graph().as_default(), session(target) as sess:
        x, end = tf.import_graph_def(made, return_elements=["x:0", "end:0"])
        np.testing.assert_allclose(sess.run(end, {x: X}), -want(), rtol=1e-6)


def test_nodes_that_pass_each_other_on_are_refused() -> None:
    circle = tf.GraphDef()
    for name, source in (("a", "b"), ("b", "a"), ("c", "a")):
        circle.node.add(name=name, op="Identity" if name != "c" else "Neg", input=[source])
    with pytest.raises(ValueError, match="a circle"):
        tf.graph_util.remove_training_nodes(circle)


def test_small_helpers() -> None:
    util = tf.graph_util
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    graph = tf.get_default_graph()
    assert util.tensor_shape_from_node_def_name(graph, "x") == [None, 2]
    assert util.tensor_shape_from_node_def_name(graph, "x:0") == [None, 2]
    assert util.set_cpu0("/job:w/gpu:1") == "/job:w/device:CPU:0"
    assert util.set_cpu0("/device:GPU:0") == "/device:CPU:0"
    v = tf.Variable(1.0)
    assert util.must_run_on_cpu(tf.constant(1).op) and util.must_run_on_cpu(tf.constant("a").op)
    assert not util.must_run_on_cpu(tf.constant(1.0).op) and not util.must_run_on_cpu(x.op)
    assert not util.must_run_on_cpu(v.op) and util.must_run_on_cpu(v.op, True)
    with pytest.raises(TypeError, match="Operation or a NodeDef"):
        util.must_run_on_cpu("Const")


def test_checks_go_and_so_does_waiting_for_them() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], "x")
        with tf.control_dependencies([tf.check_numerics(x, "bad", name="checked")]):
            passed = tf.stop_gradient(tf.identity(x), name="stopped")
        tf.negative(passed, name="end")
        made = tf.graph_util.remove_training_nodes(graph.as_graph_def())
        kept = tf.graph_util.remove_training_nodes(graph.as_graph_def(), ["checked"])
    assert [node.name for node in made.node] == ["x", "end"]
    assert "checked" in [node.name for node in kept.node]
