"""Reverse-mode differentiation: tf.gradients, custom gradients, gradients by recomputation.

Imports variables, ops, framework and below. The gradient of an operator is with the operator.
"""
