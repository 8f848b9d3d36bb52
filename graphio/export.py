"""From a graph to a Model message and its arrays: for files, and for every run of a Session.

The same program writes the same bytes: everything is in order of creation or sorted by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio import dtypes
from graphio.dtypes import DType
from graphio.graph import Graph, Operation, Tensor
from graphio.schema import errors, model_pb2, operators, tensors, verify
from graphio.schema.collecting import without_collector
from graphio.tensor_shape import TensorShape
from graphio.version import __version__

__all__ = ["SignatureSpec", "build_model", "graph_message", "node_message", "value_name"]

Array = np.ndarray[Any, Any]
INLINE_BELOW = 1024  # bytes; larger constants lie in the data section


@dataclass
class SignatureSpec:
    """A signature to be: inputs and outputs by key in the order of the C call."""

    name: str
    inputs: Sequence[tuple[str, Tensor]] = ()
    outputs: Sequence[tuple[str, Tensor]] = ()
    targets: Sequence[Operation] = ()
    method: str = ""


def value_name(tensor: Tensor) -> str:
    """A value's name in files: "node", or "node:k" from the second output on."""
    return tensor.op.name if tensor.value_index == 0 else f"{tensor.op.name}:{tensor.value_index}"


@without_collector
def build_model(
    graph: Graph,
    signatures: Sequence[SignatureSpec],
    state: Any = None,
    prune: bool = True,
    bodies: bool = True,
    metadata: Mapping[str, str] | None = None,
    inline: bool = False,
) -> tuple[model_pb2.Model, list[Array]]:
    """A model of a graph and the arrays that its file holds.

    Args:
        graph: a root graph.
        signatures: its ways to be run.
        state: an engine's state whose variables and generators go along; None: no values.
        prune: True keeps what the signatures need and the initializers of their variables.
        bodies: True adds the function bodies of our operators.
        metadata: text by key.
        inline: True keeps all constants in the message, whatever their size.

    Raises:
        InvalidArgumentError: a signature feeds one tensor twice, or has one that may not be fed or
            fetched; a name or metadata that C programs
            are given has a zero byte.
    """
    writer = _Writer(inline_below=1 << 62) if inline else _Writer()
    model = model_pb2.Model(producer=f"graphio {__version__}")
    kept = _needed(graph, signatures) if prune else graph.operations
    for operation in kept:
        writer.node(model.graph.node.add(), operation)
    for spec in sorted(signatures, key=lambda s: s.name):
        _check_marks(graph, spec)
        _check_feeds(spec)
        writer.signature(model.signature.add(), spec)
    used = writer.written
    writer.variables(model, graph, used, state, everything=not prune)
    writer.resources(model, graph, used, state, everything=not prune)
    if bodies:
        _add_bodies(model, used)
    if not prune:
        writer.collections(model, graph)
    _add_opsets(model, used)
    if graph.seed is not None:
        model.seed, model.has_seed = graph.seed, True
    for key in sorted(metadata or {}):
        model.metadata.add(key=key, value=(metadata or {})[key])
    if problems := verify.text_problems(model):
        raise errors.InvalidArgumentError(message=f"a file cannot have this: {'; '.join(problems)}")
    return model, writer.arrays


def _check_marks(graph: Graph, spec: SignatureSpec) -> None:
    """Refuses what Graph.prevent_feeding and prevent_fetching have marked."""
    feeds = [t.name for _, t in spec.inputs if t.graph is graph and not graph.is_feedable(t)]
    results: list[Tensor | Operation] = [*(t for _, t in spec.outputs), *spec.targets]
    fetches = [r.name for r in results if r.graph is graph and not graph.is_fetchable(r)]
    problems = [f"input {name} may not be fed" for name in feeds]
    problems += [f"{name} may not be fetched" for name in fetches]
    if problems:
        raise errors.InvalidArgumentError(
            message=f"signature {spec.name!r}: {'; '.join(problems)}: it was marked so"
        )


