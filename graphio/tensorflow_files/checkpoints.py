"""The values of a SavedModel's variables: which key of its checkpoint each has, and which train."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphio.schema import tensorflow_pb2 as pb
from graphio.storage import stores
from graphio.tensorflow_files.bodies import Body, Key, Node, behind
from graphio.tensorflow_files.importing import VARIABLES, Importer
from graphio.tensorflow_files.values import array_of
from graphio.train.interop.reading import is_file
from graphio.train.interop.tensorflow import VALUE, TensorFlowSource

__all__ = ["Stored"]

Array = np.ndarray[Any, Any]
_PASSING = ("Cast", "Identity", "RefIdentity", "Reshape")
_ASSIGNING = ("Assign", "AssignVariableOp")


class Stored:
    """The values of the graph's variables in the checkpoint of a SavedModel.

    The nodes that would restore them say which key is whose.

    Args:
        folder: of the SavedModel.
        meta: its graph.
        importer: which reads the graph.

    Raises:
        NotFoundError, DataLossError: the checkpoint lacks a file or is damaged.
    """

    def __init__(self, folder: str, meta: pb.MetaGraphDef, importer: Importer) -> None:
        prefix = stores.join(stores.join(folder, "variables"), "variables")
        is_there = is_file(prefix + ".index")
        self._source = TensorFlowSource(prefix) if is_there else None
        self._prefix, self._meta = prefix, meta
        self._last: tuple[str, Array] | None = None
        #: node of a variable to the key of its value, and the part of it that is meant
        self.keys = dict(_restored(importer, meta.saver_def.restore_op_name))
        self._known = _known(meta, {n: key for n, (key, _) in self.keys.items()})

    def __call__(self, name: str) -> tuple[Array | None, bool, str]:
        """The value of a variable's node, None where there is none, whether it trains, and what
        the program called it.

        Raises:
            ValueError: the checkpoint that is there has no such value.
        """
        key, part = self.keys.get(name, (name, ""))
        trainable, label = self._known.get(name, (False, ""))
        if self._source is None:
            if name in self.keys:
                raise ValueError(
                    f"its value is not there: {self._prefix}.index is missing; copy the folder "
                    "'variables' that belongs to this SavedModel"
                )
            return None, trainable, label
        entries = self._source.entries()
        known = next((k for k in (key, key.removesuffix(VALUE)) if k in entries), None)
        if known is None and name not in self.keys:
            return None, trainable, label
        if known is None:
            raise ValueError(
                f"its value is not there: the checkpoint {self._prefix} has no key '{key}'"
            )
        return _part(self._array(self._source, known), part), trainable, label

    def _array(self, source: TensorFlowSource, key: str) -> Array:
        """A value; the parts of one follow one another, so it is read once for all of them."""
        if self._last is None or self._last[0] != key:
            self._last = key, source.array(key)
        return self._last[1]


def _part(array: Array, text: str) -> Array:
    """A slice of a saved variable: "10 4 0,5:-", its shape and its slices."""
    if not text:
        return array
    *_, last = text.split(" ")
    positions = []
    for axis in last.split(":"):
        first, comma, length = axis.partition(",")
        if axis == "-":
            positions.append(slice(None))
        elif comma and first.isdigit() and length.isdigit():
            positions.append(slice(int(first), int(first) + int(length)))
        else:
            raise ValueError(f"its part of the checkpoint is written as '{text}'")
    if len(positions) != array.ndim:
        raise ValueError(f"its part '{text}' is of another rank than the value in the checkpoint")
    return array[tuple(positions)]


# ---- which key is whose ----


def _restored(importer: Importer, name: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Nodes of variables with the keys and slices that the restoring nodes read for them."""
    main = importer.main
    restore = main.nodes.get(name.partition(":")[0])
    if restore is None:
        return
    if restore.op in ("PartitionedCall", "StatefulPartitionedCall"):
        called = importer.called(restore)
        body = importer.body(called[0]) if called else main
        given = dict(zip(body.args, restore.inputs, strict=False))
        found = list(body.nodes.values())
    else:
        body, given, found = main, {}, _before(main, restore)
    strings = {n.name: _strings(n) for n in found if n.op == "Const"}
    for node in found:
        yield from _assigned(main, body, node, given, strings)


def _before(body: Body, node: Node) -> list[Node]:
    """Nodes that run before one, by its inputs and control inputs."""
    found: dict[str, Node] = {}
    waiting = [node.name]
    while waiting:
        name = waiting.pop()
        if name in body.nodes and name not in found:
            found[name] = body.nodes[name]
            waiting += [*(k[0] for k in found[name].inputs), *found[name].controls]
    return list(found.values())


def _assigned(
    main: Body, body: Body, node: Node, given: dict[str, Key], strings: dict[str, list[str]]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """The variable that a node assigns a value to that it restored, with its key."""
    if node.op not in _ASSIGNING or len(node.inputs) < 2:
        return
    target, value = (behind(body, key, _PASSING) for key in node.inputs[:2])
    variable = main.nodes.get(given.get(target[0], target)[0])
    restore = body.nodes.get(value[0])
    if variable is None or variable.op not in VARIABLES or restore is None:
        return
    if restore.op != "RestoreV2" or len(restore.inputs) < 3:
        return
    names, slices = (strings.get(key[0], []) for key in restore.inputs[1:3])
    if value[1] < len(names):
        yield variable.name, (names[value[1]], (slices + [""] * len(names))[value[1]])


def _strings(node: Node) -> list[str]:
    """The strings of a constant; none where it holds something else."""
    proto = node.attr["value"].tensor if "value" in node.attr else pb.TensorProto()
    if proto.dtype != pb.DataType.DT_STRING:
        return []
    return [bytes(text).decode(errors="replace") for text in array_of(proto).reshape(-1)]


# ---- which train ----


def _known(meta: pb.MetaGraphDef, keys: dict[str, str]) -> dict[str, tuple[bool, str]]:
    """Nodes of variables to whether an optimizer changes them, and their names in the program."""
    if meta.object_graph_def.nodes:
        objects = meta.object_graph_def.nodes
        found = {name: _object(objects, key) for name, key in keys.items()}
        return {name: (entry.trainable, entry.name) for name, entry in found.items()}
    if "trainable_variables" not in meta.collection_def:
        floating = (pb.DataType.DT_FLOAT, pb.DataType.DT_DOUBLE, pb.DataType.DT_HALF)
        types = {n.name: n.attr["dtype"].type for n in meta.graph_def.node if n.op in VARIABLES}
        return {name: (types.get(name) in floating, "") for name in keys}
    listed = set()
    for data in meta.collection_def["trainable_variables"].bytes_list.value:
        try:
            listed.add(pb.VariableDef.FromString(data).variable_name.partition(":")[0])
        except DecodeError:
            continue
    return {name: (name in listed, "") for name in keys}


def _object(objects: Any, key: str) -> pb.SavedVariable:
    """The variable at the end of a key's path through the object graph."""
    at = objects[0]
    for step in key.removesuffix(VALUE).split("/"):
        label = step.replace(".S", "/").replace("..", ".")
        child = next((c.node_id for c in at.children if c.local_name == label), -1)
        if not 0 <= child < len(objects):
            return pb.SavedVariable()
        at = objects[child]
    variable: pb.SavedVariable = at.variable
    return variable
