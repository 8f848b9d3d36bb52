"""Distributions of vectors and matrices, mixtures and statistics of contrib.distributions: a table
of cases, of which each is a scene and gives moments of samples in
test_contrib_multivariate.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Make = Callable[[Any, Any], Any]


class Case(NamedTuple):
    """A distribution, and what it has.

    Args:
        make: from (tf, contrib.distributions) to a distribution of float64.
        values: where its density is taken.
        statistics: names of its methods.
    """

    make: Make
    values: Any
    statistics: tuple[str, ...] = ("mean", "stddev", "variance", "covariance")


def _c(tf: Any, value: Any) -> Any:
    return tf.constant(value, tf.float64)


def _named(name: str, **arguments: Any) -> Make:
    def make(tf: Any, d: Any) -> Any:
        return getattr(d, name)(**{k: _c(tf, v) for k, v in arguments.items()})

    return make


LOC, DIAG = np.array([0.3, -1.0, 0.5]), np.array([1.5, 0.5, 2.0])
LOCS = np.stack([LOC, -LOC])
TRIL = np.array([[1.2, 0.0, 0.0], [0.4, 0.7, 0.0], [-0.3, 0.9, 2.0]])
FACTOR, FACTOR_DIAG = np.array([[0.5, 0.1], [-0.2, 0.7], [0.3, 0.3]]), np.array([0.5, 2.0])
SKEW = np.array([0.4, -0.2, 0.0])
X = np.sin(np.arange(12.0)).reshape(2, 2, 3) * 1.7
NUMBERS = np.linspace(-2.0, 3.0, 6).reshape(3, 2)
MATRICES = np.stack([TRIL @ TRIL.T, np.diag(DIAG) + 0.1])
PROBS = np.array([0.2, 0.5, 0.3])
FULL = ("mean", "stddev", "variance", "covariance", "entropy", "mode")


def _mixture(tf: Any, d: Any) -> Any:
    cat = d.Categorical(probs=_c(tf, [[0.3, 0.7], [0.6, 0.4]]))
    parts = [
        d.Normal(_c(tf, [0.0, 1.0]), _c(tf, [1.0, 0.5])),
        d.Normal(_c(tf, [2.0, -1.0]), _c(tf, [0.7, 2.0])),
    ]
    return d.Mixture(cat, parts)


def _mixture_of_vectors(tf: Any, d: Any) -> Any:
    cat = d.Categorical(probs=_c(tf, PROBS))
    parts = [
        d.MultivariateNormalDiag(_c(tf, k * LOC), _c(tf, DIAG + 0.2 * k)) for k in (1.0, -1.0, 0.5)
    ]
    return d.Mixture(cat, parts)


def _same_family(tf: Any, d: Any) -> Any:
    normal = d.Normal(_c(tf, [[-1.0, 0.5, 2.0], [0.0, 1.0, 3.0]]), _c(tf, [0.5, 1.0, 0.7]))
    return d.MixtureSameFamily(d.Categorical(probs=_c(tf, PROBS)), normal)


def _same_family_of_vectors(tf: Any, d: Any) -> Any:
    normal = d.MultivariateNormalDiag(_c(tf, LOCS), _c(tf, np.stack([DIAG, DIAG[::-1]])))
    return d.MixtureSameFamily(d.Categorical(probs=_c(tf, [0.3, 0.7])), normal)


def _transformed(tf: Any, d: Any) -> Any:
    return d.TransformedDistribution(
        d.Normal(_c(tf, LOC), _c(tf, DIAG)), d.bijectors.Exp(), name="LogNormal"
    )


def _rotated(tf: Any, d: Any) -> Any:
    """Vectors for a batch of numbers: the event's axes come first and are moved."""
    return d.TransformedDistribution(
        d.Normal(_c(tf, [0.5, -0.5]), _c(tf, [1.0, 2.0])),
        d.bijectors.Affine(shift=_c(tf, LOC), scale_tril=_c(tf, TRIL)),
        event_shape=[3],
    )


def _folded(tf: Any, d: Any) -> Any:
    return d.TransformedDistribution(
        d.Normal(_c(tf, [0.5, -0.5]), _c(tf, [1.0, 2.0])), d.bijectors.AbsoluteValue()
    )


