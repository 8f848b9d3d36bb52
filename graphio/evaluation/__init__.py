"""Losses and metrics: tf.losses, tf.metrics.

Imports variables, ops, framework and below.
"""
