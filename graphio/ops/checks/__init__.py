"""Assertions: what must hold of tensors, while the graph is built or in the run."""
