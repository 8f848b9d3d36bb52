"""Names of operations as TensorFlow gives them, scopes, and how things print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def names(graph: tf.Graph) -> list[str]:
    return [op.name for op in graph.get_operations()]


A: Any = lambda: tf.constant(1.0)  # noqa: E731
I: Any = lambda: tf.constant(1)  # noqa: E731, E741
B: Any = lambda: tf.constant(True)  # noqa: E731
M: Any = lambda: tf.ones([2, 2])  # noqa: E731

#: a call that builds a tensor, and the name of its operation
GIVEN: list[tuple[Callable[[], Any], str]] = [
    (lambda: I() % I(), "mod"), (lambda: B() & B(), "and"), (lambda: B() | B(), "or"),
    (lambda: ~B(), "LogicalNot"), (lambda: M() @ M(), "matmul"), (lambda: tf.exp(A()), "Exp"),
    (lambda: tf.nn.softmax(M()), "Softmax"), (lambda: tf.nn.sigmoid(A()), "Sigmoid"),
    (lambda: tf.reduce_max(M()), "Max"), (lambda: tf.reduce_prod(M()), "Prod"),
    (lambda: tf.reduce_all(B()), "All"), (lambda: tf.equal(A(), A()), "Equal"),
    (lambda: tf.minimum(A(), A()), "Minimum"), (lambda: tf.pow(A(), A()), "Pow"),
    (lambda: tf.subtract(A(), A()), "Sub"), (lambda: tf.multiply(A(), A()), "Mul"),
    (lambda: tf.divide(A(), A()), "truediv"), (lambda: tf.truediv(A(), A()), "truediv"),
    (lambda: tf.div(A(), A()), "div"), (lambda: tf.floordiv(A(), A()), "floordiv"),
    (lambda: tf.mod(A(), A()), "FloorMod"), (lambda: tf.size(M()), "Size"),
    (lambda: tf.squeeze(M()[:1]), "Squeeze"), (lambda: tf.gather(M(), [0]), "GatherV2"),
    (lambda: tf.gather_nd(M(), [[0, 0]]), "GatherNd"), (lambda: tf.where(M() > 0), "Where"),
    (lambda: tf.where(M() > 0, M(), M()), "Select"), (lambda: tf.tile(M(), [1, 1]), "Tile"),
    (lambda: tf.pad(M(), [[0, 0], [0, 0]]), "Pad"), (lambda: tf.fill([2], 1.0), "Fill"),
    (lambda: tf.range(3), "range"), (lambda: tf.add_n([A(), A()]), "AddN"),
    (lambda: tf.zeros_like(M()), "zeros_like"), (lambda: tf.cumsum(M()), "Cumsum"),
    (lambda: tf.nn.bias_add(M(), [1.0, 1.0]), "BiasAdd"),
    (lambda: tf.random_uniform([2]), "random_uniform"),
    (lambda: tf.truncated_normal([2]), "truncated_normal"),
    (lambda: tf.stop_gradient(A()), "StopGradient"), (lambda: tf.argmin(M(), 0), "ArgMin"),
    (lambda: tf.clip_by_value(A(), 0.0, 1.0), "clip_by_value"),
    (lambda: tf.reverse(M(), [0]), "ReverseV2"), (lambda: tf.slice(M(), [0, 0], [1, 1]), "Slice"),
    (lambda: tf.nn.l2_loss(M()), "L2Loss"), (lambda: tf.sign(A()), "Sign"),
    (lambda: tf.squared_difference(A(), A()), "SquaredDifference"),
    (lambda: tf.placeholder_with_default(1.0, []), "PlaceholderWithDefault"),
    (lambda: tf.nn.leaky_relu(A()), "LeakyRelu"), (lambda: tf.nn.log_softmax(M()), "LogSoftmax"),
    (lambda: tf.segment_sum(M(), [0, 0]), "SegmentSum"),
    (lambda: tf.boolean_mask(M(), [True, False]), "boolean_mask/GatherV2"),
    (lambda: tf.linspace(0.0, 1.0, 3), "LinSpace"), (lambda: tf.to_float(I()), "ToFloat"),
    (lambda: tf.broadcast_to(A(), [2]), "BroadcastTo"), (lambda: tf.cholesky(M()), "Cholesky"),
    (lambda: tf.scatter_nd([[0]], [1.0], [2]), "ScatterNd"), (lambda: tf.lgamma(A()), "Lgamma"),
    (lambda: tf.losses.mean_squared_error(M(), M()), "mean_squared_error/value"),
    (lambda: tf.global_variables_initializer(), "init"), (lambda: tf.no_op(), "NoOp"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "name"), GIVEN, ids=[name for _, name in GIVEN])
def test_the_name_of_an_operation(build: Callable[[], Any], name: str) -> None:
    made = build()
    assert (made.name if isinstance(made, tf.Operation) else made.op.name) == name


def test_python_operands_come_before_the_operation(graph: tf.Graph) -> None:
    a = tf.constant(1.0)
    2 + a, a * 3.0, 1 - a
    assert names(graph) == ["Const", "add/x", "add", "mul/y", "mul", "sub/x", "sub"]


def test_a_scope_that_ends_in_a_slash_is_entered_as_it_is() -> None:
    with tf.name_scope("a"):
        with tf.name_scope("b/"):
            assert tf.constant(1).name == "b/Const:0"
        with tf.name_scope(""):
            assert tf.constant(1).name == "Const:0"
        assert (tf.constant(1) + 1).name == "a/add:0"
    with pytest.raises(ValueError, match="not a valid scope name"), tf.name_scope("_x"):
        pass


def test_what_tensors_print_as() -> None:
    p, q = tf.placeholder(tf.float32, name="P"), tf.placeholder(tf.float32, [None, 3], name="Q")
    assert str(p) == 'Tensor("P:0", dtype=float32)'
    assert repr(p) == "<tf.Tensor 'P:0' shape=<unknown> dtype=float32>"
    assert str(q) == 'Tensor("Q:0", shape=(?, 3), dtype=float32)'
    assert repr(q.shape) == "TensorShape([Dimension(None), Dimension(3)])"
    assert (str(q.shape), str(q.shape[0]), str(q.shape[1])) == ("(?, 3)", "?", "3")
    assert repr(q.op) == "<tf.Operation 'Q' type=Placeholder>"
    assert (str(tf.int32), repr(tf.int32)) == ("<dtype: 'int32'>", "tf.int32")


def test_dimensions_are_counted_with() -> None:
    shape = tf.placeholder(tf.float32, [None, 3]).shape
    assert (shape[1].value, int(shape[1]), (shape[1] * 2).value) == (3, 3, 6)
    assert shape[0].value is None and (shape[0] * 2).value is None and len(shape) == 2
    assert tf.zeros([2, 3]).shape == [2, 3] == tf.zeros([2, 3]).shape.as_list()
    assert shape[1:].as_list() == [3] and shape.concatenate([4]).as_list() == [None, 3, 4]
    assert shape.merge_with([7, None]).as_list() == [7, 3] and shape.is_compatible_with([7, 3])
    with pytest.raises(ValueError):
        tf.TensorShape(None).as_list()


def test_tensors_have_no_value_while_the_graph_is_built() -> None:
    a = tf.constant(1.0)
    for question in (bool, list, len, float, int, range):
        with pytest.raises(TypeError):
            question(a)  # type: ignore[operator]
    with pytest.raises(NotImplementedError):
        np.array(a)
    with pytest.raises(TypeError):
        a + "x"
    with pytest.raises(ValueError):
        a + None
    assert bool(tf.Variable(1.0))


def test_attributes_have_tensorflows_names_too() -> None:
    multiplied = tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
    assert multiplied.op.get_attr("T") == tf.float32
    assert tf.constant(1).op.get_attr("dtype") == tf.int32
    with pytest.raises(ValueError, match="no attr named 'nope'"):
        multiplied.op.get_attr("nope")


def test_feeding_and_fetching_can_be_prevented(graph: tf.Graph) -> None:
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    graph.prevent_feeding(a)
    graph.prevent_fetching(b.op)
    assert not graph.is_feedable(a) and graph.is_feedable(b)
    assert graph.is_fetchable(a) and not graph.is_fetchable(b)
    with tf.Session() as session:
        assert session.run(a) == 1.0
        with pytest.raises(ValueError, match="may not be fed: it was marked"):
            session.run(a, {a: 3.0})
        with pytest.raises(ValueError, match="marked as not fetchable"):
            session.run(b)


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_what_ran_before_is_prevented_from_now_on(graph: tf.Graph, target: str) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y, z = tf.add(x, 1.0, name="y"), tf.multiply(x, 2.0, name="z")
    with tf.Session(target) as session:
        call = session.make_callable(y, [x])
        assert (call(1.0), session.run(y, {x: 1.0}), session.run(z, {x: 1.0})) == (2, 2, 2)
        graph.prevent_fetching("z")
        for fetch in (z, z.op, [z], "z:0"):
            with pytest.raises(ValueError, match="marked as not fetchable"):
                session.run(fetch, {x: 1.0})
        assert call(1.0) == 2
        graph.prevent_feeding("x:0")
        for run in (
            lambda: call(1.0),
            lambda: session.run(y, {x: 1.0}),
            lambda: y.eval({"x:0": 1}),
        ):
            with pytest.raises(ValueError, match="x:0 may not be fed"):
                run()


def test_no_signature_feeds_or_gives_what_is_prevented(graph: tf.Graph, tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    graph.prevent_feeding(x)
    graph.prevent_fetching(y.op)
    with tf.Session() as session:
        for save in (
            lambda: tf.saved_model.save(tmp_path / "m.gio", session, {"p": ({"x": x}, {"y": y})}),
            lambda: tf.saved_model.simple_save(session, str(tmp_path / "m"), {"x": x}, {"y": y}),
            lambda: tf.onnx.export(None, session, {"x": x}, {"y": y}),
        ):
            with pytest.raises(
                ValueError, match="input x:0 may not be fed; y:0 may not be fetched"
            ):
                save()


def test_only_tensors_and_operations_of_the_graph_are_prevented(graph: tf.Graph) -> None:
    with pytest.raises(KeyError, match="nope"):
        graph.prevent_feeding("nope:0")
    with pytest.raises(TypeError, match="int"):
        graph.prevent_fetching(3)


def test_slots_bear_the_scope_that_they_are_made_in_once_more() -> None:
    with tf.variable_scope("vs"):
        v = tf.get_variable("v", [2])
        tf.train.RMSPropOptimizer(0.1).minimize(tf.reduce_sum(v))
    assert [x.name for x in tf.global_variables()] == [
        "vs/v:0", "vs/vs/v/RMSProp:0", "vs/vs/v/RMSProp_1:0",
    ]  # fmt: skip
    with tf.name_scope("ns"):
        tf.train.AdamOptimizer().minimize(tf.reduce_sum(v))
    assert [x.name for x in tf.global_variables()][3:] == [
        "ns/beta1_power:0", "ns/beta2_power:0", "vs/v/Adam:0", "vs/v/Adam_1:0",
    ]  # fmt: skip
