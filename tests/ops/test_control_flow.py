"""cond, case and while_loop: values, gradients, shapes, refusals; in both engines."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check

import graphio as tf
from graphio.model.export import SignatureSpec, build_model

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


def test_a_sparse_tensor_of_branches_has_the_shape_that_both_have() -> None:
    def of_shape(rows: int) -> Any:
        return lambda: tf.SparseTensor([[1, 2]], [7.0], [rows, 4])

    chosen = tf.placeholder(tf.bool)
    assert tf.cond(chosen, of_shape(3), of_shape(3)).shape.as_list() == [3, 4]
    assert tf.cond(chosen, of_shape(3), of_shape(5)).shape.as_list() == [None, 4]


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
    refused(lambda: tf.while_loop(below, below, [0], parallel_iterations=0), TypeError, "positive")
    refused(
        lambda: tf.while_loop(below, lambda i: i, [0], maximum_iterations=[3]), ValueError, "scalar"
    )
    refused(
        lambda: tf.while_loop(
            lambda x: True, lambda x: tf.stack([x, x]), [0], [tf.TensorShape([])]
        ),
        ValueError,
        "shape_invariants",
    )
    refused(lambda: tf.while_loop(lambda i: i, lambda i: i, [0]), TypeError, "bool")


def test_a_tensor_of_a_body_is_not_for_the_outside() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        inside: list[Any] = []

        def body(i: Any) -> Any:
            inside.append(i + 1)
            return inside[0]

        tf.while_loop(lambda i: i < 3, body, [0])
        with pytest.raises(tf.errors.InaccessibleTensorError):
            session.run(inside[0])
        with pytest.raises(tf.errors.InaccessibleTensorError):
            tf.identity(inside[0])


@TARGETS
def test_a_value_of_a_branch_is_there_in_runs_that_take_it(target: str) -> None:
    """Read outside of the branch, with gradients; of a branch in a branch and in a loop, too."""
    inside: dict[str, Any] = {}

    def keep(name: str, value: Any) -> Any:
        inside[name] = value
        return value

    with tf.Graph().as_default(), tf.Session(target) as session:
        x, yes, deep = (
            tf.placeholder(tf.float32, [None]),
            *(tf.placeholder(tf.bool, []) for _ in "12"),
        )
        inner = lambda: tf.cond(deep, lambda: keep("deep", x * 3), lambda: x)  # noqa: E731
        y = tf.cond(yes, lambda: keep("first", x * 2) + inner(), lambda: x)
        first, both = inside["first"] + 1, inside["deep"] * 1
        gradient = tf.gradients(first * first, x)[0]

        def body(i: Any, total: Any) -> Any:
            chosen = tf.cond(i < 9, lambda: keep("looped", total * 2) + 1, lambda: total)
            return i + 1, chosen + inside["looped"]

        loop = tf.while_loop(lambda i, _: i < 3, body, [0, 1.0])[1]
        feeds = {x: [1.0, 2.0], yes: True, deep: True}
        found = session.run([y, first, both, gradient, loop], feeds)
        wanted = [[5, 10], [3, 5], [3, 6], [12, 20], 85]
        assert [np.asarray(v).tolist() for v in found] == wanted
        assert session.run(y, {**feeds, yes: False}).tolist() == [1, 2]
        for fetch, other in ((first, yes), (both, yes), (both, deep), (gradient, yes)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="took the other one"):
                session.run(fetch, {**feeds, other: False})


@TARGETS
def test_branches_share_a_constant(target: str) -> None:
    def build() -> Any:
        made: list[Any] = []

        def constant() -> Any:
            if not made:
                made.append(tf.constant(4.0))
            return made[0]

        return tf.cond(tf.placeholder(tf.bool, [], name="p"), constant, constant), made[0] + 1

    for p in (True, False):
        assert run(target, build, {"p": p}) == (4, 5)


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
        for target in ("", "cinfer"):
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
    """A function of i, h, rows and places whose branches give different numbers of rows."""
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
    """What a loop carries may be copied in each iteration, so it must not grow with them."""
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
        for target in ("", "cinfer"):
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


# ---- structures and what is no tensor ----

Pair = collections.namedtuple("Pair", "low high")


@TARGETS
def test_a_loop_keeps_the_structure_that_its_body_returns(target: str) -> None:
    def build() -> Any:
        few = lambda i, *_: i < 3  # noqa: E731
        one = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0])
        pair = tf.while_loop(few, lambda i, x: [i + 1, x * 2.0], (0, 1.0))
        nested = lambda i, d: (i + 1, {"a": Pair(d["a"].high, d["a"].low), "b": d["b"] + 1})  # noqa: E731
        return one, pair, tf.while_loop(few, nested, [0, {"a": Pair(1, 2), "b": 3}])

    one, pair, (count, nested) = run(target, build)
    assert one == 3 and pair == [3, 8.0] and count == 3
    assert nested == {"a": Pair(2, 1), "b": 6}


@TARGETS
def test_indexed_slices_go_through_branches_and_loops(target: str) -> None:
    def build() -> Any:
        def twice(i: Any, s: Any) -> Any:
            values, indices = [tf.concat([t, t], 0) for t in (s.values, s.indices)]
            return i + 1, tf.IndexedSlices(values, indices, s.dense_shape)

        p = tf.placeholder(tf.bool, [], name="p")
        rows = lambda n: tf.IndexedSlices(tf.ones([n, 2]), tf.range(n), tf.constant([4, 2]))  # noqa: E731
        chosen = tf.cond(p, lambda: rows(2), lambda: rows(3))
        assert chosen.values.shape.as_list() == [None, 2]
        invariants = [tf.TensorShape([]), tf.TensorShape([None, 2])]
        many = tf.while_loop(lambda i, s: i < 2, twice, [0, chosen], invariants)[1]
        return chosen, tf.convert_to_tensor(many)

    chosen, dense = run(target, build, {"p": True})
    assert chosen.indices.tolist() == [0, 1] and dense[:, 0].tolist() == [4, 4, 0, 0]
    assert run(target, build, {"p": False})[1][:, 1].tolist() == [4, 4, 4, 0]


@TARGETS
def test_a_sparse_tensor_changes_its_rank_in_a_loop_whose_invariant_leaves_it_open(
    target: str,
) -> None:
    """A shape invariant of a sparse tensor is a vector's: its one size is the rank."""

    def widen(i: Any, x: Any) -> Any:
        more = tf.cast(tf.fill([2, 1], i), tf.int64)
        shape = tf.concat([x.dense_shape, [10]], 0)
        return i + 1, tf.SparseTensor(tf.concat([x.indices, more], 1), x.values * 2, shape)

    def loop(invariant: Any) -> Any:
        x = tf.SparseTensor([[0], [3]], [2.0, 4.0], [10])
        invariants = None if invariant is None else [tf.TensorShape([]), invariant]
        _, made = tf.while_loop(lambda i, _: i < 2, widen, [0, x], invariants)
        return made, tf.gradients(made.values, x.values)[0]

    for invariant in (tf.TensorShape([None]), tf.TensorShape(None)):
        value, gradient = run(target, lambda invariant=invariant: loop(invariant))
        assert value.indices.tolist() == [[0, 0, 1], [3, 0, 1]]
        assert value.dense_shape.tolist() == [10, 10, 10] and gradient.tolist() == [4, 4]
    refused(lambda: loop(None), ValueError, "shape_invariants")
    refused(lambda: loop(tf.TensorShape([5])), ValueError, "is not compatible with")


