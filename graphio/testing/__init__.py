"""tf.test: test cases that run graphs, and numeric checks of gradients.

Imports observe, execution and below.
"""
