"""The nodes of a graph with their numbers, by name scope and by type."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from graphio.framework import scopes
from graphio.io import gfile
from graphio.profiler.flops import float_operations
from graphio.profiler.options import ProfileOptionBuilder
from graphio.support import api_guard, errors

__all__ = ["GraphNodeProto", "MultiGraphNodeProto", "profile"]

_ROOT = "_TFProfRoot"
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
#: options whose other values than these are refused: nothing is measured
_UNSUPPORTED = {"min_bytes": 0, "min_micros": 0, "step": -1}
_ORDERS = {"name": "", "params": "parameters", "float_ops": "float_ops", "occurrence": "count"}


@dataclass
class GraphNodeProto:
    """A node of the view by scope; fields have TensorFlow's names.

    Attributes:
        name: of the operation or scope; the root's is _TFProfRoot.
        parameters: elements of the variable.
        float_ops: operations on floats.
        total_parameters, total_float_ops: with those of the nodes below.
        total_definition_count: the nodes that these are of.
        children: the nodes below.
    """

    name: str
    parameters: int = 0
    float_ops: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    total_definition_count: int = 0
    children: list[GraphNodeProto] = field(default_factory=list)


@dataclass
class MultiGraphNodeProto:
    """A type of operations of the view by type; fields have TensorFlow's names.

    Attributes:
        name: the type; the root's is _TFProfRoot.
        parameters, float_ops: of all its nodes.
        total_parameters, total_float_ops: with those of the types after it.
        graph_nodes: its operations.
        children: the next type, in the order of the options.
    """

    name: str
    parameters: int = 0
    float_ops: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    graph_nodes: list[GraphNodeProto] = field(default_factory=list)
    children: list[MultiGraphNodeProto] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of its operations."""
        return len(self.graph_nodes)


@api_guard.guarded
def profile(
    graph: Any = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Any = 0,
) -> GraphNodeProto | MultiGraphNodeProto:
    """Counts the parameters and the operations on floats of a graph, and prints them.

    Args:
        graph: None: the default graph.
        run_meta, op_log: must be None; times are those of tf.timeline.profile.
        cmd: "scope": by name scope; "op": by type of operation.
        options: of ProfileOptionBuilder; 0: those of trainable_variables_parameter.

    Returns:
        The root; its total_parameters and total_float_ops are those of all that is shown.

    Raises:
        InvalidArgumentError: an unknown cmd.
        UnimplementedError: another view, times or bytes.
        ValueError: an unknown order or output.
    """
    chosen = options or ProfileOptionBuilder.trainable_variables_parameter()
    _check(run_meta, op_log, cmd, chosen)
    rows = list(_rows(graph or scopes.get_default_graph()))
    if cmd == "op":
        return _by_type(rows, chosen)
    return _by_scope(rows, chosen)


def _check(run_meta: Any, op_log: Any, cmd: str, options: dict[str, Any]) -> None:
    if cmd not in ("scope", "op", "graph", "code"):
        raise errors.InvalidArgumentError(message=f"unknown cmd: {cmd}\n")
    if cmd in ("graph", "code"):
        raise errors.UnimplementedError(message=f"profile: no view {cmd!r}; use 'scope' or 'op'")
    measured = [name for name in options.get("select", ()) if name in ("micros", "bytes")]
    other = [k for k, v in _UNSUPPORTED.items() if options.get(k, v) != v]
    if run_meta is not None or op_log is not None or measured or other:
        raise errors.UnimplementedError(
            message="profile: counts parameters and float operations; for times and bytes use "
            "tf.timeline.profile, or RunOptions and RunMetadata of Session.run"
        )
    if options.get("order_by", "name") not in _ORDERS:
        raise ValueError(
            f"profile: order_by is {options['order_by']!r}, expected one of {', '.join(_ORDERS)}"
        )


@dataclass
class _Row:
    """An operation with its numbers and the types that it is counted by."""

    name: str
    types: tuple[str, ...]
    parameters: int
    float_ops: int


def _rows(graph: Any) -> Iterator[_Row]:
    trainable = {v.op.name for v in graph.get_collection("trainable_variables")}
    for op in graph.get_operations():
        parameters = 0
        if op.type in _VARIABLES and op.outputs[0].shape.is_fully_defined():
            parameters = prod(op.outputs[0].shape.as_list())
        types = (op.type, op.device, *(["_trainable_variables"] * (op.name in trainable)))
        yield _Row(op.name, tuple(filter(None, types)), parameters, float_operations(op))


def _accounted(row: _Row, options: dict[str, Any]) -> bool:
    patterns = options.get("account_type_regexes", [".*"])
    return any(re.fullmatch(p, kind) for p in patterns for kind in row.types)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in patterns)


# ---- by scope ----


@dataclass
class _Scope:
    """A node of the tree of names; row: None for a scope without an operation."""

    name: str
    row: _Row | None = None
    below: dict[str, _Scope] = field(default_factory=dict)


def _tree(rows: Sequence[_Row]) -> _Scope:
    root = _Scope(_ROOT)
    for row in rows:
        at, path = root, ""
        for part in row.name.split("/"):
            path = f"{path}/{part}" if path else part
            at = at.below.setdefault(part, _Scope(path))
        at.row = row
    return root


