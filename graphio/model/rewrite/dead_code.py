"""Removes nodes without effects whose values have no reader."""

from __future__ import annotations

from graphio.model.rewrite.work import Work

__all__ = ["apply"]


def apply(work: Work) -> int:
    """Removes what is not needed; returns how many nodes went."""
    count = 0
    for node in reversed(work.ordered()):
        if node.name in work.shared.pinned_nodes:
            continue
        values = node.values()
        if any(work.readers.get(value) for value in values):
            continue
        if not work.shared.pinned.isdisjoint(values):
            continue
        if work.is_pure(node):
            work.remove(node)
            count += 1
    return count
