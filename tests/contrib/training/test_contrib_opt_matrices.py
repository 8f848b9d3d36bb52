"""tf.contrib.opt's Shampoo and GGT, which scale gradients by matrices, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib.opt import matrix_roots

SLOPES = np.array(
    [
        [[0.1, -0.2], [0.3, 0.05], [-0.1, 0.2]],
        [[-0.3, 0.1], [0.2, 0.15], [0.25, -0.05]],
        [[0.05, 0.3], [-0.4, 0.1], [0.1, 0.1]],
        [[0.2, 0.1], [-0.1, 0.3], [-0.2, 0.05]],
    ]
)
START = np.array([[0.5, -0.25], [1.0, 0.75], [-0.5, 0.25]])
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def trained(optimizer: Any, target: str, rows: Any = None) -> tuple[Any, dict[str, Any]]:
    """The variable after the steps of SLOPES, of all rows or the given ones, and the slots."""
    v = tf.get_variable("v", initializer=tf.constant(START, tf.float64))
    given = tf.placeholder(tf.float64, [None, 2] if rows else [3, 2])
    at = tf.placeholder(tf.int64, [None])
    gradient = tf.IndexedSlices(given, at) if rows else given
    train = optimizer.apply_gradients([(gradient, v)], global_step=tf.train.get_global_step())
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for number, slope in enumerate(SLOPES):
            chosen = rows[number] if rows else slice(None)
            session.run(train, {given: slope[chosen], **({at: chosen} if rows else {})})
        slots = {name: optimizer.get_slot(v, name) for name in optimizer.get_slot_names()}
        return session.run((v, slots))


def power(matrix: Any, exponent: float) -> Any:
    values, vectors = np.linalg.eigh(matrix)
    return vectors * values**exponent @ vectors.T


def shampoo(largest: int, decays: Any = None, every: int = 1, rows: Any = None) -> Any:
    """Shampoo in numpy; decays: from step to (gbar, its weight, G, its weight)."""
    v, gbar = START.copy(), np.zeros_like(START)
    sums: list[Any] = [np.zeros((n, n)) if n <= largest else np.zeros(n) for n in (3, 2)]
    powers: list[Any] = [np.eye(3), np.eye(2)]
    for t, slope in enumerate(SLOPES, 1):
        g = slope
        if rows:
            g = np.zeros_like(slope)
            g[rows[t - 1]] = slope[rows[t - 1]]
        keep, weight, keep_sums, weight_sums = decays(t) if decays else (0, 1, 1, 1)
        gbar = keep * gbar + weight * g
        scaled = gbar
        for axis, size in enumerate((3, 2)):
            flat = np.moveaxis(g, axis, 0)
            if size <= largest:
                sums[axis] = keep_sums * sums[axis] + weight_sums * flat @ flat.T
                if t % every == 0:
                    powers[axis] = power(sums[axis] / size + 1e-4 * np.eye(size), -0.25)
            else:
                normal = 1 if rows else size
                new = weight_sums * (flat * flat).sum(1) / normal
                sums[axis] = keep_sums * sums[axis] + new
                inverse = np.where(sums[axis] > 0, np.maximum(sums[axis], 1e-30) ** -0.25, 0)
                powers[axis] = np.diag(inverse)
            scaled = np.tensordot(scaled, powers[axis], [[0], [0]])
        v = v - 0.5 * scaled
    return v, gbar, sums


@TARGETS
@pytest.mark.parametrize("largest", [1, 2, 768])
def test_shampoo_scales_each_dimension_by_a_power_of_its_sums(largest: int, target: str) -> None:
    optimizer = tf.contrib.opt.ShampooOptimizer(learning_rate=0.5, max_matrix_size=largest)
    found, slots = trained(optimizer, target)
    v, _, sums = shampoo(largest)
    np.testing.assert_allclose(found, v, rtol=1e-7)
    np.testing.assert_allclose(slots["Gbar_0"], sums[0], rtol=1e-7)
    np.testing.assert_allclose(slots["Gbar_1"], sums[1], rtol=1e-7)


@TARGETS
def test_shampoo_decays_by_functions_of_the_step(target: str) -> None:
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ShampooOptimizer(
        step,
        learning_rate=0.5,
        gbar_decay=lambda t: 1 - 1 / (tf.cast(t, tf.float64) + 1),
        gbar_weight=lambda t: 1 / (tf.cast(t, tf.float64) + 1),
        mat_gbar_decay=0.75,
        mat_gbar_weight=0.25,
    )
    found, slots = trained(optimizer, target)
    v, gbar, _ = shampoo(768, lambda t: (t / (t + 1), 1 / (t + 1), 0.75, 0.25))
    np.testing.assert_allclose(found, v, rtol=1e-6)
    np.testing.assert_allclose(slots["gbar"], gbar, rtol=1e-6, atol=1e-15)


@TARGETS
def test_shampoo_keeps_powers_between_their_computations(target: str) -> None:
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ShampooOptimizer(step, learning_rate=0.5, svd_interval=2)
    found, slots = trained(optimizer, target)
    np.testing.assert_allclose(found, shampoo(768, every=2)[0], rtol=1e-7)
    assert sorted(slots) == ["Gbar_0", "Gbar_1", "H_0", "H_1", "gbar"]
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["global_step", "v", *(f"v/Shampoo{x}" for x in ("", "_1", "_2", "_3", "_4"))]


#: TensorFlow 2.21 with the optimizer of 1.15 in float32; the roots of these matrices, whose
#: smallest eigenvalues are those of epsilon, do not converge to those of svd
ITERATED = [[0.5941375, -0.8866861], [0.3115645, -0.64496905], [-0.56796426, -1.1790013]]


@TARGETS
def test_the_iterative_roots_of_shampoo_are_those_of_tensorflow(target: str) -> None:
    optimizer = tf.contrib.opt.ShampooOptimizer(learning_rate=0.5, use_iterative_root=True)
    found, _ = trained(optimizer, target)
    np.testing.assert_allclose(found, ITERATED, rtol=1e-5)


@TARGETS
def test_iterative_roots_of_well_conditioned_matrices_are_exact(target: str) -> None:
    generator = np.random.default_rng(1)
    factor = generator.normal(size=(4, 4))
    matrix = factor @ factor.T + np.eye(4)
    given = tf.constant(matrix)
    found = [
        matrix_roots.square_root(given, 4, 100, 0.0),
        *(matrix_roots.inverse_pth_root(given, 4, -1 / p, 100, 1e-10, 0.0) for p in (1, 2, 3, 4)),
        matrix_roots.inverse_pth_root(tf.constant([[16.0]]), 1, -0.5, 100, 1e-6, 0.0),
    ]
    with tf.Session(target) as session:
        *roots, single = session.run(found)
    for value, exponent in zip(roots, (0.5, -1, -1 / 2, -1 / 3, -1 / 4), strict=True):
        np.testing.assert_allclose(value, power(matrix, exponent), rtol=1e-6, atol=1e-9)
    assert single.tolist() == [[0.25]]


def test_an_inverse_root_has_a_positive_integer_degree() -> None:
    with pytest.raises(ValueError, match="for an integer p > 0, got -0.3"):
        matrix_roots.inverse_pth_root(tf.eye(2), 2, -0.3, 100, 1e-6, 0.0)


@TARGETS
@pytest.mark.parametrize("largest", [2, 768])
def test_shampoo_takes_sparse_gradients(largest: int, target: str) -> None:
    rows = [[0, 2], [1, 2], [0, 1], [2, 0]]
    optimizer = tf.contrib.opt.ShampooOptimizer(learning_rate=0.5, max_matrix_size=largest)
    found, _ = trained(optimizer, target, rows)
    np.testing.assert_allclose(found, shampoo(largest, rows=rows)[0], rtol=1e-7)


def test_shampoo_refuses_a_decay_of_many_rows() -> None:
    optimizer = tf.contrib.opt.ShampooOptimizer(max_matrix_size=2, mat_gbar_decay=0.5)
    with pytest.raises(ValueError, match="mat_gbar_decay is 0.5, expected 1"):
        trained(optimizer, "cinfer", [[0, 2], [1, 2], [0, 1], [2, 0]])


def ggt(window: int, eps: float = 1e-4) -> Any:
    """GGT in numpy, of the vector of v alone, by the inverse roots themselves."""
    v, moment, kept = START.ravel().copy(), np.zeros(6), np.zeros((window, 6))
    for t, slope in enumerate(SLOPES, 1):
        moment = 0.9 * moment + 0.1 * slope.ravel()
        kept[(t - 1) % window] = moment
        m = kept.T / np.sqrt(min(t, window))
        values, u = np.linalg.eigh(m.T @ m + 1e-6 * np.eye(window))
        inner = u.T @ m.T @ moment
        step = m @ u @ (inner / (np.sqrt(values) + 1e-2) ** 3)
        least = np.sqrt(values).min()
        if least > eps:
            step = step + (moment - m @ u @ (inner / values)) / least
        v = v - 0.1 * step
    return v.reshape(3, 2), kept


@TARGETS
@pytest.mark.parametrize(("window", "eps"), [(2, 1e-4), (3, 1e-4), (10, 0.5)])
def test_ggt_scales_by_the_window_of_averages(window: int, eps: float, target: str) -> None:
    optimizer = tf.contrib.opt.GGTOptimizer(0.1, window=window, eps=eps)
    found, _ = trained(optimizer, target)
    np.testing.assert_allclose(found, ggt(window, eps)[0], rtol=1e-7)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["v", "global_step", "grad_buffer", "moment1", "flat_grad"]


@TARGETS
def test_ggt_takes_all_variables_as_one_vector_in_the_order_of_names(target: str) -> None:
    b = tf.get_variable("b", initializer=tf.constant([START[2]], tf.float64))
    a = tf.get_variable("a", initializer=tf.constant(START[:2], tf.float64))
    slope = tf.placeholder(tf.float64, [3, 2])
    optimizer = tf.contrib.opt.GGTOptimizer(0.1, window=3)
    train = optimizer.apply_gradients([(slope[2:], b), (slope[:2], a)])
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for one in SLOPES:
            session.run(train, {slope: one})
        found = np.concatenate(session.run([a, b]))
    np.testing.assert_allclose(found, ggt(3)[0], rtol=1e-7)


def test_ggt_refuses_sparse_gradients() -> None:
    v = tf.get_variable("v", [3, 2])
    gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]))
    with pytest.raises(NotImplementedError, match="Sparse gradient updates are not supported"):
        tf.contrib.opt.GGTOptimizer().apply_gradients([(gradient, v)])
