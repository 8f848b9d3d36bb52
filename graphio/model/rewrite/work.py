"""A graph on the workbench of the passes: who makes and reads each value, and what must stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.schema import dtypes, functions, operators, tensors
from graphio.schema.model_pb2 import AttributeValue, Graph, Model, Node, Type

__all__ = ["Array", "Shared", "Work", "attributes", "float_type", "set_attributes", "uses"]

Array = np.ndarray[Any, Any]
_INLINE_BELOW = 1024  # bytes; as in the writer of models
_LISTS = {"ints": "i", "floats": "f", "strings": "s"}


class Shared:
    """State shared by the graphs of a model.

    Attributes:
        model: it, being changed.
        fed: values that signatures may be given instead of computing them.
        given: those, and the formal inputs of bodies.
        pinned: values that something outside of the nodes names.
        pinned_nodes: nodes that something names.
        types: of values as the model came.
    """

    def __init__(self, model: Model, arrays: Sequence[Array]) -> None:
        self.model = model
        self.arrays = list(arrays)
        self.fed = {b.value for s in model.signature for b in s.input}
        self.given = set(self.fed)
        self.pinned = self.fed | {b.value for s in model.signature for b in s.output}
        self.pinned_nodes = {name for s in model.signature for name in s.target}
        for variable in model.variable:
            self.pinned |= {variable.initial_value, variable.snapshot}
            self.pinned_nodes |= {variable.node, variable.initializer}
        for collection in model.collection:
            for item in collection.item:
                self.pinned.add(item.tensor.removesuffix(":0"))
                self.pinned_nodes.add(item.operation)
        self.names: set[str] = set()
        self.types: dict[str, Type] = {}
        for graph in functions.all_graphs(model.graph):
            self.pinned.update(graph.capture)
            self.pinned.update(graph.output)
            self.pinned_nodes.update(graph.target)
            self.types.update((argument.name, argument.type) for argument in graph.input)
            self.given.update(argument.name for argument in graph.input)
            for node in graph.node:
                self.names.add(node.name)
                for value, kind in zip(values_of(node), node.output_type, strict=True):
                    self.types[value] = kind
                self.pinned_nodes.update(node.control_input)

    def shape_of(self, value: str) -> tuple[Any, ...]:
        """A value's dimensions as the model came, none if the rank was not known."""
        found = self.types.get(value)
        return () if found is None else tuple(map(_size, found.tensor.shape.dim))

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

    def packed(self) -> list[Array]:
        """The arrays that something still refers to, renumbered in the model."""
        used = uses(self.model)
        new = {old: k for k, old in enumerate(sorted(used))}
        for reference in _references(self.model):
            reference.tensor = new[reference.tensor]
        for variable in self.model.variable:
            if variable.HasField("value"):
                variable.value = new[variable.value]
        for test in self.model.selftest:
            test.input[:] = [new[i] for i in test.input]
            test.output[:] = [new[i] for i in test.output]
        return [self.arrays[old] for old in sorted(used)]


