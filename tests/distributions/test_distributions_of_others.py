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
DRAW = np.random.default_rng(3)


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

        _prob = _log_cdf = _survival_function = _log_survival_function = _cdf

        def _sample_n(self, n: Any, seed: Any = None, by: float = 0.0) -> Any:
            return tf.fill([n], by)

    with tf.Graph().as_default(), tf.Session() as sess:
        made = Shifted()
        found = sess.run(
            [
                made.log_prob(1.0, by=2.0), made.cdf(0.5, by=0.5), made.prob(0.5, by=2.0),
                made.log_cdf(0.5, by=3.0), made.survival_function(0.5, by=4.0),
                made.log_survival_function(0.5, by=5.0), made.sample(2, by=7.0),
            ]
        )  # fmt: skip
    np.testing.assert_allclose(found[:6], [3, 0.25, 1, 1.5, 2, 2.5], rtol=1e-6)
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


@TARGETS
@pytest.mark.parametrize("known", [True, False])
def test_a_batch_gets_another_shape(known: bool, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        loc = tf.constant(LOC) if known else tf.placeholder(tf.float64)
        shape = tf.constant([3, 2]) if known else tf.placeholder(tf.int32, [2])
        made = SHARED.BatchReshape(SHARED.Normal(loc, SCALE), shape, validate_args=True)
        feeds = {} if known else {loc: LOC, shape: [3, -1]}
        y = np.linspace(-1.0, 1.0, 24).reshape(4, 3, 2)
        found = sess.run(
            [
                made.log_prob(y), made.mean(), made.entropy(), made.batch_shape_tensor(),
                made.sample([4, 1], seed=1),
            ],
            feeds,
        )  # fmt: skip
        if not known:
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="do not match|expected|reshape"
            ):
                sess.run(made.mean(), {loc: LOC, shape: [4, 2]})
    scipy = stats.norm(LOC, SCALE)
    expected = scipy.logpdf(y.reshape(4, 2, 3)).reshape(4, 3, 2)
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    np.testing.assert_allclose(found[1], LOC.reshape(3, 2))
    np.testing.assert_allclose(found[2], scipy.entropy().reshape(3, 2), rtol=1e-12)
    assert found[3].tolist() == [3, 2]
    assert found[4].shape == (4, 1, 3, 2)
    if known:
        assert (made.batch_shape, made.mean().shape, made.prob(y).shape) == (
            [3, 2], [3, 2], [4, 3, 2],
        )  # fmt: skip


