"""Operators by family, a folder each: builders under TensorFlow's names, shape rules, gradients.

May import framework and below. The family names are also those of cinfer/src/kernels where an
operator has a kernel in C. Gradients are registered by `@gradient`, next to their builder or in
a module for gradients alone.

base has what all builders are made of; what a lower family calls of a higher one is declared in
base/registered.py. checks/assertion.py and run_checks.py have what fails in a run.
"""