class Work:
    """One graph.

    Attributes:
        nodes: by name, in no particular order; `ordered` gives them in the order of execution.
        maker: by value, the name of the node that makes it.
        readers: by value, how often each node reads it.
        operator: by name, the domain and operator of each node.
    """

    def __init__(self, graph: Graph, shared: Shared) -> None:
        self.graph, self.shared = graph, shared
        self.nodes: dict[str, Node] = {}
        self.maker: dict[str, str] = {}
        self.readers: dict[str, dict[str, int]] = {}
        self.position: dict[str, float] = {}
        self.operator: dict[str, tuple[str, str]] = {}
        self.changed = False
        self._order: list[Node] | None = None
        self._pure: dict[tuple[str, str, int], bool] = {}  # operators, subgraphs apart
        self._constants: dict[str, Array | None] = {}
        self._kinds: dict[str, tuple[int, tuple[Any, ...] | None]] = {}
        #: notes of the passes on nodes, by name; discarded when the node changes
        self.notes: dict[str, Any] = {}
        for k, node in enumerate(graph.node):
            self._enter(node, float(k))

    # ---- looking ----

    def ordered(self) -> list[Node]:
        """The nodes in the order of execution."""
        if self._order is None:
            names = sorted(self.nodes, key=self.position.__getitem__)
            self._order = [self.nodes[name] for name in names]
        return self._order

    def having(self, operators: Collection[tuple[str, str]]) -> list[Node]:
        """The nodes of some operators, each its domain and name, in the order of execution."""
        if not any(operator in operators for operator in set(self.operator.values())):
            return []
        return [node for node in self.ordered() if self.operator[node.name] in operators]

    def of(self, value: str) -> Node | None:
        """The node that makes a value, None if it comes from outside of this graph or is fed."""
        name = self.maker.get(value)
        return None if name is None or value in self.shared.fed else self.nodes[name]

    def only_reader(self, value: str) -> Node | None:
        """The one node that reads a value, once, if nothing else wants it."""
        readers = self.readers.get(value, {})
        if len(readers) != 1 or value in self.shared.pinned:
            return None
        ((name, count),) = readers.items()
        return self.nodes[name] if count == 1 else None

    def is_free(self, node: Node) -> bool:
        """Whether nothing names the node or its values, so that it may go."""
        return (
            node.name not in self.shared.pinned_nodes
            and not self.shared.pinned.intersection(values_of(node))
            and not node.control_input
        )

    def type_of(self, value: str) -> Type | None:
        """The static type of a value."""
        name = self.maker.get(value)
        if name is None:
            return self.shared.types.get(value)
        node = self.nodes[name]
        return node.output_type[0 if value == name else values_of(node).index(value)]

    def dtype(self, value: str) -> int:
        """A value's element type, 0 if it is not known."""
        return self._kind(value)[0]

    def shape(self, value: str) -> tuple[Any, ...] | None:
        """A value's dimensions: a size, a symbol, or None; None: the rank is not known."""
        return self._kind(value)[1]

    def _kind(self, value: str) -> tuple[int, tuple[Any, ...] | None]:
        if value not in self._kinds:
            found = self.type_of(value)
            dtype, shape = 0, None
            if found is not None and found.HasField("tensor"):
                dtype = int(found.tensor.dtype)
                if found.tensor.HasField("shape"):
                    shape = tuple(map(_size, found.tensor.shape.dim))
            self._kinds[value] = dtype, shape
        return self._kinds[value]

    def constant(self, value: str) -> Array | None:
        """The numbers of a value that is the same in every run, None if it is none such."""
        if value not in self._constants:
            self._constants[value] = self._constant(value)
        return self._constants[value]

    def _constant(self, value: str) -> Array | None:
        stored = self.index_of(value)
        if stored is not None:
            return np.asarray(self.shared.arrays[stored])
        held = self._held(value)
        return tensors.to_array(held.t) if held is not None and held.HasField("t") else None

    def index_of(self, value: str) -> int | None:
        """The index of a constant among the arrays, None if it is none of them."""
        held = self._held(value)
        return held.tensor if held is not None and held.HasField("tensor") else None

    def _held(self, value: str) -> AttributeValue | None:
        """The attribute of the constant that makes a value."""
        node = self.of(value)
        if node is None or node.domain or node.op != "Constant" or len(node.attr) != 1:
            return None
        return node.attr[0].value

    def is_pure(self, node: Node) -> bool:
        """Whether a node gives the same whenever it runs on the same, and does nothing besides."""
        key = (*self.operator[node.name], node.version)
        pure = self._pure.get(key)
        if pure is None:
            pure = self._pure[key] = operators.is_pure(*key)
        return pure and not functions.subgraphs(node)

    # ---- changing ----

    def _enter(self, node: Node, position: float) -> None:
        name = node.name
        self.nodes[name] = node
        self.position[name] = position
        self.operator[name] = node.domain, node.op
        self._order = None
        for value in values_of(node):
            self.maker[value] = name
        for value in node.input:
            readers = self.readers.setdefault(value, {})
            readers[name] = readers.get(name, 0) + 1

    def remove(self, node: Node) -> None:
        """Takes a node out; what still reads its values must read others afterwards."""
        self.changed = True
        self._order = None
        del self.nodes[node.name], self.position[node.name], self.operator[node.name]
        self.notes.pop(node.name, None)
        for value in set(node.input):
            self.readers[value].pop(node.name, None)
        for value in values_of(node):
            del self.maker[value]
            self._constants.pop(value, None)
            self._kinds.pop(value, None)

    def put(self, node: Node, instead_of: Node) -> None:
        """Puts a node in the place of another one."""
        position = self.position[instead_of.name]
        self.remove(instead_of)
        self._enter(node, position)

    def add(self, node: Node, beside: Node, before: bool = True) -> None:
        """Adds a node directly before or after another one."""
        self.changed = True
        self.shared.names.add(node.name)
        here = self.position[beside.name]
        others = self.position.values()
        if before:
            edge = max((p for p in others if p < here), default=here - 1.0)
        else:
            edge = min((p for p in others if p > here), default=here + 1.0)
        self._enter(node, (here + edge) / 2)

    def constant_node(self, requested: str, array: Array, beside: Node) -> str:
        """A new constant in front of a node; returns its value's name."""
        node = Node(name=self.shared.new_name(requested), op="Constant")
        node.version = operators.version_for("Constant")
        node.output_type.append(tensor_type(array))
        held = node.attr.add(key="value").value
        if array.nbytes < _INLINE_BELOW:
            held.t.CopyFrom(tensors.from_array(array))
        else:
            held.tensor = self.shared.stored(array)
        self.add(node, beside)
        return node.name

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

    def change_inputs(self, node: Node, inputs: Iterable[str]) -> None:
        """Gives a node other inputs."""
        self.changed = True
        self.notes.pop(node.name, None)
        for value in set(node.input):
            self.readers[value].pop(node.name, None)
        node.input[:] = list(inputs)
        for value in node.input:
            readers = self.readers.setdefault(value, {})
            readers[node.name] = readers.get(node.name, 0) + 1

    def change_shape(self, node: Node, order: Sequence[int]) -> None:
        """Gives a node's output the dimensions that it has now in another order."""
        shape = node.output_type[0].tensor.shape
        sizes = [type(d).FromString(d.SerializeToString()) for d in shape.dim]
        del shape.dim[:]
        shape.dim.extend(sizes[axis] for axis in order)
        self._kinds.pop(node.name, None)

    def finish(self) -> None:
        """Writes the nodes back into the graph."""
        if self.changed:
            made = Graph(node=self.ordered())
            del self.graph.node[:]
            self.graph.node.extend(made.node)


