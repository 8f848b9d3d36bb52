"""Distributions of numbers against scipy's, by the table of cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from distribution_cases.table import ALL, BY_NAME, CASES, MOMENTS, SHARES, STATISTICS, Case
from scipy import stats

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
DRAWN = [case for case in CASES if case.drawn]
SLOPED = [case for case in CASES if case.slopes]
SHARED = tf.contrib.distributions
MANY = 4000


def called(made: Any, case: Case, method: str, dtype: Any = np.float64) -> Any:
    """A method's tensor, at the case's points where it takes numbers."""
    if method in STATISTICS:
        return getattr(made, method)()
    at = SHARES if method == "quantile" else case.points
    return getattr(made, method)(at.astype(dtype) if at.dtype.kind == "f" else at)


@TARGETS
@EACH
def test_a_distribution_has_the_values_of_scipys(case: Case, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        made = case.make(SHARED)
        found = sess.run({method: called(made, case, method) for method in case.methods})
        for method, value in found.items():
            expected = np.broadcast_to(case.expected(stats, method), value.shape)
            np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-13, err_msg=method)
        for method in {*ALL, "quantile", "mode", "covariance"} - {*case.methods, *derived(case)}:
            with pytest.raises(NotImplementedError, match="is not implemented"):
                called(made, case, method)


def derived(case: Case) -> set[str]:
    """Methods that follow from others: their logarithms and complements."""
    return set(ALL[:4]) if "cdf" in case.has else set()


@TARGETS
@EACH
def test_float32_and_shapes_of_which_nothing_is_known(case: Case, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = {name: tf.placeholder(tf.float32) for name in case.parameters}
        made = case.make(SHARED, fed)
        assert made.batch_shape.ndims is None
        assert made.event_shape.as_list() == []
        tensors = {method: called(made, case, method, np.float32) for method in case.methods}
        tensors["batch_shape"] = made.batch_shape_tensor()
        tensors["scalar"] = made.is_scalar_batch()
        if case.drawn:
            tensors["sample"] = made.sample([2, 4], seed=1)
        found = sess.run(tensors, {fed[name]: x for name, x in case.parameters.items()})
    assert found.pop("batch_shape").tolist() == [3]
    assert not found.pop("scalar")
    if case.drawn:
        assert found.pop("sample").shape == (2, 4, 3)
    for method, value in found.items():
        if not (method == "mode" and case.discrete):
            assert value.dtype == np.float32
            expected = np.broadcast_to(case.expected(stats, method), value.shape)
            np.testing.assert_allclose(value, expected, rtol=1e-4, atol=2e-6, err_msg=method)


@TARGETS
@pytest.mark.parametrize("case", DRAWN, ids=[case.name for case in DRAWN])
def test_samples_are_of_the_distribution(case: Case, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        sample = case.make(SHARED).sample(MANY, seed=7)
        assert sample.shape.as_list() == [MANY, 3]
        found = sess.run(sample)
    for i in range(3):
        oracle = case.scipy(stats, **{name: x[i] for name, x in case.parameters.items()})
        if case.discrete:
            counts = [(found[:, i] == k).sum() for k in range(4)]
            shares = oracle.pmf(range(4))
            rest = MANY * (1.0 - shares.sum())
            observed, expected = [*counts, MANY - sum(counts)], [*(MANY * shares), rest]
            kept = np.array(expected) > 1.0
            # of the kept cells only, whose sums may differ by the few that are left out
            chances = (np.array(observed) - expected)[kept] ** 2 / np.array(expected)[kept]
            assert stats.chi2.sf(chances.sum(), kept.sum() - 1) > 1e-3
        else:
            assert stats.kstest(found[:, i], oracle.cdf).pvalue > 1e-3


@pytest.mark.parametrize("case", DRAWN, ids=[case.name for case in DRAWN])
def test_a_seed_repeats_samples_and_another_does_not(case: Case) -> None:
    def draw(seed: int | None) -> Any:
        with tf.Graph().as_default(), tf.Session("cinfer") as sess:
            return sess.run(case.make(SHARED).sample(20, seed=seed)).tolist()

    assert draw(5) == draw(5)
    assert draw(5) != draw(6)


@TARGETS
@pytest.mark.parametrize("case", SLOPED, ids=[case.name for case in SLOPED])
def test_gradients_of_samples_are_those_of_the_distribution(case: Case, target: str) -> None:
    each = case.slopes == "each"
    with tf.Graph().as_default(), tf.Session(target) as sess:
        tensors = {name: tf.constant(x) for name, x in case.parameters.items()}
        made = case.make(SHARED, tensors)
        assert made.reparameterization_type is tf.distributions.FULLY_REPARAMETERIZED
        x = made.sample(1 if each else MANY, seed=3)
        value = x if each else tf.tanh(x)
        slopes = tf.gradients(tf.reduce_sum(value, 0), list(tensors.values()))
        drawn, *found = sess.run([x, *slopes])
    for name, slope in zip(tensors, found, strict=True):
        step = 1e-5 * case.parameters[name] + 1e-6
        ends = [case.oracle(stats, **{name: case.parameters[name] + d}) for d in (step, -step)]
        if each:
            change = (ends[0].cdf(drawn[0]) - ends[1].cdf(drawn[0])) / (2.0 * step)
            expected = -change / case.oracle(stats).pdf(drawn[0])
            np.testing.assert_allclose(slope, expected, rtol=2e-5, atol=1e-6, err_msg=name)
        else:
            expected = (mean_of_tanh(ends[0]) - mean_of_tanh(ends[1])) / (2.0 * step)
            assert np.all(np.abs(slope / MANY - expected) < 0.03), name


def mean_of_tanh(oracle: Any) -> Any:
    """The mean of tanh(x), over equal shares of the distribution."""
    shares = (np.arange(20000)[:, None] + 0.5) / 20000
    return np.tanh(oracle.ppf(shares)).mean(0)


@pytest.mark.parametrize("case", [c for c in CASES if not c.slopes], ids=lambda case: case.name)
def test_other_samples_are_not_reparameterized(case: Case) -> None:
    made = case.make(SHARED)
    assert made.reparameterization_type is tf.distributions.NOT_REPARAMETERIZED


@TARGETS
@pytest.mark.parametrize(
    ("name", "ratio"), [("Normal", 1.3), ("Gamma", 1.5), ("Beta", 1.5), ("Bernoulli", 0.7)]
)
def test_divergences_are_integrals_over_scipys_densities(
    name: str, ratio: float, target: str
) -> None:
    case = BY_NAME[name]
    other = {key: x * ratio for key, x in case.parameters.items()}
    with tf.Graph().as_default(), tf.Session(target) as sess:
        p, q = case.make(SHARED), case.make(SHARED, other)
        found, cross, entropy = sess.run(
            [tf.distributions.kl_divergence(p, q), p.cross_entropy(q), p.entropy()]
        )
    one, two = case.oracle(stats), case.oracle(stats, **other)
    if case.discrete:
        expected = sum(one.pmf(k) * (one.logpmf(k) - two.logpmf(k)) for k in (0, 1))
    else:  # over equal shares of p; its ends have finite logarithms
        x = one.ppf((np.arange(200000)[:, None] + 0.5) / 200000)
        expected = (one.logpdf(x) - two.logpdf(x)).mean(0)
    np.testing.assert_allclose(found, expected, rtol=2e-4)
    np.testing.assert_allclose(cross, entropy + found, rtol=1e-12)


#: class, valid parameters with one that is not, and words of the failure
INVALID = (
    ("Normal", {"loc": 0.0, "scale": -1.0}, "positive|> 0"),
    ("Laplace", {"loc": 0.0, "scale": 0.0}, "positive|> 0"),
    ("Uniform", {"low": 2.0, "high": 1.0}, "uniform not defined when low >= high"),
    ("Exponential", {"rate": -1.0}, "positive|> 0"),
    ("Gamma", {"concentration": -1.0, "rate": 1.0}, "positive|> 0"),
    ("Beta", {"concentration1": 0.0, "concentration0": 1.0}, "must be positive"),
    ("StudentT", {"df": -2.0, "loc": 0.0, "scale": 1.0}, "positive|> 0"),
    ("Bernoulli", {"probs": 1.5}, "greater than 1"),
    ("Poisson", {"rate": -1.0}, "positive|> 0"),
    ("Binomial", {"total_count": 2.5, "probs": 0.5}, "fractional components"),
    ("Geometric", {"probs": 0.0}, "positive|> 0"),
)


@TARGETS
@pytest.mark.parametrize(("name", "parameters", "words"), INVALID)
def test_a_run_refuses_invalid_parameters_if_they_are_validated(
    name: str, parameters: dict[str, float], words: str, target: str
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = {key: tf.placeholder(tf.float32, []) for key in parameters}
        made = getattr(SHARED, name)(**fed, validate_args=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            sess.run(made.variance(), {fed[key]: value for key, value in parameters.items()})


#: class, parameters of which a statistic is not defined, that statistic
UNDEFINED = (
    ("Gamma", {"concentration": 0.5, "rate": 1.0}, "mode"),
    ("Beta", {"concentration1": 0.5, "concentration0": 2.0}, "mode"),
    ("StudentT", {"df": 1.0, "loc": 0.0, "scale": 1.0}, "mean"),
    ("StudentT", {"df": 0.5, "loc": 0.0, "scale": 1.0}, "variance"),
    ("InverseGamma", {"concentration": 1.0, "rate": 1.0}, "mean"),
    ("InverseGamma", {"concentration": 2.0, "rate": 1.0}, "variance"),
)


@TARGETS
@pytest.mark.parametrize(("name", "parameters", "method"), UNDEFINED)
def test_an_undefined_statistic_is_nan_or_a_failure(
    name: str, parameters: dict[str, float], method: str, target: str
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        fed = {key: tf.placeholder(tf.float32, []) for key in parameters}
        feeds = {fed[key]: value for key, value in parameters.items()}
        made = getattr(SHARED, name)(**fed)
        assert np.isnan(sess.run(getattr(made, method)(), feeds))
        with pytest.raises(tf.errors.InvalidArgumentError, match="undefined|not defined|Undefined"):
            sess.run(getattr(made.copy(allow_nan_stats=False), method)(), feeds)


def test_moments_that_do_not_exist_are_nan_or_an_error() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        made = SHARED.Cauchy(0.0, [1.0, 2.0])
        assert np.isnan(sess.run([getattr(made, each)() for each in MOMENTS])).all()
        with pytest.raises(ValueError, match="`mean` is undefined"):
            made.copy(allow_nan_stats=False).mean()
