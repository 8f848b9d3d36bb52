"""Distributions over classes.

May import distributions and below.

    onehot_categorical      a class as vector of 0 and a 1
    relaxed                 continuous ones near it
"""
