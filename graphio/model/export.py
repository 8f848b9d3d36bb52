"""From a graph to a model and its arrays: a message for files, a draft for runs of a Session.

The same program writes the same bytes: everything is in order of creation or sorted by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state.attachments import ITERATORS
from graphio.framework.save_slice_info import write_part
from graphio.model.loop_needs import CONTROL_FLOW, LoopNeeds
from graphio.model.node_writer import (
    INLINE_BELOW,
    Liveness,
    NodeWriter,
    set_shape,
    set_type,
    value_name,
)
from graphio.model.run_reads import Reads, fed_reads
from graphio.ops.control_flow.read_once import refuse_second
from graphio.schema import model_pb2, operators, tensors, verify, wire
from graphio.schema.draft import Draft
from graphio.schema.nodes import PlainGraph
from graphio.support import errors
from graphio.support.collecting import without_collector
from graphio.support.version import graphio_version
from graphio.variables.variables import Variable, variables_of

__all__ = ["SignatureSpec", "build_draft", "build_model", "graph_message", "node_message", "reach"]

Array = np.ndarray[Any, Any]

_VARIABLE = wire.tag(model_pb2.Model, "variable")
_STORED = wire.number_tag(model_pb2.Variable, "value")
_FIELDS = {
    name: wire.tag(model_pb2.Variable, name)
    for name in ("name", "node", "initializer", "initial_value", "snapshot")
}
_ITEM = wire.tag(model_pb2.Collection, "item")
_ITEM_VARIABLE = wire.tag(model_pb2.Collection.Item, "variable")


@dataclass
class SignatureSpec:
    """A signature to be: inputs and outputs by key in the order of the C call.

    Attributes:
        as_computed: keys of outputs that are given as their operations compute them; others that
            show a variable are read after the assignments.
        done: operations that an earlier part of the run has run; those of their values that are
            read are inputs.
        body: the branch whose operations these are; None: the graph itself.
    """

    name: str
    inputs: Sequence[tuple[str, Tensor]] = ()
    outputs: Sequence[tuple[str, Tensor]] = ()
    targets: Sequence[Operation] = ()
    method: str = ""
    as_computed: Collection[str] = ()
    done: Collection[Operation] = ()
    body: Graph | None = None


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
    model = model_pb2.Model()
    if prune:
        kept, placed = _pruned(graph, signatures, writer)
    else:
        kept, placed = graph.operations, list(signatures)
    writer.nodes(model.graph, kept)
    _fill_tables(model, graph, signatures, placed, writer, state, everything=not prune)
    if bodies:
        _add_bodies(model, writer.written)
    for key in sorted(metadata or {}):
        model.metadata.add(key=key, value=(metadata or {})[key])
    _check_strings(model)
    return model, writer.arrays


@without_collector
def build_draft(graph: Graph, signature: SignatureSpec) -> Draft:
    """The model of one signature, as a run of a session needs it; see build_model."""
    writer = _Writer()
    kept, placed = _pruned(graph, [signature], writer)
    draft = Draft(model_pb2.Model(), PlainGraph(map(writer.plain_node, kept)), writer.arrays)
    _fill_tables(draft.tables, graph, [signature], placed, writer)
    _add_bodies(draft.tables, writer.written)
    _check_strings(draft.tables)
    return draft


def _pruned(
    graph: Graph, signatures: Sequence[SignatureSpec], writer: NodeWriter
) -> tuple[list[Operation], list[SignatureSpec]]:
    """As _needed; no node waits for a placeholder that is fed."""
    kept, placed = _needed(graph, signatures, writer)
    given = {tensor for spec in signatures for _, tensor in spec.inputs}
    writer.given = {t.op for t in given if _fed_placeholder(t.op, given) is not None}
    for spec in signatures:
        writer.given.update(spec.done)
    return kept, placed


def _fill_tables(
    model: model_pb2.Model,
    graph: Graph,
    signatures: Sequence[SignatureSpec],
    placed: Sequence[SignatureSpec],
    writer: _Writer,
    state: Any = None,
    everything: bool = False,
) -> None:
    """Adds what a model has besides its nodes."""
    model.producer = f"graphio {graphio_version}"
    for spec, run in sorted(zip(signatures, placed, strict=True), key=lambda pair: pair[0].name):
        _check_marks(graph, spec)
        _check_feeds(spec)
        writer.signature(model.signature.add(), run)
    used = writer.written
    writer.variables(model, graph, used, state, everything)
    writer.resources(model, graph, used, state, everything)
    if everything:
        writer.collections(model, graph)
    _add_opsets(model, used)
    if graph.seed is not None:
        model.seed, model.has_seed = graph.seed, True


def _check_strings(model: model_pb2.Model) -> None:
    """Refuses names and metadata that C programs could not read."""
    if problems := verify.text_problems(model):
        raise errors.InvalidArgumentError(message=f"a file cannot have this: {'; '.join(problems)}")


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
                f"and as {key!r}; feed a separate tensor for each, such as tf.identity of it"
            )


def node_message(operation: Operation) -> model_pb2.Node:
    """One operation as a message; its constants are inline whatever their size."""
    message = model_pb2.Node()
    NodeWriter(inline_below=1 << 62).node(message, operation)
    return message


def graph_message(graph: Graph) -> model_pb2.Graph:
    """All operations of a graph as a message; constants are inline whatever their size."""
    message = model_pb2.Graph()
    NodeWriter(inline_below=1 << 62).nodes(message, graph.operations)
    return message


# ---- which nodes ----


def _needed(
    graph: Graph, signatures: Sequence[SignatureSpec], writer: NodeWriter
) -> tuple[list[Operation], list[SignatureSpec]]:
    """The operations of a model, and its signatures with the outputs that they have there.

    The writer learns what operations read in it in the place of what they read in the graph.
    """
    found: set[Operation] = set()
    reads = Reads(graph, _fed_by_all(graph, signatures))
    loops = LoopNeeds(Liveness(reads.fed))
    placed = []
    for spec in signatures:
        run, needed = _needed_by(spec, reads, loops)
        refuse_second(graph, needed)
        placed.append(run)
        found |= needed
        # A value that is fed still has its producer in the file, with all that this reads.
        found |= reach([tensor for _, tensor in spec.inputs], set(), loops=loops)[0]
    if _persistent(signatures):
        found |= _initializers(graph, found, loops)
    writer.rename(reads.fed, reads.renamed, loops.outputs())
    if any(spec.body is not None for spec in signatures):
        return reads.placed_among(sorted(found, key=lambda op: op.order)), placed
    return reads.placed_among([op for op in graph.operations if op in found]), placed


def _fed_by_all(graph: Graph, signatures: Sequence[SignatureSpec]) -> dict[Tensor, Tensor]:
    """Signatures share nodes: a variable is fed in all of them, or not at all."""
    every = [{tensor for _, tensor in spec.inputs} for spec in signatures]
    return fed_reads(graph, set.intersection(*every)) if every else {}


def _needed_by(
    spec: SignatureSpec, reads: Reads, loops: LoopNeeds
) -> tuple[SignatureSpec, set[Operation]]:
    """A signature with the outputs that it has in the model, and the operations that it needs;
    loops gets what it needs of them."""
    fed = {tensor for _, tensor in spec.inputs}
    computed = [t for key, t in spec.outputs if key in spec.as_computed and t not in fed]
    shown = [t for key, t in spec.outputs if key not in spec.as_computed and t not in fed]
    roots = reads.roots(shown, [*spec.targets, *computed], fed)
    found, _ = reach(roots.operations, fed, reads.fed, loops, spec.done)
    assigned = reads.insert_reads(found, fed)
    ends, others, targets = {}, [], list(spec.targets)
    for tensor, what in roots.shown.items():
        if what.variable.op.name in assigned:
            ends[tensor] = reads.end(tensor, what)
            targets += what.waits_for()
        else:
            others.append(tensor)
    if others:
        found |= reach(others, fed, reads.fed, loops, spec.done)[0]
    if not ends:
        return spec, found
    outputs = [(key, t if key in spec.as_computed else ends.get(t, t)) for key, t in spec.outputs]
    return replace(spec, outputs=outputs, targets=list(dict.fromkeys(targets))), found


def _persistent(signatures: Sequence[SignatureSpec]) -> bool:
    """A Session's own runs have a signature without a name, and need no initializers."""
    return any(spec.name for spec in signatures)


