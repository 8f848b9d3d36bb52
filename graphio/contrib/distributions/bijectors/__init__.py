"""tf.contrib.distributions.bijectors: functions with inverses, for changes of variables.

May import layers and below, and contrib.distributions' triangles and scales.

    base                  Bijector: caching, log-determinants
    elementwise           of numbers without parameters
    parametric            of numbers with parameters
    affine                of vectors: A x + b
    vector, matrix        of vectors and matrices
    reshaping             of shapes
    composed              chains, inverses, functions
    flows                 by networks
    batch_normalization   by the statistics of batches
"""

from __future__ import annotations

import sys

from graphio.contrib.distributions.bijectors.affine import Affine, AffineLinearOperator
from graphio.contrib.distributions.bijectors.base import Bijector, ConditionalBijector
from graphio.contrib.distributions.bijectors.batch_normalization import BatchNormalization
from graphio.contrib.distributions.bijectors.composed import Chain, Inline, Invert
from graphio.contrib.distributions.bijectors.elementwise import (
    AbsoluteValue,
    Exp,
    Identity,
    PowerTransform,
    Sigmoid,
    Softplus,
    Softsign,
    Square,
)
from graphio.contrib.distributions.bijectors.flows import (
    MaskedAutoregressiveFlow,
    RealNVP,
    masked_autoregressive_default_template,
    masked_dense,
    real_nvp_default_template,
)
from graphio.contrib.distributions.bijectors.matrix import (
    CholeskyOuterProduct,
    FillTriangular,
    MatrixInverseTriL,
    ScaleTriL,
    TransformDiagonal,
)
from graphio.contrib.distributions.bijectors.parametric import (
    AffineScalar,
    Gumbel,
    Kumaraswamy,
    SinhArcsinh,
    Weibull,
)
from graphio.contrib.distributions.bijectors.reshaping import Reshape
from graphio.contrib.distributions.bijectors.vector import Ordered, Permute, SoftmaxCentered
from graphio.framework import api_boundary

__all__ = [
    "AbsoluteValue",
    "Affine",
    "AffineLinearOperator",
    "AffineScalar",
    "BatchNormalization",
    "Bijector",
    "Chain",
    "CholeskyOuterProduct",
    "ConditionalBijector",
    "Exp",
    "FillTriangular",
    "Gumbel",
    "Identity",
    "Inline",
    "Invert",
    "Kumaraswamy",
    "MaskedAutoregressiveFlow",
    "MatrixInverseTriL",
    "Ordered",
    "Permute",
    "PowerTransform",
    "RealNVP",
    "Reshape",
    "ScaleTriL",
    "Sigmoid",
    "SinhArcsinh",
    "SoftmaxCentered",
    "Softplus",
    "Softsign",
    "Square",
    "TransformDiagonal",
    "Weibull",
    "masked_autoregressive_default_template",
    "masked_dense",
    "real_nvp_default_template",
]

api_boundary.guard_namespace(sys.modules[__name__])
