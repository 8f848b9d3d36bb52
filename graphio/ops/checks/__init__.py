"""Assertions about tensors, checked while building where possible, else in the run.

asserts          tf.assert_equal and others; assert_shapes, assert_types
check            the operators Assert and CheckNumerics
run_checks       conditions that builders add for numbers that only a run knows
"""
