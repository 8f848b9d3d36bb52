"""Types that the standard allows and no kernel computes with: a node of the standard is built for
other types, between casts, or moves indices of elements instead of the elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import node as make_node
from graphio.ops.base.primitive import (
    binary,
    cast,
    concat,
    count,
    gather,
    reshape_to,
    select,
    shape_of,
)
from graphio.ops.base.shapes import dims_of
from graphio.ops.strings import numbers as text_numbers

__all__ = ["retyped"]

Inputs = Sequence["Tensor | None"]
Outputs = Sequence["Tensor | None"]
#: makes the outputs of the same node from other inputs
Make = Callable[[Inputs], Outputs]

_FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


def retyped(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """The outputs of a node of the standard whose types no kernel takes as they are.

    Args:
        node: the node.
        inputs: its inputs; None for absent ones.
        make: builds the node for the inputs that it is given.

    Returns:
        The outputs; None where the node can be built as it is.
    """
    rule = _RULES.get(node.op_type)
    return None if rule is None or not inputs or inputs[0] is None else rule(node, inputs, make)


def _type(x: Tensor | None) -> DType | None:
    return None if x is None else x.dtype.base_dtype


def _cast(x: Tensor | None, dtype: DType | None) -> Tensor | None:
    return x if x is None or dtype is None else cast(x, dtype)


def _text(node: onnx.NodeProto, name: str, default: str) -> str:
    found = next((a.s for a in node.attribute if a.name == name), default.encode())
    return found.decode(errors="replace")


# ---- floating types that differ ----


def _mixed(results: Sequence[int]) -> Callable[[onnx.NodeProto, Inputs, Make], Outputs | None]:
    """Floating inputs of different types are computed in the widest; results[k] is the input whose
    type output k has."""

    def rule(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
        given = [None if x is None else x.dtype.base_dtype for x in inputs]
        floats = {d for d in given if d is not None and d.is_floating}
        masks = node.op_type == "Attention" and len(given) > 3 and given[3] is not None
        whole = masks and given[3] != dtypes.bool and given[3] not in floats
        if len(floats) < 2 and not whole:
            return None
        wide = next(iter(floats))
        if len(floats) > 1:
            wide = dtypes.float64 if dtypes.float64 in floats else dtypes.float32
        moved = [x if x is None or d not in floats else cast(x, wide)
                 for x, d in zip(inputs, given, strict=True)]  # fmt: skip
        if whole:
            moved[3] = _cast(moved[3], wide)
        outputs = make(moved)
        return [_cast(y, given[results[k]]) for k, y in enumerate(outputs)]

    return rule


# ---- casts before and after ----


def _center_crop_pad(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """The standard's own body computes sizes in int64."""
    if len(inputs) < 2 or _type(inputs[1]) != dtypes.int32:
        return None
    return make([inputs[0], _cast(inputs[1], dtypes.int64)])


