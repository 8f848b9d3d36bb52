"""Putting a function's body in the place of a node that calls it."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence

from graphio.schema import operators
from graphio.schema.model_pb2 import AttributeValue, Function, Graph, Model, Node
from graphio.support import errors

Known = Callable[[str, str, int], bool]
_GRAPHS = ("g", "graphs")  # kinds of attributes
MAX_DEPTH = 16
MAX_NODES = 1 << 20  # that bodies may unfold to
MAX_BYTES = 1 << 20  # that the calls of a model's own functions may stand for in any model,
MAX_TIMES = 64  # and for each of its bytes


def subgraphs(node: Node) -> list[Graph]:
    """The graphs among a node's attributes, in order."""
    found: list[Graph] = []
    for attribute in node.attr:
        if attribute.value.WhichOneof("value") in _GRAPHS:
            found.extend(_graphs_of(attribute.value))
    return found


def _graphs_of(value: AttributeValue) -> Sequence[Graph]:
    kind = value.WhichOneof("value")
    if kind == "g":
        return (value.g,)
    return value.graphs.g if kind == "graphs" else ()


def all_graphs(graph: Graph) -> Iterator[Graph]:
    """The graph and everything inside it."""
    waiting = [graph]
    while waiting:
        current = waiting.pop()
        yield current
        for node in current.node:
            waiting.extend(subgraphs(node))


def list_captures(graph: Graph) -> None:
    """Recomputes the captures of the bodies in a graph."""
    for node in graph.node:
        for body in subgraphs(node):
            list_captures(body)
            inside = {n.name for n in body.node} | {a.name for a in body.input}
            used = {value for inner in body.node for value in inner.input if value}
            used |= {c for inner in body.node for b in subgraphs(inner) for c in b.capture}
            used |= set(body.output)
            body.capture[:] = sorted(v for v in used if v.partition(":")[0] not in inside)


