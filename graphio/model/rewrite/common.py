"""Nodes that compute the same from the same become one."""

from __future__ import annotations

from graphio.model.rewrite.work import Work, values_of
from graphio.schema.model_pb2 import Node

__all__ = ["apply"]


def apply(work: Work) -> int:
    """Merges equal nodes into the first of them; returns how many went."""
    count = 0
    first: dict[tuple[object, ...], Node] = {}
    for node in work.ordered():
        if not work.is_pure(node) or node.control_input:
            continue
        if work.shared.fed.intersection(values_of(node)):
            continue
        other = first.setdefault(_key(node), node)
        if other is node or not work.is_free(node):
            continue
        for value, instead in zip(values_of(node), values_of(other), strict=True):
            work.read_instead(value, instead)
        work.remove(node)
        count += 1
    return count


def _key(node: Node) -> tuple[object, ...]:
    """The key that nodes with equal results share."""
    attrs = tuple(a.SerializeToString(deterministic=True) for a in node.attr)
    kind = (node.domain, node.op, node.version, node.device, len(node.output_type))
    return (*kind, tuple(node.input), attrs)
