"""graphio.cinfer: large results are computed in the arrays given by `out`; values do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest

import graphio as tf
from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
X = np.random.RandomState(0).standard_normal((150, 300)).astype(F)


def signature(folder: Path, build: Any, threads: int = 1) -> Any:
    """Of x -> the tensors that `build` makes of it."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None], name="x")
        made = build(x)
        session.run(tf.global_variables_initializer())
        named = {f"y{i}": y for i, y in enumerate(made)}
        tf.saved_model.save(folder / "model.gio", session, {"run": ({"x": x}, named)})
    return cinfer.load(folder / "model.gio", threads=threads).signature("run")


def test_every_run_gives_a_fresh_array(tmp_path: Path) -> None:
    s = signature(tmp_path, lambda x: [x * 2.0])
    first, second = s.run([X])[0], s.run([X + 1])[0]
    third = s.run([X[:5]])[0]
    np.testing.assert_array_equal(first, X * 2)
    np.testing.assert_array_equal(second, (X + 1) * 2)
    np.testing.assert_array_equal(third, X[:5] * 2)
    assert not np.shares_memory(first, second) and first.flags.owndata and first.flags.writeable


def test_fresh_and_given_arrays_alternate(tmp_path: Path) -> None:
    s = signature(tmp_path, lambda x: [tf.tanh(x + 1.0), tf.reduce_sum(x), -x])
    given = [np.empty_like(X), np.empty((), F), np.empty_like(X)]
    expected = s.run([X])
    for _ in range(2):
        assert s.run([X], given)[0] is given[0]
        for one, other, fresh in zip(given, expected, s.run([X]), strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(fresh, other)
        for array in given:
            array.fill(7)


def test_an_output_may_have_the_memory_of_the_input_or_of_another_one(tmp_path: Path) -> None:
    s = signature(tmp_path, lambda x: [tf.matmul(x, tf.transpose(x)), x - 1.0])
    square = np.ascontiguousarray(X[:, :150])
    expected, memory = s.run([square]), square.copy()
    s.run([memory], [memory, np.empty((150, 150), F)])
    np.testing.assert_array_equal(memory, expected[0])
    whole = np.zeros((300, 150), F)
    s.run([square], [whole[75:225], whole[150:]])
    np.testing.assert_array_equal(whole[150:], expected[1])


def test_one_tensor_under_two_names_is_given_twice(tmp_path: Path) -> None:
    def build(x: Any) -> list[Any]:
        y = tf.nn.relu(x)
        return [y, tf.identity(y), x, tf.reshape(y, [-1])]

    s = signature(tmp_path, build)
    for out in (None, [np.empty_like(X), np.empty_like(X), np.empty_like(X), np.empty(X.size, F)]):
        for _ in range(2):
            found = s.run([X], out)
            for y, expected in zip(
                found, (X.clip(0), X.clip(0), X, X.clip(0).ravel()), strict=True
            ):
                np.testing.assert_array_equal(y, expected)
            assert not np.shares_memory(found[0], found[1])
            assert not np.shares_memory(found[2], X)


def test_an_output_at_an_odd_address_is_filled(tmp_path: Path) -> None:
    s = signature(tmp_path, lambda x: [x + 1.0])
    buffer = np.empty(X.size + 1, F)
    out = (
        buffer[1:].reshape(X.shape)
        if buffer.ctypes.data % 16 == 0
        else buffer[:-1].reshape(X.shape)
    )
    s.run([X], [out])
    np.testing.assert_array_equal(out, X + 1)


def test_results_of_loops_and_of_unknown_shapes_are_copied(tmp_path: Path) -> None:
    def build(x: Any) -> list[Any]:
        _, doubled = tf.while_loop(lambda i, v: i < 3, lambda i, v: [i + 1, v * 2.0], [0, x])
        return [doubled, tf.boolean_mask(x, tf.greater(x, 0.0))]

    s = signature(tmp_path, build)
    for x in (X, X, -X):
        found = s.run([x])
        np.testing.assert_array_equal(found[0], x * 8)
        np.testing.assert_array_equal(found[1], x[x > 0])


def test_a_variable_that_a_run_assigns_keeps_its_value(tmp_path: Path) -> None:
    def build(x: Any) -> list[Any]:
        total = tf.Variable(np.zeros(X.shape, F), name="total")
        return [total.assign_add(x)]

    s = signature(tmp_path, build)
    out = np.empty_like(X)
    for i in range(1, 4):
        s.run([X], [out])
        np.testing.assert_allclose(out, X * i, rtol=1e-6)
        out.fill(np.nan)
        fresh = s.run([np.zeros_like(X)])[0]
        np.testing.assert_allclose(fresh, X * i, rtol=1e-6)
        fresh.fill(np.nan)


def test_a_run_that_fails_is_reported_and_the_next_one_works(tmp_path: Path) -> None:
    s = signature(tmp_path, lambda x: [tf.gather(x, tf.cast(x[:, 0], tf.int32)) + 0.0])
    good = np.zeros((200, 200), F)
    bad = good.copy()
    bad[3, 0] = 1000
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="1000"):
            s.run([bad])
        np.testing.assert_array_equal(s.run([good])[0], good)


