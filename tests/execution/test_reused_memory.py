"""The Python runtime reuses the memory of values that have no more readers; results stay the same.

The minimum size for it is lowered here, so that small arrays show what large ones do.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import cases
import engines
import numpy as np
import pytest
from cases import CASES, Case
from random_graphs import RandomModel

import graphio as tf
from graphio.runtime import kernels, registry
from graphio.schema import dtypes
from graphio.schema.model_pb2 import Type
from graphio.support import errors

OPS = (
    ("add", lambda a, b: a + b),
    ("subtract", lambda a, b: a - b),
    ("multiply", lambda a, b: a * b),
    ("maximum", np.maximum),
)
UNARY = (("negative", np.negative), ("abs", np.abs), ("tanh", np.tanh), ("square", np.square))


@pytest.fixture(autouse=True)
def every_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_WORTH_REUSING", -1)
    with tf.Graph().as_default():
        yield


def random_expression(seed: int) -> tuple[tf.Tensor, list[tf.Tensor], list]:
    """A graph of elementwise operations, all its tensors, and how numpy computes them."""
    rng = np.random.RandomState(seed)
    x = tf.placeholder(tf.float32, [None, 3])
    v = tf.Variable(np.ones((4, 3), np.float32) * 0.5)
    tensors: list[tf.Tensor] = [x, v.read_value(), tf.constant(0.25), tf.constant([1.0, -2.0, 0.5])]
    numpy = [
        lambda f, _: f,
        lambda f, _: np.full((4, 3), 0.5, np.float32),
        lambda f, _: np.float32(0.25),
        lambda f, _: np.array([1.0, -2.0, 0.5], np.float32),
    ]
    for _ in range(18):
        i, j = rng.randint(len(tensors), size=2)
        kind = rng.randint(4)
        if kind == 0:
            name, function = UNARY[rng.randint(len(UNARY))]
            tensors.append(getattr(tf, name)(tensors[i]))
            numpy.append(lambda f, got, i=i, fn=function: fn(got[i]))
        elif kind == 1:
            tensors.append(tf.transpose(tf.transpose(tensors[i])))
            numpy.append(lambda f, got, i=i: got[i])
        else:
            name, function = OPS[rng.randint(len(OPS))]
            tensors.append(getattr(tf, name)(tensors[i], tensors[j]))
            numpy.append(lambda f, got, i=i, j=j, fn=function: fn(got[i], got[j]))
    return x, tensors, numpy


@pytest.mark.parametrize("seed", range(60))
def test_results_are_those_of_numpy_whatever_is_fetched(seed: int) -> None:
    x, tensors, numpy = random_expression(seed)
    feed = np.random.RandomState(seed).uniform(-1, 1, (4, 3)).astype(np.float32)
    want: list = []
    for step in numpy:
        want.append(step(feed, want))
    kept = feed.copy()
    chosen = np.random.RandomState(seed + 1).permutation(len(tensors))[: 1 + seed % 5]
    with tf.Session("runtime") as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            got = session.run([tensors[i] for i in chosen], {x: feed})
            for i, value in zip(chosen, got, strict=True):
                np.testing.assert_allclose(value, want[i], rtol=1e-5, atol=1e-5)
                value[...] if np.ndim(value) == 0 else value.fill(77.0)
    np.testing.assert_array_equal(feed, kept)


@pytest.mark.parametrize("seed", range(30))
def test_models_of_control_flow_and_state_agree_with_cinfer(seed: int) -> None:
    made = RandomModel(seed, most_nodes=4 + seed % 24)
    results = []
    for name in engines.NAMES:
        model = engines.module(name).load(made.data)
        try:
            found = model.signature("run").run(made.feeds(seed))
        except errors.OpError as error:
            found = [np.array(error.error_code)]
        results.append([*found, *map(model.state.get, "vw")])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_training_is_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    x = tf.placeholder(tf.float32, [None, 5])
    w = tf.Variable(np.linspace(-1, 1, 20).reshape(5, 4).astype(np.float32))
    loss = tf.reduce_sum(tf.square(tf.maximum(tf.matmul(x, w), 0.0) - 1.0))
    (gradient,) = tf.gradients(loss, [w])
    by_hand = w.assign(w - 0.01 * gradient)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    feed = {x: np.random.RandomState(0).uniform(-1, 1, (7, 5))}
    results = []
    for least in (-1, 1 << 40):
        monkeypatch.setattr(registry, "_WORTH_REUSING", least)
        with tf.Session("runtime") as session:
            session.run(w.initializer)
            found = [session.run([loss, by_hand], feed) for _ in range(3)]
            found += [[session.run(train, feed), session.run(w)] for _ in range(3)]
            results.append(np.concatenate([np.ravel(pair[1]) for pair in found]))
    np.testing.assert_array_equal(*results)


def test_what_a_function_kept_stays_as_it_was() -> None:
    seen: list[np.ndarray] = []
    x = tf.placeholder(tf.float32, [3])
    y = x * 2.0
    with tf.control_dependencies([tf.py_func(lambda v: seen.append(v) or v, [y], tf.float32)]):
        z = -y
    with tf.Session("runtime") as session:
        assert session.run(z, {x: [1, 2, 3]}).tolist() == [-2, -4, -6]
    assert seen[0].tolist() == [2, 4, 6]


# ---- the kernels' promises ----


def fresh(case: Case) -> registry.Function | None:
    """The kernel of a case that promises newly allocated results; None if it does not."""
    kernels.load_all()
    row = registry.find(case.domain, case.op, case.version)
    if row is None or not row.fresh:
        return None
    numbers = [-1 if x is None else dtypes.of_numpy(x.dtype).number for x in case.inputs]
    attrs = {k: v.encode() if isinstance(v, str) else v for k, v in case.attrs.items()}
    outputs = [Type() for _ in case.outputs]
    nothing = [None] * len(numbers)
    call = registry.Call("node", case.op, case.version, attrs, numbers, outputs, nothing)
    try:
        return row.make(call)
    except (AssertionError, errors.OpError, ValueError):
        return None  # it needs a state, or a declared type


@pytest.mark.filterwarnings("ignore")
def test_kernels_that_say_so_give_memory_of_their_own() -> None:
    for module in pkgutil.iter_modules(cases.__path__):
        importlib.import_module(f"cases.{module.name}")
    checked = 0
    for case in CASES:
        function = fresh(case)
        if function is None:
            continue
        try:
            given = function(*case.inputs)
        except (AssertionError, errors.OpError, ValueError, AttributeError):
            continue
        results = list(given) if isinstance(given, tuple) else [given]
        arrays = [a for a in [*results, *case.inputs] if isinstance(a, np.ndarray)]
        count = sum(isinstance(r, np.ndarray) for r in results)
        for i, one in enumerate(arrays[:count]):
            for other in arrays[i + 1 :]:
                assert not np.shares_memory(one, other), case
        checked += 1
    assert checked > 1000
