"""Gradients that a program gives, and the arguments of tf.gradients; in both engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.framework import gradient_registry

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_and_names_of_its_own() -> Iterator[None]:
    before = dict(gradient_registry.named)
    with tf.Graph().as_default():
        yield
    gradient_registry.named.clear()
    gradient_registry.named.update(before)


def value(fetches: Any, target: str = "", feeds: Any = None) -> Any:
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


# ---- custom_gradient ----


@tf.custom_gradient
def log1pexp(x: Any) -> Any:
    e = tf.exp(x)
    return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))


@TARGETS
def test_a_custom_gradient_takes_the_place_of_the_derivative(target: str) -> None:
    x = tf.constant(100.0)
    y = log1pexp(x)
    plain = tf.log(1 + tf.exp(x))
    assert value(tf.gradients(y, x), target) == [1.0]
    assert np.isnan(value(tf.gradients(plain, x), target)[0])


@TARGETS
def test_second_derivatives_differentiate_the_gradient_function(target: str) -> None:
    x = tf.constant(0.5)
    (first,) = tf.gradients(log1pexp(x), x)
    s = 1 / (1 + np.exp(-0.5))
    assert value(tf.gradients(first, x), target)[0] == pytest.approx(s * (1 - s), rel=1e-5)


@TARGETS
def test_several_arguments_and_results_are_differentiated_at_once(target: str) -> None:
    calls = []

    @tf.custom_gradient
    def both(a: Any, b: Any) -> Any:
        def grad(*dy: Any) -> Any:
            calls.append(len(dy))
            return dy[0] * 10.0, dy[1] * 100.0

        return {"a": a + b, "b": a * b}, grad

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    made = both(x, y)
    assert set(made) == {"a", "b"}
    grads = tf.gradients([made["a"], 2.0 * made["b"]], [x, y])
    one_only = tf.gradients(made["a"], [x, y])
    assert calls == [2, 2]
    found, alone = value([grads, one_only], target)
    np.testing.assert_array_equal(found, [[10, 10], [200, 200]])
    np.testing.assert_array_equal(alone, [[10, 10], [0, 0]])


@TARGETS
def test_a_custom_gradient_holds_in_loops_and_branches(target: str) -> None:
    @tf.custom_gradient
    def tenfold(x: Any) -> Any:
        return x * 1.0, lambda dy: dy * 10.0

    x, p = tf.constant(1.0), tf.placeholder(tf.bool, [])
    inner = lambda j, h: (j + 1, tenfold(h))  # noqa: E731
    outer = lambda i, h: (i + 1, tf.while_loop(lambda j, h: j < 2, inner, [0, h])[1])  # noqa: E731
    _, y = tf.while_loop(lambda i, h: i < 2, outer, [0, x])
    z = tf.cond(p, lambda: tenfold(x), lambda: x)
    got = value([tf.gradients(y, x), tf.gradients(z, x)], target, {p: True})
    assert got == [[1e4], [10.0]]


@TARGETS
def test_variables_read_in_the_function_get_their_gradients(target: str) -> None:
    with tf.variable_scope("s"):
        w = tf.get_variable("w", initializer=3.0)

    @tf.custom_gradient
    def scaled(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            assert variables == [w]
            return dy * 5.0, [dy * 7.0]

        return x * w, grad

    x = tf.constant(2.0)
    assert value(tf.gradients(scaled(x), [x, w]), target) == [5.0, 7.0]


def operations() -> int:
    return len(tf.get_default_graph().get_operations())


def test_variables_that_a_function_makes_are_resources() -> None:
    def scaled(x: Any, name: str, use_resource: bool) -> Any:
        @tf.custom_gradient
        def function(x: Any) -> Any:
            w = tf.get_variable(name, [], use_resource=use_resource)
            return x * w, lambda dy, variables=None: (dy * w, [tf.reduce_sum(dy * x)])

        return function(x)

    with tf.Graph().as_default() as graph:
        x = tf.ones([2])
        y = scaled(x, "held", True)
        count = len(graph.get_operations())
        with pytest.raises(TypeError, match="must be `ResourceVariable`s.*makes plain"):
            scaled(x, "plain", False)
        assert len(graph.get_operations()) == count
        assert tf.gradients(y, tf.trainable_variables())[0].shape.as_list() == []


def test_what_a_custom_gradient_cannot_be_is_refused() -> None:
    x, w = tf.constant(2.0), tf.Variable(3.0)
    before = operations()
    with pytest.raises(TypeError, match="must accept keyword argument 'variables'"):
        tf.custom_gradient(lambda x: (x * w, lambda dy: dy))(x)
    with pytest.raises(ValueError, match="keywords arguments"):
        log1pexp(x=x)
    with pytest.raises(TypeError, match="expected a pair"):
        tf.custom_gradient(lambda x: x)(x)
    assert operations() == before
    two = tf.custom_gradient(lambda x: (x * 1.0, lambda dy: [dy, dy]))(x)
    before = operations()
    with pytest.raises(ValueError, match="expected to return 1 gradients, but returned 2"):
        tf.gradients(2.0 * two, x)
    assert operations() == before + 2  # the multiplication and its constant
    other = tf.custom_gradient(lambda x: (x * 1.0, lambda dy: tf.zeros([2])))(x)
    with pytest.raises(ValueError, match="Incompatible shapes between op input"):
        tf.gradients(other, x)
    double = tf.custom_gradient(lambda x: (x * 1.0, lambda dy: tf.cast(dy, tf.float64)))(x)
    with pytest.raises(TypeError, match="float64.*float32"):
        tf.gradients(double, x)


@TARGETS
def test_a_gradient_may_pass_through_as_it_is(target: str) -> None:
    x = tf.constant([0.2, 1.7])
    rounded = tf.grad_pass_through(tf.round)(x)
    got, dx = value([rounded, tf.gradients(rounded * 3.0, x)[0]], target)
    assert got.tolist() == [0, 2] and dx.tolist() == [3, 3]


@TARGETS
def test_variables_of_what_passes_gradients_through_get_none(target: str) -> None:
    x = tf.constant(3.0)
    with tf.variable_scope("passing"):
        v = tf.get_variable("v", initializer=2.0)
    y = tf.grad_pass_through(lambda t: t * v)(x)
    by_x, by_v = tf.gradients(y, [x, v])
    assert by_v is None
    assert value(by_x, target) == 1.0


@TARGETS
def test_structures_are_taken_and_given_as_they_are(target: str) -> None:
    seen = []

    @tf.custom_gradient
    def scaled(pair: Any, nothing: Any) -> Any:
        seen.append((type(pair), nothing))

        def grad(*dy: Any) -> Any:
            return [dy[0] * 10.0, dy[1] * 100.0]

        return [pair["a"] + 1.0, (pair["b"] + 2.0, [])], grad

    x, y = tf.constant(1.0), tf.constant(2.0)
    (first, (second, rest)) = scaled({"a": x, "b": y}, ())
    assert (seen, rest) == ([(dict, ())], [])
    assert value([first, second, *tf.gradients([first, second], [x, y])], target) == [2, 4, 10, 100]


# ---- by name ----


@TARGETS
def test_an_override_gives_operations_of_a_type_another_gradient(target: str) -> None:
    @tf.RegisterGradient("GuidedRelu")
    def guided(op: Any, dy: Any) -> Any:
        assert op.type == "Relu" and op.outputs[0].name == "Relu_1:0"
        return tf.where((op.inputs[0] > 0) & (dy > 0), dy, tf.zeros_like(dy))

    x, dy = tf.constant([1.0, -2.0, 3.0]), tf.constant([5.0, 6.0, -7.0])
    plain = tf.nn.relu(x)
    with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
        changed = tf.nn.relu(x)
    after = tf.nn.relu(x)
    grads = [tf.gradients(y, x, dy)[0] for y in (plain, changed, after)]
    found = value(grads, target)
    np.testing.assert_array_equal(found, [[5, 0, -7], [5, 0, 0], [5, 0, -7]])


@TARGETS
def test_an_override_reaches_what_has_no_gradient_or_several_nodes(target: str) -> None:
    @tf.RegisterGradient("Straight")
    def straight(op: Any, dy: Any) -> Any:
        assert [t.name for t in op.inputs[:1]] == ["x:0"]
        return dy

    @tf.RegisterGradient("Pair")
    def pair(op: Any, dy: Any) -> Any:
        assert len(op.inputs) == 2
        return [2.0 * dy, None]

    x = tf.constant([0.3, -1.6], name="x")
    types = {"Sign": "Straight", "Round": "Straight", "Square": "Straight"}
    with tf.get_default_graph().gradient_override_map(types):
        with tf.get_default_graph().gradient_override_map({"SquaredDifference": "Pair"}):
            ys = [tf.sign(x), tf.round(x), tf.square(x), tf.squared_difference(x, 1.0)]
    found = value([tf.gradients(y, x)[0] for y in ys], target)
    np.testing.assert_array_equal(found, [[1, 1], [1, 1], [1, 1], [2, 2]])


@TARGETS
def test_what_python_computes_may_have_a_gradient(target: str) -> None:
    tf.RegisterGradient("Twofold")(lambda op, dy: dy * 2.0 * op.inputs[0])
    x = tf.constant([1.0, 3.0])
    with tf.get_default_graph().gradient_override_map({"PyFunc": "Twofold"}):
        (y,) = tf.py_func(np.square, [x], [tf.float32])
    y.set_shape([2])
    plain = tf.py_func(np.square, [x], tf.float32)
    assert tf.gradients(plain, x) == [None]
    found, dx = value([y, tf.gradients(y, x)[0]], target)
    assert found.tolist() == [1, 9] and dx.tolist() == [2, 6]


def test_not_differentiable_cuts_the_path() -> None:
    tf.NotDifferentiable("Wall")
    tf.NoGradient("OtherWall")
    x = tf.constant(1.0)
    with tf.get_default_graph().gradient_override_map({"Exp": "Wall"}):
        y = tf.exp(x)
    assert tf.gradients(y, x) == [None]


def test_names_of_gradients_are_checked() -> None:
    tf.RegisterGradient("Once")(lambda op, dy: dy)
    with pytest.raises(KeyError, match="Once"):
        tf.RegisterGradient("Once")(lambda op, dy: dy)
    for known in ("Relu", "Square", "PyFunc"):
        with pytest.raises(KeyError, match=known):
            tf.RegisterGradient(known)(lambda op, dy: dy)
    with pytest.raises(TypeError, match="string"):
        tf.RegisterGradient(3)
    graph, x = tf.get_default_graph(), tf.constant(1.0)
    with pytest.raises(TypeError, match="strings"):
        with graph.gradient_override_map({"Relu": 3}):
            pass
    with graph.gradient_override_map({"Exp": "Unregistered"}):
        y = tf.exp(x)
    with pytest.raises(LookupError, match="No gradient defined for operation 'Exp'.*Unregistered"):
        tf.gradients(y, x)
    with graph.gradient_override_map({"Mul": "Once"}):
        z = x * tf.constant(2.0, name="two")
    with pytest.raises(ValueError, match="Num gradients 1 generated for op 'mul'.*num inputs 2"):
        tf.gradients(z, x)


# ---- the arguments of tf.gradients ----


def test_what_no_y_depends_on_is_none_or_zero() -> None:
    x, other, count = tf.constant([1.0, 2.0]), tf.constant([[3.0]]), tf.constant([4])
    y = x * x
    assert tf.gradients(y, [other, count]) == [None, None]
    zero = tf.gradients(y, [x, other], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    word = tf.gradients(y, other, unconnected_gradients="zero")
    found = value([*zero, *word])
    assert [f.tolist() for f in found] == [[2, 4], [[0]], [[0]]]
    with pytest.raises(ValueError, match="unconnected_gradients: 'one'"):
        tf.gradients(y, x, unconnected_gradients="one")


def test_the_ways_of_adding_and_ordering_are_accepted() -> None:
    x = tf.constant(3.0)
    y = x * x + x
    for method in (
        tf.AggregationMethod.ADD_N, tf.AggregationMethod.DEFAULT,
        tf.AggregationMethod.EXPERIMENTAL_TREE, tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ):  # fmt: skip
        grads = tf.gradients(
            y, x, colocate_gradients_with_ops=True, gate_gradients=True, aggregation_method=method
        )
        assert value(grads) == [7.0]
    with pytest.raises(ValueError, match="Invalid aggregation_method"):
        tf.gradients(y, x, aggregation_method=9)


def test_gradients_lie_in_a_scope_of_their_own() -> None:
    x = tf.constant(1.0)
    y = tf.exp(x)
    scopes = [tf.gradients(y, x)[0].op.name.split("/")[0] for _ in range(2)]
    assert scopes == ["gradients", "gradients_1"]
    assert tf.gradients(y, x, name="back")[0].op.name.startswith("back/")


@TARGETS
def test_hessians_are_the_second_derivatives(target: str) -> None:
    x = tf.constant([1.0, 2.0, -1.0], tf.float64)
    m = tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64)
    a, b = tf.hessians(x[0] ** 2 * x[1] + tf.reduce_sum(m**3) * 2.0, [x, m])
    found, square = value([a, b], target)
    np.testing.assert_allclose(found, [[4, 2, 0], [2, 0, 0], [0, 0, 0]])
    want = np.zeros((4, 4))
    np.fill_diagonal(want, [12, 24, 36, 48])
    assert square.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(square.reshape(4, 4), want)
    p = tf.placeholder(tf.float32, [None])
    (open_size,) = tf.hessians([tf.reduce_sum(p**3), p[0] * p[1]], p)
    assert open_size.shape.as_list() == [None, None]
    np.testing.assert_allclose(value(open_size, target, {p: [1, 2]}), [[6, 1], [1, 12]])
    with pytest.raises(ValueError, match="no y depends"):
        tf.hessians(x[0], m)
    with pytest.raises(ValueError, match="are linear"):
        tf.hessians(tf.reduce_sum(p), p)


def test_gradients_wish_for_the_device_of_what_is_differentiated() -> None:
    with tf.device("/device:GPU:1"):
        x = tf.constant([[1.0]])
    with tf.device("/device:GPU:2"):
        y = tf.matmul(x, x) * 2.0
    (shared,) = tf.gradients(
        [tf.matmul(x, x, name="one"), tf.matmul(x, x)], x, colocate_gradients_with_ops=True
    )
    assert shared.op.colocation_groups() == [b"loc:@one"], "a sum is colocated with the first use"
    for colocate, wished in ((True, "/device:GPU:2"), (False, "")):
        (dx,) = tf.gradients(y, x, colocate_gradients_with_ops=colocate)
        assert dx.device == wished
    with tf.device("/device:GPU:3"):
        z = y + x * 3.0
    (total,) = tf.gradients(z, x, colocate_gradients_with_ops=True)
    assert total.device == "/device:GPU:1", "parts of two devices meet where x is"


def test_a_complex_y_needs_a_gradient_that_arrives() -> None:
    y = tf.constant(1 + 2j, tf.complex64)
    with pytest.raises(TypeError, match="must set grad_ys"):
        tf.gradients(y, y)
