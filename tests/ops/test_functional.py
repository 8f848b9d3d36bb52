"""scan, map_fn, foldl and foldr: values, structures, gradients, refusals; in both engines."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
E = np.float32([1, 2, 3, 5])
Pair = collections.namedtuple("Pair", "low high")


def run(target: str, build: Callable[[], Any], feeds: dict[str, Any] | None = None) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetches = build()
        return session.run(fetches, {f"{k}:0": v for k, v in (feeds or {}).items()})


def plus(a: Any, b: Any) -> Any:
    return a + b


def minus(a: Any, b: Any) -> Any:
    return a - b


@TARGETS
def test_scan_gives_all_results_and_the_folds_the_last(target: str) -> None:
    def build() -> Any:
        return [
            tf.scan(plus, E),
            tf.scan(plus, E, 10.0),
            tf.scan(minus, E, reverse=True),
            tf.scan(minus, E, 1.0, reverse=True),
            tf.foldl(minus, E),
            tf.foldr(minus, E),
            tf.foldl(minus, E, 1.0),
            tf.foldr(minus, E, 1.0),
        ]

    expected = [
        [1, 3, 6, 11],
        [11, 13, 16, 21],
        [-1, 0, 2, 5],
        [-10, -9, -7, -4],
        -9,
        -1,
        -10,
        -10,
    ]
    for found, want in zip(run(target, build), expected, strict=True):
        np.testing.assert_array_equal(found, np.float32(want))


@TARGETS
def test_structures_go_through(target: str) -> None:
    def build() -> Any:
        x = {"a": tf.constant(E), "b": (tf.constant([1, 2, 3, 4]),)}
        start = Pair(0.0, tf.constant([0, 0]))
        states = tf.scan(
            lambda s, x: Pair(s.low + x["a"], s.high + tf.stack([x["b"][0], 1])), x, start
        )
        kinds = {"sum": tf.float32, "both": [tf.int32, tf.float32]}
        mapped = tf.map_fn(
            lambda x: {
                "both": [x["b"][0], x["a"]],
                "sum": x["a"] + tf.cast(x["b"][0], tf.float32),
            },
            x,
            dtype=kinds,
        )
        return states, mapped

    states, mapped = run(target, build)
    assert isinstance(states, Pair) and states.low.tolist() == [1, 3, 6, 11]
    assert states.high.tolist() == [[1, 1], [3, 2], [6, 3], [10, 4]]
    assert mapped["sum"].tolist() == [2, 4, 6, 9] and mapped["both"][0].tolist() == [1, 2, 3, 4]


@TARGETS
def test_no_elements_need_an_initializer(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        return (
            tf.scan(plus, x, tf.zeros([2])),
            tf.foldl(plus, x, tf.ones([2])),
            tf.map_fn(tf.exp, x),
        )

    states, last, mapped = run(target, build, {"x": np.zeros((0, 2))})
    assert states.shape == mapped.shape == (0, 2) and last.tolist() == [1, 1]
    for function in (tf.scan, tf.foldl, tf.foldr):
        with pytest.raises(tf.errors.InvalidArgumentError):
            run(target, lambda f=function: f(plus, tf.zeros([0])))


def test_static_shapes_are_kept() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        assert tf.scan(plus, x).shape.as_list() == [None, 2]
        assert tf.scan(plus, x, tf.zeros([2])).shape.as_list() == [None, 2]
        assert tf.foldl(plus, x).shape.as_list() == [2]
        assert tf.map_fn(lambda v: tf.reduce_sum(v), tf.ones([3, 2])).shape.as_list() == [3]
        assert tf.map_fn(lambda v: v, tf.placeholder(tf.int32)).shape.ndims is None


@TARGETS
def test_a_body_may_read_and_assign_variables(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(0.0, name="count")

        def body(a: Any, x: Any) -> Any:
            w = tf.get_variable("w", [], initializer=tf.constant_initializer(2.0))
            with tf.control_dependencies([count.assign_add(x)]):
                return a * w + count.read_value()

        states = tf.scan(body, E, 1.0)
        (slope,) = tf.gradients(states[-1], [tf.global_variables("w")[0]])
        session.run(tf.global_variables_initializer())
        assert session.run([states, slope])[0].tolist() == [3, 9, 24, 59]
        assert session.run(count) == 11
        assert [v.name for v in tf.trainable_variables()] == ["count:0", "w:0"]


@TARGETS
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 5), st.booleans(), st.booleans(), st.integers(0, 99))
def test_scan_does_what_a_loop_in_python_does(
    target: str, count: int, reverse: bool, from_first: bool, seed: int
) -> None:
    rng = np.random.RandomState(seed)
    from_first = from_first and count > 0
    x, start = rng.randn(count, 3), None if from_first else rng.randn(3)
    a, rows = start, {}
    for i in range(count)[:: -1 if reverse else 1]:
        a = x[i] if a is None else np.tanh(a) * 2 + x[i]
        rows[i] = a

    def build() -> Any:
        xs = tf.placeholder(tf.float64, [None, 3], name="x")
        return tf.scan(lambda a, b: tf.tanh(a) * 2.0 + b, xs, start, reverse=reverse)

    expected = np.array([rows[i] for i in range(count)]).reshape(count, 3)
    np.testing.assert_allclose(run(target, build, {"x": x}), expected, rtol=1e-12)


def _cell(x: Any, w: Any, start: Any) -> Any:
    return tf.scan(lambda h, step: tf.tanh(tf.matmul(h + step, w)), x, start)


@pytest.mark.parametrize("sizes", [True, False])
def test_gradients_by_elements_captures_and_start(sizes: bool) -> None:
    values = [0.5 * away(4, 2, 3), 0.5 * away(3, 3, seed=2), 0.3 * away(2, 3, seed=3)]
    check(_cell, values, shapes=np.shape if sizes else lambda v: [None] * v.ndim)
    check(lambda x, w: tf.scan(lambda a, b: a * tf.sin(b * w), x), [away(4, 3), away(3)])
    check(lambda x, w: tf.map_fn(lambda v: tf.exp(v * w) * v, x), [0.4 * away(3, 2), away(2)])
    check(lambda x: tf.foldr(lambda a, b: a * tf.sin(b), x), [away(4, 2)])


@pytest.mark.parametrize("size", [0, 3])
def test_a_map_over_nothing_has_the_sizes_that_the_graph_shows(size: int) -> None:
    x = tf.placeholder(tf.float32, [None, None])
    made = [
        tf.map_fn(lambda row: tf.reshape(row, [-1, 1]), x),
        tf.map_fn(lambda row: tf.reshape(row, [3, -1]), x),
        tf.map_fn(lambda row: tf.concat([row, [1.0, 2.0]], 0), x),
        tf.scan(lambda total, row: total + row, x, tf.zeros([size])),
    ]
    for target in ("runtime", "cinfer"):
        found = tf.Session(target).run(made, {x: np.ones([0, size])})
        assert [value.shape for value in found] == [(0, 0, 1), (0, 3, 0), (0, 0), (0, size)]


def test_gradients_through_a_branch_in_a_loop_in_a_scan() -> None:
    def inner(h: Any, w: Any) -> Any:
        def step(i: Any, h: Any) -> Any:
            h = tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(h * w), lambda: h + tf.reduce_sum(w * h))
            return i + 1, h

        return tf.while_loop(lambda i, h: i < 3, step, [0, h])[1]

    def build(x: Any, w: Any) -> Any:
        return tf.scan(lambda a, b: inner(a + b, w), x, tf.zeros([2], tf.float64))

    check(build, [0.3 * away(3, 2), 0.4 * away(2, seed=1)])


@TARGETS
def test_a_scan_in_a_scan(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        y = tf.scan(lambda a, row: a + tf.scan(plus, row) * a[0], x, tf.ones([3]))
        return y, tf.gradients(y, x)[0]

    x = np.float32(np.arange(6).reshape(2, 3)) / 5
    y, dx = run(target, build, {"x": x})

    def expected(x: Any) -> Any:
        first = 1 + np.cumsum(x[0])
        return np.array([first, first + np.cumsum(x[1]) * first[0]])

    np.testing.assert_allclose(y, expected(x), rtol=1e-6)
    wide = x.astype(np.float64)
    for index in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[index] = 1e-6
        slope = (expected(wide + step) - expected(wide - step)).sum() / 2e-6
        np.testing.assert_allclose(dx[index], slope, rtol=1e-4)


OUTER = {
    "products": lambda x: x * x * tf.reduce_sum(x),
    "scan": lambda x: tf.scan(lambda a, b: tf.sin(a * b), x),
    "loop": lambda x: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x[0] + x), [0, x])[
        1
    ],
    "branch": lambda x: tf.cond(x[0] > 0.0, lambda: x * x[0], lambda: x),
}


@TARGETS
@pytest.mark.parametrize("kind", OUTER)
def test_gradients_taken_in_a_body_of_what_lies_outside(target: str, kind: str) -> None:
    """A Jacobian and a Hessian, row by row."""

    def build() -> Any:
        x = tf.constant([1.0, 2.0, 3.0])
        y = OUTER[kind](x)
        rows = lambda y: tf.map_fn(lambda i: tf.gradients(y[i], x)[0], tf.range(3), tf.float32)  # noqa: E731
        jacobian = tf.stack([tf.gradients(y[i], x)[0] for i in range(3)])
        return rows(y), jacobian, rows(tf.gradients(y, x)[0]), tf.hessians(y, x)[0]

    rows, jacobian, second, hessian = run(target, build)
    np.testing.assert_allclose(rows, jacobian, rtol=1e-6)
    np.testing.assert_allclose(second, hessian, rtol=1e-5)


def test_a_loop_that_descends_is_differentiated() -> None:
    def build(w: Any, rate: Any) -> Any:
        step = lambda i, w: (i + 1, w - rate * tf.gradients(tf.reduce_sum(w**4), w)[0])  # noqa: E731
        return tf.while_loop(lambda i, w: i < 3, step, [0, w])[1]

    check(build, [np.array([0.7, -0.4]), np.array(0.1)])


def refused(build: Callable[[], Any], kind: type[Exception], *words: str) -> None:
    """The call fails with words, and leaves the graph as it was."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4, 2], name="x")
        before = [op.name for op in graph.get_operations()], x.consumers()
        with pytest.raises(kind) as caught:
            build()
        for word in words:
            assert word in str(caught.value)
        assert ([op.name for op in graph.get_operations()], x.consumers()) == before
        assert not tf.global_variables()
        tf.get_variable("made", [2])
        assert tf.constant(2.0, name="scan/x").graph is graph


