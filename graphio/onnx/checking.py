"""Checks of a node that need no types, and an order for the nodes of a graph."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import onnx

from graphio.framework.operation_names import title
from graphio.onnx.scope import Scope
from graphio.schema.operators import Operator
from graphio.support.problems import Problems

__all__ = ["checked_order", "node_problems", "read_names"]

_Kind = onnx.AttributeProto.AttributeType
_EMPTY_LISTS = ("ints", "floats", "strings")


def node_problems(node: onnx.NodeProto, row: Operator) -> list[str]:
    """Errors in a node's attributes and in the number of its inputs and outputs."""
    wrong = []
    for attribute in node.attribute:
        spec = row.attributes.get(attribute.name)
        kind = _Kind.Name(attribute.type).lower()
        if attribute.ref_attr_name:
            wrong.append(
                f"attribute '{attribute.name}' refers to one of a function, outside of one"
            )
        elif spec is None:
            listed = ", ".join(sorted(row.attributes)) or "none"
            wrong.append(f"has no attribute '{attribute.name}'; the operator's are: {listed}")
        elif kind != spec.kind and kind != "undefined":
            wrong.append(f"attribute '{attribute.name}' is of kind {kind}, expected {spec.kind}")
        if node.op_type != "Constant" and not _is_text(attribute.s):
            wrong.append(f"attribute '{attribute.name}' is {attribute.s!r}, no UTF-8 text")
    given = {a.name for a in node.attribute}
    wrong += [
        f"attribute '{name}' is missing"
        for name, spec in row.attributes.items()
        if spec.required and name not in given
    ]
    inputs, outputs = len(node.input), len(node.output)
    while inputs and not node.input[inputs - 1]:
        inputs -= 1
    if not row.min_inputs <= inputs <= row.max_inputs:
        wrong.append(f"has {inputs} inputs, expected {_range(row.min_inputs, row.max_inputs)}")
    if outputs > row.max_outputs:
        wrong.append(f"has {outputs} outputs, expected at most {row.max_outputs}")
    missing = [
        row.inputs[i].name
        for i, name in enumerate(node.input[: len(row.inputs)])
        if not name and not row.inputs[i].optional and not row.inputs[i].variadic
    ]
    if missing:
        wrong.append(f"input {', '.join(missing)} is missing")
    return wrong


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _range(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"at least {least}" if most > 1000 else f"{least} to {most}"


def read_names(node: onnx.NodeProto) -> Iterator[str]:
    """Names of the values that a node reads, in its subgraphs too where these do not make them."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        graphs = ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)
        for graph in graphs:
            yield from _outer_names(graph)


def _outer_names(graph: onnx.GraphProto) -> set[str]:
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {t.values.name for t in graph.sparse_initializer}
    requested = {v.name for v in graph.output}
    for node in graph.node:
        requested.update(read_names(node))
        own.update(node.output)
    return requested - own - {""}


def checked_order(
    nodes: Sequence[onnx.NodeProto], scope: Scope, problems: Problems
) -> Iterator[onnx.NodeProto]:
    """The nodes sorted so that each comes after its inputs.

    Values that two nodes make, values that none makes and cycles are noted; nodes that cannot run
    for such a reason are left out, and what they make counts as made.
    """
    maker: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            if name and (name in maker or name in scope.values):
                problems.add(f"{title(node)}: value '{name}' is made twice")
            elif name:
                maker[name] = i
    reads = [list(read_names(node)) for node in nodes]
    lost = _lost(nodes, reads, maker, scope, problems)
    for i in _sorted(nodes, reads, maker, problems):
        if i in lost:
            scope.values.update(dict.fromkeys((n for n in nodes[i].output if n), None))
        else:
            yield nodes[i]


def _lost(
    nodes: Sequence[onnx.NodeProto],
    reads: Sequence[Sequence[str]],
    maker: dict[str, int],
    scope: Scope,
    problems: Problems,
) -> set[int]:
    """Nodes that read what nothing makes."""
    lost = set()
    for i, names in enumerate(reads):
        for name in names:
            if name in maker:
                continue
            try:
                scope.find(name)
            except KeyError:
                problems.add(f"{title(nodes[i])}: nothing makes its input '{name}'")
                lost.add(i)
    return lost


def _sorted(
    nodes: Sequence[onnx.NodeProto],
    reads: Sequence[Sequence[str]],
    maker: dict[str, int],
    problems: Problems,
) -> list[int]:
    """Indices in the file's order where that is one that values allow."""
    before = [{maker[n] for n in names if n in maker} for names in reads]
    if all(all(j < i for j in made) for i, made in enumerate(before)):
        return list(range(len(nodes)))
    readers: dict[int, list[int]] = {}
    for i, made in enumerate(before):
        for j in made:
            readers.setdefault(j, []).append(i)
    left = [len(made) for made in before]
    ready = [i for i, count in enumerate(left) if not count]
    order: list[int] = []
    while ready:
        order.append(heapq.heappop(ready))
        for i in readers.get(order[-1], ()):
            left[i] -= 1
            if not left[i]:
                heapq.heappush(ready, i)
    if len(order) < len(nodes):
        waiting = [i for i, count in enumerate(left) if count]
        around = ", ".join(title(nodes[i]) for i in waiting[:5])
        problems.add(f"{len(waiting)} nodes wait for one another in a cycle: {around}")
    return order
