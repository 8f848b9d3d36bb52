"""From a Model message back to a graph: its nodes, variables, generators and collections."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import DecodeError

from graphio.engine.media import functions
from graphio.framework import dtypes, scopes, source
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.save_slice_info import SaveSliceInfo, read_part
from graphio.framework.tensor_shape import TensorShape
from graphio.model import plain_nodes, registered
from graphio.model.node_order import in_order, variable_of
from graphio.model.sharper_shapes import is_sharper, sharper
from graphio.model.static_types import static_type
from graphio.schema import fused, model_pb2, tensors
from graphio.support import errors
from graphio.support.collecting import without_collector
from graphio.variables.variables import Variable

__all__ = ["Imported", "Importer", "import_model"]

Array = np.ndarray[Any, Any]
T = TypeVar("T")
Values = MutableMapping[str, Tensor]  # the readable values, by name

#: attributes that hold the number of an element type
_DTYPE_KEYS = ("dtype", "to")


@dataclass
class Imported:
    """The graph elements made from a model, by the names in its file.

    Attributes:
        values: tensors by value ("node", "node:1").
        operations: operations by node.
        variables: variables that have a Variable node.
        inputs, outputs: of each signature, tensors by key.
        targets: of each signature.
    """

    values: dict[str, Tensor] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    inputs: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    outputs: dict[str, dict[str, Tensor]] = field(default_factory=dict)
    targets: dict[str, list[Operation]] = field(default_factory=dict)


@without_collector
def import_model(
    model: model_pb2.Model,
    arrays: Sequence[Array],
    prefix: str | None = None,
    *,
    replaced: Mapping[str, Tensor] | None = None,
    clear_devices: bool = False,
    functions: Mapping[str, Any] | None = None,
) -> Imported:
    """Adds a model to the default graph.

    Args:
        model: a verified message.
        arrays: what its attributes refer to by index.
        prefix: a name scope to put it in, made unique; None: the names are kept where they are
            not taken.
        replaced: tensors to read in the place of values of the model.
        clear_devices: True discards the devices that the nodes request.
        functions: functions of this program by the names that nodes call them by.

    Returns:
        What the names of the file stand for now. Values of variables are not part of a graph:
        they are model.variable[i].value, for a session's state.

    Raises:
        ValueError: the default graph is the body of a loop or branch, a name is malformed, or a
            node reads what is not there.
    """
    model = fused.unfused(model)  # so that everything has a gradient
    graph = scopes.get_default_graph()
    if graph.outer is not None:
        raise ValueError("a model cannot be imported into the body of a loop or branch")
    with (
        graph.unchanged_on_error(),
        scopes.control_dependencies(None),
        scopes.name_scope(prefix),
    ):
        importer = Importer(graph, arrays, replaced, clear_devices, functions)
        importer.graph_and_state(model, graph)
        importer.signatures(model.signature)
        importer.collections(model.collection)
    if model.has_seed and graph.seed is None:
        graph.seed = model.seed
    return importer.found


class Importer:
    """Adds nodes of a message to a graph.

    Args:
        graph: the root graph.
        arrays: what attributes refer to by index.
        replaced: tensors to read in the place of values of the message.
        clear_devices: True discards the devices that the nodes request.
        functions: functions of this program by the names that nodes call them by.
    """

    def __init__(
        self,
        graph: Graph,
        arrays: Sequence[Array],
        replaced: Mapping[str, Tensor] | None = None,
        clear_devices: bool = False,
        functions: Mapping[str, Any] | None = None,
    ) -> None:
        self.graph = graph
        self.arrays = arrays
        self.replaced = replaced or {}
        self.clear_devices = clear_devices
        self.functions = functions or {}
        self.found = Imported()
        #: values whose static shape may be another than the message says
        self.loosened: set[Tensor] = set()
        #: values of whose static shape more is known than the message says
        self.sharpened: set[Tensor] = set()
        #: "variable", "generator" and "function" attributes: names in the file to the graph's
        self.renamed: dict[tuple[str, str], str] = {}
        self._types: dict[bytes, tuple[dtypes.DType, TensorShape]] = {}
        self._lines: dict[source.Source, source.Source] = {}

    def graph_and_state(self, model: model_pb2.Model, graph: Graph) -> None:
        """The nodes into the root graph or a body of it, with their variables and generators."""
        self.generators(model.resource)
        for node in in_order(model.graph):
            self.node(graph, node, self.found.values)
        self.variables([v for v in model.variable if v.node in self.found.operations])

    def generators(self, resources: Sequence[model_pb2.Resource]) -> None:
        for resource in resources:
            if resource.WhichOneof("kind") == "generator":
                key = resource.generator.key if resource.generator.seeded else None
                name = self.graph.adopt_generator(resource.name, key)
                self.renamed["generator", resource.name] = name

    def host_function(self, node: model_pb2.Node) -> None:
        """A name for the node's function that nothing in the graph has yet."""
        for attribute in node.attr:
            name = attribute.value.s.decode()
            if attribute.key == "function" and functions.is_known(name):
                self.renamed["function", name] = name
            elif attribute.key == "function" and ("function", name) not in self.renamed:
                self.renamed["function", name] = self.graph.add_host_function(
                    name, self.functions.get(name) or registered.summary_function(name)
                )

    # ---- nodes ----

    def node(self, graph: Graph, node: model_pb2.Node, values: Values) -> None:
        """One node into a graph or body; values: what can be read there, which grows."""
        ours, op = node.domain == "graphio", node.op
        if ours and op == "HostCall":
            self.host_function(node)
        inputs = self.inputs(node, values)
        if plain_nodes.is_plain(node):
            made = plain_nodes.build(node, inputs)
        else:
            made = self.made(graph, node, inputs, values)
        if node.device and not self.clear_devices:
            made.device = node.device
            graph.root.has_devices = True
        name = node.name
        if node.control_input:
            operations, who = self.found.operations, f"Node '{name}'"
            made.awaited.extend(_known(operations, other, who) for other in node.control_input)
        if ours and op == "Variable":
            self.renamed["variable", variable_of(node) or ""] = made.name
            made.attrs["variable"] = made.name
        self.found.operations[name] = made
        for k, tensor in enumerate(made.outputs):
            values[name if k == 0 else f"{name}:{k}"] = tensor

    def made(
        self,
        graph: Graph,
        node: model_pb2.Node,
        inputs: Sequence[Tensor | None],
        values: Values,
    ) -> Operation:
        attrs, at = {}, node.source
        line = source.Source(at.file, at.line, at.function)
        for attribute in node.attr:
            key = attribute.key
            attrs[key] = self.attribute(node, key, attribute.value, graph, values)
        made = graph.add_operation(
            node.op,
            inputs,
            self.output_types(node, inputs),
            attrs,
            domain=node.domain,
            version=node.version or None,
            name=node.name,
            tf_type=node.tf_type or None,
            at=self._lines.setdefault(line, line),
        )
        self.loosen(made)
        if self.sharpened:
            declared = [self.type(t)[1] for t in node.output_type]
            pairs = zip(made.outputs, declared, strict=False)
            self.sharpened.update(t for t, shape in pairs if is_sharper(t.shape, shape))
        return made

    def inputs(self, node: model_pb2.Node, values: Mapping[str, Tensor]) -> list[Tensor | None]:
        """The inputs of a node."""
        if not self.replaced:
            found = [values.get(name) for name in node.input]
            if None not in found:
                return found
        return [self.read(node, i, values) for i in range(len(node.input))]

    def read(self, node: model_pb2.Node, i: int, values: Mapping[str, Tensor]) -> Tensor | None:
        """Input i of a node; the replacement of a value must be of its dtype."""
        name = node.input[i]
        if not name:
            return None
        found, given = _known(values, name, f"Node '{node.name}'"), self.replaced.get(name)
        if given is None:
            return found
        if given.dtype != found.dtype:
            raise ValueError(
                f"Input {i} of node {node.name} was passed {given.dtype.proto_name} from "
                f"{given.name} incompatible with expected {found.dtype.proto_name}."
            )
        if not _refines(given.shape, found.shape):
            self.loosened.add(given)
        elif is_sharper(given.shape, found.shape):
            self.sharpened.add(given)
        return given

    def output_types(
        self, node: model_pb2.Node, inputs: Sequence[Tensor | None]
    ) -> list[tuple[dtypes.DType, TensorShape]]:
        """The message's types of the outputs; without shapes where an input has another shape, and
        with what follows from inputs of whose shapes more is known."""
        types = [self.type(t) for t in node.output_type]
        if self.sharpened and len(types) == 1 and not self.sharpened.isdisjoint(inputs):
            types = [(types[0][0], sharper(node, inputs, types[0][1]))]
        if not self.loosened:
            return types
        inside = any(a.value.WhichOneof("value") == "g" for a in node.attr)
        if inside or not self.loosened.isdisjoint(inputs):
            return [(dtype, TensorShape(None)) for dtype, _ in types]
        return types

    def type(self, message: model_pb2.Type) -> tuple[dtypes.DType, TensorShape]:
        """As static_type; nodes share types."""
        key = message.SerializePartialToString()
        found = self._types.get(key)
        if found is None:
            found = self._types[key] = static_type(message)
        return found

    def loosen(self, made: Operation) -> None:
        """Notes that the outputs' shapes are not the message's."""
        if self.loosened and (made.bodies() or not self.loosened.isdisjoint(made.operands)):
            self.loosened.update(made.outputs)

    def attribute(
        self,
        node: model_pb2.Node,
        key: str,
        value: model_pb2.AttributeValue,
        graph: Graph,
        values: Values,
    ) -> Any:
        kind = value.WhichOneof("value")
        if kind == "i":
            return dtypes.of_number(value.i) if key in _DTYPE_KEYS else value.i
        if kind == "s":
            return self.text(key, value.s)
        if kind == "t":
            return tensors.to_array(value.t)
        if kind == "tensor":
            if value.tensor >= len(self.arrays):
                raise ValueError(
                    f"Node '{node.name}': there is no tensor {value.tensor} in the file"
                )
            return np.array(self.arrays[value.tensor])
        if kind == "type":
            return self.type(value.type)
        if kind == "g":
            return self.body(graph, value.g, values, f"{key} of '{node.name}'")
        if kind in ("f", "d"):
            return value.f if kind == "f" else value.d
        if kind == "ints":
            return list(value.ints.i)
        if kind == "floats":
            return list(value.floats.f)
        if kind == "strings":
            return list(value.strings.s)
        raise errors.UnimplementedError(
            message=f"{node.op} '{node.name}': attribute {key!r} is of a kind ({kind}) that the "
            "builder does not have"
        )

    def text(self, key: str, value: bytes) -> str | bytes:
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return value
        return self.renamed.get((key, text), text)

    def body(self, outer: Graph, proto: model_pb2.Graph, around: Values, who: str) -> Graph:
        graph = Graph(outer=outer)
        values = ChainMap({}, *(around.maps if isinstance(around, ChainMap) else [around]))
        with graph.as_body():
            for argument in proto.input:
                dtype, shape = static_type(argument.type)
                known = TensorShape(None) if self.loosened else shape
                values[argument.name] = made = graph.add_input(dtype, known, argument.name)
                if self.loosened:
                    self.loosened.add(made)
            for node in proto.node:
                self.node(graph, node, values)
            graph.outputs.extend(
                self.replaced.get(name, _known(values, name, who)) for name in proto.output
            )
            graph.targets.extend(_known(self.found.operations, name, who) for name in proto.target)
        return graph

    # ---- references to nodes ----

    def variables(self, variables: Sequence[model_pb2.Variable]) -> None:
        values, operations = self.found.values, self.found.operations
        for proto in variables:
            initializer = operations.get(proto.initializer)
            if initializer is not None and not initializer.operands:
                raise ValueError(
                    f"variable '{proto.name}': its initializer '{proto.initializer}' assigns "
                    "nothing"
                )
            self.found.variables[proto.name] = Variable.of_nodes(
                values[proto.node],
                initializer,
                values.get(proto.initial_value),
                values.get(proto.snapshot),
                trainable=proto.trainable,
                slot_of=self.renamed.get(("variable", proto.slot_of), proto.slot_of),
                slot=proto.slot,
                part=self._part(proto),
                modes=(proto.synchronization, proto.aggregation),
            )

    def _part(self, proto: model_pb2.Variable) -> SaveSliceInfo | None:
        """The part of a partitioned variable that a variable is; both are renamed alike."""
        name = self.renamed.get(("variable", proto.name), proto.name)
        prefix = name.removesuffix(proto.name) if name.endswith(proto.name) else ""
        return read_part(proto, self.found.values[proto.node].shape, prefix)

    def signatures(self, signatures: Sequence[model_pb2.Signature]) -> None:
        found = self.found
        for proto in signatures:
            who = f"signature '{proto.name}'"
            for bindings, tensors_of in (
                (proto.input, found.inputs),
                (proto.output, found.outputs),
            ):
                tensors_of[proto.name] = {
                    b.key: _known(found.values, b.value, who) for b in bindings
                }
            found.targets[proto.name] = [
                _known(found.operations, name, who) for name in proto.target
            ]

    def collections(self, collections: Sequence[model_pb2.Collection]) -> None:
        """The file's collections; a file without any has its variables put where they belong."""
        for proto in collections:
            for item in proto.item:
                value = self.item(item)
                if proto.name == GraphKeys.SAVERS and isinstance(value, bytes):
                    value = self.saver(value)
                if proto.name == GraphKeys.QUEUE_RUNNERS and isinstance(value, bytes):
                    value = registered.queue_runner_of(value, self.found.operations)
                if value is not None:
                    self.graph.add_to_collection(proto.name, value)
        if collections:
            return
        for variable in self.found.variables.values():
            self.graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, variable)
            if variable.trainable:
                self.graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, variable)

    def saver(self, content: bytes) -> Any:
        """The Saver that an item describes; None if its variables are not in the graph."""
        message = model_pb2.Saver()
        try:
            message.ParseFromString(content)
        except DecodeError:
            return None
        return registered.saver_of(message, self.found.variables)

    def item(self, item: model_pb2.Collection.Item) -> Any:
        kind = item.WhichOneof("value")
        if kind == "variable":
            return self.found.variables.get(item.variable)
        if kind == "tensor":
            return self.found.values.get(item.tensor.removesuffix(":0"))
        if kind == "operation":
            return self.found.operations.get(item.operation)
        return getattr(item, kind) if kind else None


def _known(table: Mapping[str, T], name: str, who: str) -> T:
    """The value of a name. Raises ValueError, which names the reader, if it is not known."""
    if name not in table:
        raise ValueError(f"{who}: Unknown input node '{name}'")
    return table[name]


def _refines(shape: TensorShape, other: TensorShape) -> bool:
    """Whether all that is known of other is known of shape."""
    if other.ndims is None:
        return True
    if shape.ndims != other.ndims:
        return False
    pairs = zip(shape.as_list(), other.as_list(), strict=True)
    return all(known is None or known == size for size, known in pairs)
