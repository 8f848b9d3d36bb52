"""Attributes between ONNX's AttributeProto and the values that operations hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphio.framework import dtypes
from graphio.framework.dtypes import DType
from graphio.onnx.types import static_type, type_proto
from graphio.ops.base.shapes import dims_of
from graphio.schema.model_pb2 import AttributeValue

__all__ = ["DTYPE_KEYS", "from_proto", "message_value", "to_protos"]

#: attributes that hold the number of an element type
DTYPE_KEYS = ("dtype", "to")


def from_proto(attribute: onnx.AttributeProto) -> Any:
    """The value of an attribute that holds no graph.

    Raises:
        ValueError: it is a graph, a list of tensors, a sparse tensor or an unknown type.
    """
    kind = onnx.AttributeProto.AttributeType.Name(attribute.type)
    if kind == "INT":
        return dtypes.of_number(attribute.i) if attribute.name in DTYPE_KEYS else attribute.i
    if kind == "FLOAT":
        return float(attribute.f)
    if kind == "STRING":
        return attribute.s.decode("utf-8", "surrogateescape")
    if kind == "TENSOR":
        return numpy_helper.to_array(attribute.t)
    if kind == "INTS":
        return list(attribute.ints)
    if kind == "FLOATS":
        return [float(f) for f in attribute.floats]
    if kind == "STRINGS":
        return list(attribute.strings)
    if kind == "TYPE_PROTO" and (known := static_type(attribute.tp)) is not None:
        return known
    raise ValueError(f"attribute {attribute.name!r} is of kind {kind}")


def message_value(value: AttributeValue) -> Any:
    """An attribute of a model file: int, float, str, or a list of ints or floats.

    Raises:
        ValueError: it is of another kind.
    """
    kind = value.WhichOneof("value")
    if kind == "ints":
        return list(value.ints.i)
    if kind == "floats":
        return list(value.floats.f)
    if kind == "s":
        return value.s.decode()
    if kind in ("i", "f", "d"):
        return getattr(value, kind)
    raise ValueError(f"an attribute of kind {kind}")


def to_protos(attrs: Mapping[str, Any]) -> list[onnx.AttributeProto]:
    """Attributes of an operation, sorted by name; those that are graphs are left out."""
    made = []
    for key, value in sorted(attrs.items()):
        if isinstance(value, DType):
            value = value.number
        elif isinstance(value, np.ndarray):
            value = numpy_helper.from_array(value)
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], DType):
            value = type_proto(value[0], dims_of(value[1]))
        elif not isinstance(value, (bool, int, float, str, bytes, list, tuple)):
            continue
        if isinstance(value, (list, tuple)) and not value:
            made.append(helper.make_attribute(key, [], attr_type=onnx.AttributeProto.INTS))
        else:
            made.append(helper.make_attribute(key, value))
    return made
