"""Operators by family, a folder each: builders under TensorFlow's names, shape rules, gradients.

May import framework and below. Gradients are registered by `@gradient`, next to their builder or in
a module for gradients alone.

base has what all builders are made of. A function of a higher family that a lower one calls is
declared in base/registered.py. checks/assertion.py and run_checks.py have what fails in a run.
"""
