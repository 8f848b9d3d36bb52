"""GraphDef: a graph as a message, and back into a graph.

A GraphDef holds a Model message of our schema: the nodes, the variables that they are and the
keys of the random generators; values, signatures and collections are a MetaGraphDef's.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import Any

from google.protobuf.message import DecodeError

from graphio.node_def import NodeDef, View, message_of
from graphio.schema import model_pb2

__all__ = ["GraphDef", "ModelView", "export_graph_def", "functions_of", "graph_def_of"]

#: the version of the GraphDef format that TensorFlow 1.15 writes
PRODUCER = 134
_ADD_SHAPES = "graph_def/add_shapes"


class VersionDef:
    """Versions of the format: `producer`, `min_consumer`, `bad_consumers`."""

    def __init__(self) -> None:
        self.producer, self.min_consumer = PRODUCER, 0
        self.bad_consumers: list[int] = []

    def CopyFrom(self, other: Any) -> None:
        """Accepted: files of ours carry their own versions."""


class FunctionLibrary:
    """Functions of a graph: none, bodies lie in the nodes that run them."""

    def __init__(self) -> None:
        self.function: list[Any] = []
        self.gradient: list[Any] = []

    def CopyFrom(self, other: Any) -> None:
        """Accepted: there is nothing to copy."""


class NodeList(MutableSequence[Any]):
    """The nodes of a graph, in order of creation."""

    def __init__(self, model: model_pb2.Model) -> None:
        self._nodes = model.graph.node
        self._add_shapes = any(entry.key == _ADD_SHAPES for entry in model.metadata)

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, index: Any) -> Any:
        found = self._nodes[index]
        if isinstance(index, slice):
            return [NodeDef.of(node, self._add_shapes) for node in found]
        return NodeDef.of(found, self._add_shapes)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("write graph_def.node[i].CopyFrom(node)")

    def __delitem__(self, index: Any) -> None:
        del self._nodes[index]

    def insert(self, index: int, value: Any) -> None:
        """Adds a copy of a node at a place."""
        self._nodes.insert(index, message_of(value))

    def append(self, value: Any) -> None:
        """Adds a copy of a node."""
        self._nodes.add().CopyFrom(message_of(value))

    def extend(self, values: Iterable[Any]) -> None:
        """Adds copies of nodes."""
        for value in values:
            self.append(value)

    def add(self, **fields: Any) -> NodeDef:
        """Adds a node; the fields are NodeDef's."""
        self.append(NodeDef(**fields))
        return NodeDef.of(self._nodes[-1], self._add_shapes)


class ModelView(View):
    """A view of a Model message, with the functions of this program that its nodes call.

    Functions are not part of the bytes: a message that was parsed has none.
    """

    def __init__(self, message: model_pb2.Model | None = None) -> None:
        self._message = model_pb2.Model() if message is None else message
        self._functions: dict[str, Any] = {}

    def CopyFrom(self, other: Any) -> None:
        """Becomes a copy of another."""
        super().CopyFrom(other)
        self._functions = dict(functions_of(other))

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes the message of its bytes.

        Raises:
            DecodeError: these are bytes of another format, such as TensorFlow's.
        """
        length: int = self._message.ParseFromString(serialized)
        self._functions = {}
        # TensorFlow's nodes stand where ours has operator sets, which always have a version.
        if any(entry.version == 0 for entry in self._message.opset):
            self._message.Clear()
            raise DecodeError(
                "these bytes are TensorFlow's own; convert that model to ONNX and read it by "
                "tf.onnx.import_model"
            )
        return length

    @classmethod
    def FromString(cls, data: bytes) -> Any:
        """The message of its bytes."""
        made = cls()
        made.ParseFromString(data)
        return made


def functions_of(value: Any) -> dict[str, Any]:
    """The functions that a message brings along, by name; see Graph.add_host_function."""
    return value._functions if isinstance(value, ModelView) else {}


class GraphDef(ModelView):
    """A graph as a message: what Graph.as_graph_def gives and import_graph_def takes.

    Attributes:
        node: its nodes, in order of creation; they can be changed, added and deleted.
        versions, library: for programs that look at them.
    """

    def __init__(self, node: Iterable[Any] = ()) -> None:
        super().__init__()
        self.node.extend(node)

    @classmethod
    def of(cls, model: model_pb2.Model, functions: dict[str, Any] | None = None) -> GraphDef:
        """The view of a message."""
        made = cls()
        made._message, made._functions = model, functions or {}
        return made

    @property
    def node(self) -> NodeList:
        """The nodes."""
        return NodeList(self._message)

    @property
    def versions(self) -> VersionDef:
        """Versions of TensorFlow's format, for programs that look at them."""
        return VersionDef()

    @property
    def library(self) -> FunctionLibrary:
        """Functions: none."""
        return FunctionLibrary()

    def HasField(self, name: str) -> bool:
        """Whether a part is there."""
        return name == "versions" or (name != "library" and bool(self._message.HasField(name)))


def graph_def_of(value: Any) -> model_pb2.Model:
    """The Model message of a GraphDef, of a Graph message or of a Model message.

    Raises:
        TypeError: it is none of them.
    """
    message = message_of(value)
    if isinstance(message, model_pb2.Graph):
        return model_pb2.Model(graph=message)
    if not isinstance(message, model_pb2.Model):
        raise TypeError(f"graph_def must be a GraphDef proto, but got {type(value).__name__}.")
    return message


def export_graph_def(graph: Any, add_shapes: bool = False) -> GraphDef:
    """A graph's GraphDef; constants are inline whatever their size."""
    from graphio.export import build_model, graph_message

    if graph.outer is None:
        model, _ = build_model(graph, [], prune=False, bodies=False, inline=True)
        del model.collection[:]
    else:
        model = model_pb2.Model(graph=graph_message(graph))
    if add_shapes:
        model.metadata.add(key=_ADD_SHAPES, value="1")
    return GraphDef.of(model, dict(graph.root.host_functions))