@TARGETS
def test_a_run_computes_only_the_loop_variables_that_lead_to_its_fetches(target: str) -> None:
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        w = tf.get_variable("w", [2, 2], tf.float64, tf.ones_initializer())
        n = tf.placeholder(tf.int32, [])

        def step(i: Any, a: Any, b: Any, count: Any, largest: Any) -> Any:
            return i + 1, tf.matmul(a, w), a + b, count + tf.size(a), tf.maximum(largest, i)

        x = tf.constant([[1.0, 2.0]], tf.float64)
        start = [0, x, x, tf.constant(0), tf.constant(0)]
        _, a, b, count, largest = tf.while_loop(lambda i, *_: i < n, step, start)
        gradient = tf.gradients(b, w)[0]
        assert session.run([count, largest], {n: 3}) == [6, 2]
        for fetch in (a, b, gradient, [count, a]):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(fetch, {n: 1})
        session.run(w.initializer)
        assert session.run(b, {n: 2}).tolist() == [[5, 7]]
        assert session.run(gradient, {n: 2}).tolist() == [[1, 1], [2, 2]]

        def nodes(fetch: Any) -> list[str]:
            model, _ = build_model(graph, [SignatureSpec("", [("n", n)], [("y", fetch)])])
            (loop,) = [node for node in model.graph.node if node.op == "Loop"]
            (body,) = [a.value.g for a in loop.attr if a.key == "body"]
            assert len(loop.output_type) == len(body.output) - 1
            return [node.op for node in body.node if node.op not in ("Constant", "Identity")]

        assert nodes(largest) == ["Add", "Max", "Less"]
        assert nodes(a) == ["Add", "MatMul", "Less"]


