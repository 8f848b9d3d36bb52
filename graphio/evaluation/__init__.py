"""Losses and metrics: tf.losses, tf.metrics.

May import testing, observe, execution and below.

    metrics              means and counts; metrics_thresholds: curves; metrics_best: the k best
"""
