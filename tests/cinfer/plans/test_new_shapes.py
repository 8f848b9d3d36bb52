"""A session of cinfer that meets ever new shapes fits old plans to them: no number changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
import graphio.cinfer
from graphio.cinfer._native import ffi, lib

WIDTH = 3
RNG = np.random.RandomState(0)
WEIGHTS = RNG.randn(WIDTH, WIDTH).astype(np.float32)
Made = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]

# Each takes and gives a matrix of WIDTH columns; its rows may change in number, or meet `other`.
STEPS: dict[str, Made] = {
    "product": lambda h, other: tf.nn.relu(tf.matmul(h, tf.constant(WEIGHTS)) + 0.5),
    "softmax": lambda h, other: tf.nn.softmax(h),
    "in place": lambda h, other: tf.tanh(h * 1.5) - 0.25,
    "kept": lambda h, other: tf.tanh(h) + h,
    "transposed": lambda h, other: tf.transpose(tf.transpose(h) + 1.0),
    "shape": lambda h, other: tf.reshape(tf.reshape(h, [-1]), [tf.shape(h)[0], WIDTH]),
    "sizes as numbers": lambda h, other: h * tf.cast(tf.size(h), tf.float32),
    "joined": lambda h, other: tf.concat([h, other], 0),
    "beside": lambda h, other: tf.concat([h, h], 1)[:, 1 : WIDTH + 1],
    "rows": lambda h, other: tf.concat([h[:1], h[1:]], 0),
    "columns of ones": lambda h, other: h - tf.reduce_max(h, 1, keepdims=True),
    "row of ones": lambda h, other: h - tf.reduce_mean(h, 0, keepdims=True),
    "gathered": lambda h, other: tf.gather(h, tf.range(tf.shape(h)[0])[::-1]),
    "all pairs": lambda h, other: tf.matmul(tf.nn.softmax(tf.matmul(h, h, transpose_b=True)), h),
    "other pairs": lambda h, other: tf.matmul(tf.matmul(h, other, transpose_b=True), other),
    "tiled": lambda h, other: tf.tile(h, [2, 1])[: tf.shape(h)[0]],
    "sorted": lambda h, other: tf.nn.top_k(h, WIDTH)[0],
    "chosen": lambda h, other: tf.where(h > 0.1, h, tf.zeros_like(h)),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def model(path: Any, steps: list[str]) -> str:
    """The steps one behind the other, as a file."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        other = tf.placeholder(tf.float32, [None, WIDTH], name="other")
        h = x
        for step in steps:
            h = STEPS[step](h, other)
        outputs = {"h": h, "rows": tf.shape(h), "x": tf.identity(x), "sum": tf.reduce_sum(h)}
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(path, session, {"run": ({"x": x, "other": other}, outputs)})
    return str(path)


def stats_of(loaded: Any) -> Any:
    stats = ffi.new("ci_stats *", {"size": ffi.sizeof("ci_stats")})
    lib.ci_session_stats(loaded._handles.session, stats)
    return stats


def refits(loaded: Any) -> int:
    return int(stats_of(loaded).refits)


def feeds(rows: int, others: int) -> dict[str, np.ndarray]:
    rng = np.random.RandomState(rows * 31 + others)
    return {
        "x": rng.randn(rows, WIDTH).astype(np.float32),
        "other": rng.randn(others, WIDTH).astype(np.float32),
    }


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        np.testing.assert_array_equal(one[key], value, err_msg=key)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6),
    st.lists(
        st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=10, max_size=24, unique=True
    ),
)
def test_sizes_in_any_order_give_what_a_fresh_session_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], sizes: list[tuple[int, int]]
) -> None:
    path = model(tmp_path_factory.mktemp("model") / "m.gio", steps)
    run = graphio.cinfer.load(path).signature("run")
    for rows, others in [*sizes, *sizes]:
        fresh = graphio.cinfer.load(path).signature("run")
        same(run(**feeds(rows, others)), fresh(**feeds(rows, others)))


