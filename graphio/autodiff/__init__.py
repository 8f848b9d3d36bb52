"""Reverse-mode differentiation: tf.gradients (gradients) and custom gradients.

May import variables, ops, framework and below. The gradient of an operator is with the operator,
in ops/; framework/gradient_registry.py finds it.
"""
