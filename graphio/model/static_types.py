"""Types in messages as dtypes and static shapes."""

from __future__ import annotations

from graphio.framework import dtypes
from graphio.framework.tensor_shape import TensorShape
from graphio.schema import model_pb2

__all__ = ["static_type"]


def static_type(proto: model_pb2.Type) -> tuple[dtypes.DType, TensorShape]:
    """dtype and static shape of a type; of what holds tensors, the shape is that of each."""
    kind = proto.WhichOneof("kind")
    if kind in ("sequence", "optional"):
        inside, shape = static_type(proto.sequence if kind == "sequence" else proto.optional)
        return dtypes.holder(kind, inside), shape
    tensor = proto.tensor
    dtype = dtypes.of_number(tensor.dtype) if tensor.dtype else dtypes.float32
    if not tensor.HasField("shape"):
        return dtype, TensorShape(None)
    sizes = [d.size if d.WhichOneof("value") == "size" else None for d in tensor.shape.dim]
    return dtype, TensorShape(sizes, [d.symbol for d in tensor.shape.dim])
