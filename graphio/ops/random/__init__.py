"""Random numbers: by the state of a generator (core), or by a seed alone (stateless).

draws            formulas of distributions, the same for both; more: gamma, Poisson, crops
"""