def _sinh_arcsinh(tf: Any, d: Any) -> Any:
    return d.SinhArcsinh(*(_c(tf, v) for v in ([0.3, -1.0], [1.5, 0.5], 0.4, 1.3)))


def _diffeomixture(scales: str) -> Make:
    def make(tf: Any, d: Any) -> Any:
        linalg = tf.linalg
        one = linalg.LinearOperatorScaledIdentity(
            num_rows=3, multiplier=_c(tf, 1.1), is_positive_definite=True
        )
        other = {
            "diag": linalg.LinearOperatorDiag(_c(tf, DIAG), is_positive_definite=True),
            "tril": linalg.LinearOperatorLowerTriangular(
                _c(tf, TRIL), is_non_singular=True, is_positive_definite=True
            ),
        }[scales]
        if scales == "tril":
            one = linalg.LinearOperatorLowerTriangular(
                _c(tf, 2.0 * TRIL), is_non_singular=True, is_positive_definite=True
            )
        return d.VectorDiffeomixture(
            mix_loc=_c(tf, [[0.0], [1.0]]),
            temperature=_c(tf, [1.0]),
            distribution=d.Normal(_c(tf, 0.0), _c(tf, 1.0)),
            loc=[None, _c(tf, LOC)],
            scale=[one, other],
            quadrature_size=3,
        )

    return make


CASES: dict[str, Case] = {
    "normal_diag": Case(_named("MultivariateNormalDiag", loc=LOCS, scale_diag=DIAG), X, FULL),
    "normal_identity": Case(_named("MultivariateNormalDiag", loc=LOC), X, FULL),
    "normal_multiple": Case(
        _named("MultivariateNormalDiag", loc=LOC, scale_identity_multiplier=1.5), X, FULL
    ),
    "normal_softplus": Case(
        _named("MultivariateNormalDiagWithSoftplusScale", loc=LOC, scale_diag=-DIAG), X, FULL
    ),
    "normal_low_rank": Case(
        _named(
            "MultivariateNormalDiagPlusLowRank",
            loc=LOC,
            scale_diag=DIAG,
            scale_perturb_factor=FACTOR,
            scale_perturb_diag=FACTOR_DIAG,
        ),
        X,
        FULL,
    ),
    "normal_tril": Case(
        _named("MultivariateNormalTriL", loc=LOC, scale_tril=np.stack([TRIL, 2 * TRIL])), X, FULL
    ),
    "normal_covariance": Case(
        _named("MultivariateNormalFullCovariance", loc=LOC, covariance_matrix=MATRICES), X, FULL
    ),
    "laplace_diag": Case(_named("VectorLaplaceDiag", loc=LOC, scale_diag=DIAG), X, FULL),
    "exponential_diag": Case(
        _named("VectorExponentialDiag", loc=LOC - 3.0, scale_diag=DIAG), X, FULL
    ),
    "sinh_arcsinh": Case(_sinh_arcsinh, NUMBERS, ()),
    "vector_sinh_arcsinh": Case(
        _named(
            "VectorSinhArcsinhDiag", loc=LOC, scale_diag=DIAG, skewness=SKEW, tailweight=1.0 + SKEW
        ),
        X,
        (),
    ),
    "transformed": Case(_transformed, np.abs(X), ()),
    "rotated": Case(_rotated, X, ("entropy",)),
    "folded": Case(_folded, np.abs(NUMBERS), ()),
    "mixture": Case(_mixture, NUMBERS, ("mean", "stddev", "variance", "entropy_lower_bound")),
    "mixture_of_vectors": Case(_mixture_of_vectors, X, ("mean", "stddev", "entropy_lower_bound")),
    "same_family": Case(_same_family, NUMBERS, ("mean", "variance", "stddev")),
    "same_family_of_vectors": Case(_same_family_of_vectors, X, ("mean", "variance", "covariance")),
    "wishart_cholesky": Case(
        _named("WishartCholesky", df=5.0, scale=TRIL),
        MATRICES,
        (*("mean", "variance", "stddev", "entropy", "mode"), "mean_log_det", "log_normalization"),
    ),
    "wishart_full": Case(
        _named("WishartFull", df=4.5, scale=MATRICES),
        MATRICES,
        (*("mean", "variance", "stddev", "entropy", "mode", "scale"), "mean_log_det"),
    ),
    "diffeomixture": Case(_diffeomixture("diag"), X, ("mean", "variance", "covariance")),
    "diffeomixture_tril": Case(_diffeomixture("tril"), X, ("mean", "variance", "covariance")),
}


