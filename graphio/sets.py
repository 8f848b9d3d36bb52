"""tf.sets: sets of the values in the last dimension."""

from graphio.ops.sparse.sets import set_difference, set_intersection, set_size, set_union
from graphio.ops.sparse.sets import set_difference as difference
from graphio.ops.sparse.sets import set_intersection as intersection
from graphio.ops.sparse.sets import set_size as size
from graphio.ops.sparse.sets import set_union as union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
