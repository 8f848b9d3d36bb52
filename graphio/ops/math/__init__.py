"""Arithmetic, comparisons, reductions, special functions, with their gradients."""