def _check_feeds(spec: SignatureSpec) -> None:
    fed: dict[Tensor, str] = {}
    for key, tensor in spec.inputs:
        if fed.setdefault(tensor, key) != key:
            raise errors.InvalidArgumentError(
                message=f"signature {spec.name!r} feeds '{tensor.name}' twice, as {fed[tensor]!r} "
                f"and as {key!r}; feed a tensor of its own for each, such as tf.identity of it"
            )


def node_message(operation: Operation) -> model_pb2.Node:
    """One operation as a message; its constants are inline whatever their size."""
    node = model_pb2.Node()
    _Writer(inline_below=1 << 62).node(node, operation)
    return node


def graph_message(graph: Graph) -> model_pb2.Graph:
    """All operations of a graph as a message; constants are inline whatever their size."""
    message = model_pb2.Graph()
    writer = _Writer(inline_below=1 << 62)
    for operation in graph.operations:
        writer.node(message.node.add(), operation)
    return message


# ---- which nodes ----


def _needed(graph: Graph, signatures: Sequence[SignatureSpec]) -> list[Operation]:
    found: set[Operation] = set()
    for spec in signatures:
        fed = {tensor for _, tensor in spec.inputs}
        roots = [t.op for _, t in spec.outputs if t not in fed]
        found |= reach([*roots, *spec.targets], fed)[0]
        # A value that is fed still has its producer in the file, with all that this reads.
        found |= reach([tensor.op for tensor in fed], set())[0]
    if _persistent(signatures):
        found |= _initializers(graph, found)
    return [op for op in graph.operations if op in found]


def _persistent(signatures: Sequence[SignatureSpec]) -> bool:
    """A Session's own runs have a signature without a name, and need no initializers."""
    return any(spec.name for spec in signatures)


def reach(roots: Iterable[Operation], fed: set[Tensor]) -> tuple[set[Operation], set[Tensor]]:
    """The operations of a root graph that must run for roots when some values are fed, and those
    of the fed values that they, or roots themselves, read."""
    live = Liveness()
    found: set[Operation] = set()
    read: set[Tensor] = set()
    pending = list(roots)
    while pending:
        operation = pending.pop()
        if operation in found:
            continue
        found.add(operation)
        pending.extend(operation.control_inputs)
        for tensor in live.sources(operation):
            if tensor in fed:
                read.add(tensor)
            else:
                pending.append(tensor.op)
    return found, read


class Liveness:
    """What the outputs and targets of bodies need; the rest of a body is not written."""

    def __init__(self) -> None:
        self._known: dict[Graph, tuple[list[Operation], list[Tensor]]] = {}

    def sources(self, operation: Operation) -> list[Tensor]:
        """All values that an operation reads: its inputs, then what its bodies capture."""
        found = [t for t in operation.inputs if t is not None]
        for value in operation.attrs.values():
            if isinstance(value, Graph):
                found.extend(self.captures(value))
        return found

    def operations(self, body: Graph) -> list[Operation]:
        """The operations of a body that count, in order of creation."""
        return self._of(body)[0]

    def captures(self, body: Graph) -> list[Tensor]:
        """The values from outside that those operations and the body's outputs read."""
        return self._of(body)[1]

    def _of(self, body: Graph) -> tuple[list[Operation], list[Tensor]]:
        if body not in self._known:
            self._known[body] = self._find(body)
        return self._known[body]

    def _find(self, body: Graph) -> tuple[list[Operation], list[Tensor]]:
        found: set[Operation] = set()
        captures = dict.fromkeys(t for t in body.outputs if t.graph is not body)
        pending = [t.op for t in body.outputs if t.graph is body] + body.targets
        while pending:
            operation = pending.pop()
            if operation in found:
                continue
            found.add(operation)
            pending.extend(operation.control_inputs)
            for tensor in self.sources(operation):
                if tensor.graph is body:
                    pending.append(tensor.op)
                else:
                    captures.setdefault(tensor)
        return [op for op in body.operations if op in found], list(captures)


