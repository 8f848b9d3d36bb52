"""GraphDef: a graph as a message, and back into a graph.

A GraphDef holds a Model message of our schema: the nodes, the variables that they are and the
keys of the random generators; values, signatures and collections are a MetaGraphDef's.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence
from typing import Any

from google.protobuf.message import DecodeError

from graphio.framework import registered
from graphio.model.export import build_model, graph_message, node_message
from graphio.protos import tensorflow_messages
from graphio.protos.node_def import NodeDef, View, message_of
from graphio.schema import model_pb2, tensorflow_pb2
from graphio.support.version import GRAPH_DEF_VERSION

__all__ = [
    "GraphDef",
    "ModelView",
    "export_graph_def",
    "foreign_of",
    "functions_of",
    "graph_def_of",
]

_ADD_SHAPES = "graph_def/add_shapes"
#: fields of a Model message that are the graph
_GRAPH_FIELDS = (
    "opset", "graph", "function", "variable", "resource", "producer", "seed", "has_seed",
)  # fmt: skip


class VersionDef:
    """Versions of the format: `producer`, `min_consumer`, `bad_consumers`."""

    def __init__(self) -> None:
        self.producer, self.min_consumer = GRAPH_DEF_VERSION, 0
        self.bad_consumers: list[int] = []

    def CopyFrom(self, other: Any) -> None:
        """Accepted: files of ours carry their own versions."""


class FunctionLibrary:
    """Functions of a graph: none, bodies are in the nodes that run them."""

    def __init__(self) -> None:
        self.function: list[Any] = []
        self.gradient: list[Any] = []

    def CopyFrom(self, other: Any) -> None:
        """Accepted: the library is empty."""


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
        """Inserts a copy of a node before an index."""
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
                "these bytes are TensorFlow's own; graphio.tensorflow_files reads its frozen "
                "graphs and SavedModels"
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

    ParseFromString takes TensorFlow's bytes, too: then this is TensorFlow's message, with its
    nodes and functions.

    Attributes:
        node: its nodes, in order of creation; they can be changed, added and deleted.
        versions, library: for programs that look at them.
    """

    def __init__(self, node: Iterable[Any] = ()) -> None:
        super().__init__()
        #: TensorFlow's message where this is one
        self._foreign: tensorflow_pb2.GraphDef | None = None
        self.node.extend(node)

    @classmethod
    def of(cls, model: model_pb2.Model, functions: dict[str, Any] | None = None) -> GraphDef:
        """The view of a message."""
        made = cls()
        made._message, made._functions = model, {} if functions is None else functions
        return made

    def _part(self) -> model_pb2.Model:
        """A message of the graph alone: that of a MetaGraphDef has more."""
        made = model_pb2.Model()
        made.CopyFrom(self._message)
        for field, _ in self._message.ListFields():
            if field.name not in _GRAPH_FIELDS:
                made.ClearField(field.name)
        made.metadata.extend(e for e in self._message.metadata if e.key == _ADD_SHAPES)
        return made

    def CopyFrom(self, other: Any) -> None:
        """Takes over the graph of another; what else a MetaGraphDef holds stays."""
        self._foreign = foreign_of(other)
        if self._foreign is not None:
            self._message.Clear()
            return
        part, functions = GraphDef.of(graph_def_of(other))._part(), dict(functions_of(other))
        for field in _GRAPH_FIELDS:
            self._message.ClearField(field)
        rest = [entry for entry in self._message.metadata if entry.key != _ADD_SHAPES]
        del self._message.metadata[:]
        self._message.metadata.extend(rest)
        self._message.MergeFrom(part)
        self._functions.clear()
        self._functions.update(functions)

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes the graph of its bytes; raises DecodeError for those of another format."""
        parsed = ModelView()
        try:
            length = parsed.ParseFromString(serialized)
        except DecodeError:
            foreign = tensorflow_pb2.GraphDef.FromString(serialized)
            if not foreign.node or not all(node.op for node in foreign.node):
                raise
            self._message.Clear()
            self._foreign = foreign
            return len(serialized)
        self.CopyFrom(parsed)
        return length

    def SerializeToString(self, **options: Any) -> bytes:
        """The bytes; deterministic=True gives the same for the same graph in all versions."""
        message = self._part() if self._foreign is None else self._foreign
        data: bytes = message.SerializeToString(**options)
        return data

    def ByteSize(self) -> int:
        """The number of bytes of SerializeToString."""
        return (self._part() if self._foreign is None else self._foreign).ByteSize()

    def ClearField(self, name: str) -> None:
        """Empties a part."""
        if name == "node":
            del self.node[:]
        elif self._foreign is not None:
            self._foreign.ClearField(name)
        elif name not in ("versions", "library"):
            self._message.ClearField(name)

    def __eq__(self, other: object) -> bool:
        if self._foreign is not None:
            return self._foreign == foreign_of(other)
        try:
            return self._part() == GraphDef.of(graph_def_of(other))._part()
        except TypeError:
            return False

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """Text of TensorFlow's message; google.protobuf.text_format gives that of ours."""
        return str(self.tensorflow_message())

    __repr__ = __str__

    def tensorflow_message(self) -> tensorflow_pb2.GraphDef:
        """TensorFlow's message of the nodes; import_graph_def takes this GraphDef, not that."""
        if self._foreign is not None:
            return self._foreign
        return tensorflow_messages.graph_message(
            self.node, GRAPH_DEF_VERSION if self._message.producer else 0
        )

    @property
    def node(self) -> Any:
        """The nodes."""
        return NodeList(self._message) if self._foreign is None else self._foreign.node

    @property
    def versions(self) -> Any:
        """Versions of TensorFlow's format, for programs that look at them."""
        return VersionDef() if self._foreign is None else self._foreign.versions

    @property
    def library(self) -> Any:
        """Functions: none, but in a message of TensorFlow's."""
        return FunctionLibrary() if self._foreign is None else self._foreign.library

    def HasField(self, name: str) -> bool:
        """Whether a part is there."""
        if self._foreign is not None:
            return name == "node" or self._foreign.HasField(name)
        return name == "versions" or (name != "library" and bool(self._message.HasField(name)))


