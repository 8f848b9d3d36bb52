"""Checkpoints of objects: variables by the attributes that lead to them."""