@pytest.mark.parametrize("step", sorted(STEPS))
def test_every_step_is_fitted(step: str, tmp_path: Any) -> None:
    path = model(tmp_path / "m.gio", [step])
    loaded = graphio.cinfer.load(path)
    run = loaded.signature("run")
    for rows in (*range(2, 30), 1, 0, 7):
        fresh = graphio.cinfer.load(path).signature("run")
        try:
            expected = fresh(**feeds(rows, 4))
        except tf.errors.OpError as error:
            with pytest.raises(type(error)):
                run(**feeds(rows, 4))
        else:
            same(run(**feeds(rows, 4)), expected)
    assert refits(loaded) > 12


def perceptron(path: Any) -> str:
    """Two matrix multiplications with biases, the first one clamped, as a file."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        h = tf.nn.relu(tf.matmul(x, tf.constant(WEIGHTS)) + tf.constant(WEIGHTS[0]))
        y = tf.matmul(h, tf.constant(WEIGHTS)) + tf.constant(WEIGHTS[1])
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(path, session, {"run": ({"x": x}, {"y": y})})
    return str(path)


def test_matmuls_of_other_rows_are_fitted_from_the_second_size_on(tmp_path: Any) -> None:
    """Small and large results, borrowed or in memory of the caller, equal those of a fresh plan.
    Small results, large ones and those that are computed in tiles have separate plans."""
    path = perceptron(tmp_path / "m.gio")
    loaded = graphio.cinfer.load(path)
    run = loaded.signature("run")
    sizes = [*range(2, 12), 5000, 3, 400, 20000, 2, 341, 342, 20000, 19999, 7, 5000, 30000]
    for i, rows in enumerate(sizes):
        x = feeds(rows, 1)["x"]
        (expected,) = graphio.cinfer.load(path).signature("run").run([x])
        (fresh,) = run.run([x])
        out = np.empty((rows + i, WIDTH), np.float32)[i:]
        (given,) = run.run([x], out=[out])
        assert given is out
        np.testing.assert_array_equal(fresh, expected)
        np.testing.assert_array_equal(out, expected)
    assert refits(loaded) == len(sizes) - 3


def test_ever_more_rows_of_matmuls_seldom_ask_for_memory(tmp_path: Any) -> None:
    """Memory is reserved for twice the rows of a run; fewer rows need no allocation."""
    loaded = graphio.cinfer.load(perceptron(tmp_path / "m.gio"))
    run = loaded.signature("run")
    out = np.empty((20000, WIDTH), np.float32)
    x = feeds(20000, 1)["x"]
    requested, sizes = 0, [*range(2, 300), *range(300, 20001, 100)]
    for rows in sizes:
        before = stats_of(loaded).allocations
        run.run([x[:rows]], out=[out[:rows]])
        requested += stats_of(loaded).allocations > before
    assert requested <= 16
    before = stats_of(loaded).allocations
    for rows in reversed(sizes):
        run.run([x[:rows]], out=[out[:rows]])
    assert stats_of(loaded).allocations == before
    assert stats_of(loaded).plans - refits(loaded) == 2  # for small results, and for large ones


def test_one_row_and_many_in_turns_are_fitted(tmp_path: Any) -> None:
    path = perceptron(tmp_path / "m.gio")
    run = graphio.cinfer.load(path).signature("run")
    for rows in (1, 2, 1, 3, 4, 0, 5, 1, 6, 0, 7, 8, 1):
        x = feeds(rows, 1)["x"]
        (expected,) = graphio.cinfer.load(path).signature("run").run([x])
        np.testing.assert_array_equal(run.run([x])[0], expected)


def test_a_sum_takes_the_memory_of_whichever_operand_is_as_large(tmp_path: Any) -> None:
    """A plan that reuses the first operand's memory cannot be fitted where that has one row."""
    with tf.Graph().as_default() as graph:
        x, other = (tf.placeholder(tf.float32, [None, WIDTH], name=n) for n in ("x", "other"))
        total = tf.nn.softmax(x) + tf.nn.softmax(other)
        signature = ({"x": x, "other": other}, {"h": tf.nn.softmax(total)})
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(tmp_path / "m.gio", session, {"run": signature}, optimize="none")
    run = graphio.cinfer.load(tmp_path / "m.gio").signature("run")
    sizes = range(2, 30)
    for rows, others in [
        *((n, n) for n in sizes), *((1, n) for n in sizes), *((n, 1) for n in sizes),
        *((n, n) for n in sizes),
    ]:  # fmt: skip
        fresh = graphio.cinfer.load(tmp_path / "m.gio").signature("run")
        same(run(**feeds(rows, others)), fresh(**feeds(rows, others)))