def uses(model: Model) -> Counter[int]:
    """The number of references to each array: by nodes, those of functions too, variables and
    self-tests."""
    found = Counter(reference.tensor for reference in _references(model))
    found.update(v.value for v in model.variable if v.HasField("value"))
    for test in model.selftest:
        found.update((*test.input, *test.output))
    return found


def _references(model: Model) -> Iterator[AttributeValue]:
    """The attributes that are arrays."""
    bodies = [node for function in model.function for node in function.node]
    roots = [model.graph, *(graph for node in bodies for graph in functions.subgraphs(node))]
    inside = (node for root in roots for graph in functions.all_graphs(root) for node in graph.node)
    for node in (*bodies, *inside):
        yield from (a.value for a in node.attr if a.value.HasField("tensor"))


def values_of(node: Node) -> list[str]:
    """The names of a node's outputs."""
    count = len(node.output_type)
    if count == 1:
        return [node.name]
    return [node.name if k == 0 else f"{node.name}:{k}" for k in range(count)]


def attributes(node: Node) -> dict[str, Any]:
    """Numbers, strings and lists among a node's attributes, as Python values."""
    found: dict[str, Any] = {}
    for attribute in node.attr:
        kind = str(attribute.value.WhichOneof("value"))
        value = getattr(attribute.value, kind, None)
        if kind == "s":
            found[attribute.key] = attribute.value.s.decode("utf-8", "replace")
        elif kind in ("i", "f", "d"):
            found[attribute.key] = value
        elif kind in _LISTS:
            found[attribute.key] = list(getattr(value, _LISTS[kind]))
    return found


def set_attributes(node: Node, values: Mapping[str, Any]) -> None:
    """Adds integers and lists of integers to a node that has no attributes."""
    for key in sorted(values):
        held = node.attr.add(key=key).value
        if isinstance(values[key], list):
            held.ints.SetInParent()
            held.ints.i.extend(values[key])
        elif isinstance(values[key], str):
            held.s = values[key].encode()
        elif isinstance(values[key], float):
            held.f = values[key]
        else:
            held.i = values[key]


def tensor_type(array: Array) -> Type:
    """The type of an array."""
    made = Type()
    made.tensor.dtype = dtypes.of_numpy(array.dtype).number  # type: ignore[assignment]
    made.tensor.shape.SetInParent()
    for size in array.shape:
        made.tensor.shape.dim.add(size=size)
    return made


def float_type(shape: Sequence[Any] | None) -> Type:
    """The type of a float32 tensor; dimensions as Work.shape gives them."""
    made = Type()
    made.tensor.dtype = 1  # type: ignore[assignment]
    if shape is not None:
        made.tensor.shape.SetInParent()
        for size in shape:
            dimension = made.tensor.shape.dim.add()
            if isinstance(size, str):
                dimension.symbol = size
            elif size is not None:
                dimension.size = size
    return made


def _size(dimension: Any) -> Any:
    kind = dimension.WhichOneof("value")
    return None if kind is None else getattr(dimension, kind)