def _by_scope(rows: Sequence[_Row], options: dict[str, Any]) -> GraphNodeProto:
    root = GraphNodeProto(_ROOT, total_definition_count=1)
    starts = options.get("start_name_regexes", [".*"])
    for scope in _tree(rows).below.values():
        root.children += _started(scope, 2, starts, options)
    _sum_up(root, options)
    _write(root, options, lambda: list(_lines(root, 0)))
    return root


def _started(
    scope: _Scope, depth: int, starts: Sequence[str], options: dict[str, Any]
) -> list[GraphNodeProto]:
    """The shown nodes of a scope, from those down that match the names to start with."""
    if _matches(scope.name, starts):
        return _shown(scope, depth, options)
    return [n for s in scope.below.values() for n in _started(s, depth, starts, options)]


def _shown(scope: _Scope, depth: int, options: dict[str, Any]) -> list[GraphNodeProto]:
    """The node of a scope if it is shown, else the shown ones below it.

    Args:
        depth: the level of the scope; the root's is 1.
    """
    if depth > options.get("max_depth", 10000):
        return []
    below: list[GraphNodeProto] = []
    if not _matches(scope.name, options.get("trim_name_regexes", [])):
        below = [n for one in scope.below.values() for n in _shown(one, depth + 1, options)]
    node = GraphNodeProto(scope.name, total_definition_count=1, children=below)
    if scope.row is not None and _accounted(scope.row, options):
        node.parameters, node.float_ops = scope.row.parameters, scope.row.float_ops
    return [node] if _counts(scope, options) and _passes(node, options) else below


def _counts(scope: _Scope, options: dict[str, Any]) -> bool:
    """Whether an operation is counted; of a scope, whether one below it is."""
    if scope.row is not None:
        return _accounted(scope.row, options)
    return any(_counts(one, options) for one in scope.below.values())


def _passes(node: Any, options: dict[str, Any]) -> bool:
    return (
        node.parameters >= options.get("min_params", 0)
        and node.float_ops >= options.get("min_float_ops", 0)
        and _matches(node.name, options.get("show_name_regexes", [".*"]))
        and not _matches(node.name, options.get("hide_name_regexes", []))
    )


def _sum_up(node: GraphNodeProto, options: dict[str, Any]) -> None:
    """Fills the totals, and sorts the nodes below."""
    for one in node.children:
        _sum_up(one, options)
    node.total_parameters = node.parameters + sum(n.total_parameters for n in node.children)
    node.total_float_ops = node.float_ops + sum(n.total_float_ops for n in node.children)
    node.total_definition_count += sum(n.total_definition_count for n in node.children)
    key = _ORDERS[options.get("order_by", "name")]
    node.children.sort(key=lambda n: (-getattr(n, f"total_{key}", 0) if key else 0, n.name))


def _lines(node: GraphNodeProto, depth: int) -> Iterator[tuple[int, Any]]:
    yield depth, node
    for one in node.children:
        yield from _lines(one, depth + 1)


# ---- by type ----


def _by_type(rows: Sequence[_Row], options: dict[str, Any]) -> MultiGraphNodeProto:
    types: dict[str, MultiGraphNodeProto] = {}
    for row in rows:
        if _accounted(row, options):
            node = types.setdefault(row.types[0], MultiGraphNodeProto(row.types[0]))
            node.parameters += row.parameters
            node.float_ops += row.float_ops
            node.graph_nodes.append(GraphNodeProto(row.name, row.parameters, row.float_ops))
    least = options.get("min_occurrence", 0)
    shown = [n for n in types.values() if _passes(n, options) and n.count >= least]
    key = _ORDERS[options.get("order_by", "name")]
    shown.sort(key=lambda n: (-getattr(n, key) if key else 0, n.name))
    root = at = MultiGraphNodeProto(_ROOT)
    for node in shown[: options.get("max_depth", 10000)]:
        at.children = [node]
        at = node
    chain = [root, *shown[: options.get("max_depth", 10000)]]
    for i, node in enumerate(chain):
        node.total_parameters = sum(n.parameters for n in chain[i:])
        node.total_float_ops = sum(n.float_ops for n in chain[i:])
    _write(root, options, lambda: [(0, node) for node in chain])
    return root


# ---- output ----


def _write(root: Any, options: dict[str, Any], nodes: Any) -> None:
    """Prints the nodes with the selected numbers."""
    output = options.get("output", "stdout")
    if output == "none":
        return
    selected = [name for name in options.get("select", ["params"]) if name in _ORDERS]
    lines = ["node name | " + " | ".join(f"# {name}" for name in selected)]
    for depth, node in nodes():
        numbers = ", ".join(_numbers(node, name) for name in selected)
        lines.append(f"{'  ' * depth}{node.name} ({numbers})")
    text = "\n".join(lines) + "\n"
    if output == "stdout":
        sys.stdout.write(text)
    elif output.startswith("file:outfile="):
        with gfile.GFile(output.removeprefix("file:outfile="), "w") as file:
            file.write(text)
    else:
        raise ValueError(
            f"profile: output is {output!r}, expected 'none', 'stdout' or 'file:outfile=NAME'"
        )


def _numbers(node: Any, name: str) -> str:
    if name == "occurrence":
        return f"{getattr(node, 'count', getattr(node, 'total_definition_count', 0))} nodes"
    own, word = (node.parameters, "params") if name == "params" else (node.float_ops, "flops")
    total = node.total_parameters if name == "params" else node.total_float_ops
    return f"{own}/{total} {word}"
