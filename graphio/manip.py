"""tf.manip: rearranging tensors."""

from __future__ import annotations

from graphio.ops.array.arranging import batch_to_space_nd, roll, space_to_batch_nd
from graphio.ops.array.index import gather_nd, reverse, scatter_nd
from graphio.ops.array.surface import reshape, tile

__all__ = [
    "batch_to_space_nd",
    "gather_nd",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "space_to_batch_nd",
    "tile",
]
