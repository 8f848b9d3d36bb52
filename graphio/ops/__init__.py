"""Builders of operators by family: TensorFlow's names, shape rules and gradients."""
