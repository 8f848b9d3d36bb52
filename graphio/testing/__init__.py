"""tf.test: test cases that run graphs, and numeric checks of gradients.

May import observe, execution and below.
"""
