"""Functions that the tests of pickling send to other processes, which import them by name."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphio as tf


def predicted(model: Any) -> float:
    """The result of the signature "predict" of the tests' model for [1, 2]."""
    return float(model.signature("predict")(x=np.float32([[1.0, 2.0]]))["y"][0, 0])


def called(signature: Any) -> float:
    """As predicted, of the signature alone."""
    return float(signature(x=np.float32([[1.0, 2.0]]))["y"][0, 0])


def doubled(n: float) -> float:
    """A graph that is built and run with the module `tf` of this file."""
    with tf.Graph().as_default(), tf.Session() as session:
        return float(session.run(tf.constant(n) * 2.0))


def refused(_: Any) -> Any:
    """A run that fails with an operation of this process."""
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.placeholder(tf.float32, name="needed"))
