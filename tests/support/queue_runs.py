"""Runs of a graph with queues, whose runners fill them."""

from __future__ import annotations

from typing import Any

import pytest

import graphio as tf

__all__ = ["values_until_the_end"]


def values_until_the_end(fetches: Any, target: str = "cinfer") -> list[Any]:
    """The values of all runs until the data end, which must be an OutOfRangeError."""
    found = []
    with tf.Session(target) as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(fetches))
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
    return found
