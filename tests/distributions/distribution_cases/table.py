"""The cases: each is a distribution, three sets of parameters, and scipy's distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

STATISTICS = ("mean", "variance", "stddev", "entropy", "mode", "covariance")
PROBABILITIES = ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function")
#: method -> scipy's, of densities; that of probabilities has another name
SCIPY = {
    "log_prob": "logpdf", "prob": "pdf", "cdf": "cdf", "log_cdf": "logcdf",
    "survival_function": "sf", "log_survival_function": "logsf", "quantile": "ppf",
    "mean": "mean", "variance": "var", "stddev": "std", "entropy": "entropy",
}  # fmt: skip
MASSES = {"log_prob": "logpmf", "prob": "pmf"}
MOMENTS = ("mean", "variance", "stddev")


class Case(NamedTuple):
    """A distribution of numbers.

    Attributes:
        name: of the class.
        parameters: by name, each with a number a distribution of the batch.
        scipy: from scipy.stats and the parameters to the same distribution there.
        points: numbers to take probabilities at, (points, batch).
        has: further methods, as well as log_prob and prob.
        mode: of each distribution of the batch.
        discrete: whether samples are whole numbers.
        slopes: "each": samples change so that the share below them stays. "mean": their mean
            changes with the parameters. "": they have no gradients.
        drawn: whether there are samples.
    """

    name: str
    parameters: dict[str, Any]
    scipy: Callable[..., Any]
    points: Any
    has: tuple[str, ...] = ()
    mode: Any = None
    discrete: bool = False
    slopes: str = ""
    drawn: bool = True

    def make(self, namespace: Any, parameters: Any = None, **options: Any) -> Any:
        """The distribution of a namespace with these parameters, or other ones."""
        given = self.parameters if parameters is None else parameters
        return getattr(namespace, self.name)(**given, **options)

    def oracle(self, stats: Any, **changed: Any) -> Any:
        return self.scipy(stats, **{**self.parameters, **changed})

    def expected(self, stats: Any, method: str) -> Any:
        """The result of scipy's method."""
        if method == "mode":
            return np.asarray(self.mode)
        found = getattr(self.oracle(stats), {**SCIPY, **(MASSES if self.discrete else {})}[method])
        if method == "quantile":
            return found(SHARES)
        return found(self.points) if method in PROBABILITIES else found()

    @property
    def methods(self) -> tuple[str, ...]:
        return ("log_prob", "prob", *self.has, *(("mode",) if self.mode is not None else ()))


SHARES = np.array([[0.01], [0.3], [0.5], [0.9], [0.999]])
ALL = (*PROBABILITIES[2:], *MOMENTS, "entropy")
WIDE = np.array([[-3.0], [-0.5], [0.4], [1.5], [4.0]])
ABOVE_0 = np.array([[0.05], [0.6], [1.5], [7.0]])
WHOLE = np.array([[0.0], [1.0], [2.0], [3.0]])
LOC_SCALE = {"loc": np.array([-1.0, 0.0, 2.0]), "scale": np.array([0.5, 1.0, 3.0])}
SHAPE_RATE = {"concentration": np.array([3.5, 4.0, 9.0]), "rate": np.array([2.0, 1.0, 0.3])}
PROBS = {"probs": np.array([0.2, 0.5, 0.85])}

