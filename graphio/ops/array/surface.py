"""The array family: everything that makes, shapes, joins and repeats tensors.

Its main modules are filling, reshaping and joining.
"""

from __future__ import annotations

from graphio.ops.array.filling import (
    diag,
    eye,
    fill,
    ones,
    ones_like,
    range,
    rank,
    shape,
    shape_n,
    size,
    zeros,
    zeros_like,
)
from graphio.ops.array.joining import concat, pad, split, stack, tile, unstack
from graphio.ops.array.reshaping import (
    broadcast_to,
    expand_dims,
    identity,
    identity_n,
    reshape,
    squeeze,
    stop_gradient,
    transpose,
    where,
)

__all__ = [
    "broadcast_to",
    "concat",
    "diag",
    "expand_dims",
    "eye",
    "fill",
    "identity",
    "identity_n",
    "ones",
    "ones_like",
    "pad",
    "range",
    "rank",
    "reshape",
    "shape",
    "shape_n",
    "size",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "tile",
    "transpose",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]