def all_nodes(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of everything inside it, which must stay as they are meanwhile."""
    waiting = [graph]
    while waiting:
        for node in waiting.pop().node:
            yield node
            for attribute in node.attr:
                if attribute.value.WhichOneof("value") in _GRAPHS:
                    waiting.extend(_graphs_of(attribute.value))


def all_known(model: Model, known: Known) -> bool:
    """Whether every node, in subgraphs too, has a kernel: then no call is replaced."""
    return not _unusual(model, known)


def unknown_operators(model: Model, known: Known) -> list[Node]:
    """Nodes, in subgraphs too, that have neither a kernel nor a body."""
    bodies = _Bodies(model)
    return [node for node in _unusual(model, known) if bodies.of(node) is None]


def _unusual(model: Model, known: Known) -> list[Node]:
    """Nodes, in subgraphs too, that have no kernel."""
    found = []
    usual: set[tuple[str, str, int]] = set()
    for node in all_nodes(model.graph):
        key = node.domain, node.op, node.version
        if key in usual:
            continue
        if known(*key):
            usual.add(key)
        else:
            found.append(node)
    return found


def inline(model: Model, known: Known) -> Model:
    """The model with the body in place of every node that has no kernel.

    The body's node "b" is then named "a/b" where the node was "a"; the outputs keep their values'
    names, but for the second one and further, which everything that reads them is changed to.

    Args:
        model: left as it is; returned itself when there is no call to replace. Its own functions go
            before the bodies of the operator table.
        known: (domain, op, version) to whether there is a kernel.

    Raises:
        InvalidArgumentError: bodies use each other deeper than 16, or a call does not fit.
        ResourceExhaustedError: they unfold to more than MAX_NODES nodes, or the calls of the
            model's own functions stand for more than MAX_TIMES times its bytes and MAX_BYTES.
    """
    bodies = _Bodies(model)
    result = model
    for _ in range(MAX_DEPTH + 1):
        if not any(_to_replace(graph, known, bodies) for graph in all_graphs(result.graph)):
            return result
        if result is model:
            result = Model()
            result.CopyFrom(model)
        renamed: dict[str, str] = {}
        for graph in list(all_graphs(result.graph)):
            _expand(graph, known, bodies, renamed)
        if renamed:
            _rename(result, renamed)
    raise errors.InvalidArgumentError(
        message=f"function bodies use each other deeper than {MAX_DEPTH}"
    )


class _Size:
    """The cost of a call of a body.

    Attributes:
        nodes: of the body, those in its graphs too.
        direct: nodes of the body that are in no graph; these wait for what the call waits for.
        names: strings in the body that get the call's name in front.
        bytes: of the body's message; 0 for a body of the operator table, which no file makes long.
        references: how often its nodes refer to each attribute of the call.
    """

    def __init__(self, body: Function, own: bool) -> None:
        self.nodes = self.names = 0
        self.direct = len(body.node)
        self.bytes = body.ByteSize() if own else 0
        self.references: collections.Counter[str] = collections.Counter()
        self.names = len(body.output)
        self._add(body.node)

    def _add(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.nodes += 1
            self.names += 1 + len(node.input) + len(node.control_input)
            for attribute in node.attr:
                if attribute.value.WhichOneof("value") == "reference":
                    self.references[attribute.value.reference] += 1
            for graph in subgraphs(node):
                ends = (graph.input, graph.output, graph.capture, graph.target)
                self.names += sum(map(len, ends))
                self._add(graph.node)


class _Bodies:
    """The functions of a model, then those of the operator table."""

    def __init__(self, model: Model) -> None:
        self._own = {(f.domain, f.name, f.version): f for f in model.function}
        self._written = frozenset(self._own)  # by the file
        self._sizes: dict[tuple[str, str, int], _Size] = {}
        self._nodes = self._bytes = 0
        self._model_bytes = model.ByteSize()

    def of(self, node: Node) -> Function | None:
        key = (node.domain, node.op, node.version)
        if key not in self._own:
            found = operators.body(node.domain, node.op, node.version)
            if found is None:
                return None
            self._own[key] = found
        return self._own[key]

    def unfold(self, calls: Iterable[Node]) -> None:
        """Counts what calls stand for before it is made: the nodes, and for functions of the file
        all bytes that a call multiplies."""
        for call in calls:
            key = (call.domain, call.op, call.version)
            size = self._sizes.get(key)
            if size is None:
                size = self._sizes[key] = _Size(self._own[key], key in self._written)
            self._nodes += size.nodes
            self._count_attributes(call, size)
            if key in self._written:
                self._bytes += size.bytes + size.names * (len(call.name) + 1)
                self._bytes += size.nodes * (len(call.device) + call.source.ByteSize())
                self._bytes += size.direct * sum(map(len, call.control_input))
        if self._nodes > MAX_NODES:
            raise errors.ResourceExhaustedError(
                message=f"function bodies unfold to more than {MAX_NODES} nodes"
            )
        if self._bytes > MAX_BYTES + MAX_TIMES * self._model_bytes:
            raise errors.ResourceExhaustedError(
                message=f"calls of functions stand for more than {MAX_TIMES} times the model of "
                f"{self._model_bytes} bytes"
            )

    def _count_attributes(self, call: Node, size: _Size) -> None:
        """The names to which nodes of the body refer."""
        for attribute in call.attr if size.references else ():
            times = size.references[attribute.key]
            if not times:
                continue
            self._nodes += times * sum(_count(g.node) for g in _graphs_of(attribute.value))
            if size.bytes:
                self._bytes += times * attribute.ByteSize()


def _count(nodes: Iterable[Node]) -> int:
    """Of them and of all in their graphs."""
    return sum(1 + sum(_count(graph.node) for graph in subgraphs(node)) for node in nodes)


def _to_replace(graph: Graph, known: Known, bodies: _Bodies) -> bool:
    first = {(n.domain, n.op, n.version): n for n in graph.node}
    return any(not known(*key) and bodies.of(node) is not None for key, node in first.items())


def _expand(graph: Graph, known: Known, bodies: _Bodies, renamed: dict[str, str]) -> None:
    """Replaces nodes of this graph alone; adds to renamed what its readers must read instead."""
    if not _to_replace(graph, known, bodies):
        return
    nodes: list[Node] = []
    found = [None if known(n.domain, n.op, n.version) else bodies.of(n) for n in graph.node]
    bodies.unfold(n for n, body in zip(graph.node, found, strict=True) if body is not None)
    for node, body in zip(graph.node, found, strict=True):
        if body is None:
            nodes.append(node)
        else:
            nodes += _instance(node, body)
            nodes += _outputs(node, body, renamed)
    made = Graph(node=nodes)
    del graph.node[:]
    graph.node.extend(made.node)


def _instance(node: Node, body: Function) -> Iterator[Node]:
    """The body's nodes for one call."""
    values = _arguments(node, body)
    attributes = {a.key: a.value for a in node.attr}
    for inner in body.node:
        made = _copy(inner, node, values, attributes)
        made.control_input[:] = [*node.control_input, *made.control_input]
        yield made


def _copy(
    inner: Node, node: Node, values: dict[str, str], attributes: dict[str, AttributeValue]
) -> Node:
    """A node of a body for the call `node`, with the graphs that it has itself."""
    made = Node()
    made.CopyFrom(inner)
    made.name = f"{node.name}/{inner.name}"
    made.input[:] = [_value(v, values, node.name) for v in inner.input]
    made.control_input[:] = [f"{node.name}/{c}" for c in inner.control_input]
    made.device = node.device
    made.source.CopyFrom(node.source)
    del made.attr[:]
    for attribute in inner.attr:
        kind = attribute.value.WhichOneof("value")
        if kind == "reference" and attribute.value.reference in attributes:
            made.attr.add(key=attribute.key, value=attributes[attribute.value.reference])
        elif kind != "reference":
            made.attr.add().CopyFrom(attribute)
        if kind == "g":
            graph = made.attr[-1].value.g
            nodes = [_copy(n, node, values, attributes) for n in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
            _rename_ends(graph, node.name, values)
    return made


def _rename_ends(graph: Graph, prefix: str, values: dict[str, str]) -> None:
    for formal in graph.input:
        formal.name = f"{prefix}/{formal.name}"
    graph.output[:] = [_value(v, values, prefix) for v in graph.output]
    graph.capture[:] = sorted({_value(v, values, prefix) for v in graph.capture} - {""})
    graph.target[:] = [f"{prefix}/{t}" for t in graph.target]


def _arguments(node: Node, body: Function) -> dict[str, str]:
    """The body's formal inputs to the values of a call; absent ones to ""."""
    if len(node.input) > len(body.input) or len(node.output_type) > len(body.output):
        raise errors.InvalidArgumentError(
            message=f"{node.op} '{node.name}' has {len(node.input)} inputs and "
            f"{len(node.output_type)} outputs; its body takes {len(body.input)} and gives "
            f"{len(body.output)}"
        )
    given = [*node.input, *[""] * (len(body.input) - len(node.input))]
    return dict(zip(body.input, given, strict=True))


def _value(value: str, arguments: dict[str, str], prefix: str) -> str:
    if not value:
        return ""
    return arguments.get(value, f"{prefix}/{value}")


def _outputs(node: Node, body: Function, renamed: dict[str, str]) -> Iterator[Node]:
    """An Identity for each output of a call; the first one bears the call's name."""
    arguments = _arguments(node, body)
    for k, (output, kind) in enumerate(zip(body.output, node.output_type, strict=False)):
        name = f"{node.name}/output_{k}" if k else node.name
        if k:
            renamed[f"{node.name}:{k}"] = name
        yield Node(
            name=name,
            op="Identity",
            version=1,
            input=[_value(output, arguments, node.name)],
            output_type=[kind],
            device=node.device,
            source=node.source,
            tf_type=(node.tf_type or node.op) if k == 0 else "",
        )


def _rename(model: Model, renamed: dict[str, str]) -> None:
    """Makes everything that reads a renamed value read it under its new name."""
    for graph in all_graphs(model.graph):
        for node in graph.node:
            node.input[:] = [renamed.get(v, v) for v in node.input]
        graph.output[:] = [renamed.get(v, v) for v in graph.output]
        graph.capture[:] = sorted(renamed.get(v, v) for v in graph.capture)
    for signature in model.signature:
        for binding in (*signature.input, *signature.output):
            binding.value = renamed.get(binding.value, binding.value)
    for variable in model.variable:
        variable.initial_value = renamed.get(variable.initial_value, variable.initial_value)
        variable.snapshot = renamed.get(variable.snapshot, variable.snapshot)
