"""Matrices: multiplication, factors, solutions, diagonals, with their gradients."""