def reach(
    roots: Iterable[Operation | Tensor],
    fed: set[Tensor],
    renamed: Mapping[Tensor, Tensor] | None = None,
    loops: LoopNeeds | None = None,
    done: Collection[Operation] = (),
) -> tuple[set[Operation], set[Tensor]]:
    """The operations that must run for roots, and the fed tensors that are read.

    Args:
        roots: of a root graph; of a tensor's operation only that output is needed.
        fed: the tensors whose values are given.
        renamed: what fed_reads gives.
        loops: gets what is needed of Loops and Ifs.
        done: operations that are not to run again.

    Returns:
        The operations, and those of the fed values that they, or roots themselves, read.
    """
    live = Liveness(renamed)
    needs = LoopNeeds(live)
    found: set[Operation] = set()
    read: set[Tensor] = set()
    pending = list(roots)
    while pending:
        item = pending.pop()
        operation = item.op if isinstance(item, Tensor) else item
        if operation in done:
            continue
        if operation.op in CONTROL_FLOW and operation.domain == "":
            sources = needs.want(item) if isinstance(item, Tensor) else needs.want_whole(operation)
        elif operation in found:
            continue
        else:
            sources = live.sources(operation)
        if operation not in found:
            found.add(operation)
            for control in operation.awaited:
                given = _fed_placeholder(control, fed)
                if given is None:
                    pending.append(control)
                else:
                    read.add(given)
        for tensor in sources:
            if tensor in fed:
                read.add(tensor)
            else:
                pending.append(tensor)
    if loops is not None:
        loops.merge(needs)
    return found, read


