"""tf.bitwise: operators on the bits of integers."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import INTEGER, describe, node, operands, require, scalar, scope
from graphio.ops.base.primitive import binary
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import Binary
from graphio.support import api_guard

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]


def _builder(function: str, op: str, tf_type: str, summary: str, **attrs: Any) -> Binary:
    @api_guard.operator
    def build(x: Any, y: Any, name: str | None = None) -> Tensor:
        with scope(name, tf_type) as at:
            a, b = operands(x, y, tf_type)
            require(a, INTEGER, tf_type)
            b = _positions(b) if op == "BitShift" else b
            dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, tf_type))
            return node(op, [a, b], a.dtype, dims, name=at, tf_type=tf_type, **attrs)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary}, element by element, with broadcasting.\n\n    Args:\n        x: integer "
        "tensor.\n        y: tensor of the same dtype, or numbers.\n        name: of the "
        "operation.\n\n    Raises:\n        TypeError: the dtypes differ, or x is not an integer "
        "tensor.\n        ValueError: the shapes do not broadcast.\n    "
    )
    return build


def _positions(y: Tensor) -> Tensor:
    """The shift that TensorFlow uses: 0 below 0, the width - 1 from the width on."""
    low, high = (scalar(v, y.dtype) for v in (0, 8 * y.dtype.size - 1))
    return binary("Min", binary("Max", y, low), high)


bitwise_and = _builder("bitwise_and", "BitwiseAnd", "BitwiseAnd", "The bits set in both")
bitwise_or = _builder("bitwise_or", "BitwiseOr", "BitwiseOr", "The bits set in either")
bitwise_xor = _builder("bitwise_xor", "BitwiseXor", "BitwiseXor", "The bits set in only one")
left_shift = _builder(
    "left_shift", "BitShift", "LeftShift",
    "x * 2^y (y within 0 and the width), without the bits that fall off",
    direction="LEFT",
)  # fmt: skip
right_shift = _builder(
    "right_shift", "BitShift", "RightShift",
    "x / 2^y rounded down (y within 0 and the width); the sign stays",
    direction="RIGHT",
)  # fmt: skip


@api_guard.operator
def invert(x: Any, name: str | None = None) -> Tensor:
    """x with every bit inverted: -x - 1 of a signed integer.

    Raises:
        TypeError: x is not an integer tensor.
    """
    with scope(name, "Invert") as at:
        tensor = convert_to_tensor(x, name="x")
        require(tensor, INTEGER, "Invert")
        dims = dims_of(tensor)
        return node("BitwiseNot", [tensor], tensor.dtype, dims, name=at, tf_type="Invert")
