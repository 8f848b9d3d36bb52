"""Distributions that bijectors make of others.

May import contrib.distributions' bijectors and wrappers, and what they may.

    transformed     TransformedDistribution
    sinh_arcsinh    SinhArcsinh and its vectors
    kumaraswamy     Kumaraswamy
    relaxed         the concrete distribution
"""
