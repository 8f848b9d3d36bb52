"""tf.contrib.nn, sparsemax and signal: against numpy and scipy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def ran(fetches: Any, target: str) -> Any:
    with tf.Session(target) as sess:
        return sess.run(fetches)


def simplex_projection(z: np.ndarray) -> np.ndarray:
    """The nearest distribution: max(z - tau, 0), tau by bisection."""
    tau = scipy.optimize.brentq(lambda t: np.maximum(z - t, 0).sum() - 1, z.min() - 2, z.max())
    return np.maximum(z - tau, 0)


@TARGETS
def test_sparsemax_is_the_projection_on_the_simplex(target: str) -> None:
    logits = np.random.default_rng(3).normal(0, 2, (7, 5))
    found = ran(tf.contrib.sparsemax.sparsemax(logits), target)
    expected = np.stack([simplex_projection(row) for row in logits])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found == 0).any() and (found > 0).sum(1).max() > 1


@TARGETS
def test_sparsemax_of_rows_that_have_no_projection_is_nan(target: str) -> None:
    inf = np.inf
    rows = np.float32([[0, inf, 1], [-inf, -inf, -inf], [0, np.nan, 0], [-inf, 1, 1]])
    found = ran(tf.contrib.sparsemax.sparsemax(rows), target)
    assert np.isnan(found[:3]).all()
    np.testing.assert_array_equal(found[3], [0, 0.5, 0.5])


@TARGETS
def test_the_gradient_of_sparsemax_loss_is_sparsemax_minus_labels(target: str) -> None:
    logits = np.random.default_rng(4).normal(0, 1, (4, 3))
    labels = np.eye(3)[[0, 2, 1, 1]]
    z = tf.constant(logits)
    p = tf.contrib.sparsemax.sparsemax(z)
    loss = tf.contrib.sparsemax.sparsemax_loss(z, p, labels)
    found, slope = ran([loss, tf.gradients(loss, z)[0]], target)
    q = np.stack([simplex_projection(row) for row in logits])
    np.testing.assert_allclose(slope, q - labels, atol=1e-12)
    # equation 18: -z_k + (sum over the support of z^2 - tau^2) / 2 + 1/2
    tau = np.max(np.where(q > 0, logits - q, -np.inf), 1, keepdims=True)
    squares = np.where(q > 0, logits**2 - tau**2, 0).sum(1) / 2
    np.testing.assert_allclose(found, squares + 0.5 - (logits * labels).sum(1), atol=1e-12)


@TARGETS
def test_a_class_of_logit_minus_infinity_has_no_part_in_sparsemax_loss(target: str) -> None:
    z = np.float64([[-np.inf, 1.0, 0.5]])
    p = tf.contrib.sparsemax.sparsemax(z)
    loss = ran(tf.contrib.sparsemax.sparsemax_loss(z, p, np.float64([[0, 1, 0]])), target)
    without = tf.contrib.sparsemax.sparsemax(z[:, 1:])
    other = tf.contrib.sparsemax.sparsemax_loss(z[:, 1:], without, np.float64([[1, 0]]))
    np.testing.assert_allclose(loss, ran(other, target), atol=1e-12)


@TARGETS
@pytest.mark.parametrize("clip", [None, 1.0])
def test_scaled_softplus_and_its_gradients_are_those_of_its_formula(
    target: str, clip: float | None
) -> None:
    def formula(x: np.ndarray, alpha: float) -> np.ndarray:
        y = alpha * np.logaddexp(0, x / alpha)
        return y if clip is None else np.minimum(y, clip)

    values = np.float64([-3, -0.2, 0.0, 0.4, 2.5])
    x, alpha = tf.constant(values), tf.constant(np.float64(0.3))
    y = tf.contrib.nn.scaled_softplus(x, alpha, clip=clip)
    found, by_x, by_alpha = ran([y, *tf.gradients(y, [x, alpha])], target)
    e = 1e-6
    np.testing.assert_allclose(found, formula(values, 0.3), rtol=1e-12)
    slope = (formula(values + e, 0.3) - formula(values - e, 0.3)) / (2 * e)
    np.testing.assert_allclose(by_x, slope, atol=1e-8)
    change = (formula(values, 0.3 + e) - formula(values, 0.3 - e)).sum() / (2 * e)
    np.testing.assert_allclose(by_alpha, change, atol=1e-8)


@TARGETS
def test_alpha_dropout_keeps_mean_and_variance(target: str) -> None:
    x = np.random.default_rng(5).normal(size=40_000)
    found = ran(tf.contrib.nn.alpha_dropout(x, 0.7, seed=2), target)
    assert abs(found.mean()) < 0.02 and abs(found.var() - 1) < 0.03
    low, keep = -1.7580993408473766, 0.7  # -scale * alpha of selu, to the digits of the paper
    scale = (keep + keep * (1 - keep) * low**2) ** -0.5
    dropped = np.isclose(found, scale * low - scale * low * (1 - keep))
    assert abs(dropped.mean() - 0.3) < 0.02
    kept = scale * x - scale * low * (1 - keep)
    np.testing.assert_allclose(found[~dropped], kept[~dropped], rtol=1e-12)


def test_alpha_dropout_of_probability_one_is_its_input() -> None:
    x = tf.constant([1.0, 2.0])
    assert tf.contrib.nn.alpha_dropout(x, 1.0) is x
    with pytest.raises(ValueError, match=r"range \(0, 1\], got 1\.5"):
        tf.contrib.nn.alpha_dropout(x, 1.5)


@TARGETS
def test_losses_whose_logits_come_first_are_those_of_their_formulas(target: str) -> None:
    nn = tf.contrib.nn
    z = np.random.default_rng(6).normal(size=(4, 3))
    q = np.eye(3)[[2, 0, 1, 1]] * 0.8 + 0.2 / 3
    log_p = z - np.log(np.exp(z).sum(1, keepdims=True))
    given = {
        nn.deprecated_flipped_softmax_cross_entropy_with_logits(z, q): -(q * log_p).sum(1),
        nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(z, [2, 0, 1, 1]): -log_p[
            range(4), [2, 0, 1, 1]
        ],
        nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(z, q): np.logaddexp(0, z) - q * z,
    }
    for found, expected in zip(ran(list(given), target), given.values(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@TARGETS
def test_sampled_sparse_softmax_loss_is_a_softmax_over_true_and_sampled_classes(
    target: str,
) -> None:
    draw = np.random.default_rng(7)
    weights, biases = draw.normal(size=(6, 3)), draw.normal(size=6)
    inputs, labels, sampled = draw.normal(size=(2, 3)), np.array([[1], [4]]), np.array([0, 5])
    expected_true, expected_sampled = np.array([[0.5], [0.25]]), np.array([0.75, 0.125])
    loss = tf.contrib.nn.sampled_sparse_softmax_loss(
        weights, biases, labels, inputs, 2, 6,
        sampled_values=(sampled, expected_true, expected_sampled),
    )  # fmt: skip
    logits = inputs @ weights.T + biases
    own = logits[[0, 1], labels[:, 0]] - np.log(expected_true[:, 0])
    rows = np.concatenate([own[:, None], logits[:, sampled] - np.log(expected_sampled)], 1)
    np.testing.assert_allclose(ran(loss, target), np.log(np.exp(rows).sum(1)) - own, rtol=1e-12)


def test_contrib_signal_is_what_became_tf_signal() -> None:
    for name in tf.contrib.signal.__all__:
        assert getattr(tf.contrib.signal, name) is getattr(tf.signal, name), name


def test_sparsemax_refuses_a_single_row_without_its_axis() -> None:
    with pytest.raises(ValueError, match=r"logits have shape \(2,\), expected \(n, classes\)"):
        tf.contrib.sparsemax.sparsemax([1.0, 2.0])