def _initializers(graph: Graph, found: set[Operation]) -> set[Operation]:
    """Initializers of the variables in use, where they need nothing that must be fed."""
    from graphio.variables import variables_of

    names = {name for op in found for name in variable_names(op)}
    used = [v for name, v in variables_of(graph).items() if name in names]
    fed = _fed([v.initializer_or_none for v in used])
    kept = [v for v in used if v.initializer_or_none not in fed]
    wanted = [v.initializer_or_none for v in kept]
    added, _ = reach([op for op in wanted if op is not None], set())
    added.update(op for v in kept for op in (v.op, v.value().op))
    return added


def _fed(roots: Iterable[Operation | None]) -> set[Operation]:
    """The operations among roots, and those that they need, that need a placeholder's value."""
    live = Liveness()
    operations, _ = reach([op for op in roots if op is not None], set())
    readers: dict[Operation, list[Operation]] = {}
    for operation in operations:
        for source in (*operation.control_inputs, *(t.op for t in live.sources(operation))):
            readers.setdefault(source, []).append(operation)
    found = {op for op in operations if op.op == "Placeholder"}
    pending = list(found)
    while pending:
        added = [op for op in readers.get(pending.pop(), ()) if op not in found]
        found.update(added)
        pending += added
    return found


def variable_names(operation: Operation) -> set[str]:
    """Names of the variables that an operation or its bodies read or assign."""
    found = {operation.attrs["variable"]} if "variable" in operation.attrs else set()
    for body in operation.bodies():
        for inner in body.operations:
            found |= variable_names(inner)
    return found


def _text_attributes(nodes: Iterable[model_pb2.Node], key: str) -> set[str]:
    return {
        a.value.s.decode()
        for node in nodes
        if node.domain == "graphio"
        for a in node.attr
        if a.key == key
    }


def _add_bodies(model: model_pb2.Model, nodes: Iterable[model_pb2.Node]) -> None:
    for domain, op, version in sorted({(n.domain, n.op, n.version) for n in nodes if n.domain}):
        body = operators.body(domain, op, version)
        if body is not None:
            model.function.append(body)


def _add_opsets(model: model_pb2.Model, nodes: Iterable[model_pb2.Node]) -> None:
    newest: dict[str, int] = {}
    for domain, version in {(node.domain, node.version) for node in nodes}:
        newest[domain] = max(newest.get(domain, 1), version)
    for domain in sorted(newest):
        model.opset.add(domain=domain, version=newest[domain])


# ---- messages ----


def _list_kind(operation: Operation, key: str) -> str:
    """What an attribute is a list of that has no element to tell it."""
    row = operators.find(operation.domain, operation.op, operation.version)
    spec = None if row is None else row.attributes.get(key)
    return spec.kind if spec is not None and spec.kind in ("floats", "strings") else "ints"


