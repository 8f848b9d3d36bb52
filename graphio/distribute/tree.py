"""The tree of a sum over shards, which depends on their number alone.

Floating-point addition is not associative, so a sum has the same bits for any number of workers
only if its order is fixed. Here the shards of a batch are the leaves of one binary tree: the node
of the leaves lo to hi - 1 adds that of the first 2^k leaves, the greatest power of two below their
number, and that of the others. A worker owns a contiguous run of leaves, computes the greatest
subtrees inside of its run, at most 2 log2 of the number of shards, and another worker finishes the
tree above them (reduction.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

__all__ = ["Node", "finish", "fold", "greatest_inside", "run_of"]

#: the leaves lo to hi - 1
Node = tuple[int, int]
Value = TypeVar("Value")


def run_of(rank: int, size: int, shards: int) -> Node:
    """The leaves of a worker: contiguous, in the order of the ranks, as even as can be."""
    return rank * shards // size, (rank + 1) * shards // size


def halves(node: Node) -> tuple[Node, Node]:
    """The two nodes that a node of two or more leaves adds."""
    lo, hi = node
    middle = lo + (1 << ((hi - lo - 1).bit_length() - 1))
    return (lo, middle), (middle, hi)


def greatest_inside(run: Node, node: Node) -> list[Node]:
    """The greatest subtrees of a node that are inside of a run, in order."""
    if run[1] <= node[0] or node[1] <= run[0]:
        return []
    if run[0] <= node[0] and node[1] <= run[1]:
        return [node]
    return [found for half in halves(node) for found in greatest_inside(run, half)]


def fold(node: Node, leaf: Callable[[int], Value], add: Callable[[Value, Value], Value]) -> Value:
    """The sum of a node. The leaves are called in order; log2 of their number of values are kept.

    Args:
        leaf: the value of a leaf by its number.
        add: gives the sum; it may change its first argument.
    """
    if node[1] - node[0] == 1:
        return leaf(node[0])
    left, right = halves(node)
    value = fold(left, leaf, add)
    return add(value, fold(right, leaf, add))


def finish(node: Node, known: Mapping[Node, Value], add: Callable[[Value, Value], Value]) -> Value:
    """The sum of a node above nodes whose sums are known."""
    if node in known:
        return known[node]
    left, right = halves(node)
    return add(finish(left, known, add), finish(right, known, add))
