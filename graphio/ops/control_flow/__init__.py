"""Branches, loops, scans, TensorArrays and sequences, with their gradients."""
