"""Gradients of cond and while_loop, also of values whose size differs between iterations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from control_flow_builds import TARGETS, run
from gradient_check import away, check

import graphio as tf


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


@pytest.mark.parametrize(
    "longer",
    [
        lambda y, h: tf.concat([y, h[None]], 0),
        lambda y, h: tf.concat([y * 0.5, h[None] * (1.0 + tf.reduce_sum(y))], 0),
        lambda y, h: tf.concat([h[None], y[-2:] + 1.0], 0),
        lambda y, h: tf.concat([tf.sin(y), h[None] + tf.reduce_sum(y * y)], 0),
    ],
    ids=["kept", "scaled", "shifted", "squared"],
)
def test_the_gradient_of_a_value_that_grows(longer: Any) -> None:
    def build(x: Any) -> Any:
        def body(i: Any, h: Any, y: Any) -> Any:
            h = tf.sin(h * 1.5)
            return i + 1, h, longer(y, h)

        start = [tf.constant(0), x, tf.zeros([0, 2], tf.float64)]
        shapes = [tf.TensorShape([]), tf.TensorShape([2]), tf.TensorShape([None, 2])]
        return tf.while_loop(lambda i, *_: i < 3, body, start, shapes)[2]

    check(build, [0.4 * away(2)])


def test_the_gradient_of_a_value_that_doubles() -> None:
    def build(x: Any) -> Any:
        longer = lambda i, y: (i + 1, tf.concat([y * y, y[:1], tf.sin(y)], 0))  # noqa: E731
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        return tf.while_loop(lambda i, y: i < 3, longer, [tf.constant(0), x], shapes)[1]

    check(build, [0.4 * away(2)], shapes=lambda v: [None])


def test_the_gradient_of_parts_that_differ_between_iterations() -> None:
    def build(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            repeated = tf.tile(tf.sin(x[:1]), [i])
            return i + 1, total + tf.reduce_sum(tf.sin(x[:i]) ** 2) + tf.reduce_prod(repeated)

        return tf.while_loop(lambda i, _: i < 4, body, [0, tf.zeros([], tf.float64)])[1]

    check(build, [0.4 * away(3)])


def test_a_loop_of_an_open_batch_stacks_its_values() -> None:
    with tf.Graph().as_default():
        x, w = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [4, 8])

        def body(i: Any, h: Any) -> Any:
            a, b = tf.split(tf.matmul(h, w), 2, axis=1)
            return i + 1, tf.cond(i > 1, lambda: tf.tanh(a) * b, lambda: (a + b)[:, :4])

        y = tf.while_loop(lambda i, _: i < 3, body, [0, x])[1]
        tf.gradients(y, x)
        assert len(y.op.operands) == 4  # nothing more is carried
        assert [t.dtype for t in y.op.inputs] == [tf.bool, tf.int32, tf.float32]


def test_a_loop_stacks_only_what_its_gradient_reads() -> None:
    with tf.Graph().as_default():
        w, x = tf.placeholder(tf.float32, [2, 2]), tf.placeholder(tf.float32, [3, 1, 2])
        y = tf.scan(lambda h, s: tf.tanh(tf.matmul(h, w) * 0.5 + 3.0 * s), x, tf.zeros([1, 2]))
        forward = y.op
        assert len(forward.outputs) == 2
        tf.gradients(y, w)
        assert len(forward.outputs) == 3  # h; that of tanh is an output already
        backward = [o for o in tf.get_default_graph().get_operations() if o.op == "Scan"][-1]
        bodies = backward.bodies()[0].operations
        assert all(t.consumers() or t in o.graph.outputs for o in bodies for t in o.outputs)


_SMOOTH: list[Callable[[Any, Any], Any]] = [
    lambda v, w: v / 2.0 + w,
    lambda v, w: tf.sin(tf.sin(v)) * w,
    lambda v, w: v**2 / (1.0 + v * v),
    lambda v, w: tf.exp(-v * v) + w,
    lambda v, w: tf.atan2(v, 1.0 + w * w) * v,
    lambda v, w: tf.pow(1.0 + v * v, 0.5) - w,
]


def _random_nest(random: np.random.RandomState, depth: int, v: Any, w: Any) -> Any:
    """A smooth function of two scalars; up to depth bodies in one another compute it."""
    nest = lambda v: _random_nest(random, depth - 1, v, w)  # noqa: E731
    kind = random.randint(6) if depth else 5
    if kind < 3:
        return v / 4.0 + tf.cond(v > random.uniform(-0.5, 1.0), lambda: nest(v), lambda: nest(v))
    if kind == 3:
        return tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, nest(v)), [0, v])[1]
    if kind == 4:
        return tf.reduce_sum(tf.map_fn(nest, tf.stack([v, v * 0.5])))
    return _SMOOTH[random.randint(len(_SMOOTH))](v, w)


@pytest.mark.parametrize("seed", range(24))
def test_bodies_nest_at_random_and_have_first_and_second_derivatives(seed: int) -> None:
    random, at, step = np.random.RandomState(seed), np.array([0.613, 0.8]), 1e-5
    around = [tf.while_loop, tf.scan, tf.cond][seed % 3]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [2])
        nest = lambda v: _random_nest(random, 3, v, x[1])  # noqa: E731
        if around is tf.while_loop:
            y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, nest(v)), [0, x[0]])[1]
        elif around is tf.scan:
            y = tf.scan(lambda v, s: nest(v * s), tf.stack([x[0], x[1]]), x[1])[1]
        else:
            y = tf.cond(x[0] > 0.0, lambda: nest(x[0]), lambda: x[1])
        y = y + x[0] * x[0] * x[1]  # neither derivative is None
        (dx,) = tf.gradients(y, x)
        seconds = tf.gradients(dx[0], x)[0]
        for target in ("runtime", "cinfer"):
            session = tf.Session(target)
            found = session.run([dx, seconds], {x: at})
            for i, way in enumerate(np.eye(2) * step):
                ends = [session.run([y, dx], {x: at + way}), session.run([y, dx], {x: at - way})]
                (y_1, dx_1), (y_0, dx_0) = ends
                expected = [(y_1 - y_0) / (2 * step), (dx_1[0] - dx_0[0]) / (2 * step)]
                np.testing.assert_allclose(
                    [found[0][i], found[1][i]], expected, rtol=1e-4, atol=1e-6
                )


def test_a_branch_in_a_loop_leaves_only_what_its_gradient_reads() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        branch = lambda a: tf.cond(a > 1, lambda: a / 2.0, lambda: a * 3.0)  # noqa: E731
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, branch(a)), [0, x])[1]
        tf.gradients(y, x)
        (loop, _) = (o for o in graph.get_operations() if o.op == "Loop")
        assert len(loop.outputs) == 4  # its variables, the count of iterations, the condition


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


def _of_either_branch(kind: str) -> Any:
    """A function of i, h, rows and positions whose branches give different numbers of rows."""
    gathered = lambda rows, at: tf.sin(tf.gather(rows, at + 0))  # noqa: E731
    number = lambda i: tf.py_func(lambda i: 1.0 + 0.5 * i, [i], tf.float64)  # noqa: E731
    counted = lambda i: tf.reshape(number(i), [])  # noqa: E731
    branches = {
        "one gathers, one is zeros": lambda i, h, rows, at: (
            lambda: tf.zeros_like(h),
            lambda: gathered(rows, at),
        ),
        "one row or all": lambda i, h, rows, at: (
            lambda: gathered(rows, at[:1]),
            lambda: gathered(rows, at),
        ),
        "calls Python, which runs once": lambda i, h, rows, at: (
            lambda: gathered(rows, at) * counted(i),
            lambda: tf.exp(h[:1]),
        ),
        "branches in branches": lambda i, h, rows, at: (
            lambda: tf.cond(i > 1, lambda: gathered(rows, at), lambda: gathered(rows, at[:1])),
            lambda: tf.tanh(h),
        ),
    }
    return lambda i, *given: tf.cond(tf.equal(i % 2, 0), *branches[kind](i, *given))


@TARGETS
@pytest.mark.parametrize(
    "kind",
    [
        "one gathers, one is zeros",
        "one row or all",
        "calls Python, which runs once",
        "branches in branches",
    ],
)
@pytest.mark.parametrize("joined", ["summed", "replaced", "longer"])
def test_the_gradient_of_branches_of_different_sizes_is_that_of_the_loop_written_out(
    target: str, kind: str, joined: str
) -> None:
    join = {
        "summed": lambda h, c: h * (1.0 + tf.reduce_sum(c * c)),
        "replaced": lambda h, c: tf.tanh(c) + tf.reduce_mean(h * h),
        "longer": lambda h, c: tf.concat([h * 0.5, c], 0),
    }[joined]
    branch = _of_either_branch(kind)
    with tf.Graph().as_default():
        rows, at = tf.placeholder(tf.float64, [None, 2]), tf.placeholder(tf.int32, [None])
        step = lambda i, h: join(h, branch(i, h, rows, at))  # noqa: E731
        h = start = tf.gather(rows, at)
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
        body = lambda i, h: (i + 1, step(i, h))  # noqa: E731
        _, y = tf.while_loop(lambda i, h: i < 3, body, [tf.constant(0), start], shapes)
        for i in range(3):
            h = step(tf.constant(i), h)
        slopes = [tf.convert_to_tensor(tf.gradients(tf.sin(t), rows)[0]) for t in (y, h)]
        with tf.Session(target) as session:
            found, expected = session.run(slopes, {rows: 0.3 * away(3, 2), at: [0, 1, 1, 2]})
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


_IMAGE = lambda a: tf.reshape(a * a, [1, 2, 2, 1])  # noqa: E731
OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "reshaped": lambda i, a: tf.reshape(a * a, [2 * i + 2, -1])[0],
    "largest": lambda i, a: tf.nn.top_k(a * a, i + 1)[0],
    "one of several": lambda i, a: a[0] * tf.one_hot([0, 1], i + 2, 2.0, 0.5, dtype=tf.float64),
    "images": lambda i, a: tf.image.resize_nearest_neighbor(_IMAGE(a), [i + 1, i + 2]),
    "split": lambda i, a: tf.split(a * a, tf.stack([i + 1, 3 - i]), 0)[0],
    "segments": lambda i, a: tf.cos(tf.unsorted_segment_sum(a * a, [0, 1, 0, 1], i + 2)),
    "chosen": lambda i, a: tf.boolean_mask(a * a, tf.range(4) > i),
    "where": lambda i, a: tf.gather_nd(a * a, tf.where(tf.range(4) > i)),
}


@TARGETS
def test_the_gradient_of_values_whose_size_the_iteration_says_is_that_of_the_loop_written_out(
    target: str,
) -> None:
    with tf.Graph().as_default():
        x, slopes = tf.placeholder(tf.float64, [None]), {}
        for kind, sized in OF_NUMBERS.items():
            step = lambda i, a, f=sized: a * (1.0 + tf.reduce_sum(tf.sin(f(i, a))))  # noqa: E731
            body = lambda i, a, step=step: (i + 1, step(i, a))  # noqa: E731
            a = x
            for i in range(2):
                a = step(tf.constant(i), a)
            y = tf.while_loop(lambda i, a: i < 2, body, [0, x])[1]
            slopes[kind] = [tf.convert_to_tensor(tf.gradients(t, x)[0]) for t in (y, a)]
        with tf.Session(target) as session:
            for kind, (found, expected) in session.run(slopes, {x: 0.5 * away(4)}).items():
                assert np.abs(expected).max() > 0
                np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=kind)


@TARGETS
def test_the_gradient_of_a_rank_that_each_iteration_makes_larger(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float64, [None], name="x")
        shapes = [tf.TensorShape([]), tf.TensorShape(None)]
        deeper = lambda i, a: (i + 1, tf.expand_dims(a * a, 0))  # noqa: E731
        y = tf.while_loop(lambda i, _: i < 3, deeper, [0, x], shapes)[1]
        return y, tf.gradients(y, x)[0]

    x = np.array([0.9, 1.1])
    y, dx = run(target, build, {"x": x})
    np.testing.assert_allclose(y, (x**8)[None, None, None])
    np.testing.assert_allclose(dx, 8 * x**7)


STEADY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "branches": lambda i, a, x: tf.sin(
        tf.cond(tf.equal(i % 2, 0), lambda: a * 0.9, lambda: tf.cos(x[:3]))
    ),
    "broadcasting": lambda i, a, x: tf.sin(a * x),
    "windows": lambda i, a, x: a * tf.sin(x[i : i + 3]),
    "shifted": lambda i, a, x: tf.sin(tf.concat([a[1:], x[:1] * a[:1]], 0)),
    "unknown ranks": lambda i, a, x: tf.placeholder_with_default(
        tf.cond(tf.equal(i % 2, 0), lambda: a * a, lambda: tf.sin(x[:3] * a)), None
    ),
}


@TARGETS
@pytest.mark.parametrize("kind", STEADY)
def test_the_gradient_of_values_that_keep_their_size_costs_the_same_in_each_iteration(
    target: str, kind: str
) -> None:
    """The variables of a loop may be copied in each iteration, so they must not grow with them."""
    with tf.Graph().as_default():
        x, times = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [])
        step = lambda i, a: (i + 1, STEADY[kind](i, a, x))  # noqa: E731
        shapes = [tf.TensorShape([]), tf.TensorShape(None if kind == "unknown ranks" else [None])]
        start = tf.constant([2.0], tf.float64) if kind == "broadcasting" else x[:3]
        y = tf.while_loop(lambda i, a: i < times, step, [0, start], shapes)[1]
        dx = tf.gradients(tf.sin(y), x)[0]
        carried = y.op.outputs[: len(y.op.operands) - 2]
        assert len(carried) > 2
        with tf.Session(target) as session:
            few, many = (session.run([dx, *carried], {times: n, x: away(9)}) for n in (2, 6))
    assert np.abs(many[0]).max() > 0
    assert sum(v.nbytes for v in few[1:]) == sum(v.nbytes for v in many[1:])


MAPPED: dict[str, Callable[[Any, Any], Any]] = {
    "slices": lambda k, x: tf.reduce_sum(tf.sin(x[:k]) ** 2),
    "branches": lambda k, x: tf.reduce_sum(
        tf.sin(tf.cond(k > 1, lambda: x[:1], lambda: x + 0.0)) ** 2
    ),
    "ranges": lambda k, x: tf.reduce_prod(tf.sin(tf.gather(x, tf.range(k)))),
    "loops": lambda k, x: tf.reduce_sum(
        tf.sin(tf.map_fn(lambda j: x[j] * x[0], tf.range(k), dtype=tf.float64)) ** 2
    ),
}


@pytest.mark.parametrize("kind", MAPPED)
@pytest.mark.parametrize("way", ["map_fn", "scan", "while_loop"])
def test_the_gradient_of_elements_of_different_sizes_is_that_of_each(kind: str, way: str) -> None:
    function, counts = MAPPED[kind], [1, 3, 2, 0]
    slope = lambda y, x: tf.convert_to_tensor(tf.gradients(y, x)[0])  # noqa: E731
    with tf.Graph().as_default():
        x, n = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.int32, [None])
        if way == "map_fn":
            y = tf.reduce_sum(tf.map_fn(lambda k: function(k, x), n, dtype=tf.float64))
        elif way == "scan":
            y = tf.scan(lambda a, k: a + function(k, x), n, tf.zeros([], tf.float64))[-1]
        else:
            body = lambda i, a: (i + 1, a + function(n[i], x))  # noqa: E731
            y = tf.while_loop(lambda i, a: i < 4, body, [0, tf.zeros([], tf.float64)])[1]
        by_itself = tf.add_n([function(tf.constant(k), x) for k in counts])
        first = [slope(t, x) for t in (y, by_itself)]
        second = [slope(t[0], x) for t in first]
        for target in ("runtime", "cinfer"):
            with tf.Session(target) as session:
                found = session.run([first, second], {x: away(3), n: counts})
            for of_loop, expected in found:
                np.testing.assert_allclose(of_loop, expected, rtol=1e-9, atol=1e-12)


@TARGETS
@pytest.mark.parametrize("invariant", [None, [None], [None, None]])
def test_the_gradient_of_a_loop_variable_that_broadcasting_makes_larger(
    target: str, invariant: Any
) -> None:
    axes = 1 if invariant is None else len(invariant)

    def build() -> Any:
        x = tf.placeholder(tf.float64, [None] * axes, name="x")
        shapes = [tf.TensorShape([]), tf.TensorShape(invariant)]
        start = [tf.constant(0), tf.constant([2.0] if axes == 1 else [[2.0]], tf.float64)]
        _, y = tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, x * v), start, shapes)
        return y, tf.gradients(y, x)[0]

    x = np.array([3.0, 4.0]).reshape([-1] + [1] * (axes - 1))
    y, dx = run(target, build, {"x": x})
    np.testing.assert_allclose(y, 2 * x**5)
    np.testing.assert_allclose(dx, 10 * x**4)


@TARGETS
def test_a_decoder_that_looks_up_what_it_chose_trains_in_an_open_batch(target: str) -> None:
    """Its slope is that of differences: by the rows that were looked up and by no other."""
    with tf.Graph().as_default():
        table, first = tf.placeholder(tf.float64, [5, 3]), tf.placeholder(tf.int32, [None])
        cell = tf.nn.rnn_cell.BasicRNNCell(3, dtype=tf.float64)
        nothing = lambda: tf.zeros([tf.shape(first)[0], 3], tf.float64)  # noqa: E731

        def loop_fn(time: Any, output: Any, state: Any, _: Any) -> Any:
            done = time >= [3, 1]
            if output is None:
                return done, tf.nn.embedding_lookup(table, first), nothing(), None, None
            look_up = lambda: tf.nn.embedding_lookup(table, tf.argmax(output, 1))  # noqa: E731
            return done, tf.cond(tf.reduce_all(done), nothing, look_up), state, output, None

        with tf.variable_scope("cell", initializer=tf.random_uniform_initializer(seed=2)):
            outputs, _, _ = tf.nn.raw_rnn(cell, loop_fn)
        y = tf.reduce_sum(tf.sin(outputs.stack()))
        slope = tf.convert_to_tensor(tf.gradients(y, table)[0])
        at, way = 0.2 * away(5, 3), 1e-6 * away(5, 3, seed=4)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            feed = lambda v: {table: v, first: [0, 3]}  # noqa: E731
            found = session.run(slope, feed(at))
            ends = [session.run(y, feed(at + sign * way)) for sign in (1, -1)]
    assert not found[4].any()
    np.testing.assert_allclose(np.sum(found * way), (ends[0] - ends[1]) / 2, rtol=1e-5)
