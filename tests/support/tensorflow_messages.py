"""GraphDefs of TensorFlow's, written node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.schema import tensorflow_pb2 as pb


def node(name: str, op: str, *inputs: str, **attributes: Any) -> pb.NodeDef:
    """A node of TensorFlow's."""
    made = pb.NodeDef(name=name, op=op, input=inputs)
    for key, value in attributes.items():
        slot = made.attr[key]
        if isinstance(value, (np.ndarray, np.generic)):
            slot.tensor.dtype = kind(value.dtype)
            slot.tensor.tensor_content = value.tobytes()
            slot.tensor.tensor_shape.SetInParent()
            for size in value.shape:
                slot.tensor.tensor_shape.dim.add(size=size)
        elif isinstance(value, type):
            slot.type = kind(np.dtype(value))
        elif isinstance(value, tuple):
            slot.shape.SetInParent()
            for size in value:
                slot.shape.dim.add(size=size)
        elif isinstance(value, str):
            slot.func.name = value
        else:
            slot.i = value
    return made


def kind(dtype: Any) -> Any:
    return {"float32": 1, "int32": 3, "bool": 10}[np.dtype(dtype).name]


def message(*nodes: pb.NodeDef, functions: list[pb.FunctionDef] | None = None) -> pb.GraphDef:
    made = pb.GraphDef(node=nodes)
    made.library.function.extend(functions or [])
    return made
