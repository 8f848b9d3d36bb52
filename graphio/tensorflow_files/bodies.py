"""Graphs and functions of TensorFlow as one form: nodes by name that read values by key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from graphio.schema import tensorflow_pb2 as pb

__all__ = [
    "Body",
    "Key",
    "Node",
    "behind",
    "function_body",
    "functions_called",
    "graph_body",
    "in_order",
    "reached",
]

#: A value: the node that makes it, or an argument, and which of its outputs it is.
Key = tuple[str, int]

#: Names of the outputs of operators that have several, by which functions read them.
OUTPUTS: dict[str, tuple[str, ...]] = {
    "ArgMaxWithValue": ("indices", "values"),
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance", "reserve_space_1", "reserve_space_2"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance", "reserve_space_1",
                         "reserve_space_2"),
    "FusedBatchNormV3": ("y", "batch_mean", "batch_variance", "reserve_space_1",
                         "reserve_space_2", "reserve_space_3"),
    "Merge": ("output", "value_index"),
    "Qr": ("q", "r"),
    "SelfAdjointEigV2": ("e", "v"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "Svd": ("s", "u", "v"),
    "Switch": ("output_false", "output_true"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TopK": ("values", "indices"),
    "TopKV2": ("values", "indices"),
    "Unique": ("y", "idx"),
    "UniqueV2": ("y", "idx"),
}  # fmt: skip


#: How many inputs the operators have that are followed before anything is built.
_INPUTS = {
    "Enter": 1, "Exit": 1, "Identity": 1, "LoopCond": 1, "NextIteration": 1, "RefEnter": 1,
    "RefExit": 1, "RefIdentity": 1, "RefNextIteration": 1, "RefSwitch": 2, "Switch": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """A node; `controls` are names of the nodes that run before it."""

    name: str
    op: str
    inputs: tuple[Key, ...]
    controls: tuple[str, ...]
    attr: Mapping[str, pb.AttrValue]


@dataclass
class Body:
    """A graph or a function.

    Attributes:
        name: of the function; "" for the main graph.
        nodes: by name, in the order of the file.
        args: names of the arguments, which are keys with output 0.
        results: what a call of the function gives.
        finally_: names of nodes that run although nothing reads them.
    """

    name: str
    nodes: dict[str, Node] = field(default_factory=dict)
    args: list[str] = field(default_factory=list)
    results: list[Key] = field(default_factory=list)
    finally_: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f" of function '{self.name}'" if self.name else ""


def graph_body(graph: pb.GraphDef, problems: Callable[[str], None]) -> Body:
    """The main graph; what contradicts itself goes to problems."""
    made = Body("")
    for proto in graph.node:
        _add(made, proto, lambda text: _graph_key(text), problems)
    _check(made, problems)
    return made


def function_body(function: pb.FunctionDef, problems: Callable[[str], None]) -> Body:
    """A function of the library."""
    signature = function.signature
    made = Body(signature.name, args=[a.name for a in signature.input_arg])
    args = frozenset(made.args)
    ops = {n.name: n.op for n in function.node_def}

    def key(text: str) -> Key:
        node, _, rest = text.partition(":")
        output, _, index = rest.partition(":")
        if not rest:
            return node, 0
        names = OUTPUTS.get(ops.get(node, ""), ())
        first = names.index(output) if output in names else 0
        return node, first + _number(index or "0", text)

    for proto in function.node_def:
        _add(made, proto, key, problems, args)
    for argument in signature.output_arg:
        if argument.name not in function.ret:
            problems(f"function '{made.name}' does not say what its result '{argument.name}' is")
            continue
        try:
            made.results.append(key(function.ret[argument.name]))
        except ValueError as error:
            problems(f"function '{made.name}': {error}")
    made.finally_ = [name for _, name in sorted(function.control_ret.items())]
    _check(made, problems)
    return made


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 6:
        raise ValueError(f"'{name}' names no output")
    return int(text)


def _graph_key(text: str) -> Key:
    node, colon, index = text.partition(":")
    return node, _number(index, text) if colon else 0


def _add(
    body: Body,
    proto: pb.NodeDef,
    key: Callable[[str], Key],
    problems: Callable[[str], None],
    args: Set[str] = frozenset(),
) -> None:
    if not proto.name or proto.name in body.nodes or proto.name in args:
        problems(f"two nodes{body.title} are named '{proto.name}'" if proto.name
                 else f"a node{body.title} has no name")  # fmt: skip
        return
    try:
        inputs = tuple(key(text) for text in proto.input if not text.startswith("^"))
    except ValueError as error:
        problems(f"{proto.op} '{proto.name}'{body.title}: {error}")
        return
    controls = tuple(text[1:] for text in proto.input if text.startswith("^"))
    body.nodes[proto.name] = Node(proto.name, proto.op, inputs, controls, proto.attr)


def _check(body: Body, problems: Callable[[str], None]) -> None:
    """Everything that is read is there."""
    known = {*body.nodes, *body.args}
    for node in body.nodes.values():
        count = _INPUTS.get(node.op, len(node.inputs))
        if len(node.inputs) != count:
            problems(
                f"{node.op} '{node.name}'{body.title} has {len(node.inputs)} inputs, expected "
                f"{count}"
            )
        for name in (*(k[0] for k in node.inputs), *node.controls):
            if name not in known:
                problems(f"{node.op} '{node.name}'{body.title} reads '{name}', which is not there")
    lost = [name for name, _ in body.results if name not in known]
    for name in (*lost, *(name for name in body.finally_ if name not in body.nodes)):
        problems(f"function '{body.name}' gives '{name}', which is not in it")


def functions_called(node: Node) -> Iterator[tuple[str, str]]:
    """The attribute and the name of each function that a node calls."""
    for key in sorted(node.attr):
        value = node.attr[key]
        if value.HasField("func"):
            yield key, value.func.name
        elif value.HasField("list"):
            yield from ((key, f.name) for f in value.list.func)


def reached(body: Body, names: Iterable[str], there: Iterable[str] = ()) -> Iterator[Node]:
    """Nodes of a body that others read, these included; but for what is there already."""
    waiting, seen = list(names), set(there)
    while waiting:
        name = waiting.pop()
        node = body.nodes.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        yield node
        waiting += [k[0] for k in node.inputs]


def behind(body: Body, key: Key, passing: Sequence[str]) -> Key:
    """The value before nodes of some operators that pass their first input on."""
    seen: set[Key] = set()
    while key not in seen:
        seen.add(key)
        node = body.nodes.get(key[0])
        if node is None or node.op not in passing or not node.inputs:
            return key
        key = node.inputs[0]
    return key


def in_order(
    roots: Iterable[Any], needs: Callable[[Any], Sequence[Any]], skip: Callable[[Any], bool]
) -> Iterator[Any]:
    """All that roots need, each after its own dependencies; without recursion.

    Args:
        roots: where to begin.
        needs: what an item needs.
        skip: whether an item is there already.

    Raises:
        ValueError: items need each other in a circle.
    """
    open_, done = set(), set()
    stack: list[tuple[Any, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        item, left = stack.pop()
        if left:
            open_.discard(item)
            done.add(item)
            yield item
            continue
        if item in done or skip(item):
            continue
        if item in open_:
            raise ValueError(f"{_name(item)} needs itself")
        open_.add(item)
        stack.append((item, True))
        for needed in reversed(needs(item)):
            if needed in open_:
                raise ValueError(f"{_name(item)} and {_name(needed)} need each other")
            if needed not in done:
                stack.append((needed, False))


def _name(item: Any) -> str:
    return f"'{item[0] if isinstance(item, tuple) else item}'"