@TARGETS
def test_a_run_without_the_gradient_leaves_nothing_for_it(target: str) -> None:
    """Nor does it compute of a branch what leads to no fetch."""
    with tf.Graph().as_default() as graph, tf.Session(target) as session:
        x, w = tf.placeholder(tf.float64, [4, 2]), tf.placeholder(tf.float64, [2])
        unset = tf.get_variable("unset", [2], tf.float64)
        one = lambda: (tf.sin(x) * w, tf.exp(x), x * unset)  # noqa: E731
        two = lambda: (tf.cos(x) * w, x, x)  # noqa: E731
        chosen, other, last = tf.cond(w[0] > 0, one, two)
        fetches = [chosen, other]
        feeds = {x: 0.1 * np.arange(8).reshape(4, 2), w: [1.0, 2.0]}

        def sizes() -> dict[str, list[int]]:
            outputs = [(str(i), t) for i, t in enumerate(fetches)]
            model, _ = build_model(graph, [SignatureSpec("", [("x", x), ("w", w)], outputs)])
            return {
                node.name: [len(node.output_type), sum(len(a.value.g.node) for a in node.attr)]
                for node in model.graph.node
                if node.op == "If"
            }

        before, values = sizes(), session.run(fetches, feeds)
        gradients = tf.gradients(chosen, [x, w])
        assert sizes() == before and len(before) == 1
        for mine, same in zip(values, session.run(fetches, feeds), strict=True):
            np.testing.assert_array_equal(mine, same)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(last, feeds)
        session.run(tf.assign(unset, [1.0, 2.0]))
        both, of_chosen = session.run([fetches, gradients], feeds)
        for mine, same in zip(values, both, strict=True):
            np.testing.assert_array_equal(mine, same)
        np.testing.assert_allclose(of_chosen[0], np.cos(feeds[x]) * feeds[w])
        np.testing.assert_allclose(of_chosen[1], np.sin(feeds[x]).sum(0))


