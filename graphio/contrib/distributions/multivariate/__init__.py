"""Distributions of vectors and matrices.

May import contrib.distributions' bijectors, transformed and scales, and what they may.

    linear_operator    scale X + loc for independent numbers X: normal, Laplace, exponential
    normal             multivariate normal distributions by their arguments
    wishart            Wishart's distributions of matrices
    diffeomixture      VectorDiffeomixture
"""
