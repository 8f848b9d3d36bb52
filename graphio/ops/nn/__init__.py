"""Operators of neural networks: convolutions, pools, activations, normalisation, losses."""