def _x() -> Any:
    return tf.get_default_graph().get_tensor_by_name("x:0")


def _changing(a: Any, x: Any) -> Any:
    w = tf.get_variable("made", [2])
    return tf.concat([a, x * w], 0)


def test_refusals_leave_the_graph_as_it_was() -> None:
    both = lambda: (_x(), np.zeros(3))  # noqa: E731
    refused(lambda: tf.scan(_changing, _x()), ValueError, "shape (2,)", "(4,)")
    refused(lambda: tf.scan(lambda a, x: (a, x), _x()), ValueError, "structure")
    refused(lambda: tf.scan(None, _x()), TypeError, "callable")
    refused(lambda: tf.scan(plus, 3.0), ValueError, "scalars")
    refused(lambda: tf.map_fn(lambda p: p[0], both(), tf.float32), ValueError, "lengths 4 and 3")
    refused(lambda: tf.scan(plus, _x(), 0), TypeError, "int32")
    wrong = tf.errors.InvalidArgumentError
    refused(lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), _x()), wrong, "int32", "dtype=")
    refused(lambda: tf.scan(lambda a, x: tf.cast(a, tf.int32), _x()), wrong, "int32", "float32")


@TARGETS
def test_a_saved_scan_runs_as_before(target: str, tmp_path: Any) -> None:
    x = np.random.RandomState(0).randn(5, 2, 3).astype(np.float32)
    with tf.Graph().as_default(), tf.Session(target) as session:
        xs = tf.placeholder(tf.float32, [None, 2, 3], name="x")
        w = tf.get_variable("w", [3, 3])
        y = tf.identity(_cell(xs, w, tf.zeros_like(xs[0])), name="y")
        session.run(tf.global_variables_initializer())
        expected = session.run(y, {xs: x})
        tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": xs}, {"y": y})})
        model = tf.onnx.export(None, session, {"x": xs}, {"y": y})
    engine = tf.cinfer if target == "cinfer" else tf.runtime
    loaded = engine.load((tmp_path / "m.gio").read_bytes())
    np.testing.assert_array_equal(loaded.signature("run")(x=x)["y"], expected)
    onnxruntime = pytest.importorskip("onnxruntime")
    other = onnxruntime.InferenceSession(model.SerializeToString())
    np.testing.assert_allclose(other.run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-6)


