"""tf.distributions: probability distributions.

May import evaluation and below.

    distribution      the base class; scalar, location_scale: of distributions of numbers
    divergence        Kullback-Leibler divergences
    special_math      functions of the normal distribution
    normal and others one distribution each
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.distributions.bernoulli import Bernoulli
from graphio.distributions.beta import Beta
from graphio.distributions.categorical import Categorical
from graphio.distributions.dirichlet import Dirichlet
from graphio.distributions.dirichlet_multinomial import DirichletMultinomial
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL, kl_divergence
from graphio.distributions.exponential import Exponential
from graphio.distributions.gamma import Gamma
from graphio.distributions.laplace import Laplace
from graphio.distributions.multinomial import Multinomial
from graphio.distributions.normal import Normal
from graphio.distributions.reparameterization import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ReparameterizationType,
)
from graphio.distributions.student_t import StudentT
from graphio.distributions.uniform import Uniform
from graphio.framework import api_boundary, refusals

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "Gamma",
    "Laplace",
    "Multinomial",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "StudentT",
    "Uniform",
    "kl_divergence",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