CASES = (
    Case(
        "Normal", LOC_SCALE, lambda stats, loc, scale: stats.norm(loc, scale), WIDE,
        (*ALL, "quantile"), [-1.0, 0.0, 2.0], slopes="each",
    ),
    Case(
        "Laplace", LOC_SCALE, lambda stats, loc, scale: stats.laplace(loc, scale), WIDE, ALL,
        [-1.0, 0.0, 2.0], slopes="each",
    ),
    Case(
        "Uniform", {"low": np.array([-1.0, 0.0, 1.0]), "high": np.array([0.5, 1.0, 4.0])},
        lambda stats, low, high: stats.uniform(low, high - low),
        np.array([[-2.0], [0.25], [0.75], [3.0]]), ALL, slopes="each",
    ),
    Case(
        "Exponential", {"rate": np.array([0.3, 1.0, 4.0])},
        lambda stats, rate: stats.expon(0.0, 1.0 / rate), ABOVE_0, ALL,
        [np.nan, np.nan, np.nan], slopes="each",
    ),
    Case(
        "Gamma", {"concentration": np.array([0.4, 2.0, 9.0]), "rate": np.array([2.0, 1.0, 0.3])},
        lambda stats, concentration, rate: stats.gamma(concentration, scale=1.0 / rate), ABOVE_0,
        ALL, [np.nan, 1.0, 8.0 / 0.3], slopes="each",
    ),
    Case(
        "Beta",
        {"concentration1": np.array([0.5, 2.0, 5.0]), "concentration0": np.array([3.0, 2.0, 1.5])},
        lambda stats, concentration1, concentration0: stats.beta(concentration1, concentration0),
        np.array([[0.01], [0.3], [0.6], [0.95]]), ALL, [np.nan, 0.5, 4.0 / 4.5], slopes="mean",
    ),
    Case(
        "StudentT", {"df": np.array([2.5, 5.0, 30.0]), **LOC_SCALE},
        lambda stats, df, loc, scale: stats.t(df, loc, scale), WIDE, ALL, [-1.0, 0.0, 2.0],
        slopes="mean",
    ),
    Case(
        "Bernoulli", PROBS, lambda stats, probs: stats.bernoulli(probs), np.array([[0], [1]]),
        (*MOMENTS, "entropy"), [0, 0, 1], discrete=True,
    ),
    Case(
        "Cauchy", LOC_SCALE, lambda stats, loc, scale: stats.cauchy(loc, scale), WIDE,
        (*ALL, "quantile"), [-1.0, 0.0, 2.0], slopes="each",
    ),
    Case(
        "Logistic", LOC_SCALE, lambda stats, loc, scale: stats.logistic(loc, scale), WIDE, ALL,
        [-1.0, 0.0, 2.0], slopes="each",
    ),
    Case(
        "Chi2", {"df": np.array([1.0, 3.0, 12.0])}, lambda stats, df: stats.chi2(df), ABOVE_0, ALL,
        [np.nan, 1.0, 10.0], slopes="each",
    ),
    Case(
        "HalfNormal", {"scale": np.array([0.5, 1.0, 3.0])},
        lambda stats, scale: stats.halfnorm(0.0, scale), ABOVE_0[:3], (*ALL, "quantile"),
        [0.0, 0.0, 0.0], slopes="each",
    ),
    Case(
        "InverseGamma", SHAPE_RATE,
        lambda stats, concentration, rate: stats.invgamma(concentration, scale=rate), ABOVE_0, ALL,
        [2.0 / 4.5, 0.2, 0.03],
    ),
    Case(
        "Poisson", {"rate": np.array([0.4, 2.5, 7.2])}, lambda stats, rate: stats.poisson(rate),
        WHOLE, (*PROBABILITIES[2:], *MOMENTS), [0.0, 2.0, 7.0], discrete=True,
    ),
    Case(
        "Binomial", {"total_count": np.array([3.0, 5.0, 8.0]), **PROBS},
        lambda stats, total_count, probs: stats.binom(total_count, probs), WHOLE,
        ("cdf", "survival_function", *MOMENTS), [0.0, 3.0, 7.0], discrete=True, drawn=False,
    ),
    Case(
        "Geometric", PROBS, lambda stats, probs: stats.geom(probs, loc=-1), WHOLE, ALL,
        [0.0, 0.0, 0.0], discrete=True,
    ),
    Case(
        "NegativeBinomial", {"total_count": np.array([3.0, 5.0, 2.5]), **PROBS},
        lambda stats, total_count, probs: stats.nbinom(total_count, 1.0 - probs), WHOLE,
        (*PROBABILITIES[2:], *MOMENTS), [0.0, 4.0, 8.0], discrete=True,
    ),
)  # fmt: skip
BY_NAME = {case.name: case for case in CASES}
#: those of tf.distributions
CORE = ("Normal", "Laplace", "Uniform", "Exponential", "Gamma", "Beta", "StudentT", "Bernoulli")
