"""Distributions of numbers.

May import distributions and below.

    softplus          those whose parameters softplus makes positive
    poisson and others one distribution each
"""
