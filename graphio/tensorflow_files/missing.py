"""Operators that graphio lacks: all of a graph are reported at once, before it is built."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphio.tensorflow_files.bodies import Body, reached

if TYPE_CHECKING:
    from graphio.tensorflow_files.importing import Importer

__all__ = ["DEEPEST", "check"]

#: The most nodes that a graph may have when its functions are written out.
LARGEST = 500_000
DEEPEST = 64  # functions that call each other
#: How often a node may be built: a loop is built again with looser shapes, and so is all in it.
TIMES, MORE = 20, 10_000
_SHOWN = 4  # names of nodes in a message


def check(importer: Importer, roots: Iterable[str]) -> None:
    """Notes every operator that graphio does not read, in all functions that roots reach.

    Raises:
        UnimplementedError, InvalidArgumentError: with all that was noted.
    """
    counting = _Counting(importer)
    with importer.noting():
        total = counting.size(importer.main, roots, 0)
        if total > LARGEST:
            importer.problems.add(f"its functions make {total} nodes, the most is {LARGEST}")
        importer.nodes_left = TIMES * total + MORE
        for op, names in sorted(counting.unknown.items()):
            shown = ", ".join(f"'{name}'" for name in sorted(names)[:_SHOWN])
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            text = f"graphio does not read the operator {op} ({shown}{more})"
            importer.problems.add(f"{text}; {_advice(op)}", unknown=True)


class _Counting:
    """The number of nodes that functions make, and unknown operators in them; each is read once."""

    def __init__(self, importer: Importer) -> None:
        self.importer = importer
        self.unknown: dict[str, list[str]] = {}
        self.sizes: dict[str, int] = {}

    def size(self, body: Body, names: Iterable[str], depth: int) -> int:
        """Nodes that names need, those of functions included."""
        if depth > DEEPEST:
            raise ValueError(f"functions call each other deeper than {DEEPEST}")
        total = 0
        there = self.importer.region.values if body is self.importer.main else ()
        for node in reached(body, names, there):
            total += 1
            if not self.importer.knows(node):
                self.unknown.setdefault(node.op, []).append(node.name)
            total += sum(self._called(name, depth) for name in self.importer.called(node))
        return total

    def _called(self, name: str, depth: int) -> int:
        if name not in self.sizes:
            self.sizes[name] = 0
            body = self.importer.body(name)
            ends = [*(k[0] for k in body.results), *self.importer.last(body)]
            self.sizes[name] = self.size(body, ends, depth + 1)
        return self.sizes[name]


def _advice(op: str) -> str:
    """The remedy for an operator that is not read."""
    if "Table" in op or op.startswith(("Parse", "Decode")):
        return "take a signature after it, or do its work before feeding"
    if op.startswith("Cudnn"):
        return "save the model on a machine without a GPU, which writes plain operators"
    return "convert the model to ONNX, or cut the graph before it"
