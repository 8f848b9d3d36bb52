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

import sys
from typing import TYPE_CHECKING

from graphio.contrib.distributions import bijectors
from graphio.contrib.distributions.classes.onehot_categorical import OneHotCategorical
from graphio.contrib.distributions.classes.relaxed import ExpRelaxedOneHotCategorical
from graphio.contrib.distributions.conjugates import (
    normal_conjugates_known_scale_posterior,
    normal_conjugates_known_scale_predictive,
)
from graphio.contrib.distributions.deterministic import Deterministic, VectorDeterministic
from graphio.contrib.distributions.mixtures.mixture import Mixture
from graphio.contrib.distributions.mixtures.same_family import MixtureSameFamily
from graphio.contrib.distributions.multivariate.diffeomixture import (
    VectorDiffeomixture,
    quadrature_scheme_softmaxnormal_gauss_hermite,
    quadrature_scheme_softmaxnormal_quantiles,
)
from graphio.contrib.distributions.multivariate.linear_operator import (
    VectorExponentialDiag,
    VectorLaplaceDiag,
)
from graphio.contrib.distributions.multivariate.normal import (
    MultivariateNormalDiag,
    MultivariateNormalDiagPlusLowRank,
    MultivariateNormalDiagWithSoftplusScale,
    MultivariateNormalFullCovariance,
    MultivariateNormalTriL,
)
from graphio.contrib.distributions.multivariate.wishart import WishartCholesky, WishartFull
from graphio.contrib.distributions.seed_stream import SeedStream
from graphio.contrib.distributions.statistics import (
    assign_log_moving_mean_exp,
    assign_moving_mean_variance,
    auto_correlation,
    moving_mean_variance,
    percentile,
    reduce_weighted_logsumexp,
)
from graphio.contrib.distributions.transformed.kumaraswamy import Kumaraswamy
from graphio.contrib.distributions.transformed.relaxed import (
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from graphio.contrib.distributions.transformed.sinh_arcsinh import (
    SinhArcsinh,
    VectorSinhArcsinhDiag,
)
from graphio.contrib.distributions.transformed.transformed import (
    ConditionalTransformedDistribution,
    TransformedDistribution,
)
from graphio.contrib.distributions.triangles import (
    fill_triangular,
    fill_triangular_inverse,
    matrix_diag_transform,
    tridiag,
)
from graphio.contrib.distributions.univariate.binomial import Binomial
from graphio.contrib.distributions.univariate.cauchy import Cauchy
from graphio.contrib.distributions.univariate.chi2 import Chi2, Chi2WithAbsDf
from graphio.contrib.distributions.univariate.geometric import Geometric
from graphio.contrib.distributions.univariate.half_normal import HalfNormal
from graphio.contrib.distributions.univariate.inverse_gamma import InverseGamma
from graphio.contrib.distributions.univariate.logistic import Logistic
from graphio.contrib.distributions.univariate.negative_binomial import NegativeBinomial
from graphio.contrib.distributions.univariate.poisson import Poisson
from graphio.contrib.distributions.univariate.poisson_lognormal import (
    PoissonLogNormalQuadratureCompound,
    quadrature_scheme_lognormal_gauss_hermite,
    quadrature_scheme_lognormal_quantiles,
)
from graphio.contrib.distributions.univariate.softplus import (
    BetaWithSoftplusConcentration,
    ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate,
    InverseGammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale,
    NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale,
)
from graphio.contrib.distributions.wrappers.autoregressive import Autoregressive
from graphio.contrib.distributions.wrappers.batch_reshape import BatchReshape
from graphio.contrib.distributions.wrappers.conditional import ConditionalDistribution
from graphio.contrib.distributions.wrappers.independent import Independent
from graphio.contrib.distributions.wrappers.quantized import QuantizedDistribution
from graphio.distributions import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    DirichletMultinomial,
    Distribution,
    Exponential,
    Gamma,
    Laplace,
    Multinomial,
    Normal,
    RegisterKL,
    ReparameterizationType,
    StudentT,
    Uniform,
    kl_divergence,
)
from graphio.distributions.parameters import softplus_inverse
from graphio.framework import api_boundary, refusals

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Autoregressive",
    "BatchReshape",
    "Bernoulli",
    "Beta",
    "BetaWithSoftplusConcentration",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Chi2WithAbsDf",
    "ConditionalDistribution",
    "ConditionalTransformedDistribution",
    "Deterministic",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "ExpRelaxedOneHotCategorical",
    "Exponential",
    "ExponentialWithSoftplusRate",
    "Gamma",
    "GammaWithSoftplusConcentrationRate",
    "Geometric",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "InverseGammaWithSoftplusConcentrationRate",
    "Kumaraswamy",
    "Laplace",
    "LaplaceWithSoftplusScale",
    "Logistic",
    "Mixture",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagPlusLowRank",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
    "NegativeBinomial",
    "Normal",
    "NormalWithSoftplusScale",
    "OneHotCategorical",
    "Poisson",
    "PoissonLogNormalQuadratureCompound",
    "QuantizedDistribution",
    "RegisterKL",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReparameterizationType",
    "SeedStream",
    "SinhArcsinh",
    "StudentT",
    "StudentTWithAbsDfSoftplusScale",
    "TransformedDistribution",
    "Uniform",
    "VectorDeterministic",
    "VectorDiffeomixture",
    "VectorExponentialDiag",
    "VectorLaplaceDiag",
    "VectorSinhArcsinhDiag",
    "WishartCholesky",
    "WishartFull",
    "assign_log_moving_mean_exp",
    "assign_moving_mean_variance",
    "auto_correlation",
    "bijectors",
    "fill_triangular",
    "fill_triangular_inverse",
    "kl_divergence",
    "matrix_diag_transform",
    "moving_mean_variance",
    "normal_conjugates_known_scale_posterior",
    "normal_conjugates_known_scale_predictive",
    "percentile",
    "quadrature_scheme_lognormal_gauss_hermite",
    "quadrature_scheme_lognormal_quantiles",
    "quadrature_scheme_softmaxnormal_gauss_hermite",
    "quadrature_scheme_softmaxnormal_quantiles",
    "reduce_weighted_logsumexp",
    "softplus_inverse",
    "tridiag",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
