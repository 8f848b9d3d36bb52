"""Nodes whose values nobody reads go, if they do nothing else."""

from __future__ import annotations

from graphio.rewrite.work import Work, values_of

__all__ = ["apply"]


def apply(work: Work) -> int:
    """Removes what is not needed; returns how many nodes went."""
    count = 0
    for node in reversed(work.ordered()):
        read = any(work.readers.get(value) for value in values_of(node))
        named = node.name in work.shared.pinned_nodes
        if read or named or work.shared.pinned.intersection(values_of(node)):
            continue
        if work.is_pure(node):
            work.remove(node)
            count += 1
    return count
