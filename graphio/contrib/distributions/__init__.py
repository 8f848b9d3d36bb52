"""tf.contrib.distributions: further probability distributions.

May import distributions and below.

    univariate        distributions of numbers
    classes           distributions over classes
    wrappers          distributions that are made of others
    bijectors         functions with inverses
    transformed       distributions of bijectors of others
    multivariate      distributions of vectors and matrices
    mixtures          mixtures of distributions
    statistics        statistics of samples, moving averages of statistics
    scales, triangles linear operators by their parts, triangles of matrices by vectors
    deterministic     distributions of one value
    conjugates        normal posteriors
    seed_stream       seeds of several draws
"""

from __future__ import annotations

from graphio.framework import refusals
from graphio.support import lazy_names

#: names by the modules that have them
_NAMES: dict[str, tuple[str, ...]] = {
    "graphio.contrib.distributions": ("bijectors",),
    "graphio.contrib.distributions.classes.onehot_categorical": ("OneHotCategorical",),
    "graphio.contrib.distributions.classes.relaxed": ("ExpRelaxedOneHotCategorical",),
    "graphio.contrib.distributions.conjugates": (
        "normal_conjugates_known_scale_posterior", "normal_conjugates_known_scale_predictive",
    ),
    "graphio.contrib.distributions.deterministic": ("Deterministic", "VectorDeterministic"),
    "graphio.contrib.distributions.mixtures.mixture": ("Mixture",),
    "graphio.contrib.distributions.mixtures.same_family": ("MixtureSameFamily",),
    "graphio.contrib.distributions.multivariate.diffeomixture": (
        "VectorDiffeomixture", "quadrature_scheme_softmaxnormal_gauss_hermite",
        "quadrature_scheme_softmaxnormal_quantiles",
    ),
    "graphio.contrib.distributions.multivariate.linear_operator": (
        "VectorExponentialDiag", "VectorLaplaceDiag",
    ),
    "graphio.contrib.distributions.multivariate.normal": (
        "MultivariateNormalDiag", "MultivariateNormalDiagPlusLowRank",
        "MultivariateNormalDiagWithSoftplusScale", "MultivariateNormalFullCovariance",
        "MultivariateNormalTriL",
    ),
    "graphio.contrib.distributions.multivariate.wishart": ("WishartCholesky", "WishartFull"),
    "graphio.contrib.distributions.seed_stream": ("SeedStream",),
    "graphio.contrib.distributions.statistics": (
        "assign_log_moving_mean_exp", "assign_moving_mean_variance", "auto_correlation",
        "moving_mean_variance", "percentile", "reduce_weighted_logsumexp",
    ),
    "graphio.contrib.distributions.transformed.kumaraswamy": ("Kumaraswamy",),
    "graphio.contrib.distributions.transformed.relaxed": (
        "RelaxedBernoulli", "RelaxedOneHotCategorical",
    ),
    "graphio.contrib.distributions.transformed.sinh_arcsinh": (
        "SinhArcsinh", "VectorSinhArcsinhDiag",
    ),
    "graphio.contrib.distributions.transformed.transformed": (
        "ConditionalTransformedDistribution", "TransformedDistribution",
    ),
    "graphio.contrib.distributions.triangles": (
        "fill_triangular", "fill_triangular_inverse", "matrix_diag_transform", "tridiag",
    ),
    "graphio.contrib.distributions.univariate.binomial": ("Binomial",),
    "graphio.contrib.distributions.univariate.cauchy": ("Cauchy",),
    "graphio.contrib.distributions.univariate.chi2": ("Chi2", "Chi2WithAbsDf"),
    "graphio.contrib.distributions.univariate.geometric": ("Geometric",),
    "graphio.contrib.distributions.univariate.half_normal": ("HalfNormal",),
    "graphio.contrib.distributions.univariate.inverse_gamma": ("InverseGamma",),
    "graphio.contrib.distributions.univariate.logistic": ("Logistic",),
    "graphio.contrib.distributions.univariate.negative_binomial": ("NegativeBinomial",),
    "graphio.contrib.distributions.univariate.poisson": ("Poisson",),
    "graphio.contrib.distributions.univariate.poisson_lognormal": (
        "PoissonLogNormalQuadratureCompound", "quadrature_scheme_lognormal_gauss_hermite",
        "quadrature_scheme_lognormal_quantiles",
    ),
    "graphio.contrib.distributions.univariate.softplus": (
        "BetaWithSoftplusConcentration", "ExponentialWithSoftplusRate",
        "GammaWithSoftplusConcentrationRate", "InverseGammaWithSoftplusConcentrationRate",
        "LaplaceWithSoftplusScale", "NormalWithSoftplusScale", "StudentTWithAbsDfSoftplusScale",
    ),
    "graphio.contrib.distributions.wrappers.autoregressive": ("Autoregressive",),
    "graphio.contrib.distributions.wrappers.batch_reshape": ("BatchReshape",),
    "graphio.contrib.distributions.wrappers.conditional": ("ConditionalDistribution",),
    "graphio.contrib.distributions.wrappers.independent": ("Independent",),
    "graphio.contrib.distributions.wrappers.quantized": ("QuantizedDistribution",),
    "graphio.distributions": (
        "Bernoulli", "Beta", "Categorical", "Dirichlet", "DirichletMultinomial", "Distribution",
        "Exponential", "FULLY_REPARAMETERIZED", "Gamma", "Laplace", "Multinomial",
        "NOT_REPARAMETERIZED", "Normal", "RegisterKL", "ReparameterizationType", "StudentT",
        "Uniform", "kl_divergence",
    ),
    "graphio.distributions.parameters": ("softplus_inverse",),
}  # fmt: skip

lazy_names.install(__name__, _NAMES, refusals.getter(__name__))