@TARGETS
@pytest.mark.parametrize("seed", range(6))
def test_loop_variables_that_are_fetched_alone_are_those_of_the_whole_loop(
    target: str, seed: int
) -> None:
    """Of random dependencies between them, with the gradients by where they begin."""
    random = np.random.RandomState(seed)
    count, reads = 5, [random.choice(5, random.randint(0, 3), replace=False) for _ in range(5)]

    def following(k: int, old: Any) -> Any:
        angle = tf.constant(0.3 * (k + 1), tf.float64) + (old[k] if k % 2 else 0.0)
        return tf.sin(sum((old[j] * old[j] for j in reads[k]), angle))

    def step(i: Any, *old: Any) -> Any:
        new = [following(k, old) for k in range(count)]
        return (i + 1, *new)

    with tf.Graph().as_default(), tf.Session(target) as session:
        n, x = tf.placeholder(tf.int32, []), tf.constant(random.rand(count))
        start = (0, *tf.unstack(x))
        _, *last = tf.while_loop(lambda i, *_: i < n, step, start)
        shared = [tf.zeros([], tf.float64) if y is None else y
                  for y in (tf.gradients(last[k], x)[0] for k in range(count))]  # fmt: skip
        for steps in (0, 1, 4):
            values, gradients = session.run([last, shared], {n: steps})
            for k in range(count):
                assert session.run(last[k], {n: steps}) == values[k]
                alone = session.run([last[k], shared[k]], {n: steps})
                np.testing.assert_array_equal(alone[1], gradients[k])
                np.testing.assert_array_equal(session.run(shared[k], {n: steps}), gradients[k])
            pair = session.run([last[3], last[1]], {n: steps})
            assert pair == [values[3], values[1]]


