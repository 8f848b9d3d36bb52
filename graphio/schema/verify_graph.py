"""Checks of graphs and nodes: names, order, producers, captures, attributes, arity."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from graphio.schema import dtypes, operators
from graphio.schema.model_pb2 import Attribute, Graph, Node, Type

MAX_DEPTH = 16
MAX_RANK = 16
LONGEST = 400  # characters of a name in a message

#: attributes whose values are looked at one by one
_CHECKED = frozenset((None, "tensor", "reference", "g", "graphs"))

#: kinds of attributes in the operator table to the fields of AttributeValue that may hold them
FIELDS = {
    "int": ("i",),
    "float": ("f", "d"),
    "string": ("s",),
    "tensor": ("t", "tensor"),
    "graph": ("g",),
    "type": ("type",),
    "type_proto": ("type",),
    "ints": ("ints",),
    "floats": ("floats",),
    "strings": ("strings",),
    "graphs": ("graphs",),
}


@dataclass
class Scope:
    """The values that a node at this point may read: how many outputs each producer has.

    Attributes:
        outer: of the graph around this one, up to the node that holds this one.
        captures: values of enclosing graphs that this graph lists.
    """

    outer: Scope | None = None
    captures: frozenset[str] = frozenset()
    outputs: dict[str, int] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)

    def has_first(self, values: Iterable[str]) -> bool:
        """Whether all are first outputs of nodes of this graph, as nearly all values are."""
        return self.outputs.keys() >= set(values)

    def has(self, value: str) -> bool:
        """Whether a value is made in this graph, or captured and made around it."""
        name, index = split(value)
        if name in self.outputs:
            return 0 <= index < self.outputs[name]
        return self.outer is not None and value in self.captures and self.outer.has(value)

    def made_around(self, value: str) -> bool:
        """Whether an enclosing graph has the value, listed or not."""
        if self.outer is None:
            return False
        name, index = split(value)
        if name in self.outer.outputs:
            return 0 <= index < self.outer.outputs[name]
        return self.outer.made_around(value)


def split(value: str) -> tuple[str, int]:
    """Producer and index of a value; index -1 when it is malformed."""
    name, colon, index = value.rpartition(":")
    if not colon:
        return value, 0
    if not index.isdecimal() or index != str(int(index)) or index == "0":
        return name, -1
    return name, int(index)


def shown(name: str) -> str:
    """A name as messages have it: a long one is cut, as many of them have it."""
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}..."


def node_title(node: Node) -> str:
    """A node's name in messages: "Conv2D 'conv1' (train.py:88 in build)"."""
    title = f"{shown(node.op)} '{shown(node.name)}'"
    if node.source.file:
        inside = f" in {shown(node.source.function)}" if node.source.function else ""
        title += f" ({shown(node.source.file)}:{node.source.line}{inside})"
    return title


