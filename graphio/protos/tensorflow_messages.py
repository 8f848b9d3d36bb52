"""Graphs and nodes as TensorFlow's own messages: what their text and TensorBoard show.

Nothing is read back from them: bodies of branches and loops are functions of the library, and the
variables of a graph are nodes without values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.framework import dtypes
from graphio.schema import model_pb2, tensors
from graphio.schema.tensorflow_pb2 import AttrValue as AttrMessage
from graphio.schema.tensorflow_pb2 import FunctionDefLibrary
from graphio.schema.tensorflow_pb2 import GraphDef as GraphMessage
from graphio.schema.tensorflow_pb2 import NodeDef as NodeMessage
from graphio.schema.tensorflow_pb2 import TensorProto as TensorMessage
from graphio.schema.tensorflow_pb2 import TensorShapeProto as ShapeMessage

if TYPE_CHECKING:
    from graphio.protos.node_def import NodeDef, TensorShapeProto

__all__ = ["graph_message", "node_message", "tensor_message"]

#: the field of a single element, by its dtype; others are in tensor_content
_SINGLE = {
    "float32": "float_val",
    "float64": "double_val",
    "int8": "int_val",
    "int16": "int_val",
    "int32": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "int64": "int64_val",
    "bool": "bool_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
}


def graph_message(nodes: Iterable[NodeDef], producer: int = 0) -> GraphMessage:
    """A graph of nodes.

    Args:
        nodes: views of nodes.
        producer: the version of the format; 0: unknown.
    """
    made = GraphMessage()
    for node in nodes:
        made.node.append(node_message(node, made.library))
    if producer:
        made.versions.producer = producer
    return made


def node_message(node: NodeDef, library: FunctionDefLibrary | None = None) -> NodeMessage:
    """A node.

    Args:
        node: a view of it.
        library: gets the functions that its attributes name; None: they are left out.
    """
    made = NodeMessage(name=node.name, op=node.op, device=node.device, input=node.input)
    if (
        made.op == "Square" and len(made.input) > 1 and made.input[0] == made.input[1]
    ):  # graphio's form is x * x
        del made.input[1]
    for key in node.attr:
        _fill(made.attr[key], node.attr[key])
    for attribute in node._message.attr:
        kind = attribute.value.WhichOneof("value")
        if kind == "g":
            function = f"{node.name}/{attribute.key}"
            made.attr[attribute.key].func.name = function
            if library is not None:
                _add_function(library, function, attribute.value.g, type(node))
    return made


def _add_function(
    library: FunctionDefLibrary, name: str, body: model_pb2.Graph, view: type[NodeDef]
) -> None:
    made = library.function.add()
    made.signature.name = name
    for formal in body.input:
        made.signature.input_arg.add(name=formal.name)
    for value in body.output:
        made.signature.output_arg.add(name=value)
        made.ret[value] = value
    made.node_def.extend(node_message(view.of(node), library) for node in body.node)


def _fill(made: AttrMessage, value: Any) -> None:
    """The message of an attribute; value is a view of one, or what stands for it."""
    kind = value.WhichOneof()
    if kind == "tensor":
        made.tensor.CopyFrom(tensor_message(value.tensor._message))
    elif kind == "shape":
        made.shape.CopyFrom(_shape(value.shape))
    elif kind == "list":
        made.list.SetInParent()
        for field in ("s", "i", "f", "b", "type"):
            getattr(made.list, field).extend(getattr(value.list, field))
        made.list.shape.extend(_shape(shape) for shape in value.list.shape)
    elif kind in ("s", "i", "f", "b", "type"):
        setattr(made, kind, getattr(value, kind))


def _shape(shape: TensorShapeProto) -> ShapeMessage:
    made = ShapeMessage(unknown_rank=shape.unknown_rank)
    for size in shape.dim:
        made.dim.add(size=size.size)
    return made


def tensor_message(message: model_pb2.Tensor) -> TensorMessage:
    """A tensor as TensorFlow's message: one number in the field of its kind, others as bytes."""
    array = tensors.to_array(message)
    dtype = dtypes.of_number(message.dtype)
    number: Any = dtype.as_datatype_enum
    made = TensorMessage(dtype=number, tensor_shape=ShapeMessage())
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    if dtype.name == "string":
        made.string_val.extend(array.ravel().tolist())
    elif array.size == 1 and dtype.name in _SINGLE:
        getattr(made, _SINGLE[dtype.name]).append(array.ravel().tolist()[0])
    else:
        made.tensor_content = np.ascontiguousarray(array).tobytes()
    return made