def _float_test(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    dtype = _type(inputs[0])
    if dtype is None or dtype.name not in _FLOAT8:
        return None
    return make([_cast(inputs[0], dtypes.float32)])


def _cast_rule(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """Casts from strings and to strings."""
    to = next((a.i for a in node.attribute if a.name == "to"), None)
    requested = (
        _type(inputs[1]) if len(inputs) > 1 else None if to is None else dtypes.of_number(to)
    )
    x = inputs[0]
    if x is None or requested is None or (x.dtype == dtypes.string) == (requested == dtypes.string):
        return None
    return [_text_of(x)] if requested == dtypes.string else _from_text(x, requested, inputs, make)


def _text_of(x: Tensor) -> Tensor:
    """Numbers as plain as they can be: 314.15926, 2.0, 17; True and False.

    Raises:
        ValueError: they are complex.
    """
    dtype = x.dtype.base_dtype
    if dtype == dtypes.bool:
        yes, no = (constant(np.asarray(word, object)) for word in (b"True", b"False"))
        return select(x, yes, no)
    if dtype.is_complex:
        raise ValueError(f"the standard has no string form of {dtype.name}; cast the parts")
    if dtype.is_floating and dtype != dtypes.float64:
        x = cast(x, dtypes.float32)
    elif dtype.is_integer and dtype.name in ("int4", "uint4", "int2", "uint2"):
        x = cast(x, dtypes.int32)
    options: dict[str, Any] = {"scientific": 0, "shortest": 0, "width": -1, "fill": ""}
    options["precision"] = -2 if dtype.is_floating else -1
    return make_node("AsString", [x], dtypes.string, dims_of(x), domain="graphio", **options)


def _from_text(x: Tensor, requested: DType, inputs: Inputs, make: Make) -> Outputs:
    """Strings are read as integers for an integer type, else as float64, and then cast."""
    read = dtypes.int64 if requested.is_integer else dtypes.float64
    number = text_numbers.string_to_number(x, read)
    return [number] if requested == read else make([number, *inputs[1:]])


def _q_linear_mat_mul(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """With an operand of float8: a MatMul of the dequantized operands in float32."""
    if len(inputs) != 8 or any(x is None for x in inputs):
        return None
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (x for x in inputs if x is not None)
    if not any(x.dtype.name in _FLOAT8 for x in (a, b, y_zero)):
        return None
    rows, columns = -2, -1
    left = _dequantized(a, a_scale, a_zero, rows)
    right = _dequantized(b, b_scale, b_zero, columns)
    dims = shapes.matmul(dims_of(a), dims_of(b), node.op_type)
    multiplied = make_node("MatMul", [left, right], dtypes.float32, dims)
    given = [multiplied, cast(y_scale, dtypes.float32), y_zero]
    return [make_node("QuantizeLinear", given, y_zero.dtype, dims, axis=rows)]


def _dequantized(x: Tensor, scale: Tensor, zero: Tensor, axis: int) -> Tensor:
    given = [x, cast(scale, dtypes.float32), zero]
    return make_node("DequantizeLinear", given, dtypes.float32, dims_of(x), axis=axis)


# ---- elements that are moved by their numbers ----


def _numbers(x: Tensor, first: int, dtype: DType) -> Tensor:
    """The numbers of x's elements from `first` on, in x's shape."""
    start = constant(np.asarray(first, np.int64))
    end = binary("Add", count(x, dtypes.int64), start)
    one = constant(np.asarray(1, np.int64))
    numbers = make_node("Range", [start, end, one], dtypes.int64, (None,))
    return reshape_to(cast(numbers, dtype), shape_of(x), dims_of(x))


def _flat(x: Tensor) -> Tensor:
    return reshape_to(x, constant(np.asarray([-1], np.int64)), (None,))


def _resize(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """Elements other than numbers: only the nearest of them can be taken."""
    x = inputs[0]
    if x is None or x.dtype.is_floating or x.dtype.is_integer:
        return None
    crops = _text(node, "coordinate_transformation_mode", "") == "tf_crop_and_resize"
    if _text(node, "mode", "nearest") != "nearest" or crops:
        return None
    (numbers,) = make([_numbers(x, 0, dtypes.int64), *inputs[1:]])
    return None if numbers is None else [gather(_flat(x), numbers, 0)]


def _grid_sample(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """The nearest element of any type; between integers in float64, cut to integers."""
    x = inputs[0]
    if x is None or x.dtype.is_floating:
        return None
    if _text(node, "mode", "linear") == "nearest":
        (numbers,) = make([_numbers(x, 1, dtypes.float64), *inputs[1:]])
        if numbers is None:
            return None
        zero = np.zeros(1, x.dtype.base_dtype.as_numpy_dtype)
        if x.dtype.base_dtype == dtypes.string:
            zero = np.asarray([b""], object)
        outside = constant(zero, dtype=x.dtype.base_dtype)
        return [gather(concat([outside, _flat(x)], 0), cast(numbers, dtypes.int64), 0)]
    if not x.dtype.is_integer and x.dtype.base_dtype != dtypes.bool:
        return None
    (found,) = make([cast(x, dtypes.float64), *inputs[1:]])
    return [_cast(found, x.dtype)]


def _col2im(node: onnx.NodeProto, inputs: Inputs, make: Make) -> Outputs | None:
    """Sums of integers of up to 32 bits are exact in float64; of 64 bits each half's are. They wrap
    around as sums of integers do; of truths they are Or."""
    x = inputs[0]
    if x is None or not (x.dtype.is_integer or x.dtype.base_dtype == dtypes.bool):
        return None
    dtype, rest = x.dtype.base_dtype, inputs[1:]

    def sums(part: Tensor, like: DType) -> Tensor | None:
        return _cast(make([cast(part, dtypes.float64), *rest])[0], like)

    if dtype == dtypes.bool:
        return [sums(x, dtype)]
    if dtype not in (dtypes.int64, dtypes.uint64):
        return [_cast(sums(x, dtypes.int64), dtype)]
    bits = cast(x, dtypes.uint64)
    far = constant(np.asarray(32, np.uint64))
    low = make_node(
        "BitwiseAnd", [bits, constant(np.asarray(2**32 - 1, np.uint64))], dtypes.uint64, dims_of(x)
    )
    high = make_node("BitShift", [bits, far], dtypes.uint64, dims_of(x), direction="RIGHT")
    upper, lower = sums(high, dtypes.uint64), sums(low, dtypes.uint64)
    if upper is None or lower is None:
        return None
    shifted = make_node("BitShift", [upper, far], dtypes.uint64, dims_of(upper), direction="LEFT")
    return [cast(binary("Add", shifted, lower), dtype)]


_RULES: dict[str, Callable[[onnx.NodeProto, Inputs, Make], Outputs | None]] = {
    "Attention": _mixed((0, 0, 2, 0)),
    "BatchNormalization": _mixed((0, 3, 3)),
    "Cast": _cast_rule,
    "CastLike": _cast_rule,
    "CenterCropPad": _center_crop_pad,
    "Col2Im": _col2im,
    "GridSample": _grid_sample,
    "IsInf": _float_test,
    "IsNaN": _float_test,
    "RMSNormalization": _mixed((1,)),
    "QLinearMatMul": _q_linear_mat_mul,
    "Resize": _resize,
}
