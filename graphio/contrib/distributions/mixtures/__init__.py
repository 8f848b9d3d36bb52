"""Mixtures of distributions.

May import distributions and below.

    mixture        Mixture, of a list of distributions
    same_family    MixtureSameFamily, of a batch of distributions
"""