@dataclass
class _Writer:
    """Writes messages and gathers the arrays that are too large to be inline."""

    inline_below: int = INLINE_BELOW
    arrays: list[Array] = field(default_factory=list)
    live: Liveness = field(default_factory=Liveness)
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)
    written: list[model_pb2.Node] = field(default_factory=list)  # those of bodies, too
    _types: dict[tuple[DType, object], model_pb2.Type] = field(default_factory=dict)

    def node(self, node: model_pb2.Node, operation: Operation) -> None:
        self.written.append(node)
        node.name, node.op, node.version = operation.name, operation.op, operation.version
        if operation.domain:
            node.domain = operation.domain
        if operation.device:
            node.device = operation.device
        node.input.extend(["" if t is None else value_name(t) for t in operation.inputs])
        if operation.control_inputs:
            node.control_input.extend([c.name for c in operation.control_inputs])
        node.output_type.extend([self.type(t.dtype, t.shape) for t in operation.outputs])
        for key, value in sorted(operation.attrs.items()):
            message = None if value is None else node.attr.add(key=key).value
            if message is not None and isinstance(value, (list, tuple)) and len(value) == 0:
                getattr(message, _list_kind(operation, key)).SetInParent()
            elif message is not None:
                self.attribute(message, value)
        if operation.source.file:
            node.source.file, node.source.line, node.source.function = operation.source
        if operation.tf_type and operation.tf_type != operation.op:
            node.tf_type = operation.tf_type

    def type(self, dtype: DType, shape: TensorShape) -> model_pb2.Type:
        """The message of a type, which many nodes share."""
        key = (dtype, shape.key)
        if key not in self._types:
            made = self._types[key] = model_pb2.Type()
            set_type(made, dtype, shape)
        return self._types[key]

    def attribute(self, message: model_pb2.AttributeValue, value: Any) -> None:
        if isinstance(value, Graph):
            self.body(message.g, value)
        elif isinstance(value, np.ndarray):
            self.array(message, value)
        elif isinstance(value, DType):
            message.i = value.number
        elif isinstance(value, (bool, int, np.integer)):
            message.i = int(value)
        elif isinstance(value, float):
            if np.float32(value) == value or value != value:
                message.f = value
            else:
                message.d = value
        elif isinstance(value, (str, bytes)):
            message.s = value.encode() if isinstance(value, str) else value
        elif isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], DType):
            set_type(message.type, *value)
        else:
            self.listed(message, list(value))

    def listed(self, message: model_pb2.AttributeValue, values: list[Any]) -> None:
        if all(isinstance(v, (bool, int, np.integer)) for v in values):
            message.ints.SetInParent()
            message.ints.i.extend(int(v) for v in values)
        elif all(isinstance(v, (str, bytes)) for v in values):
            message.strings.s.extend(v.encode() if isinstance(v, str) else v for v in values)
        else:
            message.floats.f.extend(float(v) for v in values)

    def array(self, message: model_pb2.AttributeValue, array: Array) -> None:
        data = tensors.encode(array)
        if len(data) < self.inline_below:
            tensors.fill(message.t, array, data)
        else:
            message.tensor = self.stored(array, data)

    def stored(self, array: Array, data: bytes | memoryview) -> int:
        """The index of an array in the data section; equal ones are kept once."""
        key = (array.dtype.str, array.shape, hashlib.sha256(data).digest())
        if key not in self._known:
            self._known[key] = len(self.arrays)
            self.arrays.append(array)
        return self._known[key]

    def body(self, message: model_pb2.Graph, graph: Graph) -> None:
        for operation in self.live.operations(graph):
            self.node(message.node.add(), operation)
        for tensor in graph.inputs:
            argument = message.input.add(name=tensor.op.name)
            set_type(argument.type, tensor.dtype, tensor.shape)
        message.output.extend(value_name(t) for t in graph.outputs)
        message.capture.extend(sorted(value_name(t) for t in self.live.captures(graph)))
        message.target.extend(op.name for op in graph.targets)

    def signature(self, message: model_pb2.Signature, spec: SignatureSpec) -> None:
        message.name, message.method = spec.name, spec.method
        for bindings, pairs in ((message.input, spec.inputs), (message.output, spec.outputs)):
            for key, tensor in pairs:
                binding = bindings.add(key=key, value=value_name(tensor))
                set_type(binding.type, tensor.dtype, tensor.shape)
        message.target.extend(op.name for op in spec.targets)

    def variables(
        self,
        model: model_pb2.Model,
        graph: Graph,
        nodes: Sequence[model_pb2.Node],
        state: Any,
        everything: bool,
    ) -> None:
        from graphio.variables import variables_of

        known = variables_of(graph)
        if not known:
            return
        present = {node.name for node in nodes}
        used = _text_attributes(nodes, "variable")
        held = set() if state is None else set(state.names())
        for name in sorted(known):
            if name not in used and not everything:
                continue
            variable = known[name]
            message = model.variable.add(name=name, dtype=variable.dtype.number)
            if variable.shape.ndims is not None:
                set_shape(message.shape, variable.shape)
            message.trainable = variable.trainable
            message.slot_of, message.slot = variable.slot_of, variable.slot
            message.node = name if name in present else ""
            initializer = variable.initializer_or_none
            if initializer is not None and initializer.name in present:
                message.initializer = initializer.name
                message.initial_value = value_name(initializer.inputs[0])
            if variable.value().op.name in present:
                message.snapshot = value_name(variable.value())
            if name in held and state.initialized(name):
                array = state.get(name)
                message.value = self.stored(array, tensors.encode(array))

    def resources(
        self,
        model: model_pb2.Model,
        graph: Graph,
        nodes: Sequence[model_pb2.Node],
        state: Any,
        everything: bool,
    ) -> None:
        self.iterators(model, graph, nodes, everything)
        if not graph.generators:
            return
        used = _text_attributes(nodes, "generator")
        running = {} if state is None else state.generators()
        for name in sorted(graph.generators):
            if name not in used and not everything:
                continue
            message = model.resource.add(name=name)
            message.generator.SetInParent()
            key = graph.generators[name]
            if key is not None:
                message.generator.seeded, message.generator.key = True, key
            if name in running:
                message.generator.state.key, message.generator.state.counter = running[name]
        model.resource.sort(key=lambda resource: resource.name)

    def iterators(
        self,
        model: model_pb2.Model,
        graph: Graph,
        nodes: Sequence[model_pb2.Node],
        everything: bool,
    ) -> None:
        """The iterators of tf.data, with the host function that whoever loads the file rebinds."""
        handles = graph.state_attributes.get("iterators", {})
        called = _text_attributes(nodes, "function") if handles else set()
        for name, handle in sorted(handles.items()):
            functions = [f for f in handle.functions if everything or f in called]
            if functions:
                model.resource.add(name=name).iterator.source = functions[0]

    def collections(self, model: model_pb2.Model, graph: Graph) -> None:
        from graphio.variables import Variable

        for name in sorted(name for name in graph.collections if isinstance(name, str)):
            message = model_pb2.Collection(name=name)
            for value in graph.collections[name]:
                item = model_pb2.Collection.Item()
                if isinstance(value, Variable):
                    item.variable = value.op.name
                elif isinstance(value, Tensor):
                    item.tensor = value.name
                elif isinstance(value, Operation):
                    item.operation = value.name
                elif isinstance(value, (int, np.integer)):
                    item.i = int(value)
                elif isinstance(value, (float, np.floating)):
                    item.d = float(value)
                elif isinstance(value, (str, bytes)):
                    item.s = value.encode() if isinstance(value, str) else value
                else:
                    continue  # Python objects stay in the process, as TensorFlow's do
                message.item.append(item)
            model.collection.append(message)


def set_type(message: model_pb2.Type, dtype: DType, shape: TensorShape) -> None:
    """Fills a type; of what holds tensors, shape is that of each."""
    kind = dtypes.as_dtype(dtype)
    while kind.inside is not None:
        message = message.sequence if kind.kind == "sequence" else message.optional
        kind = kind.inside
    message.tensor.dtype = kind.number  # type: ignore[assignment]
    if shape.ndims is not None:
        set_shape(message.tensor.shape, shape)


def set_shape(message: model_pb2.Shape, shape: TensorShape) -> None:
    """Fills a shape of known rank."""
    message.SetInParent()
    for size, symbol in zip(shape.as_list(), shape.symbols, strict=True):
        dimension = message.dim.add()
        if size is not None:
            dimension.size = size
        elif symbol:
            dimension.symbol = symbol
