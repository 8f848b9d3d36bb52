"""Linear operators: matrices by what they do, without all of their elements.

May import ops and below.

    operator               the base class
    dense, diagonal        any matrices, triangles, diagonals
    identity               unit matrices, their multiples, zeros
    low_rank, householder  updates of a low rank, reflections
    circulant              circulant and Toeplitz matrices
    composed               compositions, adjoints, inverses, blocks, Kronecker's
    algebra, pairs         the rules by which operators give operators
    functions              tf.matmul and others of operators
    batches, checks        what they share
"""

from __future__ import annotations

from graphio.linear_operators import algebra as _algebra
from graphio.linear_operators.circulant import (
    LinearOperatorCirculant,
    LinearOperatorCirculant2D,
    LinearOperatorCirculant3D,
    LinearOperatorToeplitz,
)
from graphio.linear_operators.composed import (
    LinearOperatorAdjoint,
    LinearOperatorBlockDiag,
    LinearOperatorComposition,
    LinearOperatorInversion,
    LinearOperatorKronecker,
)
from graphio.linear_operators.dense import LinearOperatorFullMatrix, LinearOperatorLowerTriangular
from graphio.linear_operators.diagonal import LinearOperatorDiag
from graphio.linear_operators.householder import LinearOperatorHouseholder
from graphio.linear_operators.identity import (
    LinearOperatorIdentity,
    LinearOperatorScaledIdentity,
    LinearOperatorZeros,
)
from graphio.linear_operators.low_rank import LinearOperatorLowRankUpdate
from graphio.linear_operators.operator import LinearOperator

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorCirculant",
    "LinearOperatorCirculant2D",
    "LinearOperatorCirculant3D",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorZeros",
]

del _algebra  # importing it has registered the rules
