"""Nodes that compute the same from the same become one."""

from __future__ import annotations

from graphio.model.rewrite.work import Work
from graphio.schema.nodes import PlainNode

__all__ = ["apply"]


def apply(work: Work) -> int:
    """Merges equal nodes into the first of them; returns how many went."""
    count = 0
    first: dict[tuple[object, ...], PlainNode] = {}
    for node in work.ordered():
        if not work.is_pure(node) or node.control_input:
            continue
        if not work.shared.fed.isdisjoint(node.values()):
            continue
        other = first.setdefault(_key(node), node)
        if other is node or not work.is_free(node):
            continue
        for value, instead in zip(node.values(), other.values(), strict=True):
            work.read_instead(value, instead)
        work.remove(node)
        count += 1
    return count


def _key(node: PlainNode) -> tuple[object, ...]:
    """The key that nodes with equal results share."""
    form = node.form
    attrs = tuple(sorted(node.attr.items())) if len(node.attr) > 1 else tuple(node.attr.items())
    return form.domain, form.op, form.version, form.device, len(form.types), *node.input, attrs