@TARGETS
def test_rows_of_sparse_tensors_are_mapped(target: str) -> None:
    """To sparse rows or dense values, with gradients; whatever the order of the elements."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.constant([3.0, 1.0, 2.0, 5.0])
        x = tf.SparseTensor([[1, 0], [0, 0], [0, 1], [3, 1]], v, [4, 2])
        same = tf.map_fn(lambda row: row, x)
        squares = tf.map_fn(lambda row: row.with_values(row.values * row.values), x)
        sums = tf.map_fn(tf.sparse_reduce_sum, x, dtype=tf.float32)
        pairs = (x, tf.constant([1.0, 2.0, 3.0, 4.0]))
        both = tf.map_fn(lambda p: (p[0], tf.sparse_reduce_sum(p[0]) * p[1]), pairs)
        gradients = [tf.gradients(y, v)[0] for y in (squares.values, both[1])]
        dense = [tf.sparse_tensor_to_dense(y) for y in (same, squares, both[0])]
        gradients = [tf.convert_to_tensor(dv) for dv in gradients]
        found = session.run([*dense, sums, both[1], *gradients])
        none = tf.SparseTensor(np.zeros((0, 2), np.int64), tf.zeros([0]), [2, 3])
        assert session.run(tf.map_fn(tf.sparse_reduce_sum, none, tf.float32)).tolist() == [0, 0]
    whole = np.array([[1.0, 2], [3, 0], [0, 0], [0, 5]])
    expected_values = [whole, whole**2, whole, whole.sum(1), whole.sum(1) * [1, 2, 3, 4],
              [6, 2, 4, 10], [2, 1, 1, 4]]  # fmt: skip
    for one, other in zip(found, expected_values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@TARGETS
@pytest.mark.parametrize("count", [1, 4])
def test_sparse_rows_are_mapped_with_as_many_others(target: str, count: int) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        pair = (tf.SparseTensor([[0, 1]], [3.0], [2, 2]), tf.zeros([count]))
        made = tf.map_fn(lambda p: p[1] + tf.sparse_reduce_sum(p[0]), pair, dtype=tf.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="differ in their number of rows"):
            session.run(made)


def test_map_fn_of_sparse_rows_says_what_it_expects() -> None:
    with tf.Graph().as_default():
        x = tf.SparseTensor([[0, 1]], [3.0], [1, 2])
        with pytest.raises(TypeError, match="expected a SparseTensor; give dtype="):
            tf.map_fn(lambda row: row.values, x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="give dtype="):
            tf.map_fn(tf.sparse_reduce_sum, x, dtype=tf.int32)


@TARGETS
def test_vectorized_map_gives_the_structure_of_the_function(target: str) -> None:
    given = np.float32([[1, 2], [3, 4], [5, 6]])
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, n = tf.placeholder(tf.float32, [None, 2]), tf.constant([1, 2, 3])
        found = tf.vectorized_map(
            lambda pair: {"sum": tf.reduce_sum(pair[0] ** 2), "n": (tf.cast(pair[1], tf.int64), 7)},
            (x, n),
        )
        (slope,) = tf.gradients(found["sum"], x)
        assert found["sum"].shape.as_list() == [3]
        values, by_x = session.run([found, slope], {x: given})
        np.testing.assert_allclose(values["sum"], (given**2).sum(1))
        np.testing.assert_array_equal(values["n"][0], np.int64([1, 2, 3]))
        np.testing.assert_array_equal(values["n"][1], np.int32([7, 7, 7]))
        np.testing.assert_allclose(by_x, 2 * given)
        with pytest.raises(TypeError, match="expected a callable"):
            tf.vectorized_map(3, x)  # type: ignore[arg-type]
