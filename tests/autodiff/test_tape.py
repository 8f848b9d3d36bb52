"""tf.GradientTape in a graph, against derivatives that numpy computes, in both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
def test_gradients_are_of_watched_tensors_and_of_the_trainable_variables(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, unwatched = tf.constant([1.0, 3.0]), tf.constant([5.0, 7.0])
        resource = tf.Variable([2.0, 4.0], use_resource=True)
        plain, fixed = tf.Variable(3.0), tf.Variable(4.0, trainable=False)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x * resource * unwatched + plain * fixed
        sources = {"x": x, "resource": (resource, plain)}
        found = tape.gradient(y, sources, output_gradients=tf.constant([1.0, 10.0]))
        assert tape.gradient(y, [unwatched, fixed]) == [None, None]
        zeros = tape.gradient(y, unwatched, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        assert tape.watched_variables() == (resource, plain)
        session.run(tf.global_variables_initializer())
        values = session.run(found)
        np.testing.assert_allclose(values["x"], [2 * 2 * 5, 10 * 2 * 3 * 4 * 7])
        np.testing.assert_allclose(values["resource"][0], [5, 10 * 9 * 7])
        np.testing.assert_allclose(values["resource"][1], 4 * 11)
        np.testing.assert_array_equal(session.run(zeros), [0, 0])


@TARGETS
def test_what_is_not_recorded_is_a_constant(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(3.0)
        before = x * x
        with tf.GradientTape(persistent=True) as tape:
            early = x * 2.0
            tape.watch(x)
            with tape.stop_recording():
                hidden = x * 5.0
            y = x * hidden * before
            stopped = tf.stop_gradient(y) * 1.0
        after = y * x
        assert tape.gradient([early, hidden, before, after], x) is None
        assert tape.gradient(stopped, x) is None
        assert session.run(tape.gradient(y, x)) == 15.0 * 9.0
        assert session.run(tape.gradient([y, x], x)) == 15.0 * 9.0 + 1.0


@TARGETS
def test_a_reset_forgets_what_was_recorded(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.constant(2.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = x * x
            tape.reset()
            tape.watch(x)
            loss += 7.0 * x
        assert session.run(tape.gradient(loss, x)) == 7.0


@TARGETS
def test_a_tape_around_another_gives_the_second_derivative(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, [3])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = x**4
            first = inner.gradient(y, x)
        second = outer.gradient(first, x)
        given = np.array([0.5, -1.0, 2.0])
        np.testing.assert_allclose(session.run(second, {x: given}), 12 * given**2, rtol=1e-12)


@TARGETS
def test_control_flow_is_recorded(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, chosen = tf.constant(3.0), tf.placeholder(tf.bool, [])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            branch = tf.cond(chosen, lambda: x * x, lambda: 5.0 * x)
            power = tf.while_loop(lambda i, _: i < 3, lambda i, p: (i + 1, p * x), [0, 1.0])[1]
        found = tape.gradient(branch, x), tape.gradient(power, x)
        assert session.run(found, {chosen: True}) == (6.0, 27.0)
        assert session.run(found[0], {chosen: False}) == 5.0


@TARGETS
def test_jacobians_have_the_shapes_of_target_and_source(target: str) -> None:
    random = np.random.default_rng(3)
    matrix, point = random.normal(size=(3, 2)), random.normal(size=2)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, m = tf.placeholder(tf.float64, [2]), tf.placeholder(tf.float64, [3, 2])
        other = tf.placeholder(tf.float64, [4])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, m, other])
            y = tf.reshape(tf.tensordot(m, x, 1) ** 2, [3, 1])
        by_x, by_m, none = tape.jacobian(y, [x, m, other])
        zero = tape.jacobian(y, other, unconnected_gradients="zero")
        assert none is None and by_m.shape.as_list() == [3, 1, 3, 2]
        feeds = {x: point, m: matrix, other: np.zeros(4)}
        values = session.run([by_x, by_m, zero], feeds)
        slope = 2 * (matrix @ point)
        np.testing.assert_allclose(values[0], (slope[:, None] * matrix)[:, None], rtol=1e-12)
        expected = np.einsum("i,ij,k->ijk", slope, np.eye(3), point)
        np.testing.assert_allclose(values[1][:, 0], expected, rtol=1e-12)
        np.testing.assert_array_equal(values[2], np.zeros((3, 1, 4)))


@TARGETS
def test_a_batch_jacobian_has_one_jacobian_an_example(target: str) -> None:
    given = np.random.default_rng(4).normal(size=(5, 2))
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float64, [None, 2])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.stack([x[:, 0] * x[:, 1], x[:, 0] ** 2, tf.sin(x[:, 1])], 1)
        found = tape.batch_jacobian(y, x)
        assert found.shape.as_list() == [None, 3, 2]
        a, b = given.T
        expected = np.stack([[b, a], [2 * a, 0 * a], [0 * a, np.cos(b)]]).transpose(2, 0, 1)
        np.testing.assert_allclose(session.run(found, {x: given}), expected, rtol=1e-12)


def test_what_a_tape_cannot_do_is_refused() -> None:
    with tf.Graph().as_default():
        x = tf.constant([[1.0]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with pytest.raises(ValueError, match="already recording"), tape:
                pass
            not_one: Any = 3.0
            with pytest.raises(ValueError, match="Passed in object of type"):
                tape.watch(not_one)
        tape.gradient(y, x)
        for again in (tape.gradient, tape.jacobian, tape.batch_jacobian):
            with pytest.raises(RuntimeError, match="can only be called once"):
                again(y, x)
        with pytest.raises(ValueError, match="Need first dimension"):
            tape.batch_jacobian(y, tf.zeros([2, 1]))
        with pytest.raises(ValueError, match="not recording"):
            tape.reset()
