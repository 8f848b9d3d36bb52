"""Matrices: multiplication, factorizations, linear equations, with their gradients.

matmul           matmul, tensordot; any_rank: matrices of a rank that only the run knows
solving          equations, inverses, Cholesky; factoring: eigenvalues, SVD, QR
matrices         triangles, determinants; diagonals: bands; matrix_functions: expm, pinv
"""
