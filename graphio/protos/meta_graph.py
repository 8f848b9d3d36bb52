"""MetaGraphDef: a complete graph as a message: nodes, variables, collections, signatures, a Saver.

It is a Model message of our schema without values of variables; `.meta` files hold one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, MutableSequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.model.export import build_model
from graphio.model.importing import Imported, import_model
from graphio.model.model_strings import metadata, set_metadata
from graphio.model.node_order import reads, variable_of
from graphio.protos.collection_def import Collections
from graphio.protos.graph_def import GraphDef, ModelView, graph_def_of
from graphio.protos.graph_import import element_of
from graphio.protos.node_def import View, message_of
from graphio.protos.signature_def import KeyedMap, SignatureDef
from graphio.schema import checkpoint_files, container, model_pb2, tensors
from graphio.schema.functions import all_graphs, all_nodes
from graphio.storage import stores
from graphio.support import api_guard, errors
from graphio.support.version import graphio_version

__all__ = ["MetaGraphDef", "SaverDef"]

TAGS = "saved_model/tags"
VERSION = "meta_info/version"
_LARGEST = (1 << 31) - 1  # bytes of a message


class SaverDef(View):
    """The variables of a Saver, and its number of checkpoints to keep.

    Attributes:
        max_to_keep, keep_checkpoint_every_n_hours, sharded: the Saver's arguments.
        filename_tensor_name, save_tensor_name, restore_op_name: of operators in the graph, where
            tf.train.Saver.saver_def has given the message; "" elsewhere, and not in files.
    """

    filename_tensor_name = save_tensor_name = restore_op_name = ""

    V1, V2 = 1, 2

    def __init__(self, message: model_pb2.Saver | None = None, **fields: Any) -> None:
        self._message = model_pb2.Saver() if message is None else message
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OPERATOR_NAMES:
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(_SAVER_NAMES.get(name, name), value)

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(_SAVER_NAMES.get(name, name))

    @property
    def version(self) -> int:
        """The format of checkpoints in TensorFlow's count."""
        return self.V2


_OPERATOR_NAMES = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
_SAVER_NAMES = {"keep_checkpoint_every_n_hours": "keep_every_hours"}


class TagList(MutableSequence[str]):
    """Tags of a meta graph, which are one entry of the model's metadata."""

    def __init__(self, model: model_pb2.Model) -> None:
        self._model = model

    def _all(self) -> list[str]:
        text = metadata(self._model).get(TAGS, "")
        return text.split(",") if text else []

    def _store(self, tags: list[str]) -> None:
        set_metadata(self._model, TAGS, ",".join(tags))

    def __len__(self) -> int:
        return len(self._all())

    def __getitem__(self, index: Any) -> Any:
        return self._all()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        tags = self._all()
        tags[index] = value
        self._store(tags)

    def __delitem__(self, index: Any) -> None:
        tags = self._all()
        del tags[index]
        self._store(tags)

    def insert(self, index: int, value: str) -> None:
        """Adds a tag."""
        if not value or "," in value:
            raise ValueError(f"a tag is a string without commas, not {value!r}")
        tags = self._all()
        tags.insert(index, value)
        self._store(tags)

    def __repr__(self) -> str:
        return repr(self._all())


class MetaInfo:
    """Information about a meta graph: tags and versions.

    Attributes:
        tags: its tags.
        meta_graph_version: text of the user's.
        tensorflow_version: of the program that wrote it: graphio's.
        stripped_op_list: `op`: the types of its operations, each with a `name`.
    """

    def __init__(self, model: model_pb2.Model | None = None) -> None:
        self._model = model_pb2.Model() if model is None else model

    @property
    def tags(self) -> TagList:
        """The tags."""
        return TagList(self._model)

    @property
    def tensorflow_version(self) -> str:
        """The writer's version."""
        return self._model.producer or f"graphio {graphio_version}"

    @property
    def meta_graph_version(self) -> str:
        """Text of the user's."""
        return metadata(self._model).get(VERSION, "")

    @meta_graph_version.setter
    def meta_graph_version(self, value: str) -> None:
        set_metadata(self._model, VERSION, value)

    @property
    def stripped_op_list(self) -> Any:
        """The types of its operations."""
        nodes = [n for graph in all_graphs(self._model.graph) for n in graph.node]
        return OpList(sorted({n.tf_type or n.op for n in nodes}))

    def CopyFrom(self, other: MetaInfo) -> None:
        """Takes over tags and version."""
        self.tags[:] = []
        self.tags.extend(other.tags)
        self.meta_graph_version = other.meta_graph_version


class OpDef:
    """A type of operation by its name."""

    def __init__(self, name: str) -> None:
        self.name = name


class OpList:
    """Types of operations: `op`, each with a `name`."""

    def __init__(self, names: Iterable[str]) -> None:
        self.op = [OpDef(name) for name in names]


