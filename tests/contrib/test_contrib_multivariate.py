"""Distributions of vectors and matrices: the moments of their samples, gradients through samples,
densities without TensorFlow.

contrib_scenes/multivariate_scenes.py has the table; test_contrib_scenes.py compares its values
with TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contrib_scenes import multivariate_scenes as scenes

import graphio as tf

d = tf.contrib.distributions
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
COUNT = 20000
#: the distributions whose mean and variance are known; Wishart's of factors have no mean
MOMENTS = [name for name, case in scenes.CASES.items() if "variance" in case.statistics]


@TARGETS
@pytest.mark.parametrize("name", MOMENTS)
def test_samples_have_the_mean_and_the_variance_of_the_distribution(name: str, target: str) -> None:
    distribution = scenes.CASES[name].make(tf, d)
    tf.set_random_seed(3)
    with tf.Session(target=target) as session:
        samples, mean, variance = session.run(
            [distribution.sample(COUNT, seed=5), distribution.mean(), distribution.variance()]
        )
    variance = np.broadcast_to(variance, samples.shape[1:])
    spread = np.sqrt(variance)
    assert samples.shape[0] == COUNT
    assert (np.abs(samples.mean(0) - mean) < 5 * spread / COUNT**0.5).all()
    # heavy tails: the deviation of a squared number is some times its mean
    np.testing.assert_allclose(samples.var(0), variance, rtol=0.15)


@TARGETS
def test_samples_have_gradients_by_the_parameters(target: str) -> None:
    loc, diag = tf.constant(scenes.LOC), tf.constant(scenes.DIAG)
    normal = d.MultivariateNormalDiag(loc, diag)
    x = normal.sample(4, seed=1)
    slopes = tf.gradients(tf.reduce_sum(x), [loc, diag])
    with tf.Session(target=target) as session:
        found, by_loc, by_diag = session.run([x, *slopes])
    np.testing.assert_allclose(by_loc, np.full(3, 4.0))
    np.testing.assert_allclose(by_diag, ((found - scenes.LOC) / scenes.DIAG).sum(0), rtol=1e-6)


@TARGETS
def test_shapes_that_only_the_run_knows_give_the_same_density(target: str) -> None:
    loc, tril = (tf.placeholder_with_default(v, None) for v in (scenes.LOC, scenes.TRIL))
    x = tf.placeholder_with_default(scenes.X, None)
    open_one = d.MultivariateNormalTriL(loc, tril)
    known = d.MultivariateNormalTriL(scenes.LOC, scenes.TRIL)
    tensors = [
        *(n.log_prob(v) for n, v in ((open_one, x), (known, tf.constant(scenes.X)))),
        open_one.batch_shape_tensor(),
        open_one.event_shape_tensor(),
        tf.shape(open_one.sample([2, 5])),
    ]
    with tf.Session(target=target) as session:
        a, b, batch, event, drawn = session.run(tensors)
    np.testing.assert_allclose(a, b, rtol=1e-10)
    assert (batch.tolist(), event.tolist(), drawn.tolist()) == ([], [3], [2, 5, 3])


def test_the_density_of_a_normal_is_that_of_its_formula() -> None:
    normal = d.MultivariateNormalTriL(scenes.LOC, scenes.TRIL)
    found = tf.Session().run(normal.log_prob(scenes.X))
    covariance = scenes.TRIL @ scenes.TRIL.T
    apart = scenes.X - scenes.LOC
    square = np.einsum("...i,ij,...j", apart, np.linalg.inv(covariance), apart)
    expected = -0.5 * (square + np.log(np.linalg.det(2 * np.pi * covariance)))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_gauss_and_hermites_points_integrate_what_they_should() -> None:
    loc, scale = 0.4, 0.7
    grid, weights = tf.Session().run(
        d.quadrature_scheme_softmaxnormal_gauss_hermite(
            tf.constant([loc], tf.float64), tf.constant([scale], tf.float64), 24
        )
    )
    z = np.linspace(-8, 8, 20001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    # the points are softmax of minus (0, number)
    share = 1 / (1 + np.exp(-(loc + scale * z)))
    for power in (1, 2):
        expected = (density * share**power).sum() * (z[1] - z[0])
        np.testing.assert_allclose((grid[0] ** power * weights).sum(), expected, rtol=1e-5)
    np.testing.assert_allclose(grid.sum(0), 1.0, rtol=1e-12)


@TARGETS
def test_moving_averages_follow_the_recursion(target: str) -> None:
    tf.reset_default_graph()
    fed = tf.placeholder(tf.float64, [2])
    mean, variance = d.moving_mean_variance(fed, decay=0.9)
    log_mean = tf.get_variable("log_mean", initializer=np.log([1.0, 2.0]))
    moved = d.assign_log_moving_mean_exp(log_mean, fed, decay=0.9)
    names = sorted(v.op.name for v in tf.global_variables())
    assert names == [
        "log_mean",
        "moving_mean_variance/moving_mean",
        "moving_mean_variance/moving_variance",
    ]
    expected, spread, exponential = np.zeros(2), np.zeros(2), np.array([1.0, 2.0])
    with tf.Session(target=target) as session:
        session.run(tf.global_variables_initializer())
        for value in np.array([[1.0, -2.0], [0.5, 3.0], [2.0, 0.0]]):
            found = session.run([mean, variance, moved], {fed: value})
            spread = 0.9 * (spread + 0.1 * (value - expected) ** 2)
            expected = expected + 0.1 * (value - expected)
            exponential = 0.9 * exponential + 0.1 * np.exp(value)
            np.testing.assert_allclose(found[0], expected, rtol=1e-12)
            np.testing.assert_allclose(found[1], spread, rtol=1e-12)
            np.testing.assert_allclose(found[2], np.log(exponential), rtol=1e-12)


class Shift(d.bijectors.ConditionalBijector):  # type: ignore[name-defined, misc]
    """Y = X + by, where a call gives by."""

    def __init__(self) -> None:
        super().__init__(forward_min_event_ndims=0, name="shift")

    def _forward(self, x: Any, by: Any) -> Any:
        return x + by

    def _inverse(self, y: Any, by: Any) -> Any:
        return y - by

    def _forward_log_det_jacobian(self, x: Any, by: Any) -> Any:
        return tf.zeros([], x.dtype)


@TARGETS
def test_a_conditional_distribution_gives_arguments_to_its_bijector(target: str) -> None:
    shifted = d.ConditionalTransformedDistribution(d.Normal(0.0, 1.0), Shift())
    given = {"bijector_kwargs": {"by": 2.0}}
    x = tf.constant([1.0, 3.5])
    names = ("log_prob", "prob", "cdf", "survival_function")
    found = [getattr(shifted, name)(x, **given) for name in names]
    expected = [getattr(d.Normal(2.0, 1.0), name)(x) for name in names]
    with tf.Session(target=target) as session:
        np.testing.assert_allclose(*session.run([found, expected]), rtol=1e-6)
        drawn = session.run(shifted.sample(4000, seed=1, **given))
    assert abs(drawn.mean() - 2.0) < 0.1
    with pytest.raises(TypeError, match="bijector_kwargs"):
        shifted.log_prob(x, by=2.0)


#: calls that are refused: what is called, the class of the error, and words of it
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "neither loc nor scale": (lambda: d.MultivariateNormalTriL(), ValueError, "one or both"),
    "no size": (lambda: d.MultivariateNormalDiag(), ValueError, "Cannot infer"),
    "sizes that don't fit": (
        lambda: d.MultivariateNormalTriL(np.zeros(2), np.eye(3)),
        ValueError,
        "could not be broadcast",
    ),
    "too few degrees of freedom": (
        lambda: d.WishartCholesky(2.0, np.eye(3, dtype=np.float32)),
        ValueError,
        "cannot be less than dimension",
    ),
    "components of other numbers": (
        lambda: d.Mixture(d.Categorical(probs=[0.5, 0.5]), [d.Normal(0.0, 1.0)]),
        ValueError,
        "num_classes",
    ),
    "no categories": (
        lambda: d.Mixture(d.Normal(0.0, 1.0), [d.Normal(0.0, 1.0)]),
        TypeError,
        "Categorical",
    ),
    "a batch of a batch": (
        lambda: d.TransformedDistribution(d.Normal([0.0, 1.0], 1.0), batch_shape=[2]),
        ValueError,
        "not scalar",
    ),
    "a percentile between": (
        lambda: d.percentile([1.0], 50.0, interpolation="linear"),
        ValueError,
        "interpolation",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_at_once(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()
