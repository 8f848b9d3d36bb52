"""Complex numbers: operators on them are composed of operators on their parts.

parts        Real, Imag and Complex, the only operators with kernels of complex numbers, and their
             gradients; tf.complex, real, imag, conj
table        the composition of each operator, and what is done with those that have none
arithmetic   multiplication, division, comparison, casts
linear       operators that do the same with either part
polar        absolute values, directions, angles
elementary   exponentials, logarithms, roots, trigonometric and hyperbolic functions
inverse      their inverses, powers
contractions einsum; multiplications along axes
slopes       gradients of analytic functions
embedding    complex matrices as real ones of twice the size
reflections  Householder's, of embedded matrices
factors      equations, factors and determinants of matrices
"""