@dataclass
class GraphChecker:
    """Walks graphs and reports what is wrong.

    Attributes:
        report: takes one problem.
        tensors: how many entries Model.tensor has.
        references: attributes that nodes may refer to; None outside functions.
        named: the variables and generators that nodes of graphs name.
    """

    report: Callable[[str], None]
    tensors: int
    references: frozenset[str] | None = None
    names: set[str] = field(default_factory=set)
    named: dict[str, set[str]] = field(
        default_factory=lambda: {"variable": set(), "generator": set()}
    )
    right: set[object] = field(default_factory=set)  # forms of nodes that were found right
    reports: int = 0

    def __post_init__(self) -> None:
        report = self.report

        def counted(problem: str) -> None:
            self.reports += 1
            report(problem)

        self.report = counted

    def root(self, graph: Graph) -> Scope:
        """Checks the root graph; returns what it makes."""
        if graph.input or graph.output or graph.capture:
            self.report("the root graph has inputs, outputs or captures")
        return self.graph(graph, None, "the root graph", 0)

    def graph(self, graph: Graph, outer: Scope | None, where: str, depth: int) -> Scope:
        """Checks one graph and those inside it."""
        scope = Scope(outer, frozenset(graph.capture))
        if depth > MAX_DEPTH:
            self.report(f"{where} is nested deeper than {MAX_DEPTH}")
            return scope
        self.ascending(graph.capture, f"captures of {where}")
        for value in graph.capture:
            if outer is None or not outer.has(value):
                self.report(f"{where} captures '{value}', which its surroundings do not have there")
        for argument in graph.input:
            self.name(argument.name, f"an input of {where}")
            self.type(argument.type, f"input '{argument.name}' of {where}")
            scope.outputs[argument.name] = 1
        for node in graph.node:
            if not self.plain(node, scope):
                before = self.reports
                self.node(node, scope, depth)
                if self.reports == before:
                    self.right.add(self.form(node))
            if node.output_type:
                scope.outputs[node.name] = len(node.output_type)
            scope.nodes.add(node.name)
        for value in graph.output:
            self.reads(value, scope, f"{where} gives back")
        for target in graph.target:
            if target not in scope.nodes:
                self.report(f"{where} has a target '{target}', which is not a node of it")
        return scope

    def plain(self, node: Node, scope: Scope) -> bool:
        """Whether a node is right without a check: another one was of its form and found right.
        Nearly all nodes are, and this takes a fraction of the time of the full check."""
        name = node.name
        form = self.form(node)
        if form is None or form not in self.right or name in self.names:
            return False
        if not scope.has_first(node.input) or not name or ":" in name:
            return False
        self.names.add(name)
        return True

    def form(self, node: Node) -> object:
        """The facts that a node shares with others that are checked alike; None: none. Notes what
        state it names."""
        domain, types = node.domain, node.output_type
        form = [node.op, domain, node.version, len(node.input), len(types)]
        common = not node.control_input
        for attribute in node.attr:
            key, value = attribute.key, attribute.value
            kind = value.WhichOneof("value")
            form += (key, kind)
            if kind in _CHECKED or (kind == "t" and value.t.stored):
                common = False
            elif kind == "type":
                form.append(value.type.SerializePartialToString())
            elif kind == "s" and domain == "graphio" and key in self.named:
                self.named[key].add(value.s.decode(errors="replace"))
        if not common:
            return None
        form += [kind.SerializePartialToString() for kind in types]
        return tuple(form)

    def node(self, node: Node, scope: Scope, depth: int) -> None:
        """Checks a node against the nodes before it."""
        title = node_title(node)
        self.name(node.name, title)
        for value in node.input:
            if value:
                self.reads(value, scope, f"{title} reads")
        for name in node.control_input:
            if name not in scope.nodes:
                self.report(
                    f"{title} waits for '{name}', which is not an earlier node of its graph"
                )
        self.ascending([a.key for a in node.attr], f"attributes of {title}")
        for attribute in node.attr:
            self.attribute(attribute, scope, title, depth)
        for k, kind in enumerate(node.output_type):
            self.type(kind, f"output {k} of {title}")
        if not 0 < node.version < 2**31:
            self.report(f"{title} has no version: {node.version}")
        else:
            self.operator(node, title)
        for problem in control_flow_problems(node):
            self.report(f"{title} {problem}")

    def reads(self, value: str, scope: Scope, who: str) -> None:
        """Reports a value that is not there."""
        if scope.has(value):
            return
        if scope.made_around(value):
            self.report(f"{who} '{value}' without listing it among the captures")
        else:
            self.report(f"{who} '{value}', which nothing before it makes")

    def attribute(self, attribute: Attribute, scope: Scope, title: str, depth: int) -> None:
        """Checks a value of an attribute; subgraphs are checked here."""
        kind = attribute.value.WhichOneof("value")
        where = f"attribute '{shown(attribute.key)}' of {title}"
        if kind is None:
            self.report(f"{where} has no value")
        elif kind == "tensor" and attribute.value.tensor >= self.tensors:
            self.report(f"{where} refers to tensor {attribute.value.tensor} of {self.tensors}")
        elif kind == "t" and attribute.value.t.stored:
            self.report(f"{where} is an inline tensor that claims to be stored")
        elif kind == "reference" and attribute.value.reference not in (self.references or ()):
            self.report(
                f"{where} refers to '{attribute.value.reference}', no attribute of a function"
            )
        elif kind == "type":
            self.type(attribute.value.type, where)
        elif kind in ("g", "graphs"):
            inside = [attribute.value.g] if kind == "g" else attribute.value.graphs.g
            for graph in inside:
                self.graph(graph, scope, where, depth + 1)

    def operator(self, node: Node, title: str) -> None:
        """Checks a node against the operator table; operators of others are not checked."""
        row = operators.find(node.domain, node.op, node.version)
        if row is None:
            return
        self.arity(len(node.input), row.min_inputs, row.max_inputs, "inputs", title)
        self.arity(len(node.output_type), row.min_outputs, row.max_outputs, "outputs", title)
        for i, value in enumerate(node.input if row.inputs else ()):
            parameter = row.inputs[min(i, len(row.inputs) - 1)]
            if not value and (parameter.least or parameter.variadic):
                self.report(f"{title} lacks its input '{parameter.name}'")
        given = {a.key: a.value.WhichOneof("value") for a in node.attr}
        for name, spec in row.attributes.items():
            if name not in given:
                if spec.required:
                    self.report(f"{title} lacks its attribute '{name}'")
            elif given[name] != "reference" and given[name] not in FIELDS.get(
                spec.kind, (given[name],)
            ):
                self.report(
                    f"attribute '{name}' of {title} is of kind {given[name]}, expected {spec.kind}"
                )

    def arity(self, found: int, least: int, most: int, what: str, title: str) -> None:
        """Reports a number of inputs or outputs that the operator does not have."""
        if not least <= found <= most:
            expected = f"{least}" if least == most else f"{least} to {most}"
            expected = f"at least {least}" if most == operators.UNLIMITED else expected
            self.report(f"{title} has {found} {what}, expected {expected}")

    def type(self, found: Type, where: str) -> None:
        """Checks element type and shape; a type may be left open inside functions."""
        while found.WhichOneof("kind") in ("sequence", "optional"):
            found = getattr(found, found.WhichOneof("kind") or "")
        if found.WhichOneof("kind") is None:
            return
        if found.tensor.dtype not in dtypes.BY_NUMBER:
            self.report(f"{where} has the unknown element type {found.tensor.dtype}")
        if len(found.tensor.shape.dim) > MAX_RANK:
            self.report(f"{where} has a rank above {MAX_RANK}")
        if any(d.WhichOneof("value") == "size" and d.size < 0 for d in found.tensor.shape.dim):
            self.report(f"{where} has a negative dimension")
        if any("\0" in d.symbol for d in found.tensor.shape.dim):
            self.report(f"{where} has a symbol with a zero byte")

    def name(self, name: str, who: str) -> None:
        """Notes the name of a node or formal input: unique in the model."""
        if not name or ":" in name:
            self.report(f"{who} has the impossible name '{name}'")
        elif name in self.names:
            self.report(f"two nodes or inputs have the name '{name}'")
        self.names.add(name)

    def ascending(self, keys: Iterable[str], what: str) -> None:
        """Reports keys that are not sorted or not unique."""
        listed = list(keys)
        for a, b in itertools.pairwise(listed):
            if a >= b:  # as their UTF-8 compares
                first, second = (key.replace("\0", " ") for key in (a, b))
                self.report(f"{what} are not sorted and unique: '{first}' is before '{second}'")
                return


