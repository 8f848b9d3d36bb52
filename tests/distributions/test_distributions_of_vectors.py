"""Distributions of vectors and over classes against scipy's and their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
SHARED = tf.contrib.distributions
CLASSES = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]])
OTHERS = np.array([[0.3, 0.3, 0.4], [0.25, 0.25, 0.5]])
WEIGHTS = np.array([[1.5, 2.0, 3.0], [2.5, 1.5, 4.0]])
COUNTS = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 5.0]])
TOTALS = COUNTS.sum(-1)
MANY = 3000


def rows(scipy: Any, method: str, *points: Any) -> Any:
    """A method of scipy's distribution of each row, at that row's point."""
    found = [getattr(scipy(i), method) for i in range(2)]
    return np.array(
        [each(*(p[i] for p in points)) if callable(each) else each for i, each in enumerate(found)]
    )


@TARGETS
def test_a_dirichlet_distribution_is_scipys(target: str) -> None:
    x = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.Dirichlet(WEIGHTS)
        found = sess.run(
            [made.log_prob(x), made.mean(), made.variance(), made.entropy(), made.covariance()]
        )
        other = sess.run(made.kl_divergence(SHARED.Dirichlet(WEIGHTS[::-1])))
        # of two weights it is the beta distribution, whose divergence has another formula
        pairs = [SHARED.Dirichlet(w[:, :2]) for w in (WEIGHTS, WEIGHTS[::-1])]
        betas = [SHARED.Beta(w[:, 0], w[:, 1]) for w in (WEIGHTS, WEIGHTS[::-1])]
        of_pairs, of_betas = sess.run([SHARED.kl_divergence(*pairs), SHARED.kl_divergence(*betas)])
    for method, value in zip(("logpdf", "mean", "var", "entropy", "cov"), found, strict=True):
        given = (x,) if method == "logpdf" else ()
        expected = rows(lambda i: stats.dirichlet(WEIGHTS[i]), method, *given)
        np.testing.assert_allclose(value, expected, rtol=1e-10, err_msg=method)
    assert (other > 0.0).all()
    np.testing.assert_allclose(of_pairs, of_betas, rtol=1e-10)


@TARGETS
def test_counts_of_classes_are_scipys(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fixed = SHARED.Multinomial(TOTALS, probs=CLASSES)
        drawn = SHARED.DirichletMultinomial(TOTALS, WEIGHTS)
        for made, scipy in (
            (fixed, lambda i: stats.multinomial(TOTALS[i], CLASSES[i])),
            (drawn, lambda i: stats.dirichlet_multinomial(WEIGHTS[i], int(TOTALS[i]))),
        ):
            found = sess.run([made.log_prob(COUNTS), made.covariance(), made.variance()])
            np.testing.assert_allclose(
                found[0], rows(scipy, "logpmf", COUNTS.astype(int)), rtol=1e-10, atol=1e-12
            )
            covariance = rows(scipy, "cov")
            np.testing.assert_allclose(found[1], covariance, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(
                found[2], covariance.diagonal(axis1=1, axis2=2), rtol=1e-9, atol=1e-12
            )
        np.testing.assert_allclose(sess.run(fixed.mean()), TOTALS[:, None] * CLASSES)


@TARGETS
@pytest.mark.parametrize("name", ["Multinomial", "DirichletMultinomial", "Dirichlet"])
def test_samples_have_the_moments_of_the_distribution(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = {
            "Multinomial": lambda: SHARED.Multinomial(TOTALS, probs=CLASSES),
            "DirichletMultinomial": lambda: SHARED.DirichletMultinomial(TOTALS, WEIGHTS),
            "Dirichlet": lambda: SHARED.Dirichlet(WEIGHTS),
        }[name]()
        sample = made.sample(MANY, seed=11)
        assert sample.shape.as_list() == [MANY, 2, 3]
        found, mean, covariance = sess.run([sample, made.mean(), made.covariance()])
    sums = 1.0 if name == "Dirichlet" else TOTALS
    np.testing.assert_allclose(found.sum(-1), np.broadcast_to(sums, (MANY, 2)), rtol=1e-9)
    deviations = np.sqrt(covariance.diagonal(axis1=1, axis2=2))
    assert (np.abs(found.mean(0) - mean) < 4.0 * deviations / MANY**0.5).all()
    for i in range(2):
        scale = np.outer(deviations[i], deviations[i])
        apart = (np.cov(found[:, i].T) - covariance[i]) / scale
        assert np.abs(apart).max() < 0.12


@TARGETS
def test_samples_of_a_dirichlet_distribution_have_gradients(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        weights = tf.constant(WEIGHTS)
        sample = SHARED.Dirichlet(weights).sample(MANY, seed=2)
        slope = sess.run(tf.gradients(tf.reduce_mean(sample[..., 0] ** 2, 0), weights)[0])

    def second_moment(w: Any) -> Any:
        total = w.sum(-1)
        return w[:, 0] * (w[:, 0] + 1.0) / (total * (total + 1.0))

    for j in range(3):
        step = np.eye(3)[j] * 1e-6
        expected = (second_moment(WEIGHTS + step) - second_moment(WEIGHTS - step)) / 2e-6
        assert (np.abs(slope[:, j] - expected) < 0.01).all()


@TARGETS
def test_classes_have_their_probabilities(target: str) -> None:
    k = np.array([[0, 2], [1, 0], [2, 1]])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        for options in ({"probs": CLASSES}, {"logits": np.log(CLASSES) + 3.0}):
            made, other = SHARED.Categorical(**options), SHARED.Categorical(probs=OTHERS)
            found = sess.run(
                [made.prob(k), made.cdf(k), made.entropy(), made.mode(), made.kl_divergence(other)]
            )
            np.testing.assert_allclose(found[0], CLASSES[[0, 1], k], rtol=1e-12)
            # as TensorFlow's, the share of the classes below, without the class itself
            below = np.cumsum(CLASSES, -1) - CLASSES
            np.testing.assert_allclose(found[1], below[[0, 1], k], rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(found[2], stats.entropy(CLASSES, axis=1), rtol=1e-12)
            assert found[3].tolist() == [2, 2]
            np.testing.assert_allclose(found[4], stats.entropy(CLASSES, OTHERS, axis=1), rtol=1e-10)


@TARGETS
def test_one_hot_vectors_are_classes(target: str) -> None:
    k = np.array([0, 2])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.OneHotCategorical(probs=CLASSES, dtype=tf.float64)
        other = SHARED.OneHotCategorical(probs=OTHERS)
        found, sample, mode, covariance, divergence = sess.run(
            [
                made.prob(np.eye(3)[k]), made.sample(MANY, seed=4), made.mode(), made.covariance(),
                SHARED.kl_divergence(made, other),
            ]
        )  # fmt: skip
    np.testing.assert_allclose(found, CLASSES[[0, 1], k], rtol=1e-12)
    np.testing.assert_allclose(divergence, stats.entropy(CLASSES, OTHERS, axis=1), rtol=1e-10)
    assert sample.shape == (MANY, 2, 3)
    assert (sample.sum(-1) == 1.0).all()
    assert np.abs(sample.mean(0) - CLASSES).max() < 0.04
    assert mode.tolist() == [[0, 0, 1], [0, 0, 1]]
    expected = [np.diag(p) - np.outer(p, p) for p in CLASSES]
    np.testing.assert_allclose(covariance, expected, atol=1e-14)


@TARGETS
def test_a_relaxed_class_has_the_density_of_the_concrete_distribution(target: str) -> None:
    heat = 0.75
    with tf.Graph().as_default(), tf.Session(target) as sess:
        logits = tf.constant(np.log(CLASSES))
        made = SHARED.ExpRelaxedOneHotCategorical(heat, logits=logits)
        sample = made.sample(MANY, seed=4)
        found, density, slope = sess.run(
            [sample, made.log_prob(sample), tf.gradients(tf.reduce_sum(sample), logits)[0]]
        )
    np.testing.assert_allclose(special.logsumexp(found, -1), 0.0, atol=1e-12)
    # of log x: that of x (Maddison, Mnih and Teh 2016, equation 10) times x1 x2 x3
    parts = np.log(CLASSES) - heat * found
    expected = (
        special.gammaln(3) + 2 * np.log(heat) + parts.sum(-1) - 3 * special.logsumexp(parts, -1)
    )
    np.testing.assert_allclose(density, expected, rtol=1e-10)
    assert (np.abs((found.argmax(-1)[..., None] == range(3)).mean(0) - CLASSES) < 0.04).all()
    assert np.isfinite(slope).all()
    assert np.abs(slope).max() > 1.0


@TARGETS
def test_a_deterministic_distribution_has_one_value(target: str) -> None:
    loc = np.array([1.0, -2.0])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        one, vector = SHARED.Deterministic(loc, atol=0.1), SHARED.VectorDeterministic(loc, rtol=0.1)
        found = sess.run(
            [
                one.prob([1.05, -2.2]), one.cdf([0.5, -1.0]), one.sample([2, 1]), one.entropy(),
                vector.prob([[1.05, -2.1], [1.05, -2.3]]), vector.sample(3), vector.variance(),
            ]
        )  # fmt: skip
    assert [np.asarray(x).tolist() for x in (*found[:2], *found[3:5])] == [
        [1, 0], [0, 1], [0, 0], [1, 0]
    ]  # fmt: skip
    assert found[2].tolist() == [[loc.tolist()]] * 2
    assert found[5].tolist() == [loc.tolist()] * 3
    assert (one.batch_shape, vector.batch_shape) == ([2], [])
    assert (one.event_shape, vector.event_shape) == ([], [2])


def test_a_vector_that_is_validated_has_an_axis() -> None:
    with pytest.raises(ValueError, match="at least rank 1"):
        SHARED.VectorDeterministic(1.0, validate_args=True)


@TARGETS
def test_counts_of_another_sum_are_refused_if_they_are_validated(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.Multinomial(np.float64(4), probs=CLASSES[0], validate_args=True)
        fed = tf.placeholder(tf.float64, [3])
        probability = made.prob(fed)
        assert 0.0 < sess.run(probability, {fed: [1, 1, 2]}) < 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="counts must sum"):
            sess.run(probability, {fed: [1, 1, 1]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="fractional"):
            sess.run(probability, {fed: [0.5, 1.5, 2]})