def test_what_is_known_while_planning_may_become_too_large_for_it(tmp_path: Any) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, WIDTH], name="x")
        ones = tf.fill(tf.shape(x), 2.0)
        outputs = {"ones": tf.reshape(ones, [-1]), "sum": tf.reduce_sum(ones * x)}
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, outputs)})
    loaded = graphio.cinfer.load(tmp_path / "m.gio")
    run = loaded.signature("run")
    for rows in (*range(1, 20), 3000, 20000, 7, 4000, 30000, 5):
        got = run(x=feeds(rows, 1)["x"])
        same(got, graphio.cinfer.load(tmp_path / "m.gio").signature("run")(x=feeds(rows, 1)["x"]))
        np.testing.assert_array_equal(got["ones"], np.full(rows * WIDTH, 2, np.float32))
    assert refits(loaded) > 9


def test_a_shape_that_fails_does_no_harm_to_those_behind_it(tmp_path: Any) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, None], name="x")
        y = tf.matmul(x, tf.constant(WEIGHTS)) * 2.0
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, {"y": y})})
    run = graphio.cinfer.load(tmp_path / "m.gio").signature("run")
    for rows in range(1, 40):
        value = np.full((rows, WIDTH), 0.5, np.float32)
        np.testing.assert_allclose(run(x=value)["y"], value @ WEIGHTS * 2, rtol=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"{rows},4"):
            run(x=np.zeros((rows, 4), np.float32))


def test_training_on_batches_of_any_size_is_bit_equal(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, WIDTH])
    w = tf.Variable(WEIGHTS)
    v = tf.Variable(WEIGHTS[:, :1])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, w)), v) - 1.0))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    sizes = np.random.RandomState(1).permutation(40) + 1
    one = tf.Session("cinfer", graph=graph)
    one.run(tf.global_variables_initializer())
    states = []
    for size in sizes:
        before = one.run(tf.global_variables())
        one.run([loss, train], {x: feeds(int(size), 1)["x"]})
        states.append((before, one.run(tf.global_variables())))
    for size, (before, after) in zip(sizes[::7], states[::7], strict=True):
        with tf.Session("cinfer", graph=graph) as fresh:
            for variable, value in zip(tf.global_variables(), before, strict=True):
                variable.load(value, fresh)
            fresh.run([loss, train], {x: feeds(int(size), 1)["x"]})
            for a, b in zip(fresh.run(tf.global_variables()), after, strict=True):
                np.testing.assert_array_equal(a, b)


def test_a_convolution_that_pools_its_result_takes_any_batch(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 3, 8, 8])
    kernel = tf.constant(RNG.randn(3, 3, 3, 4).astype(np.float32))
    h = tf.nn.relu(tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "SAME", data_format="NCHW"))
    h = tf.nn.max_pool(h, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", data_format="NCHW")
    y = tf.reshape(h, [-1, 64])
    one = tf.Session("cinfer", graph=graph)
    images = np.random.RandomState(2).randn(40, 3, 8, 8).astype(np.float32)
    expected = tf.Session("runtime", graph=graph).run(y, {x: images})
    for size in np.random.RandomState(3).permutation(40) + 1:
        got = one.run(y, {x: images[:size]})
        np.testing.assert_allclose(got, expected[:size], rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(got[:1], one.run(y, {x: images[:1]}))
