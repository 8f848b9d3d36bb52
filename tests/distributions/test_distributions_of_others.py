"""Distributions that are made of others, or of a function of a parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
SHARED = tf.contrib.distributions
LOC, SCALE = np.array([[-1.0, 0.0, 2.0], [0.5, 1.0, 1.5]]), np.array([0.5, 1.0, 3.0])
X = np.array([0.3, -0.4, 1.1])


@TARGETS
@pytest.mark.parametrize("known", [True, False])
def test_batch_axes_become_axes_of_the_event(known: bool, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        loc = tf.constant(LOC) if known else tf.placeholder(tf.float64)
        base = SHARED.Normal(loc, SCALE)
        made = SHARED.Independent(base, 1)
        other = SHARED.Independent(SHARED.Normal(loc + 1.0, SCALE), 1)
        found = sess.run(
            [
                made.log_prob(X), made.entropy(), made.mean(), made.batch_shape_tensor(),
                made.event_shape_tensor(), made.sample(5), SHARED.kl_divergence(made, other),
            ],
            {} if known else {loc: LOC},
        )  # fmt: skip
    scipy = stats.norm(LOC, SCALE)
    np.testing.assert_allclose(found[0], scipy.logpdf(X).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(found[1], scipy.entropy().sum(-1), rtol=1e-12)
    np.testing.assert_allclose(found[2], LOC)
    assert (found[3].tolist(), found[4].tolist(), found[5].shape) == ([2], [3], (5, 2, 3))
    np.testing.assert_allclose(found[6], [(0.5 / SCALE**2).sum()] * 2, rtol=1e-12)
    if known:
        assert (made.batch_shape, made.event_shape) == ([2], [3])
        assert SHARED.Independent(base).event_shape == [3]


def test_independent_axes_are_those_of_the_batch() -> None:
    with pytest.raises(ValueError, match=r"reinterpreted_batch_ndims\(3\) cannot exceed"):
        SHARED.Independent(SHARED.Normal(LOC, SCALE), 3)
    one = SHARED.Independent(SHARED.Normal(LOC, SCALE), 1)
    with pytest.raises(ValueError, match="do not match"):
        SHARED.kl_divergence(one, SHARED.Independent(SHARED.Normal(LOC, SCALE), 2))


@TARGETS
def test_quantized_numbers_have_the_shares_between_whole_ones(target: str) -> None:
    y = np.array([[-3.0], [-1.0], [0.0], [2.0], [4.0]])
    scipy = stats.norm(LOC[0], SCALE)
    with tf.Graph().as_default(), tf.Session(target) as sess:
        base = SHARED.Normal(LOC[0], SCALE)
        free, bounded = (
            SHARED.QuantizedDistribution(base),
            SHARED.QuantizedDistribution(base, low=np.float64(-1), high=np.float64(2)),
        )
        found = sess.run([free.prob(y), free.log_prob(y), free.cdf(y + 0.5)])
        within = sess.run([bounded.prob(y), bounded.survival_function(y), bounded.sample(1000)])
    share = np.where(y < LOC[0], scipy.cdf(y) - scipy.cdf(y - 1), scipy.sf(y - 1) - scipy.sf(y))
    np.testing.assert_allclose(found[0], share, rtol=1e-9)
    np.testing.assert_allclose(found[1], np.log(share), rtol=1e-9)
    np.testing.assert_allclose(found[2], scipy.cdf(y), rtol=1e-12)
    expected = np.where(
        y == -1, scipy.cdf(-1), np.where(y == 2, scipy.sf(1), np.where(abs(y - 0.5) > 2, 0, share))
    )
    np.testing.assert_allclose(within[0], expected, rtol=1e-9)
    np.testing.assert_allclose(
        within[1], np.where(y < -1, 1, np.where(y >= 2, 0, scipy.sf(y))), rtol=1e-9
    )
    assert set(np.unique(within[2])) == {-1, 0, 1, 2}


def test_quantized_values_that_are_validated_are_whole() -> None:
    with tf.Session() as sess:
        made = SHARED.QuantizedDistribution(SHARED.Normal(0.0, 1.0), validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="non-integer"):
            sess.run(made.prob(tf.placeholder_with_default(np.float32(0.5), [])))


@TARGETS
def test_an_autoregressive_sample_is_a_fixed_point_of_its_noise(target: str) -> None:
    def following(x: Any = None) -> Any:
        before = tf.zeros([2]) if x is None else tf.stack([0.0 * x[..., 0], 0.9 * x[..., 0]], -1)
        return SHARED.Independent(SHARED.Normal(before, 0.1), 1)

    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.Autoregressive(following)
        sample = made.sample(2000, seed=3)
        assert (made.num_steps, made.event_shape.as_list()) == (2, [2])
        found, density = sess.run([sample, made.log_prob(sample)])
    x, y = found.T.astype(np.float64)
    expected = stats.norm(0, 0.1).logpdf(x) + stats.norm(0.9 * x, 0.1).logpdf(y)
    np.testing.assert_allclose(density, expected, rtol=1e-4, atol=1e-4)
    assert abs(np.cov(x, y)[0, 1] / 0.009 - 1.0) < 0.12
    with pytest.raises(ValueError, match="at least 1"):
        SHARED.Autoregressive(following, num_steps=0)


@TARGETS
def test_a_mixture_of_poisson_distributions_has_its_moments(target: str) -> None:
    loc, scale = np.array([0.2, 1.0]), np.array([0.4, 0.7])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        for scheme in ("gauss_hermite", "quantiles"):
            function = getattr(SHARED, f"quadrature_scheme_lognormal_{scheme}")
            made = SHARED.PoissonLogNormalQuadratureCompound(loc, scale, 6, function)
            k = np.arange(60.0)[:, None]
            grid, weights, probs, mean, variance, sample = sess.run(
                [
                    made.distribution.log_rate, made.mixture_distribution.probs, made.prob(k),
                    made.mean(), made.variance(), made.sample(4000, seed=5),
                ]
            )  # fmt: skip
            expected = (stats.poisson(np.exp(grid)).pmf(k[..., None]) * weights).sum(-1)
            np.testing.assert_allclose(probs, expected, rtol=1e-9)
            np.testing.assert_allclose(mean, (np.exp(grid) * weights).sum(-1), rtol=1e-12)
            second = ((np.exp(2 * grid) + np.exp(grid)) * weights).sum(-1)
            np.testing.assert_allclose(variance, second - mean**2, rtol=1e-9)
            assert (np.abs(sample.mean(0) - mean) < 4.0 * np.sqrt(variance / 4000)).all()
            if scheme == "gauss_hermite":
                np.testing.assert_allclose(mean, np.exp(loc + scale**2 / 2), rtol=1e-6)
            else:
                edges = np.exp(stats.norm(loc, scale).ppf(np.linspace(0, 1, 9)[1:-1, None])).T
                np.testing.assert_allclose(grid, (edges[:, 1:] + edges[:, :-1]) / 2, rtol=1e-9)


#: class -> (parameters of softplus, class without, the names of those that are made positive)
SOFTPLUS = {
    "NormalWithSoftplusScale": ({"loc": 1.0, "scale": -0.5}, "Normal", ["scale"]),
    "LaplaceWithSoftplusScale": ({"loc": 1.0, "scale": -0.5}, "Laplace", ["scale"]),
    "ExponentialWithSoftplusRate": ({"rate": -0.5}, "Exponential", ["rate"]),
    "BetaWithSoftplusConcentration": (
        {"concentration1": -0.5, "concentration0": 2.0}, "Beta",
        ["concentration1", "concentration0"],
    ),
    "GammaWithSoftplusConcentrationRate": (
        {"concentration": -0.5, "rate": 2.0}, "Gamma", ["concentration", "rate"],
    ),
    "InverseGammaWithSoftplusConcentrationRate": (
        {"concentration": -0.5, "rate": 2.0}, "InverseGamma", ["concentration", "rate"],
    ),
    "StudentTWithAbsDfSoftplusScale": (
        {"df": -3.7, "loc": 1.0, "scale": -0.5}, "StudentT", ["scale"],
    ),
    "Chi2WithAbsDf": ({"df": -3.7}, "Chi2", []),
}  # fmt: skip


@pytest.mark.parametrize("name", SOFTPLUS)
def test_parameters_are_made_positive(name: str) -> None:
    parameters, plain, changed = SOFTPLUS[name]
    expected = {k: np.log1p(np.exp(v)) if k in changed else v for k, v in parameters.items()}
    if "df" in expected:
        expected["df"] = 3.0
    with tf.Graph().as_default(), tf.Session() as sess:
        made = getattr(SHARED, name)(**parameters)
        other = getattr(SHARED, plain)(**{k: np.float32(v) for k, v in expected.items()})
        assert isinstance(made, type(other))
        assert made.name == f"{name}/"
        assert {k: made.parameters[k] for k in parameters} == parameters
        np.testing.assert_allclose(*sess.run([made.prob(0.7), other.prob(0.7)]), rtol=1e-6)
        np.testing.assert_allclose(*sess.run([made.copy().prob(0.7), other.prob(0.7)]), rtol=1e-6)


def test_observations_narrow_a_normal_distribution_of_the_mean() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        prior, total = SHARED.Normal(np.float64(1), np.float64(2)), tf.constant(12.0, tf.float64)
        arguments = (prior, np.float64(3), total, 5)
        after = SHARED.normal_conjugates_known_scale_posterior(*arguments)
        further = SHARED.normal_conjugates_known_scale_predictive(*arguments)
        found = sess.run([after.loc, after.scale, further.loc, further.scale])
    x = np.linspace(-30.0, 30.0, 60001)
    weights = stats.norm(1, 2).pdf(x) * np.exp(-(5 * x**2 - 2 * 12 * x) / (2 * 9))
    weights /= weights.sum()
    mean = (weights * x).sum()
    variance = (weights * (x - mean) ** 2).sum()
    expected = [mean, variance**0.5, mean, (variance + 9) ** 0.5]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(TypeError, match="instance of type Normal"):
        SHARED.normal_conjugates_known_scale_posterior(SHARED.Laplace(0.0, 1.0), 1.0, total, 5)
    with pytest.raises(TypeError, match="does not match prior dtype"):
        SHARED.normal_conjugates_known_scale_posterior(SHARED.Normal(0.0, 1.0), 1.0, total, 5)


def test_a_seed_stream_has_the_seeds_of_tensorflow() -> None:
    stream = SHARED.SeedStream(13, "salt")
    # SHA-512 of "(13, 1, 'salt')", as a number
    first = int(
        "926caa8d330c2248b0b7b85818b4abc48f7715e95ae1714e9cf1da1a09200818"
        "d1a8122d58a77d35c4c5529b26a5486690a2c120957fc26249c713fca6b55dbf",
        16,
    )
    assert (stream(), stream() == first, stream.original_seed, stream.salt) == (
        first, False, 13, "salt",
    )  # fmt: skip
    assert SHARED.SeedStream(stream, "other").original_seed == 13
    assert SHARED.SeedStream(None, "salt")() is None


def test_conditions_reach_the_methods_of_a_subclass() -> None:
    class Shifted(SHARED.ConditionalDistribution):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(tf.float32, tf.distributions.NOT_REPARAMETERIZED, False, True)

        def _log_prob(self, value: Any, by: float) -> Any:
            return value + by

        def _cdf(self, value: Any, by: float) -> Any:
            return value * by

        def _sample_n(self, n: Any, seed: Any = None, by: float = 0.0) -> Any:
            return tf.fill([n], by)

    with tf.Graph().as_default(), tf.Session() as sess:
        made = Shifted()
        found = sess.run(
            [made.log_prob(1.0, by=2.0), made.prob(0.0, by=0.0), made.cdf(0.5, by=0.5),
             made.survival_function(0.5, by=0.5), made.log_cdf(2.0, by=0.5),
             made.log_survival_function(0.5, by=0.5), made.sample(2, by=7.0)]
        )  # fmt: skip
    np.testing.assert_allclose(found[:6], [3, 1, 0.25, 0.75, 0, np.log(0.75)], rtol=1e-6)
    assert found[6].tolist() == [7, 7]


def test_the_nearest_divergence_of_a_class_is_taken() -> None:
    class One(tf.distributions.Normal):  # type: ignore[misc]
        pass

    class Two(One):
        pass

    one, two, normal = One(0.0, 1.0), Two(0.0, 1.0), tf.distributions.Normal(0.0, 1.0)
    tf.distributions.RegisterKL(One, tf.distributions.Normal)(lambda a, b, name: tf.constant(5.0))
    tf.distributions.RegisterKL(Two, One)(lambda a, b, name: tf.constant(np.nan))
    with tf.Session() as sess:
        found = [tf.distributions.kl_divergence(a, b) for a, b in ((two, normal), (normal, two))]
        assert sess.run(found) == [5.0, 0.0]
        assert np.isnan(sess.run(two.kl_divergence(one)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN values"):
            sess.run(tf.distributions.kl_divergence(two, one, allow_nan_stats=False))


def test_a_failed_method_leaves_no_operations() -> None:
    with tf.Graph().as_default() as graph:
        made = tf.distributions.Normal([0.0, 1.0], 1.0)
        before = len(graph.get_operations())
        with pytest.raises(ValueError, match="equal|Incompatible|compatible"):
            made.prob([1.0, 2.0, 3.0])
        assert len(graph.get_operations()) == before


def test_softplus_has_an_inverse_at_all_sizes() -> None:
    x = np.float64([1e-20, 1e-3, 1.0, 30.0, 500.0])
    with tf.Graph().as_default(), tf.Session() as sess:
        given = tf.constant(x)
        inverse = SHARED.softplus_inverse(given)
        found, slope = sess.run([inverse, tf.gradients(inverse, given)[0]])
    np.testing.assert_allclose(found, x + np.log(-np.expm1(-x)), rtol=1e-12)
    np.testing.assert_allclose(slope, 1.0 / -np.expm1(-x), rtol=1e-9)
    np.testing.assert_allclose(special.log1p(np.exp(found[:4])), x[:4], rtol=1e-9)
