"""Shapes of computations: an operator with what it reads, as nested tuples.

("Mul", "x", ("Add", ("Erf", "x"), 1.0)) matches x * (Erf(x) + 1) with the operands of sums and
multiplications in either order. A string binds a value, the same one at each occurrence; a number
matches a constant of one element that is nearly it; ANY_NUMBER("name") binds such a constant's
number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graphio.model.rewrite.work import Work
from graphio.schema.nodes import PlainNode

__all__ = ["ANY_NUMBER", "Match", "replace", "search"]

_EITHER_WAY = frozenset(("Add", "Mul"))
_CLOSE = 1e-4  # how far a number may be from the formula's, relatively


class ANY_NUMBER(NamedTuple):
    """A constant of one element, bound to a name."""

    name: str


@dataclass(frozen=True)
class Match:
    """A match of a pattern: its nodes, values and numbers.

    Attributes:
        values: by the names in the pattern.
        numbers: of ANY_NUMBER.
        nodes: the nodes that it consists of, the last one first.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    nodes: Sequence[PlainNode] = ()

    def node(self, op: str) -> PlainNode:
        """The first node of an operator, from the last one on."""
        return next(node for node in self.nodes if node.op == op)


def search(work: Work, node: PlainNode, patterns: Sequence[Any]) -> Match | None:
    """The first match that ends in a node, of a pattern whose inner values have no other reader."""
    for pattern in patterns:
        for found in _at(work, node.name, pattern, Match()):
            if _is_closed(work, found):
                return found
    return None


def _at(work: Work, value: str, pattern: Any, match: Match) -> Iterator[Match]:
    if isinstance(pattern, str):
        if match.values.get(pattern, value) == value:
            yield Match({**match.values, pattern: value}, match.numbers, match.nodes)
    elif isinstance(pattern, ANY_NUMBER):
        number = _number(work, value)
        if number is not None:
            yield Match(match.values, {**match.numbers, pattern.name: number}, match.nodes)
    elif isinstance(pattern, float):
        number = _number(work, value)
        if number is not None and abs(number - pattern) <= _CLOSE * abs(pattern):
            yield match
    else:
        node, (op, *inner) = work.of(value), pattern
        if node is None or node.domain or node.op != op or len(node.input) < len(inner):
            return
        here = Match(match.values, match.numbers, [*match.nodes, node])
        orders = [inner, inner[::-1]] if op in _EITHER_WAY else [inner]
        for order in orders:
            yield from _inputs(work, node.input[: len(order)], order, here)


def _inputs(
    work: Work, values: Sequence[str], patterns: Sequence[Any], match: Match
) -> Iterator[Match]:
    if not patterns:
        yield match
        return
    for found in _at(work, values[0], patterns[0], match):
        yield from _inputs(work, values[1:], patterns[1:], found)


def _number(work: Work, value: str) -> float | None:
    array = work.constant(value)
    if array is None or array.size != 1 or array.dtype.kind not in "fiu":
        return None
    return float(array.reshape(()))


def _is_closed(work: Work, match: Match) -> bool:
    names = {node.name for node in match.nodes}
    return all(
        work.is_free(node) and work.readers.get(node.name, {}).keys() <= names
        for node in match.nodes[1:]
    )


def replace(
    work: Work,
    match: Match,
    op: str,
    version: int,
    inputs: Sequence[str],
    attr: Mapping[str, bytes],
) -> None:
    """Replaces a match by a node, which takes the last one's name, position and type."""
    last = match.nodes[0]
    form = last.form.like(op, "", version, last.form.types[:1])
    made = PlainNode(last.name, form, inputs, last.control_input, attr)
    for node in {n.name: n for n in match.nodes[1:]}.values():
        work.remove(node)
    work.put(made, last)
