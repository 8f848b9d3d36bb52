"""tf.contrib.util: arrays and TensorProto messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from graphio.framework import api_boundary, folding, refusals
from graphio.protos.node_def import make_ndarray, make_tensor_proto
from graphio.support import api_guard

__all__ = ["constant_value", "make_ndarray", "make_tensor_proto"]


@api_guard.unguarded
def constant_value(tensor: Any) -> Any:
    """The value of a tensor if it is known while the graph is built; None: it is not."""
    return folding.constant_value(tensor)


api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