def test_vectors_in_a_batch_of_another_shape_keep_their_axis() -> None:
    weights = DRAW.uniform(1.0, 3.0, (2, 3, 4))
    with tf.Graph().as_default(), tf.Session() as sess:
        base = SHARED.Dirichlet(weights)
        made = SHARED.BatchReshape(base, [6])
        x = DRAW.dirichlet(np.ones(4), (5, 6))
        found = sess.run([made.log_prob(x), base.log_prob(x.reshape(5, 2, 3, 4))])
        assert (made.batch_shape, made.event_shape, made.covariance().shape) == (
            [6], [4], [6, 4, 4],
        )  # fmt: skip
    np.testing.assert_allclose(found[0], found[1].reshape(5, 6))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ([4], r"size \(4\) must match `distribution.batch_shape` size \(6\)"),
        ([[6]], "must be a vector"),
        ([-2], "must be >=-1"),
    ],
)
def test_a_batch_cannot_have_a_shape_of_other_sizes(shape: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SHARED.BatchReshape(SHARED.Normal(LOC, SCALE), shape)


def test_values_do_not_broadcast_with_a_reshaped_batch() -> None:
    made = SHARED.BatchReshape(SHARED.Normal(LOC, SCALE), [3, 2])
    with pytest.raises(NotImplementedError, match="too few batch and event dims"):
        made.prob(np.float64([0.0, 1.0]))
    with pytest.raises(NotImplementedError, match="unexpected batch and event shape"):
        made.prob(LOC)


@TARGETS
def test_kumaraswamys_distribution_has_its_moments_and_shares(target: str) -> None:
    a, b = np.array([0.7, 2.0, 5.0]), np.array([1.5, 3.0, 0.8])
    x = np.array([[0.05], [0.4], [0.9]]) + np.zeros(3)
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.Kumaraswamy(a, b)
        found = sess.run(
            [
                made.prob(x), made.cdf(x), made.mean(), made.variance(), made.entropy(),
                made.mode(), made.sample(4000, seed=2),
            ]
        )  # fmt: skip
    shares = (np.arange(400000)[:, None] + 0.5) / 400000
    quantiles = (1.0 - (1.0 - shares) ** (1.0 / b)) ** (1.0 / a)

    def density(y: Any) -> Any:
        return a * b * y ** (a - 1.0) * (1.0 - y**a) ** (b - 1.0)

    np.testing.assert_allclose(found[0], density(x), rtol=1e-9)
    np.testing.assert_allclose(found[1], 1.0 - (1.0 - x**a) ** b, rtol=1e-9)
    np.testing.assert_allclose(found[2], quantiles.mean(0), rtol=1e-5)
    np.testing.assert_allclose(found[3], quantiles.var(0), rtol=1e-4)
    np.testing.assert_allclose(found[4], -np.log(density(quantiles)).mean(0), atol=2e-5)
    np.testing.assert_allclose(found[5], [np.nan, 0.2**0.5, np.nan], rtol=1e-9)
    for i in range(3):
        share = stats.kstest(found[6][:, i], lambda y, i=i: 1.0 - (1.0 - y ** a[i]) ** b[i])
        assert share.pvalue > 1e-3


@TARGETS
def test_a_relaxed_bernoulli_number_is_a_logistic_one_through_sigmoid(target: str) -> None:
    heat, odds = 0.5, np.array([-1.0, 0.0, 2.0])
    y = np.array([[0.01], [0.3], [0.95]]) + np.zeros(3)
    with tf.Graph().as_default(), tf.Session(target) as sess:
        logits = tf.constant(odds)
        made = SHARED.RelaxedBernoulli(np.float64(heat), logits=logits)
        sample = made.sample(4000, seed=2)
        found = sess.run([made.prob(y), made.cdf(y), sample, tf.gradients(sample, logits)[0]])
        assert made.parameters["temperature"] == heat
    # Maddison, Mnih and Teh 2016, equation 24, with alpha = exp(logits)
    alpha = np.exp(odds)
    top = heat * alpha * (y * (1.0 - y)) ** (-heat - 1.0)
    expected = top / (alpha * y**-heat + (1.0 - y) ** -heat) ** 2
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    scipy = stats.logistic(odds / heat, 1.0 / heat)
    np.testing.assert_allclose(found[1], scipy.cdf(special.logit(y)), rtol=1e-9)
    for i in range(3):
        base = stats.logistic(odds[i] / heat, 1.0 / heat)
        assert stats.kstest(special.logit(found[2][:, i]), base.cdf).pvalue > 1e-3
    slope = (found[2] * (1.0 - found[2]) / heat).sum(0)
    np.testing.assert_allclose(found[3], slope, rtol=1e-9)


@TARGETS
def test_a_relaxed_class_is_the_exponential_of_its_logarithms(target: str) -> None:
    logits = np.array([0.5, -1.0, 2.0])
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = SHARED.RelaxedOneHotCategorical(np.float64(0.5), logits=logits)
        other = SHARED.ExpRelaxedOneHotCategorical(np.float64(0.5), logits=logits)
        sample = made.sample(500, seed=3)
        found = sess.run([sample, made.log_prob(sample), other.log_prob(tf.log(sample))])
    np.testing.assert_allclose(found[0].sum(-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found[1], found[2] - np.log(found[0]).sum(-1), rtol=1e-9)
