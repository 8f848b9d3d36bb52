"""Operators that make, shape, join, index and sort tensors, with their gradients."""
