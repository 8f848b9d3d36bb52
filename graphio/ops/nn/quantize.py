"""Gradients of quantisation: straight through the rounding, none beyond the limits.

A quantised tensor that QuantizeLinear made carries a gradient in the dtype of the floats, so that
training sees through a pair of QuantizeLinear and DequantizeLinear (Bengio et al. 2013,
arXiv:1308.3432; the scale's gradient is that of Esser et al. 2020, arXiv:1902.08153).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import gradient, not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of

Gradients = Sequence["Tensor | None"]

not_differentiable("BitCast", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul")


def _spread(op: Operation, values: Tensor, x: Tensor) -> Tensor:
    """Scales or zero points in a shape that broadcasts to x's."""
    rank, block = values.shape.ndims, int(op.attrs.get("block_size", 0))
    if rank is None or x.shape.ndims is None:
        raise ValueError(f"the gradient of {op.op} '{op.name}' needs the ranks of x and its scale")
    if rank == 0 or (rank == 1 and values.shape.as_list() == [1]):
        return primitive.reshape(values, [], ())
    axis = int(op.attrs.get("axis", 1))
    axis = 0 if x.shape.ndims == 1 else axis % x.shape.ndims
    if block:
        size = primitive.gather(primitive.shape_of(x), primitive.int_vector([axis]), 0)
        ends = [primitive.int_vector([v]) for v in (0, 1, axis)]
        positions = node(
            "Range",
            [
                primitive.reshape(ends[0], [], ()),
                primitive.reshape(size, [], ()),
                primitive.reshape(ends[1], [], ()),
            ],
            dtypes.int64,
            (None,),
        )
        return primitive.gather(
            values, primitive.binary("Div", positions, scalar(block, dtypes.int64)), axis
        )
    dims = [1] * x.shape.ndims
    dims[axis] = -1
    static: list[int | None] = [1] * x.shape.ndims
    static[axis] = values.shape.as_list()[0]
    return primitive.reshape(values, dims, tuple(static))


def _limits(dtype: DType, kind: DType) -> tuple[Tensor, Tensor]:
    """The smallest and the largest quantised value."""
    ends = [np.asarray(float(v)) for v in (dtype.min, dtype.max)]
    low, high = (constant(v, dtype=kind) for v in ends)
    return low, high


@gradient("QuantizeLinear")
def _quantize_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy / scale where x / scale + zero point is within the limits of the quantised type."""
    kind = dy.dtype.base_dtype
    zero = op.inputs[2] if len(op.inputs) > 2 else None

    def ratio(x: Tensor, scale: Tensor, *_: Tensor | None) -> Tensor:
        return primitive.binary(
            "Div", primitive.cast(x, kind), _spread(op, primitive.cast(scale, kind), x)
        )

    x, scale = op.inputs[0], op.inputs[1]
    assert x is not None and scale is not None
    found = ratio(x, scale)
    if zero is not None:
        found = primitive.binary("Add", found, _spread(op, primitive.cast(zero, kind), x))
    low, high = _limits(op.outputs[0].dtype, kind)
    inside = node(
        "And",
        [
            primitive.compare("GreaterOrEqual", found, low),
            primitive.compare("LessOrEqual", found, high),
        ],
        dtypes.bool,
        dims_of(found),
    )
    kept = primitive.select(inside, dy, primitive.fill_like(dy, 0.0))
    return by_parts(op, [kept], ratio)


@gradient("DequantizeLinear")
def _dequantize_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy scale for x, in dy's dtype; the sum of dy (x - zero point) for the scale."""
    kind = dy.dtype.base_dtype

    def parts(x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        moved = primitive.cast(x, kind)
        if zero is not None:
            moved = primitive.binary("Sub", moved, _spread(op, primitive.cast(zero, kind), x))
        return primitive.binary("Mul", moved, _spread(op, primitive.cast(scale, kind), x))

    found = by_parts(op, [dy], parts)
    x, scale = op.inputs[0], op.inputs[1]
    assert x is not None and scale is not None
    found[0] = primitive.binary("Mul", dy, _spread(op, primitive.cast(scale, kind), x))
    return found
