"""From a Model message back to a graph: its nodes, variables, generators and collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio import dtypes, scopes
from graphio.collections import GraphKeys
from graphio.graph import Graph, Operation, Tensor
from graphio.schema import errors, model_pb2, tensors
from graphio.source import Source
from graphio.tensor_shape import TensorShape
from graphio.variables import Variable

__all__ = ["Imported", "import_model"]

Array = np.ndarray[Any, Any]

#: attributes that hold the number of an element type
_DTYPE_KEYS = ("dtype", "to")


@dataclass
class Imported:
    """What a model became, by the names in its file.

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


def import_model(
    model: model_pb2.Model, arrays: Sequence[Array], prefix: str | None = None
) -> Imported:
    """Adds a model to the default graph.

    Args:
        model: a verified message.
        arrays: what its attributes refer to by index.
        prefix: a name scope to put it in, made unique; None: the names are kept where they are
            not taken.

    Returns:
        What the names of the file stand for now. Values of variables are not part of a graph:
        they are model.variable[i].value, for a session's state.

    Raises:
        ValueError: the default graph is the body of a loop or branch, or a name is malformed.
    """
    graph = scopes.get_default_graph()
    if graph.outer is not None:
        raise ValueError("a model cannot be imported into the body of a loop or branch")
    with scopes.control_dependencies(None), scopes.name_scope(prefix):
        importer = _Importer(graph, arrays)
        importer.generators(model.resource)
        for node in model.graph.node:
            importer.node(graph, node, importer.found.values)
        importer.variables(model.variable)
        importer.signatures(model.signature)
        importer.collections(model.collection)
    if model.has_seed and graph.seed is None:
        graph.seed = model.seed
    return importer.found


class _Importer:
    def __init__(self, graph: Graph, arrays: Sequence[Array]) -> None:
        self.graph = graph
        self.arrays = arrays
        self.found = Imported()
        #: "variable", "generator" and "function" attributes: names in the file to the graph's
        self.renamed: dict[tuple[str, str], str] = {}

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
            if attribute.key == "function" and ("function", name) not in self.renamed:
                self.renamed["function", name] = self.graph.add_host_function(name, None)

    # ---- nodes ----

    def node(self, graph: Graph, node: model_pb2.Node, values: dict[str, Tensor]) -> None:
        """One node into a graph or body; values: what can be read there, which grows."""
        if (node.domain, node.op) == ("graphio", "HostCall"):
            self.host_function(node)
        attrs = {a.key: self.attribute(node, a.key, a.value, graph, values) for a in node.attr}
        made = graph.create_op(
            node.op,
            [values[name] if name else None for name in node.input],
            [static_type(t) for t in node.output_type],
            attrs,
            domain=node.domain,
            version=node.version,
            name=node.name,
            tf_type=node.tf_type or None,
        )
        made.device = node.device
        made.source = Source(node.source.file, node.source.line, node.source.function)
        made.control_inputs.extend(self.found.operations[name] for name in node.control_input)
        if node.op == "Variable" and node.domain == "graphio":
            self.renamed["variable", made.attrs["variable"]] = made.name
            made.attrs["variable"] = made.name
        self.found.operations[node.name] = made
        for k, tensor in enumerate(made.outputs):
            values[node.name if k == 0 else f"{node.name}:{k}"] = tensor

    def attribute(
        self,
        node: model_pb2.Node,
        key: str,
        value: model_pb2.AttributeValue,
        graph: Graph,
        values: dict[str, Tensor],
    ) -> Any:
        kind = value.WhichOneof("value")
        if kind == "i":
            return dtypes.of_number(value.i) if key in _DTYPE_KEYS else value.i
        if kind == "s":
            return self.text(key, value.s)
        if kind == "t":
            return tensors.to_array(value.t)
        if kind == "tensor":
            return np.array(self.arrays[value.tensor])
        if kind == "type":
            return static_type(value.type)
        if kind == "g":
            return self.body(graph, value.g, values)
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

    def body(self, outer: Graph, proto: model_pb2.Graph, around: dict[str, Tensor]) -> Graph:
        graph = Graph(outer=outer)
        values = dict(around)
        with graph.as_body():
            for argument in proto.input:
                dtype, shape = static_type(argument.type)
                values[argument.name] = graph.add_input(dtype, shape, argument.name)
            for node in proto.node:
                self.node(graph, node, values)
            graph.outputs.extend(values[name] for name in proto.output)
            graph.targets.extend(self.found.operations[name] for name in proto.target)
        return graph

    # ---- what refers to nodes ----

    def variables(self, variables: Sequence[model_pb2.Variable]) -> None:
        for proto in variables:
            if not proto.node:
                continue
            values, operations = self.found.values, self.found.operations
            self.found.variables[proto.name] = Variable.of_nodes(
                values[proto.node],
                operations.get(proto.initializer),
                values.get(proto.initial_value),
                values.get(proto.snapshot),
                trainable=proto.trainable,
                slot_of=self.renamed.get(("variable", proto.slot_of), proto.slot_of),
                slot=proto.slot,
            )

    def signatures(self, signatures: Sequence[model_pb2.Signature]) -> None:
        found = self.found
        for proto in signatures:
            found.inputs[proto.name] = {b.key: found.values[b.value] for b in proto.input}
            found.outputs[proto.name] = {b.key: found.values[b.value] for b in proto.output}
            found.targets[proto.name] = [found.operations[name] for name in proto.target]

    def collections(self, collections: Sequence[model_pb2.Collection]) -> None:
        """The file's collections; a file without any has its variables put where they belong."""
        for proto in collections:
            for item in proto.item:
                value = self.item(item)
                if value is not None:
                    self.graph.add_to_collection(proto.name, value)
        if collections:
            return
        for variable in self.found.variables.values():
            self.graph.add_to_collection(GraphKeys.GLOBAL_VARIABLES, variable)
            if variable.trainable:
                self.graph.add_to_collection(GraphKeys.TRAINABLE_VARIABLES, variable)

    def item(self, item: model_pb2.Collection.Item) -> Any:
        kind = item.WhichOneof("value")
        if kind == "variable":
            return self.found.variables.get(item.variable)
        if kind == "tensor":
            return self.found.values.get(item.tensor.removesuffix(":0"))
        if kind == "operation":
            return self.found.operations.get(item.operation)
        return getattr(item, kind) if kind else None


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
