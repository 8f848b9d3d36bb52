"""tf.timeline: the times of a run as a trace, under the names of TensorFlow's client module."""

from graphio.observe.timeline import (
    OperationTime,
    Profile,
    Timeline,
    profile,
)
from graphio.support import public_path

__all__ = [
    "OperationTime",
    "Profile",
    "Timeline",
    "profile",
]

public_path.name_classes(__name__, globals())
