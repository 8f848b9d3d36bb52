"""What builders of operators are made of: nodes, static shapes, one-node builders.

Imports framework and below, no family of operators.
"""
