"""Types of values between ONNX's TypeProto and our dtypes and static shapes."""

from __future__ import annotations

import onnx
from onnx import helper

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.shapes import Dims

__all__ = ["static_type", "type_proto"]


def type_proto(dtype: DType, dims: Dims) -> onnx.TypeProto:
    """A type as ONNX writes it; unknown sizes have neither value nor name."""
    if dtype.inside is not None:
        inside = type_proto(dtype.inside, dims)
        if dtype.kind == "sequence":
            return helper.make_sequence_type_proto(inside)
        return helper.make_optional_type_proto(inside)
    return helper.make_tensor_type_proto(dtype.number, None if dims is None else list(dims))


def static_type(proto: onnx.TypeProto) -> tuple[DType, TensorShape] | None:
    """dtype and static shape; of what holds tensors, the shape is that of each.

    None if it is neither a tensor nor a sequence or optional of such, or has no element type.
    """
    kind = proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        found = static_type(getattr(proto, kind).elem_type)
        name = kind.removesuffix("_type")
        return None if found is None else (dtypes.holder(name, found[0]), found[1])
    if kind != "tensor_type" or not proto.tensor_type.elem_type:
        return None
    tensor = proto.tensor_type
    dtype = dtypes.of_number(tensor.elem_type)
    if not tensor.HasField("shape"):
        return dtype, TensorShape(None)
    sizes = [
        d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else None
        for d in tensor.shape.dim
    ]
    return dtype, TensorShape(sizes, [d.dim_param for d in tensor.shape.dim])