def _fed_placeholder(operation: Operation, fed: set[Tensor]) -> Tensor | None:
    """The value of a placeholder that is fed: what waits for it waits for nothing."""
    if operation.op != "Placeholder" or operation.outputs[0] not in fed:
        return None
    value: Tensor = operation.outputs[0]
    return value


def _initializers(graph: Graph, found: set[Operation], loops: LoopNeeds) -> set[Operation]:
    """Initializers of the variables in use, where they need nothing that must be fed."""
    names = {name for op in found for name in variable_names(op)}
    used = [v for name, v in variables_of(graph).items() if name in names]
    fed = _fed([v.initializer_or_none for v in used])
    kept = [v for v in used if v.initializer_or_none not in fed]
    requested = [v.initializer_or_none for v in kept]
    added, _ = reach([op for op in requested if op is not None], set(), loops=loops)
    added.update(op for v in kept for op in (v.op, v.snapshot.op))
    return added


def _fed(roots: Iterable[Operation | None]) -> set[Operation]:
    """The operations among roots, and those that they need, that need a placeholder's value."""
    live = Liveness()
    operations, _ = reach([op for op in roots if op is not None], set())
    readers: dict[Operation, list[Operation]] = {}
    for operation in operations:
        for source in (*operation.awaited, *(t.op for t in live.sources(operation))):
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


def _text_attributes(operations: Iterable[Operation], key: str) -> set[str]:
    found = (op.attrs.get(key) for op in operations if op.domain == "graphio")
    return {v.decode() if isinstance(v, bytes) else v for v in found if isinstance(v, (str, bytes))}


def _add_bodies(model: model_pb2.Model, operations: Iterable[Operation]) -> None:
    used = {(op.domain, op.op, op.version) for op in operations if op.domain}
    for domain, op, version in sorted(used):
        body = operators.body(domain, op, version)
        if body is not None:
            model.function.append(body)


def _add_opsets(model: model_pb2.Model, operations: Iterable[Operation]) -> None:
    newest: dict[str, int] = {}
    for domain, version in {(op.domain, op.version) for op in operations}:
        newest[domain] = max(newest.get(domain, 1), version)
    for domain in sorted(newest):
        model.opset.add(domain=domain, version=newest[domain])


# ---- messages ----


