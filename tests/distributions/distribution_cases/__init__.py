"""Distributions with parameters and an independent implementation, which every check uses.

table        the cases
tensorflow   records what TensorFlow says of those that it has, in tensorflow.json
"""