NAN = np.frombuffer(np.array([0xFFC01234, 0x7FA00001, 0xFFFFFFFF], "<u4").tobytes(), F)
ONE_NAN = np.uint32(0x7FC00000)


def holes(shape: tuple[int, ...], seed: int) -> Array:
    """Numbers, among them many kinds of NaN."""
    random = np.random.RandomState(seed)
    x = np.abs(random.standard_normal(shape).astype(F)) + F(0.1)
    at = random.randint(0, x.size, 50)
    x.ravel().view(np.uint32)[at] = NAN.view(np.uint32)[random.randint(0, 3, 50)]
    return x


CASES: dict[str, tuple[str, tuple[tuple[int, ...], ...], dict[str, Any]]] = {
    "unary": ("Sqrt", ((90, 400),), {}),
    "neg": ("Neg", ((90, 400),), {}),
    "binary": ("Add", ((90, 400), (90, 400)), {}),
    "rows": ("Mul", ((90, 400), (400,)), {}),
    "columns": ("Div", ((90, 400), (90, 1)), {}),
    "outer": ("Sub", ((90, 1), (1, 400)), {}),
    "power": ("Pow", ((90, 400), (1,)), {}),
    "fold": ("Max", ((90, 400), (400,), (90, 400)), {}),
    "sum": ("Sum", ((400,), (90, 400), (90, 400)), {}),
    "mean": ("Mean", ((90, 400), (1, 400), (90, 1)), {}),
    "clip": ("Clip", ((90, 400),), {}),
    "turn": ("Transpose", ((90, 400),), {}),
    "heads": ("Transpose", ((3, 30, 4, 100),), {"perm": [0, 2, 1, 3]}),
    "softmax": ("Softmax", ((90, 400),), {}),
    "sigmoid": ("Sigmoid", ((90, 400),), {}),
    "concat": ("Concat", ((90, 400), (90, 30)), {"axis": 1}),
    "depth": ("SpaceToDepth", ((2, 3, 80, 80),), {"blocksize": 2}),
    "normalized": ("LayerNormalization", ((90, 400), (400,)), {}),
}


@pytest.mark.parametrize("case", CASES)
def test_nan_leaves_as_one_number_from_every_kernel(case: str) -> None:
    op, shapes, attrs = CASES[case]
    inputs = [holes(shape, i) for i, shape in enumerate(shapes)]
    data, fed = engines.one_node(op, inputs, attrs, [F], version=18)
    found = []
    for isa, threads in WAYS:
        run = cinfer.load(data, isa=isa, threads=threads).signature().run
        found += [run(fed)[0], run(fed)[0]]
        run(fed, [found[-1]])
    words = found[0].view(np.uint32)
    assert np.isnan(found[0]).any()
    assert (words[np.isnan(found[0])] == ONE_NAN).all()
    for other in found[1:]:
        np.testing.assert_array_equal(other.view(np.uint32), words)
