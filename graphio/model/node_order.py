"""The nodes of a message in an order in which they can be made, checked on the way."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from graphio.model import plain_nodes
from graphio.schema import model_pb2, operators
from graphio.schema.functions import subgraphs
from graphio.schema.operators import UNLIMITED
from graphio.schema.verify_graph import GraphChecker
from graphio.support import errors

__all__ = ["in_order"]

NEWEST = 40  # no operator has a version as high
_GRAPHS = ("g", "graphs")


class UnknownOperatorError(errors.NotFoundError, ValueError):
    """A node's type is none that graphio has."""


def in_order(graph: model_pb2.Graph) -> list[model_pb2.Node]:
    """The nodes in topological order, each after its inputs, otherwise in the given order.

    Raises:
        ValueError: a node reads what is not there, or itself in a circle; or two have one name.
        NotFoundError: a type of operation that there is not.
    """
    nodes: dict[str, model_pb2.Node] = {}
    for node in graph.node:
        if node.name in nodes:
            raise ValueError(f"Node '{node.name}' is not unique")
        nodes[node.name] = node
    done: dict[str, model_pb2.Node] = {}
    right: set[object] = set()
    for name, node in nodes.items():
        if name in done:
            continue
        if _is_next(name, node, nodes, done, right):
            done[name] = node
        else:
            _follow(node, nodes, done, right)
    return list(done.values())


def _is_next(
    name: str,
    node: model_pb2.Node,
    nodes: Mapping[str, model_pb2.Node],
    done: Mapping[str, model_pb2.Node],
    right: Container[object],
) -> bool:
    """Whether a quick check finds a node in order: it reads first outputs of nodes that are done,
    and one of its form was in order. Nearly all nodes are so."""
    variable, kinds = None, []
    for attribute in node.attr:
        key, value = attribute.key, attribute.value
        kind = value.WhichOneof("value")
        if kind in _GRAPHS:
            return False
        kinds.append((key, kind))
        if key == "variable" and variable is None:
            variable = value.s.decode()
    inputs = node.input
    if node.control_input or "" in inputs or not done.keys() >= set(inputs):
        return False
    if variable in nodes and variable not in done and variable != name:
        return False
    return _form_of(node, len(inputs), kinds) in right


def _follow(
    first: model_pb2.Node,
    nodes: Mapping[str, model_pb2.Node],
    done: dict[str, model_pb2.Node],
    right: set[object],
) -> None:
    """Adds a node to those that are done, after all that it reads."""
    begun: set[str] = set()
    pending = [(first, _sources(first, nodes))]
    while pending:
        node, sources = pending[-1]
        begun.add(node.name)
        waiting = next((name for name in sources if name not in done), None)
        if waiting is None:
            _check_operator(node, right)
            done[node.name] = node
            pending.pop()
        elif waiting in begun:
            raise ValueError(f"Node '{node.name}' reads '{waiting}', which reads it: a circle")
        else:
            pending.append((nodes[waiting], _sources(nodes[waiting], nodes)))


def reads(node: model_pb2.Node) -> Iterator[str]:
    """Values that a node and its bodies read, and nodes that they wait for."""
    yield from (name for name in node.input if name)
    yield from node.control_input
    for body in subgraphs(node):
        inside = {n.name for n in body.node} | {a.name for a in body.input}
        for inner in body.node:
            yield from (name for name in reads(inner) if name.partition(":")[0] not in inside)
        yield from (name for name in body.output if name.partition(":")[0] not in inside)


def variable_of(node: model_pb2.Node) -> str | None:
    """The name of the variable that a node reads or assigns; None if there is none."""
    return next((a.value.s.decode() for a in node.attr if a.key == "variable"), None)


def _sources(node: model_pb2.Node, nodes: Mapping[str, model_pb2.Node]) -> Iterator[str]:
    """The nodes that a node reads, checked."""
    for value in reads(node):
        name, _, index = value.partition(":")
        if name not in nodes:
            raise ValueError(f"Node '{node.name}': Unknown input node '{value}'")
        count = 1 if plain_nodes.is_plain(nodes[name]) else len(nodes[name].output_type)
        if index and not (index.isdigit() and int(index) < count):
            raise ValueError(
                f"Node '{node.name}': Connecting to invalid output {index} of source node {name} "
                f"which has {count} outputs."
            )
        yield name
    variable = variable_of(node)
    if variable is not None and variable in nodes and variable != node.name:
        yield variable


def _check_operator(node: model_pb2.Node, right: set[object]) -> None:
    """Refuses types that there are not, and nodes without what their operator needs.

    Args:
        right: forms of nodes that were found right, which grows.
    """
    for inner in (n for body in subgraphs(node) for n in body.node):
        _check_operator(inner, right)
    form = _form(node)
    if form not in right or "" in node.input:
        _check_form(node)
        right.add(form)


def _form(node: model_pb2.Node) -> object:
    """The key shared by nodes to which an operator's rules apply alike, absent inputs apart."""
    kinds = [(a.key, a.value.WhichOneof("value")) for a in node.attr]
    return _form_of(node, len(node.input), kinds)


def _form_of(
    node: model_pb2.Node, inputs: int, kinds: list[tuple[str, str | None]]
) -> tuple[object, ...]:
    return node.domain, node.op, node.version, inputs, len(node.output_type), *kinds


def _check_form(node: model_pb2.Node) -> None:
    if plain_nodes.is_plain(node):
        is_known = plain_nodes.known(node.op)
    else:
        is_known = node.domain not in ("", "graphio") or any(
            operators.find(node.domain, node.op, version)
            for version in ([node.version] if node.version else range(1, NEWEST))
        )
    if not is_known:
        raise UnknownOperatorError(
            message=f"Op type not registered '{node.tf_type or node.op}' (node '{node.name}'): "
            "graphio has no such operation"
        )
    found: list[str] = []
    if node.version:
        GraphChecker(found.append, UNLIMITED).operator(node, f"Node '{node.name}' ({node.op})")
    if found:
        raise ValueError("; ".join(found))
