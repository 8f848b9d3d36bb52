"""tf.timeline: the times of a run as a trace, under the names of TensorFlow's client module."""

from graphio.observe.timeline import (
    OperationTime,
    Profile,
    Timeline,
    profile,
)

__all__ = [
    "OperationTime",
    "Profile",
    "Timeline",
    "profile",
]
