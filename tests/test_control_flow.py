"""cond, case and while_loop: values, gradients, shapes, refusals; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])


def run(target: str, build: Callable[[], Any], feeds: dict[str, Any] | None = None) -> Any:
    with tf.Graph().as_default(), tf.Session(target) as session:
        fetches = build()
        return session.run(fetches, {f"{k}:0": v for k, v in (feeds or {}).items()})


@TARGETS
def test_cond_takes_one_branch(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [], name="x")
        return tf.cond(x < 1, lambda: x + 10, lambda: x * 100)

    assert run(target, build, {"x": 0.5}) == 10.5
    assert run(target, build, {"x": 2.0}) == 200


@TARGETS
def test_cond_runs_only_the_effects_of_the_branch_taken(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        p = tf.placeholder(tf.bool, [])
        step = tf.cond(p, lambda: v.assign_add(1.0), lambda: v.assign_add(10.0))
        session.run(v.initializer)
        assert [float(session.run(step, {p: b})) for b in (True, False, True)] == [1, 11, 12]


@TARGETS
def test_cond_nests_and_returns_structures(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [], name="x")
        inner = lambda: tf.cond(x > 5, lambda: tf.constant(2), lambda: tf.constant(1))  # noqa: E731
        value = tf.cond(x > 0, inner, lambda: tf.constant(0))
        pair = tf.cond(x > 0, lambda: {"a": x, "b": [x + 1]}, lambda: {"a": -x, "b": [x]})
        return value, pair

    value, pair = run(target, build, {"x": 9})
    assert value == 2 and pair == {"a": 9, "b": [10]}
    value, pair = run(target, build, {"x": -4})
    assert value == 0 and pair == {"a": 4, "b": [-4]}


@TARGETS
def test_the_gradient_of_cond_goes_through_the_branch_taken(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [3], name="x")
        p = tf.placeholder(tf.bool, [], name="p")
        y = tf.cond(p, lambda: tf.exp(x * 2.0), lambda: tf.stop_gradient(x))
        first = tf.gradients(y, x)[0]
        return first, tf.gradients(first, x)[0]

    x = np.float32([0.1, 0.2, -0.3])
    first, second = run(target, build, {"x": x, "p": True})
    np.testing.assert_allclose(first, 2 * np.exp(2 * x), rtol=1e-6)
    np.testing.assert_allclose(second, 4 * np.exp(2 * x), rtol=1e-6)
    first, second = run(target, build, {"x": x, "p": False})
    assert first.tolist() == second.tolist() == [0, 0, 0]


@TARGETS
def test_case_takes_the_first_that_holds(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [], name="x")
        pairs = [(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))]
        return tf.case(pairs, default=lambda: tf.constant(100))

    assert [int(run(target, build, {"x": v})) for v in (-5, 5, 50)] == [-1, 1, 100]


@TARGETS
def test_while_loop_runs_until_its_condition_fails(target: str) -> None:
    def build() -> Any:
        n = tf.placeholder(tf.int32, [], name="n")
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0])

    assert run(target, build, {"n": 5}) == (5, 10)
    assert run(target, build, {"n": 0}) == (0, 0)


@TARGETS
def test_maximum_iterations_ends_a_loop(target: str) -> None:
    def build() -> Any:
        return tf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=7)

    assert run(target, build) == 7


@TARGETS
def test_a_loop_variable_may_grow_where_its_invariant_says_so(target: str) -> None:
    def build() -> Any:
        grow = lambda i, x: (i + 1, tf.concat([x, x[-1:] + 1], 0))  # noqa: E731
        start = [tf.constant(0), tf.constant([1])]
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        return tf.while_loop(lambda i, x: i < 3, grow, start, shape_invariants=shapes)[1]

    assert run(target, build).tolist() == [1, 2, 3, 4]


@TARGETS
def test_loops_nest(target: str) -> None:
    def build() -> Any:
        n = tf.placeholder(tf.int32, [], name="n")

        def outer(i: Any, total: Any) -> Any:
            inner = lambda j, t: (j + 1, t + i * j)  # noqa: E731
            _, total = tf.while_loop(lambda j, t: j < n, inner, [0, total])
            return i + 1, total

        return tf.while_loop(lambda i, t: i < n, outer, [0, 0])[1]

    assert run(target, build, {"n": 4}) == sum(i * j for i in range(4) for j in range(4))


@TARGETS
def test_the_gradient_of_nested_loops_and_branches(target: str) -> None:
    def build() -> Any:
        w = tf.placeholder(tf.float32, [], name="w")

        def outer(i: Any, h: Any) -> Any:
            _, h = tf.while_loop(lambda j, h: j < 2, lambda j, h: (j + 1, h * w), [0, h])
            return i + 1, tf.cond(h > 50.0, lambda: h, lambda: h * h)

        _, y = tf.while_loop(lambda i, h: i < 2, outer, [0, w])
        return y, tf.gradients(y, w)[0]

    y, dy = run(target, build, {"w": 1.5})
    assert y == pytest.approx(1.5**16, rel=1e-5)  # ((w^3)^2 w^2)^2
    assert dy == pytest.approx(16 * 1.5**15, rel=1e-5)


@TARGETS
def test_a_loop_gradient_by_captures_and_by_initial_values(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [2], name="x")
        w = tf.placeholder(tf.float32, [2], name="w")
        n = tf.placeholder(tf.int32, [], name="n")
        _, y = tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, h * w + 1.0), [0, x])
        return [y, *tf.gradients(y, [x, w])]

    x, w = np.float32([1, 2]), np.float32([0.5, -1.5])
    feeds = {"x": x, "w": w, "n": 3}
    y, dx, dw = run(target, build, feeds)
    np.testing.assert_allclose(y, x * w**3 + w**2 + w + 1, rtol=1e-6)
    np.testing.assert_allclose(dx, w**3, rtol=1e-6)
    np.testing.assert_allclose(dw, 3 * x * w**2 + 2 * w + 1, rtol=1e-6)
    y, dx, dw = run(target, build, {**feeds, "n": 0})
    assert dx.tolist() == [1, 1] and dw.tolist() == [0, 0]


def refused(build: Callable[[], Any], kind: type[Exception], *words: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(1.0)
        with pytest.raises(kind) as caught:
            build()
        for word in words:
            assert word in str(caught.value)
        tf.constant(2.0, name="after")
        assert graph.get_tensor_by_name("after:0").graph is graph


def test_a_branch_that_returns_another_dtype_is_refused() -> None:
    p = lambda: tf.placeholder(tf.bool, [])  # noqa: E731
    one, two = (lambda: tf.constant(1.0)), (lambda: tf.constant(1))
    refused(lambda: tf.cond(p(), one, two), ValueError, "float32", "int32")
    refused(lambda: tf.cond(p(), one, lambda: [one(), one()]), ValueError, "structure")
    refused(lambda: tf.cond(p(), one, lambda: None), ValueError, "None")
    refused(lambda: tf.cond(True, one, two), TypeError, "bool")
    refused(lambda: tf.cond(p(), one(), two), TypeError, "callable")
    refused(lambda: tf.cond(tf.placeholder(tf.bool, [2]), one, one), ValueError, "shape")
    refused(lambda: tf.cond(tf.constant(1), one, one), TypeError, "bool")


def test_a_loop_that_changes_shape_or_dtype_is_refused() -> None:
    below = lambda i: i < 3  # noqa: E731
    refused(
        lambda: tf.while_loop(below, lambda i: tf.stack([i, i]), [0]),
        ValueError,
        "shape_invariants",
    )
    refused(
        lambda: tf.while_loop(below, lambda i: tf.cast(i, tf.float32), [0]),
        TypeError,
        "float32",
        "int32",
    )
    refused(
        lambda: tf.while_loop(lambda i, j: i < 3, lambda i, j: i, [0, 0]),
        ValueError,
        "1 values for 2",
    )
    refused(lambda: tf.while_loop(lambda: True, lambda: 1, []), ValueError, "at least one")
    refused(lambda: tf.while_loop(lambda i: i, lambda i: i, [0]), TypeError, "bool")


def test_a_tensor_of_a_body_is_not_for_the_outside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inside: list[Any] = []

        def body(i: Any) -> Any:
            inside.append(i + 1)
            return inside[0]

        tf.while_loop(lambda i: i < 3, body, [0])
        with pytest.raises(ValueError):
            session.run(inside[0])
        with pytest.raises(ValueError):
            tf.identity(inside[0])


@TARGETS
def test_the_gradient_of_a_value_that_grows_says_what_to_do(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float64, [None], name="x")
        longer = lambda i, y: (i + 1, tf.concat([y * y, y[:1]], 0))  # noqa: E731
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        _, y = tf.while_loop(lambda i, y: i < 2, longer, [tf.constant(0), x], shapes)
        return tf.gradients(y, x)[0]

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Loop.*pad it .*stop_gradient"):
        run(target, build, {"x": np.ones(3)})


def _alternating(x: Any, w: Any) -> Any:
    """Branches in turn, in each iteration; one of them squares i times."""

    def branch(i: Any, h: Any) -> Any:
        inner = lambda j, h: (j + 1, tf.sin(h * w) + x)  # noqa: E731
        return tf.while_loop(lambda j, h: j < i, inner, [tf.constant(0), h])[1]

    def outer(i: Any, h: Any) -> Any:
        return i + 1, tf.cond(
            tf.equal(tf.mod(i, 2), 0), lambda: branch(i, h), lambda: tf.exp(tf.exp(h) * w) - h
        )

    return tf.while_loop(lambda i, h: i < 4, outer, [tf.constant(0), x])[1]


@pytest.mark.parametrize("sizes", [[2, 3], [None, 3], [None, None]])
def test_what_differs_between_iterations_may_lie_in_bodies_of_a_body(sizes: Any) -> None:
    x, w = 0.3 * away(2, 3), 0.4 * away(2, 3, seed=9)
    check(_alternating, [x, w], shapes=lambda v: sizes)


@TARGETS
def test_the_gradient_of_random_numbers_in_a_body_of_a_body_sees_the_same_numbers(
    target: str,
) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float64, [3], name="x")

        def body(i: Any, h: Any) -> Any:
            noisy = lambda: h * tf.random_uniform([3], seed=3, dtype=tf.float64)  # noqa: E731
            return i + 1, tf.cond(i < 5, noisy, lambda: h)

        _, y = tf.while_loop(lambda i, h: i < 3, body, [tf.constant(0), x])
        return y, tf.gradients(y, x)[0]

    x = np.array([1.0, 2, 3])
    y, dx = run(target, build, {"x": x})
    np.testing.assert_allclose(dx, y / x, rtol=1e-12)
