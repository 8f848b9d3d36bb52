"""A graph on the workbench of the passes: who makes and reads each value, and what must stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, functions, fused, nodes, operators
from graphio.schema.draft import Draft
from graphio.schema.model_pb2 import AttributeValue
from graphio.schema.nodes import Form, PlainGraph, PlainNode, Value, ValueType

__all__ = ["Array", "Shared", "Work", "attributes", "encoded", "type_of_array", "uses"]

Array = np.ndarray[Any, Any]
_INLINE_BELOW = 1024  # bytes; as in the writer of models


class Shared:
    """State shared by the graphs of a model.

    Attributes:
        draft: it, being changed.
        graphs: all of its graphs.
        fed: values that signatures may be given instead of computing them.
        given: those, and the formal inputs of bodies.
        pinned: values that something outside of the nodes names.
        pinned_nodes: nodes that something names.
        types: of values as the model came.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft, self.arrays = draft, draft.arrays
        tables = draft.tables
        self.fed = {b.value for s in tables.signature for b in s.input}
        self.given = set(self.fed)
        self.pinned = self.fed | {b.value for s in tables.signature for b in s.output}
        self.pinned_nodes = {name for s in tables.signature for name in s.target}
        for variable in tables.variable:
            self.pinned.update((variable.initial_value, variable.snapshot))
            self.pinned_nodes.update((variable.node, variable.initializer))
        for collection in tables.collection:
            for item in collection.item:
                self.pinned.add(item.tensor.removesuffix(":0"))
                self.pinned_nodes.add(item.operation)
        self.names: set[str] = set()
        self.types: dict[str, ValueType] = {}
        self.graphs = list(draft.graph.all())
        for graph in self.graphs:
            self._enter(graph)

    def _enter(self, graph: PlainGraph) -> None:
        self.pinned.update(graph.capture)
        self.pinned.update(graph.output)
        self.pinned_nodes.update(graph.target)
        self.types.update(graph.input)
        self.given.update(name for name, _ in graph.input)
        for node in graph.nodes:
            kinds = node.form.types
            if len(kinds) == 1:
                self.types[node.name] = kinds[0]
            else:
                self.types.update(zip(node.values(), kinds, strict=True))
            if node.control_input:
                self.pinned_nodes.update(node.control_input)
        self.names.update([node.name for node in graph.nodes])

    def shape_of(self, value: str) -> tuple[Any, ...]:
        """A value's dimensions as the model came, none if the rank was not known."""
        found = self.types.get(value)
        return () if found is None else found.shape or ()

    def new_name(self, requested: str) -> str:
        """A name that no node has, close to the requested one."""
        name, k = requested, 1
        while name in self.names:
            name, k = f"{requested}_{k}", k + 1
        self.names.add(name)
        return name

    def stored(self, array: Array) -> int:
        """The index of an array in the data section."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def pack(self) -> None:
        """Drops the arrays that nothing refers to and renumbers the others."""
        draft = self.draft
        if not draft.arrays:
            return
        held = list(_stored(draft.graph))
        used = sorted(_uses(draft, held))
        new = {old: k for k, old in enumerate(used)}
        for node, key, index in held:
            node.attr[key] = nodes.stored_value(new[index])
        for reference in _references(draft):
            reference.tensor = new[reference.tensor]
        for variable in draft.tables.variable:
            if variable.HasField("value"):
                variable.value = new[variable.value]
        for test in draft.tables.selftest:
            test.input[:] = [new[i] for i in test.input]
            test.output[:] = [new[i] for i in test.output]
        draft.arrays = [self.arrays[old] for old in used]


class Work:
    """One graph.

    Attributes:
        nodes: by name, in no particular order; `ordered` gives them in the order of execution.
        maker: by value, the name of the node that makes it.
        readers: by value, how often each node reads it.
        position: by name, what sorts the nodes in the order of execution.
    """

    def __init__(self, graph: PlainGraph, shared: Shared) -> None:
        self.graph, self.shared = graph, shared
        self.nodes: dict[str, PlainNode] = {}
        self.maker: dict[str, str] = {}
        self.readers: dict[str, dict[str, int]] = {}
        self.position: dict[str, tuple[int, ...]] = {}
        self.changed = False
        #: by domain and operator, the names of its nodes
        self._names: dict[tuple[str, str], dict[str, None]] = {}
        self._order: list[PlainNode] | None = None
        self._added = 0
        self._pure: dict[tuple[str, str, int], bool] = {}  # operators, subgraphs apart
        self._constants: dict[str, Array | None] = {}
        #: notes of the passes on nodes, by name; discarded when the node changes
        self.notes: dict[str, Any] = {}
        #: programs of fused nodes, by name, which become attributes at the end
        self.programs: dict[str, fused.Program] = {}
        for k, node in enumerate(graph.nodes):
            self._enter(node, (k, 0))

    # ---- looking ----

    def ordered(self) -> list[PlainNode]:
        """The nodes in the order of execution."""
        if self._order is None:
            names = sorted(self.nodes, key=self.position.__getitem__)
            self._order = [self.nodes[name] for name in names]
        return self._order

    def has(self, operators: Iterable[tuple[str, str]]) -> bool:
        """Whether there is a node of one of some operators, each its domain and name."""
        return any(self._names.get(operator) for operator in operators)

    def having(self, operators: Collection[tuple[str, str]]) -> list[PlainNode]:
        """The nodes of some operators, each its domain and name, in the order of execution."""
        lists = [names for operator, names in self._names.items() if operator in operators]
        names = sorted([n for names in lists for n in names], key=self.position.__getitem__)
        return [self.nodes[name] for name in names]

    def of(self, value: str) -> PlainNode | None:
        """The node that makes a value, None if it comes from outside of this graph or is fed."""
        name = self.maker.get(value)
        return None if name is None or value in self.shared.fed else self.nodes[name]

    def only_reader(self, value: str) -> PlainNode | None:
        """The one node that reads a value, once, if nothing else wants it."""
        readers = self.readers.get(value, {})
        if len(readers) != 1 or value in self.shared.pinned:
            return None
        ((name, count),) = readers.items()
        return self.nodes[name] if count == 1 else None

    def is_free(self, node: PlainNode) -> bool:
        """Whether nothing names the node or its values, so that it may go."""
        return (
            node.name not in self.shared.pinned_nodes
            and not node.control_input
            and self.shared.pinned.isdisjoint(node.values())
        )

    def type_of(self, value: str) -> ValueType | None:
        """The static type of a value."""
        name = self.maker.get(value)
        if name is None:
            return self.shared.types.get(value)
        node = self.nodes[name]
        return node.form.types[0 if value == name else node.values().index(value)]

    def dtype(self, value: str) -> int:
        """A value's element type, 0 if it is not known."""
        found = self.type_of(value)
        return 0 if found is None else found.dtype

    def shape(self, value: str) -> tuple[Any, ...] | None:
        """A value's dimensions: a size, a symbol, or None; None: the rank is not known."""
        found = self.type_of(value)
        return None if found is None else found.shape

    def constant(self, value: str) -> Array | None:
        """The numbers of a value that is the same in every run, None if it is none such."""
        if value not in self._constants:
            self._constants[value] = self._constant(value)
        return self._constants[value]

    def _constant(self, value: str) -> Array | None:
        held = self._held(value)
        if held is None:
            return None
        if nodes.is_stored(held):
            return np.asarray(self.shared.arrays[nodes.stored_index(held)])
        return nodes.array_of(held)

    def index_of(self, value: str) -> int | None:
        """The index of a constant among the arrays, None if it is none of them."""
        held = self._held(value)
        return nodes.stored_index(held) if held is not None and nodes.is_stored(held) else None

    def _held(self, value: str) -> Value | None:
        """The attribute of the constant that makes a value."""
        node = self.of(value)
        if node is None or node.op != "Constant" or node.domain or len(node.attr) != 1:
            return None
        return next(iter(node.attr.values()))

    def is_pure(self, node: PlainNode) -> bool:
        """Whether a node gives the same whenever it runs on the same, and does nothing besides."""
        key = (node.domain, node.op, node.form.version)
        pure = self._pure.get(key)
        if pure is None:
            pure = self._pure[key] = operators.is_pure(*key)
        return pure and not node.bodies()

    # ---- changing ----

    def _enter(self, node: PlainNode, position: tuple[int, ...]) -> None:
        name = node.name
        self.nodes[name] = node
        self.position[name] = position
        self._names.setdefault((node.domain, node.op), {})[name] = None
        self._order = None
        if len(node.form.types) == 1:
            self.maker[name] = name
        else:
            self.maker.update(dict.fromkeys(node.values(), name))
        for value in node.input:
            readers = self.readers.setdefault(value, {})
            readers[name] = readers.get(name, 0) + 1

    def remove(self, node: PlainNode) -> None:
        """Takes a node out; what still reads its values must read others afterwards."""
        self.changed = True
        self._order = None
        del self.nodes[node.name], self.position[node.name]
        del self._names[node.domain, node.op][node.name]
        self.notes.pop(node.name, None)
        self.programs.pop(node.name, None)
        for value in node.input:
            self.readers[value].pop(node.name, None)
        for value in node.values():
            del self.maker[value]
            self._constants.pop(value, None)

    def put(self, node: PlainNode, instead_of: PlainNode) -> None:
        """Puts a node in the place of another one."""
        position = self.position[instead_of.name]
        self.remove(instead_of)
        self._enter(node, position)

    def add(self, node: PlainNode, beside: PlainNode, before: bool = True) -> None:
        """Adds a node directly before or after another one."""
        self.changed = True
        self.shared.names.add(node.name)
        self._added += 1
        *front, _ = self.position[beside.name]  # which ends with 0: later ones sort around it
        step = (-1, self._added) if before else (1, -self._added)
        self._enter(node, (*front, *step, 0))

    def constant_node(self, requested: str, array: Array, beside: PlainNode) -> str:
        """A new constant in front of a node; returns its value's name."""
        form = Form("Constant", "", operators.version_for("Constant"), [type_of_array(array)])
        node = PlainNode(self.shared.new_name(requested), form, attr=self.held(array))
        self.add(node, beside)
        return node.name

    def held(self, array: Array) -> dict[str, Value]:
        """The attribute of a constant."""
        if array.nbytes < _INLINE_BELOW:
            return {"value": nodes.inline_value(array)}
        return {"value": nodes.stored_value(self.shared.stored(array))}

    def read_instead(self, value: str, other: str) -> None:
        """Makes all nodes of this graph that read a value read another one."""
        self.changed = True
        for name in self.readers.pop(value, {}):
            node = self.nodes[name]
            self.notes.pop(name, None)
            for i, read in enumerate(node.input):
                if read == value:
                    node.input[i] = other
                    readers = self.readers.setdefault(other, {})
                    readers[name] = readers.get(name, 0) + 1

    def change_inputs(self, node: PlainNode, inputs: Iterable[str]) -> None:
        """Gives a node other inputs."""
        self.changed = True
        self.notes.pop(node.name, None)
        for value in set(node.input):
            self.readers[value].pop(node.name, None)
        node.input[:] = list(inputs)
        for value in node.input:
            readers = self.readers.setdefault(value, {})
            readers[node.name] = readers.get(node.name, 0) + 1

    def change_shape(self, node: PlainNode, order: Sequence[int]) -> None:
        """Gives a node's output the dimensions that it has now in another order."""
        kind = node.form.types[0]
        shape = kind.shape or ()
        transposed = nodes.tensor_type(kind.dtype, tuple(shape[axis] for axis in order))
        node.form = node.form.giving([transposed, *node.form.types[1:]])

    def finish(self) -> None:
        """Writes the nodes back into the graph."""
        for name, program in self.programs.items():
            node = self.nodes[name]
            node.attr.update(program.attributes(linear=node.op in fused.LINEAR))
        if self.changed:
            self.graph.nodes = self.ordered()


