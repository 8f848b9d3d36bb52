"""Arithmetic, comparisons, reductions, special functions, with their gradients.

elementwise      builders of elementwise operators, casts; elementwise_gradients: their gradients
reduction        reduce_sum, argmax, cumsum; einsum, counting, clip, bits, signal
arithmetic       compositions of other operators; special: gamma functions, polynomials
gamma_slopes     derivatives of draws from a gamma distribution
"""
