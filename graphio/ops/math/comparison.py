"""Comparisons and logic: bool results, no gradients."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import (
    NUMERIC,
    describe,
    is_symbolic,
    like,
    node,
    operands,
    or_reflected,
    require,
    scope,
)
from graphio.ops.base.primitive import compare
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import Binary
from graphio.ops.math import bits
from graphio.support import api_guard

__all__ = [
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
]

not_differentiable(
    *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not")
)


def _comparison(function: str, op: str, tf_type: str, summary: str) -> Binary:
    @api_guard.operator
    def build(x: Any, y: Any, name: str | None = None) -> Tensor:
        with scope(name, tf_type) as at:
            a, b = operands(x, y, tf_type)
            require(a, NUMERIC, tf_type)
            dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, tf_type))
            return node(op, [a, b], dtypes.bool, dims, name=at, tf_type=tf_type)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"Whether {summary}, element by element, with broadcasting.\n\n    Args:\n        x: "
        "numeric tensor.\n        y: tensor of the same dtype, or numbers.\n        name: of the "
        "operation.\n\n    Returns:\n        A bool tensor of the common shape.\n\n    Raises:\n"
        "        TypeError: the dtypes differ.\n        ValueError: the shapes do not "
        "broadcast.\n    "
    )
    return build


less = _comparison("less", "Less", "Less", "x < y")
less_equal = _comparison("less_equal", "LessOrEqual", "LessEqual", "x <= y")
greater = _comparison("greater", "Greater", "Greater", "x > y")
greater_equal = _comparison("greater_equal", "GreaterOrEqual", "GreaterEqual", "x >= y")


@api_guard.operator
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x and y are equal, element by element, with broadcasting; any dtype.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "Equal") as at:
        a, b = operands(x, y, "Equal")
        return compare("Equal", a, b, at)


@api_guard.operator
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Whether x and y differ, element by element, with broadcasting; any dtype.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not broadcast.
    """
    with scope(name, "NotEqual") as at:
        a, b = operands(x, y, "NotEqual")
        same = compare("Equal", a, b, "equal")
        return node("Not", [same], dtypes.bool, dims_of(same), name=at, tf_type="NotEqual")


def _logical(function: str, op: str, tf_type: str, summary: str) -> Binary:
    @api_guard.operator
    def build(x: Any, y: Any, name: str | None = None) -> Tensor:
        with scope(name, tf_type) as at:
            a = convert_to_tensor(x, dtype=_bool_unless_tensor(x), name="x")
            _require_bool(a, tf_type)
            b = like(y, a, tf_type, ("x", "y"))
            dims = shapes.broadcast(dims_of(a), dims_of(b), describe(at, tf_type))
            return node(op, [a, b], dtypes.bool, dims, name=at, tf_type=tf_type)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary}, element by element, with broadcasting; bool.\n\n    Raises:\n        "
        "TypeError: x or y is not bool.\n        ValueError: the shapes do not broadcast.\n    "
    )
    return build


def _bool_unless_tensor(value: Any) -> Any:
    """Arrays of numbers become bools, as TensorFlow casts arrays to the dtype it needs."""
    return None if is_symbolic(value) else dtypes.bool


def _require_bool(tensor: Tensor, op: str) -> None:
    if tensor.dtype.base_dtype != dtypes.bool:
        raise TypeError(
            f"Value passed to parameter 'x' of '{op}' has DataType "
            f"{tensor.dtype.base_dtype.name}, expected bool; compare it with something first"
        )


logical_and = _logical("logical_and", "And", "LogicalAnd", "x and y")
logical_or = _logical("logical_or", "Or", "LogicalOr", "x or y")
logical_xor = _logical("logical_xor", "Xor", "LogicalXor", "x or y but not both")


@api_guard.operator
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """not x, element by element; bool.

    Raises:
        TypeError: x is not bool.
    """
    with scope(name, "LogicalNot") as at:
        tensor = convert_to_tensor(x, dtype=_bool_unless_tensor(x), name="x")
        _require_bool(tensor, "LogicalNot")
        dims = dims_of(tensor)
        return node("Not", [tensor], dtypes.bool, dims, name=at, tf_type="LogicalNot")


def _install() -> None:
    Tensor.overload("__lt__", less)
    Tensor.overload("__le__", less_equal)
    Tensor.overload("__gt__", greater)
    Tensor.overload("__ge__", greater_equal)
    Tensor.overload("__invert__", lambda x: (bits.invert if _has_bits(x) else logical_not)(x))
    for method, logical, bitwise in (
        ("and", logical_and, bits.bitwise_and),
        ("or", logical_or, bits.bitwise_or),
        ("xor", logical_xor, bits.bitwise_xor),
    ):
        _install_logical(method, logical, bitwise)


def _has_bits(tensor: Any) -> bool:
    """Whether Python's operators of bits concern a tensor's bits, and not its truth."""
    return bool(tensor.dtype.is_integer)


def _install_logical(method: str, logical: Binary, bitwise: Binary) -> None:
    def forward(x: Tensor, y: Any) -> Tensor:
        with scope(None, method) as at:
            return (bitwise if _has_bits(x) else logical)(x, y, name=at)

    def reflected(y: Tensor, x: Any) -> Tensor:
        with scope(None, method) as at:
            if _has_bits(y):
                return bitwise(convert_to_tensor(x, y.dtype, name="x"), y, name=at)
            return logical(x, y, name=at)

    Tensor.overload(f"__{method}__", or_reflected(method, forward))
    Tensor.overload(f"__r{method}__", reflected)


_install()