class MetaGraphDef(ModelView):
    """A complete graph as a message.

    Attributes:
        graph_def: its GraphDef.
        meta_info_def: tags and versions.
        saver_def: of the Saver that belongs to it.
        collection_def: CollectionDef by name.
        signature_def: SignatureDef by name.
    """

    MetaInfoDef = MetaInfo

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes the message of its bytes, or of those of a .meta file.

        Raises:
            DecodeError: these are bytes of another format, or damaged.
        """
        if not serialized.startswith(container.MAGIC):
            return super().ParseFromString(serialized)
        try:
            model, arrays = container.unpack(serialized)
        except errors.DataLossError as error:
            raise DecodeError(error.message) from None
        _inline(model, arrays)
        self.CopyFrom(MetaGraphDef(model))
        return len(serialized)

    @property
    def graph_def(self) -> GraphDef:
        """The nodes."""
        return GraphDef.of(self._message, self._functions)

    @property
    def meta_info_def(self) -> MetaInfo:
        """Tags and versions."""
        return MetaInfo(self._message)

    @property
    def saver_def(self) -> SaverDef:
        """The Saver."""
        return SaverDef(self._message.saver)

    @property
    def collection_def(self) -> KeyedMap:
        """The collections by name."""
        return Collections(self._message)

    @property
    def signature_def(self) -> KeyedMap:
        """The signatures by name."""
        return KeyedMap(self._message.signature, "name", SignatureDef.of, is_sorted=True)

    def HasField(self, name: str) -> bool:
        """Whether a part is there."""
        if name == "saver_def":
            return bool(self._message.HasField("saver"))
        if name == "graph_def":
            return bool(self._message.HasField("graph"))
        return name == "meta_info_def" or bool(self._message.HasField(name))


# ---- from a graph ----


@api_guard.guarded
def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: MetaInfo | None = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **unused: Any,
) -> MetaGraphDef:
    """A graph with its collections as a message, and as a file.

    Args:
        filename: of a file to write; None: none.
        meta_info_def: tags and version to take over.
        graph_def: nodes to export instead of the graph's.
        saver_def: of the Saver to go along.
        collection_list: names of the collections to export; None: all.
        as_text: True writes protocol buffer text.
        graph: None: the default graph.
        export_scope: only nodes in this name scope, whose names lose it.
        clear_devices: True leaves out what devices the nodes wish for.
        clear_extraneous_savers: True leaves of the Savers in collections that of saver_def alone.
        strip_default_attrs, save_debug_info: accepted.

    Raises:
        ValueError: a node in export_scope reads one outside.
    """
    root = (scopes.get_default_graph() if graph is None else graph).root
    model, _ = build_model(root, [], prune=False, bodies=False, inline=True)
    if graph_def is not None:
        model.graph.CopyFrom(graph_def_of(graph_def).graph)
    if saver_def is not None:
        model.saver.CopyFrom(message_of(saver_def))
    if export_scope:
        _cut_out(model, export_scope.removesuffix("/") + "/")
    if collection_list is not None:
        requested = set(collection_list)
        _keep(model.collection, lambda c: c.name in requested)
    if clear_extraneous_savers and saver_def is not None:
        _keep_saver(model)
    drop_dangling(model)
    if clear_devices:
        _clear_devices(model)
    made = MetaGraphDef(model)
    made._functions = dict(root.host_functions)
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    if filename is not None:
        write_message(os.fspath(filename), model, as_text)
    return made


def _clear_devices(model: model_pb2.Model) -> None:
    for graph in all_graphs(model.graph):
        for node in graph.node:
            node.device = ""


def _keep_saver(model: model_pb2.Model) -> None:
    own = model.saver.SerializeToString()
    for collection in model.collection:
        if collection.name == GraphKeys.SAVERS:
            del collection.item[:]
            collection.item.add(s=own)


def _keep(messages: Any, requested: Any) -> None:
    kept = [message for message in messages if requested(message)]
    del messages[:]
    messages.extend(kept)


def drop_dangling(model: model_pb2.Model) -> None:
    """Takes variables, generators and collection items away whose nodes are not in the graph."""
    nodes = [node for graph in all_graphs(model.graph) for node in graph.node]
    present = {node.name for node in model.graph.node}
    strings = {(a.key, a.value.s) for node in nodes for a in node.attr}
    _keep(model.variable, lambda v: v.node in present)
    _keep(
        model.resource,
        lambda r: r.WhichOneof("kind") != "generator" or ("generator", r.name.encode()) in strings,
    )
    for variable in model.variable:
        for field in ("initializer", "initial_value", "snapshot"):
            if getattr(variable, field).partition(":")[0] not in present:
                setattr(variable, field, "")
    known = {v.name for v in model.variable}
    for collection in model.collection:
        _keep(collection.item, lambda item: _is_there(item, present, known))
    _keep(model.collection, lambda c: len(c.item) > 0)


def _is_there(item: model_pb2.Collection.Item, present: set[str], variables: set[str]) -> bool:
    kind = item.WhichOneof("value")
    if kind == "variable":
        return item.variable in variables
    if kind in ("tensor", "operation"):
        return str(getattr(item, kind)).partition(":")[0] in present
    return True


def _cut_out(model: model_pb2.Model, scope: str) -> None:
    """Keeps the nodes of a name scope, and takes the scope off their names."""
    _keep(model.graph.node, lambda node: node.name.startswith(scope))
    present = {node.name for node in model.graph.node}
    for node in model.graph.node:
        for value in (*reads(node), variable_of(node) or node.name):
            if value.partition(":")[0] not in present:
                raise ValueError(
                    f"'{node.name}' is in the scope '{scope}' but reads '{value}', which is not: "
                    "export the scope around both"
                )
    drop_dangling(model)
    for node in [n for graph in all_graphs(model.graph) for n in graph.node]:
        _rename_node(node, scope)
    for graph in all_graphs(model.graph):
        for argument in graph.input:
            argument.name = argument.name.removeprefix(scope)
        for names in (graph.output, graph.capture, graph.target):
            names[:] = [name.removeprefix(scope) for name in names]
    for variable in model.variable:
        for field in ("name", "node", "initializer", "initial_value", "snapshot", "slot_of"):
            setattr(variable, field, getattr(variable, field).removeprefix(scope))
    for resource in model.resource:
        resource.name = resource.name.removeprefix(scope)
    for item in [item for c in model.collection for item in c.item]:
        kind = item.WhichOneof("value")
        if kind in ("variable", "tensor", "operation"):
            setattr(item, kind, getattr(item, kind).removeprefix(scope))
    model.saver.variable[:] = [name.removeprefix(scope) for name in model.saver.variable]
    if not model.saver.variable:
        model.ClearField("saver")


def _rename_node(node: model_pb2.Node, scope: str) -> None:
    node.name = node.name.removeprefix(scope)
    for names in (node.input, node.control_input):
        names[:] = [name.removeprefix(scope) for name in names]
    for attribute in node.attr:
        if attribute.key in ("variable", "generator"):
            attribute.value.s = attribute.value.s.removeprefix(scope.encode())


# ---- files ----


def write_message(path: str, model: model_pb2.Model, as_text: bool) -> None:
    """Writes a model without arrays, in one step: a .gio file, or text; makes the folder."""
    stores.make_folder(stores.split(path)[0])
    data = text_format.MessageToString(model).encode() if as_text else container.pack(model, [])
    stores.write(path, [data])


def read_message(path: str | os.PathLike[str], *, follow: bool = True) -> model_pb2.Model:
    """The model of a file that write_message or a Saver wrote, its arrays inline.

    Args:
        path: of the file.
        follow: False refuses a symbolic link.

    Raises:
        OSError: there is no such file, or it is none of these.
    """
    where = os.fspath(path)
    store, name = stores.of(where)
    name = checkpoint_files.graph_name(store, name)
    if not store.exists(name):
        raise OSError(f"File {where} does not exist.")
    data = store.read(name, follow=follow)
    if data.startswith(container.MAGIC):
        model, arrays = container.unpack(data)
        _inline(model, arrays)
        return model
    model = model_pb2.Model()
    try:
        text_format.Parse(data.decode(), model)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        text = errors.printable(str(error))
        raise OSError(
            f"Cannot parse file {where}: {text} (it is none of graphio's; models of TensorFlow's "
            "own format come in through ONNX)"
        ) from None
    return model


def _inline(model: model_pb2.Model, arrays: Any) -> None:
    """Puts the arrays of a file into the attributes that refer to them.

    Raises:
        OSError: an attribute refers to none, or all together are larger than a message can be:
            one array may be meant by many.
    """
    size = 0
    for value in _values(model):
        if value.WhichOneof("value") == "tensor":
            if value.tensor >= len(arrays):
                raise OSError(f"Cannot parse file: there is no tensor {value.tensor} in it")
            size += arrays[value.tensor].nbytes
            if size > _LARGEST:
                raise OSError(f"Cannot parse file: its constants have more than {_LARGEST} bytes")
            value.t.CopyFrom(tensors.from_array(arrays[value.tensor]))
    if not any(v.HasField("value") for v in model.variable):
        del model.tensor[:]


def _values(model: model_pb2.Model) -> Iterator[model_pb2.AttributeValue]:
    for node in all_nodes(model.graph):
        for attribute in node.attr:
            yield attribute.value


# ---- into a graph ----


def import_message(
    model: model_pb2.Model,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Mapping[str, Tensor] | None = None,
    return_elements: Iterable[str] | None = None,
    functions: Mapping[str, Any] | None = None,
) -> tuple[Imported, list[Tensor | Operation]]:
    """Adds a meta graph to the default graph: nodes, variables and collections.

    Names get import_scope before them, which is in the current name scope, or the latter alone.
    """
    replaced = {key.removesuffix(":0"): value for key, value in (input_map or {}).items()}
    around = scopes.get_default_graph().get_name_scope()
    found = import_model(
        model,
        [],
        import_scope or (f"{around}/" if around else None),
        replaced=replaced,
        clear_devices=clear_devices,
        functions=functions,
    )
    requested = [element_of(name, found.operations, replaced) for name in return_elements or ()]
    return found, requested