@TARGETS
def test_a_loop_with_an_effect_runs_whole(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        body = lambda i, x: (i + 1, v.assign_add(x))  # noqa: E731
        last, _ = tf.while_loop(lambda i, x: i < 3, body, [0, tf.constant(2.0)])
        session.run(v.initializer)
        assert session.run(last) == 3
        assert session.run(v) == 8


@TARGETS
def test_an_operation_of_a_branch_runs_with_it(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v, p = tf.Variable(1.0), tf.placeholder(tf.bool, [])
        choice = tf.cond(p, lambda: tf.group(v.assign_add(1.0)), tf.no_op)
        assert choice.shape.as_list() == []
        assert tf.cond(tf.placeholder(tf.bool), tf.no_op, tf.no_op).shape.ndims is None
        session.run(v.initializer)
        assert [bool(session.run(choice, {p: b})) for b in (True, False)] == [True, False]
        assert session.run(v) == 2


def test_one_result_is_taken_out_of_its_list() -> None:
    with tf.Graph().as_default():
        p, one = tf.placeholder(tf.bool, []), lambda: [tf.constant(1)]
        assert isinstance(tf.cond(p, one, lambda: tf.constant(2)), tf.Tensor)
        assert isinstance(tf.cond(p, one, one, strict=True), list)
        assert isinstance(tf.cond(p, fn1=one, fn2=one), tf.Tensor)
        with pytest.raises(ValueError, match="structure"):
            tf.cond(p, one, lambda: tf.constant(2), strict=True)
        with pytest.raises(TypeError, match="fn1"):
            tf.cond(p, one, one, fn1=one)


def test_a_static_shape_is_what_both_branches_have_in_common() -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool, [])
        shape = lambda a, b: tf.cond(p, lambda: tf.ones(a), lambda: tf.ones(b)).shape  # noqa: E731
        assert shape([2, 3], [2, 4]).as_list() == [2, None]
        assert shape([2, 3], [2]).ndims is None


# ---- variables and order ----


@TARGETS
def test_assignments_in_bodies_happen_in_their_order(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer())

        def body(i: Any, seen: Any) -> Any:
            with tf.control_dependencies([v.assign_add(tf.cast(i + 1, tf.float32))]):
                return i + 1, tf.concat([seen, [v.read_value()]], 0)

        before = v.read_value()
        with tf.control_dependencies([before]):
            start = [tf.constant(0), tf.zeros([0])]
            shapes = [tf.TensorShape([]), tf.TensorShape([None])]
            _, seen = tf.while_loop(lambda i, _: v.read_value() < 7.0, body, start, shapes)
        with tf.control_dependencies([seen]):
            after = v.read_value()
        session.run(v.initializer)
        first, values, last = session.run([before, seen, after])
        assert (first, values.tolist(), last) == (0, [1, 3, 6, 10], 10)


@TARGETS
def test_a_body_waits_for_what_is_outside(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable(0.0)
        given = v.assign(5.0)

        def body(i: Any, total: Any) -> Any:
            with tf.control_dependencies([given]):
                return i + 1, total + v.read_value()

        looped = tf.while_loop(lambda i, _: i < 2, body, [0, 0.0])[1]
        session.run(v.initializer)
        assert session.run(looped) == 10


@TARGETS
def test_variables_made_in_bodies_are_lifted_out_and_shared(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, p = tf.ones([2]), tf.placeholder(tf.bool, [])

        def scaled(x: Any) -> Any:
            with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
                return x * tf.get_variable("w", [2], initializer=tf.constant_initializer(2.0))

        y = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, scaled(x)), [0, x])[1]
        z = tf.cond(p, lambda: scaled(y), lambda: y)
        (w,) = tf.trainable_variables()
        assert w.op.name == "shared/w" and w.graph is tf.get_default_graph()
        slope = tf.gradients(z, w)[0]
        session.run(w.initializer)
        assert session.run([z, slope], {p: True})[1].tolist() == [32, 32]
        assert session.run([z, slope], {p: False})[0].tolist() == [8, 8]


@TARGETS
def test_the_condition_of_a_loop_is_built_once_and_may_do_what_a_body_may(target: str) -> None:
    calls = []

    def unfinished(i: Any, x: Any) -> Any:
        calls.append(i)
        limit = tf.get_variable("limit", [], tf.int32, initializer=tf.constant_initializer(5))
        with tf.control_dependencies([count.assign_add(1)]):
            short = lambda: tf.less(tf.shape(x)[0], 9)  # noqa: E731
            return tf.cond(i < limit, short, lambda: tf.constant(False))

    with tf.Graph().as_default(), tf.Session(target) as session:
        count = tf.Variable(0)
        start = [tf.constant(0), tf.ones([1])]
        shapes = [tf.TensorShape([]), tf.TensorShape([None])]
        twice = lambda i, x: (tf.constant(4), tf.concat([x, x], 0))  # noqa: E731
        _, x = tf.while_loop(unfinished, twice, start, shapes)
        with tf.control_dependencies([x]):
            tested = count.read_value()
        session.run(tf.global_variables_initializer())
        values, times = session.run([x, tested])
    assert len(calls) == 1 and len(values) == 16 and times == 5


def test_a_failed_build_leaves_the_graph_as_it_was() -> None:
    def body(i: Any) -> Any:
        tf.get_variable("w", [3])
        tf.random_uniform([2], seed=1)
        return tf.cast(i, tf.float32)

    with tf.Graph().as_default() as graph:
        x, p = tf.placeholder(tf.int32, [], name="x"), tf.placeholder(tf.bool, [], name="p")
        empty = str(graph), x.consumers(), graph.get_all_collection_keys()
        with pytest.raises((TypeError, ValueError)):
            tf.while_loop(lambda i: i < 3, body, [x])
        with pytest.raises(ValueError):
            tf.cond(p, lambda: body(x), lambda: tf.cond(p, lambda: x, lambda: 2.0))
        assert (str(graph), x.consumers(), graph.get_all_collection_keys()) == empty
        assert tf.get_variable("w", [2]).op.name == "w"
        with pytest.raises(ZeroDivisionError):
            tf.while_loop(lambda i: i < 3, lambda i: tf.cond(p, lambda: i + 1 // 0, lambda: i), [x])
        assert tf.constant(1, name="while").op.name == "while"


# ---- case and switch_case ----


@TARGETS
def test_case_fails_where_none_or_several_hold(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.int32, [])
        pairs = [(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))]
        alone, strict = tf.case(pairs), tf.case(pairs, lambda: tf.constant(0), exclusive=True)
        assert [int(session.run(alone, {x: v})) for v in (-5, 5)] == [-1, 1]
        assert [int(session.run(strict, {x: v})) for v in (5, 50)] == [1, 0]
        for fetch, value, word in ((alone, 50, "None of"), (strict, -5, "exclusive")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=word):
                session.run(fetch, {x: value})


@TARGETS
@pytest.mark.parametrize("count", [6, 7, 8, 40])
def test_of_many_functions_the_first_that_holds_is_taken(target: str, count: int) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        holds, number = tf.placeholder(tf.bool, [count]), tf.placeholder(tf.int32, [])
        x = tf.constant(3.0)
        made = []

        def function(i: int) -> Callable[[], tf.Tensor]:
            def build() -> tf.Tensor:
                made.append(i)
                return x * float(i)

            return build

        pairs = [(holds[i], function(i)) for i in range(count)]
        case = tf.case(pairs, function(-1))
        assert sorted(made) == list(range(-1, count))
        slope = tf.gradients(case, x)[0]
        made.clear()
        switch = tf.switch_case(number, [f for _, f in pairs], function(-1))
        assert sorted(made) == list(range(-1, count))
        for i in range(count):
            given = np.arange(count) >= i
            feeds = {holds: given, number: i}
            assert session.run([case, slope, switch], feeds) == [3 * i, i, 3 * i]
        for outside in (-1, count, -(2**31), 2**31 - 1):
            feeds = {holds: np.zeros(count, bool), number: outside}
            assert session.run([case, slope, switch], feeds) == [-3, -1, -3]


def test_branches_nest_as_deep_as_a_model_can() -> None:
    def nested(depth: int) -> tf.Tensor:
        x = tf.constant(1.0)
        return x if depth == 0 else tf.cond(x > 0, lambda: nested(depth - 1) + 1.0, lambda: x)

    for target in ("", "cinfer"):
        with tf.Graph().as_default(), tf.Session(target) as session:
            assert session.run(nested(16)) == 17
    with tf.Graph().as_default():
        refused(lambda: nested(17), ValueError, "nested deeper than 16")


@TARGETS
def test_switch_case_takes_the_function_of_a_number(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32, [])
        functions = [lambda k=k: tf.constant(10 * k) for k in range(3)]
        last = tf.switch_case(n, functions)
        other = tf.switch_case(n, {1: functions[1], 0: functions[0]}, lambda: tf.constant(-1))
        found = session.run([last, other], {n: 1})
        assert found == [10, 10]
        assert session.run([last, other], {n: 7}) == [20, -1]


def test_malformed_cases_are_refused() -> None:
    p, one = (lambda: tf.placeholder(tf.bool, [])), (lambda: tf.constant(1))
    refused(lambda: tf.case(3), TypeError, "list, tuple, or dict")
    refused(lambda: tf.case([(True, one)]), TypeError, "Python bool")
    refused(lambda: tf.case([(tf.constant(1), one)]), TypeError, "int32")
    refused(lambda: tf.case([(p(), one)], default=3), TypeError, "callable")
    refused(lambda: tf.case([]), ValueError, "at least one")
    refused(lambda: tf.switch_case(1, [one]), TypeError, "Tensor")
    refused(lambda: tf.switch_case(tf.constant(1), {1: one}), ValueError, "contiguous")
    refused(lambda: tf.switch_case(tf.constant(1), []), ValueError, "at least one")
    refused(lambda: tf.smart_cond(None, one, one), TypeError, "expected a bool")


def test_smart_cond_needs_no_branch_where_pred_is_known() -> None:
    with tf.Graph().as_default() as graph:
        for pred in (True, 1, tf.constant(True)):
            assert tf.smart_cond(pred, lambda: "yes", lambda: "no") == "yes"
        p = tf.placeholder(tf.bool, [])
        tf.smart_cond(p, lambda: tf.constant(1), lambda: tf.constant(2))
        assert [op.op for op in graph.get_operations()].count("If") == 1


@TARGETS
def test_loops_in_loops_in_loops(target: str) -> None:
    def turns(depth: int, x: Any) -> Any:
        if depth == 0:
            return x + 1
        return tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, turns(depth - 1, v)), [0, x])[
            1
        ]

    assert run(target, lambda: turns(6, tf.constant(0))) == 2**6