def uses(draft: Draft) -> Counter[int]:
    """The number of references to each array: by nodes, those of functions too, variables and
    self-tests."""
    return _uses(draft, _stored(draft.graph))


def _uses(draft: Draft, held: Iterable[tuple[PlainNode, str, int]]) -> Counter[int]:
    found = Counter(index for _, _, index in held)
    found.update(reference.tensor for reference in _references(draft))
    found.update(v.value for v in draft.tables.variable if v.HasField("value"))
    for test in draft.tables.selftest:
        found.update((*test.input, *test.output))
    return found


def _stored(graph: PlainGraph) -> Iterator[tuple[PlainNode, str, int]]:
    """The attributes of a graph that are arrays: node, key, index."""
    for inner in graph.all():
        for node in inner.nodes:
            for key, value in node.attr.items():
                if nodes.is_stored(value):
                    yield node, key, nodes.stored_index(value)


def _references(draft: Draft) -> Iterator[AttributeValue]:
    """The attributes of functions that are arrays."""
    bodies = [node for function in draft.tables.function for node in function.node]
    roots = [graph for node in bodies for graph in functions.subgraphs(node)]
    inside = (node for root in roots for graph in functions.all_graphs(root) for node in graph.node)
    for node in (*bodies, *inside):
        yield from (a.value for a in node.attr if a.value.HasField("tensor"))


def attributes(node: PlainNode) -> dict[str, Any]:
    """Numbers, strings and lists (as tuples) among a node's attributes, as Python values."""
    pairs = ((key, nodes.decoded(value)) for key, value in node.attr.items())
    return {key: value for key, value in pairs if value is not None}


def encoded(values: Mapping[str, Any]) -> dict[str, bytes]:
    """Attributes from numbers and strings."""
    return {key: nodes.encoded_value(value) for key, value in values.items()}


def type_of_array(array: Array) -> ValueType:
    """The type of an array."""
    return nodes.tensor_type(dtypes.of_numpy(array.dtype).number, array.shape)