def foreign_of(value: Any) -> tensorflow_pb2.GraphDef | None:
    """TensorFlow's message that a GraphDef is, or that value is itself; else None."""
    if isinstance(value, GraphDef):
        return value._foreign
    return value if isinstance(value, tensorflow_pb2.GraphDef) else None


def graph_def_of(value: Any) -> model_pb2.Model:
    """The Model message of a GraphDef, of a Graph message or of a Model message.

    Raises:
        TypeError: it is none of them.
    """
    if foreign_of(value) is not None:
        raise TypeError(
            "this GraphDef is TensorFlow's own: add it to a graph by tf.import_graph_def, and take "
            "Graph.as_graph_def()"
        )
    message = message_of(value)
    if isinstance(message, model_pb2.Graph):
        return model_pb2.Model(graph=message)
    if not isinstance(message, model_pb2.Model):
        raise TypeError(f"graph_def must be a GraphDef proto, but got {type(value).__name__}.")
    return message


def export_graph_def(graph: Any, add_shapes: bool = False) -> GraphDef:
    """A graph's GraphDef; constants are inline whatever their size."""
    if graph.outer is None:
        model, _ = build_model(graph, [], prune=False, bodies=False, inline=True)
        del model.collection[:]
    else:
        model = model_pb2.Model(graph=graph_message(graph))
    if add_shapes:
        model.metadata.add(key=_ADD_SHAPES, value="1")
    return GraphDef.of(model, dict(graph.root.host_functions))


registered.graph_def.register(export_graph_def)
registered.graph_def_versions.register(VersionDef)


@registered.node_def.register
def _node_def(operation: Any) -> NodeDef:
    return NodeDef.of(node_message(operation))
