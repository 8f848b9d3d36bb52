"""Walks a model's graphs and functions and applies the rules to every node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx
import onnx.defs
from onnx import helper

from graphio.onnx.upgrade.facts import MAIN, Facts, Path, subgraphs
from graphio.onnx.upgrade.rules_experimental import EXPERIMENTAL
from graphio.onnx.upgrade.step import Names, Step, Unsupported
from graphio.onnx.upgrade.table import RULES, TARGET, Rule

__all__ = ["NotUpgradable", "upgrade"]

_OURS = ("", "ai.onnx")  # two names of one domain

# nodes that contradict their own opset fail in the rules as they may
_REFUSALS = (
    Unsupported,
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
)

Owner = onnx.GraphProto | onnx.FunctionProto


class NotUpgradable(ValueError):
    """Nodes without an equal in the newest opset.

    Attributes:
        nodes: of each the operator, the reason, and the remedy.
    """

    def __init__(self, nodes: list[str]) -> None:
        count = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
        listed = "\n  ".join(nodes)
        super().__init__(f"{count} cannot be upgraded to opset {TARGET}:\n  {listed}")
        self.nodes = nodes


def upgrade(
    model: onnx.ModelProto, *, copy: bool = True, keep_unknown: bool = False
) -> onnx.ModelProto:
    """An equal model of the newest opset of ai.onnx; other domains stay as they are.

    Every value and node keeps its name; new nodes are named after those that need them, and new
    constants are nodes.

    Args:
        model: of any opset from 1 on; without any opset, of opset 1.
        keep_unknown: True leaves nodes of operators that the standard never had as they are, for
            a reader that says so together with what else it finds.
        copy: False changes the model itself and returns it, so that its weights are not copied.

    Raises:
        NotUpgradable: some nodes have no equal; says for each of them what to do.
        ValueError: the model's opset is below 1.
            After an error the model is unchanged.
    """
    result = model
    if copy:
        result = onnx.ModelProto()
        result.CopyFrom(model)
    own = frozenset((f.domain, f.name) for f in result.functions)
    refused: list[str] = []
    changes: list[tuple[Owner, list[onnx.NodeProto]]] = []
    version = _version(result.opset_import)
    graphs = list(_graphs(result))
    names = _names(graphs)
    for graph in graphs:
        facts = Facts(result if graph is graphs[0] else None)
        changes.append(
            (graph, _Walk(version, facts, names, own, refused, keep_unknown).nodes(graph.node))
        )
    for function in result.functions:
        walk = _Walk(
            _version(function.opset_import),
            Facts(None),
            _names([function]),
            own,
            refused,
            keep_unknown,
        )
        changes.append((function, walk.nodes(function.node)))
    if refused:
        raise NotUpgradable(refused)
    for owner, nodes in changes:
        _replace_nodes(owner, nodes)
    _stamp(result)
    return result


def _graphs(model: onnx.ModelProto) -> Iterator[onnx.GraphProto]:
    yield model.graph
    for info in model.training_info:
        yield info.initialization
        yield info.algorithm


def _version(imports: Iterable[onnx.OperatorSetIdProto], default: int = 1) -> int:
    """The opset of ai.onnx; one that we do not know yet counts as the newest that we do, so that
    what a model uses decides and not its number.

    Raises:
        ValueError: it is below 1.
    """
    version = next((o.version for o in imports if o.domain in _OURS), default)
    if version < 1:
        raise ValueError(f"the model is of opset {version}; the first one is 1")
    return min(version, TARGET)


def _stamp(model: onnx.ModelProto) -> None:
    """Says that the model and its functions are of the newest opset now."""
    owners: list[onnx.ModelProto | onnx.FunctionProto] = [model, *model.functions]
    for owner in owners:
        others = [o for o in owner.opset_import if o.domain not in _OURS]
        del owner.opset_import[:]
        owner.opset_import.extend([helper.make_opsetid("", TARGET), *others])
    own = [o for o in model.opset_import if o.domain in _OURS]
    model.ir_version = max(model.ir_version, helper.find_min_ir_version_for(own))


def _replace_nodes(owner: Owner, nodes: list[onnx.NodeProto]) -> None:
    same = len(nodes) == len(owner.node) and all(
        new is old for new, old in zip(nodes, owner.node, strict=True)
    )
    if not same:
        del owner.node[:]
        owner.node.extend(nodes)


def _names(owners: Iterable[Owner]) -> Names:
    taken: set[str] = set()
    read: set[str] = set()
    for owner in owners:
        _collect(owner, taken, read)
    return Names(taken, read)


def _collect(owner: Owner, taken: set[str], read: set[str]) -> None:
    """Adds the names that a graph or function and its subgraphs define, and those they read."""
    if isinstance(owner, onnx.FunctionProto):
        taken.update(owner.input)
        read.update(owner.output)
    else:
        for values in (owner.input, owner.initializer, owner.value_info):
            taken.update(v.name for v in values)
        taken.update(s.values.name for s in owner.sparse_initializer)
        read.update(v.name for v in owner.output)
    for node in owner.node:
        taken.add(node.name)
        taken.update(node.output)
        read.update(node.input)
        for _, _, inner in subgraphs(node):
            _collect(inner, taken, read)


class _Walk:
    """One graph or function with its subgraphs, all of one opset."""

    def __init__(
        self,
        version: int,
        facts: Facts,
        names: Names,
        own: frozenset[tuple[str, str]],
        refused: list[str],
        keep_unknown: bool,
    ) -> None:
        self._version = version
        self._facts = facts
        self._names = names
        self._own = own
        self._refused = refused
        self._keep_unknown = keep_unknown

    def nodes(self, nodes: Iterable[onnx.NodeProto], path: Path = MAIN) -> list[onnx.NodeProto]:
        """The nodes in the newest form; those that need no change are the same objects."""
        result = []
        for i, node in enumerate(nodes):
            try:
                result += self._node(node, i, path)
            except _REFUSALS as error:
                refusal = error if isinstance(error, Unsupported) else f"it is malformed: {error}"
                name = node.name or next((o for o in node.output if o), "")
                self._refused.append(
                    f"{name!r} ({node.op_type} of opset {self._version}): {refusal}"
                )
        return result

    def _node(self, node: onnx.NodeProto, i: int, path: Path) -> list[onnx.NodeProto]:
        rules = self._rules(node)
        inner = any(True for _ in subgraphs(node))
        if not rules and not inner and not node.domain == "ai.onnx":
            return [node]
        made = onnx.NodeProto()
        made.CopyFrom(node)
        for attribute, position, graph in subgraphs(made):
            _replace_nodes(graph, self.nodes(graph.node, (*path, (i, attribute, position))))
        if made.domain in _OURS:
            made.domain = ""
        step = Step(made, self._version, self._facts, path, self._names)
        for rule in rules:
            rule(step)
        return [*step.before, step.node, *step.after]

    def _rules(self, node: onnx.NodeProto) -> list[Rule]:
        """The upgrade rules of a node.

        Raises:
            Unsupported: its opset does not have the operator.
        """
        if node.domain not in _OURS or (node.domain, node.op_type) in self._own:
            return []
        try:
            schema = onnx.defs.get_schema(node.op_type, self._version, "")
        except onnx.defs.SchemaError:
            if node.op_type in EXPERIMENTAL:
                return [EXPERIMENTAL[node.op_type]]
            if self._keep_unknown and node.op_type not in RULES:
                return []
            raise Unsupported(
                "the standard has no such operator in this opset",
                "replace it by operators of the standard, or by a function in the model",
            ) from None
        rules = [rule for since, rule in RULES.get(node.op_type, ()) if self._version < since]
        if schema.deprecated and not rules:
            raise Unsupported(
                f"the standard has it no more since opset {schema.since_version}",
                "use the standard's replacement",
            )
        return rules