def control_flow_problems(node: Node) -> Iterator[str]:
    """The differences between an If, Loop or Scan and its bodies."""
    if node.domain:
        return
    graphs = {a.key: a.value.g for a in node.attr if a.value.WhichOneof("value") == "g"}
    if node.op == "If":
        for key in ("then_branch", "else_branch"):
            if key in graphs:
                yield from _if_problems(node, key, graphs[key])
    elif node.op == "Loop" and "body" in graphs:
        yield from _loop_problems(node, graphs["body"])
    elif node.op == "Scan" and "body" in graphs:
        yield from _scan_problems(node, graphs["body"])


def _if_problems(node: Node, key: str, body: Graph) -> Iterator[str]:
    if body.input:
        yield f"has a {key} with inputs"
    if len(body.output) != len(node.output_type):
        yield f"has {len(node.output_type)} outputs, its {key} gives {len(body.output)}"


def _loop_problems(node: Node, body: Graph) -> Iterator[str]:
    carried = max(len(node.input) - 2, 0)
    if len(body.input) != 2 + carried:
        yield f"carries {carried} values, its body takes {len(body.input) - 2}"
    if len(body.output) != 1 + len(node.output_type) or len(node.output_type) < carried:
        yield (
            f"carries {carried} values and has {len(node.output_type)} outputs, its body gives "
            f"{len(body.output) - 1}"
        )


def _scan_problems(node: Node, body: Graph) -> Iterator[str]:
    if len(body.input) != len(node.input):
        yield f"has {len(node.input)} inputs, its body takes {len(body.input)}"
    if len(body.output) != len(node.output_type):
        yield f"has {len(node.output_type)} outputs, its body gives {len(body.output)}"


def sorted_by(items: Sequence[object], key: str) -> list[str]:
    """The strings of a field, for GraphChecker.ascending."""
    return [str(getattr(item, key)) for item in items]
