"""tf.profiler: the parameters and the operations on floats of a graph. Times: tf.timeline.profile.

May import io and below.

    options    which nodes are counted and shown
    flops      operations on floats of a node, as TensorFlow counts them
    views      the nodes by scope and by type
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.profiler.options import ProfileOptionBuilder
from graphio.profiler.views import GraphNodeProto, MultiGraphNodeProto, profile

__all__ = ["GraphNodeProto", "MultiGraphNodeProto", "ProfileOptionBuilder", "profile"]

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
