"""Arithmetic, comparisons, reductions, special functions, with their gradients.

elementwise      rows of elementwise operators; elementwise_gradients: of those of ONNX
reduction        reduce_sum, argmax, cumsum; einsum, counting, clip, bits, signal
arithmetic       compositions of other operators; special: gamma functions, polynomials
gamma_slopes     derivatives of draws from a gamma distribution
"""