class _Writer(NodeWriter):
    """Writes the other tables of a model, too."""

    def __init__(self, inline_below: int = INLINE_BELOW) -> None:
        super().__init__(inline_below)
        self._kinds: dict[tuple[Any, ...], bytes] = {}

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
        operations: Sequence[Operation],
        state: Any,
        everything: bool,
    ) -> None:
        known = variables_of(graph)
        if not known:
            return
        present = {op.name for op in operations}
        used = _text_attributes(operations, "variable")
        held = set() if state is None else set(state.names())
        wire.merge(
            model,
            (
                wire.sized(_VARIABLE, self.variable(name, known[name], present, state, held))
                for name in sorted(known)
                if everything or name in used
            ),
        )

    def variable(
        self, name: str, variable: Variable, present: set[str], state: Any, held: set[str]
    ) -> bytes:
        """A variable as the bytes of a Variable; present: names of the nodes that are written."""
        value, initializer = variable.snapshot, variable.initializer_or_none
        parts = [_field("name", name), self._kind_of(variable)]
        if name in present:
            parts.append(_field("node", name))
        if initializer is not None and initializer.name in present:
            parts.append(_field("initializer", initializer.name))
            parts.append(_field("initial_value", value_name(initializer.operands[0])))
        if value.op.name in present:
            parts.append(_field("snapshot", value_name(value)))
        if variable._save_slice_info is not None or variable.modes != (0, 0):
            message = model_pb2.Variable()
            write_part(variable._save_slice_info, message)
            message.synchronization, message.aggregation = variable.modes
            parts.append(message.SerializeToString())
        if name in held and state.initialized(name):
            array = state.get(name)
            stored = self.stored(array, tensors.encode(array))
            parts.append(_STORED + wire.varint(stored))
        return b"".join(parts)

    def _kind_of(self, variable: Variable) -> bytes:
        """The encoded fields of a Variable that others share, made once for each key."""
        shape, slots = variable.shape, (variable.slot_of, variable.slot)
        key = (variable.dtype, shape.key, variable.trainable, *slots)
        found = self._kinds.get(key)
        if found is None:
            message = model_pb2.Variable()
            message.dtype = variable.dtype.number  # type: ignore[assignment]
            if shape.ndims is not None:
                set_shape(message.shape, shape)
            message.trainable = variable.trainable
            message.slot_of, message.slot = slots
            found = self._kinds[key] = message.SerializeToString()
        return found

    def resources(
        self,
        model: model_pb2.Model,
        graph: Graph,
        operations: Sequence[Operation],
        state: Any,
        everything: bool,
    ) -> None:
        self.iterators(model, graph, operations, everything)
        if not graph.generators:
            return
        used = _text_attributes(operations, "generator")
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
        operations: Sequence[Operation],
        everything: bool,
    ) -> None:
        """The iterators of tf.data, with the host function that a program rebinds when it loads
        the file."""
        handles = ITERATORS.of(graph)
        called = _text_attributes(operations, "function") if handles else set()
        for name, handle in sorted(handles.items()):
            functions = [f for f in handle.functions if everything or f in called]
            if functions:
                model.resource.add(name=name).iterator.source = functions[0]

    def collections(self, model: model_pb2.Model, graph: Graph) -> None:
        for name in sorted(name for name in graph.members if isinstance(name, str)):
            message = model.collection.add(name=name)
            # Python objects stay in the process, as TensorFlow's do
            items = (_item(value) for value in graph.members[name])
            wire.merge(message, (wire.sized(_ITEM, item) for item in items if item is not None))


def _field(name: str, text: str) -> bytes:
    """A string field of a Variable."""
    return wire.sized(_FIELDS[name], text.encode())


def _item(value: Any) -> bytes | None:
    """An object in a collection as the bytes of an Item; None if a file cannot hold it."""
    if isinstance(value, Variable):
        return wire.sized(_ITEM_VARIABLE, value.op.name.encode())
    item = model_pb2.Collection.Item()
    if isinstance(value, Tensor):
        item.tensor = value.name
    elif isinstance(value, Operation):
        item.operation = value.name
    elif isinstance(value, (int, np.integer)):
        item.i = int(value)
    elif isinstance(value, (float, np.floating)):
        item.d = float(value)
    elif isinstance(value, (str, bytes)):
        item.s = value.encode() if isinstance(value, str) else value
    elif hasattr(value, "as_item"):  # a Saver
        item.s = value.as_item()
    else:
        return None
    return item.SerializeToString()
