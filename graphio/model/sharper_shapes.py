"""Static shapes of imported nodes whose inputs are replaced by tensors of better known shapes:
through elementwise operators and matrix multiplications."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base import shapes
from graphio.schema import fused, model_pb2

__all__ = ["is_sharper", "sharper"]

#: in addition to those that can be parts of fused nodes: (domain, operator)
_ELEMENTWISE = frozenset(
    {("", op) for op in ("And", "Cast", "Equal", "Greater", "GreaterOrEqual", "Identity", "Less")}
    | {("", op) for op in ("LessOrEqual", "LogSoftmax", "Mod", "Not", "Or", "Softmax", "Where")}
) | frozenset(fused.BY_NODE)
#: whose first input alone has the shape
_BY_FIRST = frozenset({"Clip", "Softmax", "LogSoftmax", "Cast", "Identity"})


def is_sharper(shape: TensorShape, other: TensorShape) -> bool:
    """Whether more is known of a shape than of one that it is compatible with."""
    if shape.ndims is None or other.ndims is None:
        return shape.ndims is not None
    pairs = zip(shape.as_list(), other.as_list(), strict=True)
    return any(known is not None and size is None for known, size in pairs)


def sharper(
    node: model_pb2.Node, inputs: Sequence[Tensor | None], shape: TensorShape
) -> TensorShape:
    """The shape of a node's output as its message says it, with what follows from its inputs.

    Raises:
        ValueError: the shapes of the inputs do not fit each other, or the message's.
    """
    given = [shapes.dims_of(tensor) for tensor in inputs if tensor is not None]
    what = f"Node '{node.name}'"
    if (node.domain, node.op) == ("", "MatMul") and len(given) == 2:
        found = shapes.matmul(given[0], given[1], what)
    elif (node.domain, node.op) in _ELEMENTWISE and given:
        found = given[0]
        for other in () if node.op in _BY_FIRST else given[1:]:
            found = shapes.broadcast(found, other, what)
    else:
        return shape
    return TensorShape(shapes.merge(shapes.dims_of(shape), found, what))
