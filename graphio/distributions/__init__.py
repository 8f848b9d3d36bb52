"""tf.distributions: probability distributions.

May import evaluation and below.

    distribution      the base class; scalar: of distributions of numbers
    divergence        Kullback-Leibler divergences
    special_math      functions of the normal distribution
    normal and others one distribution each
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL, kl_divergence
from graphio.distributions.normal import Normal
from graphio.distributions.reparameterization import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    ReparameterizationType,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "FULLY_REPARAMETERIZED",
    "NOT_REPARAMETERIZED",
    "Distribution",
    "Normal",
    "RegisterKL",
    "ReparameterizationType",
    "kl_divergence",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
