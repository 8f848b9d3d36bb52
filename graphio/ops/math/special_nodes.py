"""One node of a special function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import FLOATING, describe, like, node, require, scope
from graphio.ops.base.shapes import dims_of

__all__ = ["broadcasting"]


def broadcasting(op: str, arguments: Mapping[str, Any], name: str | None) -> Tensor:
    """An operator of floating tensors of one dtype, which broadcast; arguments are by their names.

    Raises:
        TypeError: the dtypes differ or are not floating.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, op) as at:
        names = list(arguments)
        first = convert_to_tensor(arguments[names[0]], name=names[0])
        require(first, FLOATING, op, names[0])
        tensors, dims = [first], dims_of(first)
        for other in names[1:]:
            tensors.append(like(arguments[other], first, op, (names[0], other)))
            dims = shapes.broadcast(dims, dims_of(tensors[-1]), describe(at, op))
        return node(op, tensors, first.dtype, dims, domain="graphio", name=at, tf_type=op)