def _scene(case: Case) -> Callable[[Any, Any], Any]:
    def scene(tf: Any, contrib: Any) -> Any:
        distribution = case.make(tf, contrib("distributions"))
        return [
            distribution.batch_shape_tensor(),
            distribution.event_shape_tensor(),
            distribution.log_prob(tf.constant(case.values)),
            distribution.prob(tf.constant(case.values)),
            *(getattr(distribution, name)() for name in case.statistics),
        ]

    return scene


def _divergences(tf: Any, contrib: Any) -> Any:
    d = contrib("distributions")
    found = [CASES[f"normal_{kind}"].make(tf, d) for kind in ("diag", "tril", "covariance")]
    return [d.kl_divergence(a, b) for a in found for b in found]


def _trained(tf: Any, contrib: Any) -> Any:
    """Densities whose parameters are variables, for the slopes."""
    d = contrib("distributions")
    loc, scale = tf.get_variable("loc", [3]), tf.get_variable("scale", [6])
    tril = d.bijectors.ScaleTriL(diag_shift=0.5).forward(scale)
    x = tf.constant(X, tf.float32)
    normal = d.MultivariateNormalTriL(loc, tril)
    cat = d.Categorical(logits=tf.get_variable("logits", [2]))
    family = d.MultivariateNormalDiag(tf.stack([loc, -loc]), tf.exp(tf.stack([loc, loc + 1.0])))
    return [
        normal.log_prob(x),
        normal.entropy(),
        d.MixtureSameFamily(cat, family).log_prob(x),
        d.kl_divergence(normal, d.MultivariateNormalDiag(tf.zeros([3]), tf.ones([3]))),
    ]


def _cumulative(tf: Any, contrib: Any) -> Any:
    d = contrib("distributions")
    x = tf.constant(np.abs(NUMBERS))
    log_normal = d.TransformedDistribution(d.Normal(_c(tf, 0.3), _c(tf, 1.5)), d.bijectors.Exp())
    return [
        *(getattr(log_normal, name)(x) for name in ("cdf", "log_cdf", "survival_function")),
        log_normal.quantile(_c(tf, [0.1, 0.5, 0.9])),
        *(make(tf, d).log_cdf(x) for make in (_mixture, _same_family)),
    ]


def _triangles(tf: Any, contrib: Any) -> Any:
    d = contrib("distributions")
    x = tf.constant(np.arange(12.0).reshape(2, 6))
    found = [d.fill_triangular(x, upper=upper) for upper in (False, True)]
    return [
        *found,
        *(d.fill_triangular_inverse(f, upper=i == 1) for i, f in enumerate(found)),
        d.matrix_diag_transform(found[0], tf.exp),
        d.tridiag(x[:, :5], x, x[:, 1:]),
        d.tridiag(diag=x),
    ]


def _statistics(tf: Any, contrib: Any) -> Any:
    d = contrib("distributions")
    x = tf.constant(np.sin(np.arange(24.0) ** 2).reshape(2, 3, 4))
    kinds = ("nearest", "lower", "higher")
    return [
        *(d.percentile(x, q, interpolation=kind) for q in (0.0, 33.0, 100.0) for kind in kinds),
        *(d.percentile(x, 60.0, axis=axis) for axis in (0, [0, 2], [-1])),
        d.percentile(x, 60.0, axis=[1], keep_dims=True),
        d.auto_correlation(x),
        d.auto_correlation(x, axis=1, max_lags=1, center=False, normalize=False),
        *d.reduce_weighted_logsumexp(x, x - 0.1, axis=[1], return_sign=True),
        d.reduce_weighted_logsumexp(x, keep_dims=True),
    ]


SCENES: dict[str, Callable[[Any, Any], Any]] = {
    **{name: _scene(case) for name, case in CASES.items()},
    "divergences": _divergences,
    "trained": _trained,
    "cumulative": _cumulative,
    "triangles": _triangles,
    "statistics": _statistics,
}
