"""Valid models, a few of every operator, whose node "node" is attacked."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import untrusted_nodes
from engines import Builder
from untrusted_nodes import Node

from attacks.scenes import SCENES
from graphio.schema import operators
from graphio.schema.model_pb2 import Node as Message

Array = np.ndarray[Any, Any]
OPS = Path(__file__).resolve().parent.parent.parent / "cinfer" / "src" / "ops.def"


@dataclass
class Subject:
    """A model and what is fed to it.

    Attributes:
        label: distinguishes subjects of one operator.
        feeds: by the names of placeholders, which are the keys of the only signature as well.
    """

    label: str
    builder: Builder
    feeds: dict[str, Array]

    def copy(self) -> Subject:
        """One that may be changed."""
        builder = Builder()
        builder.model.CopyFrom(self.builder.model)
        builder.arrays = list(self.builder.arrays)
        return Subject(self.label, builder, dict(self.feeds))

    @property
    def node(self) -> Message:
        """The node that is attacked."""
        return self.named("node")

    @property
    def row(self) -> operators.Operator:
        """Its row of the operator table."""
        return operators.lookup(self.node.domain, self.node.op, self.node.version)

    def named(self, name: str) -> Message:
        """A node of the root graph."""
        return next(node for node in self.builder.model.graph.node if node.name == name)

    def inputs(self) -> dict[int, Array]:
        """The values fed to the node, by the number of their input."""
        names = enumerate(self.node.input)
        return {i: self.feeds[name] for i, name in names if name in self.feeds}


def _operators() -> list[tuple[str, str]]:
    """Domain and name of those that cinfer has."""
    rows = re.findall(r'^CI_OP\("(\w*)", (\w+),', OPS.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted(set(rows))


def _of(node: Node) -> Subject:
    builder, feeds = node.model()
    return Subject(f"{len(node.inputs)} inputs, {len(node.attrs)} attributes", builder, feeds)


def _size(node: Node) -> int:
    return sum(x.size for x in node.inputs if x is not None)


def _has(node: Node) -> set[tuple[str, Any]]:
    """The inputs, attributes and outputs by which attacks on this row differ from others."""
    found = {("input", i) for i, x in enumerate(node.inputs) if x is not None}
    return found | {("attribute", key) for key in node.attrs} | {("outputs", len(node.outputs))}


def _covering(nodes: Sequence[Node]) -> Iterator[Node]:
    """Few of the rows, which have every attribute, input and output that any of them has."""
    seen: set[tuple[str, Any]] = set()
    for node in sorted(nodes, key=lambda node: (-len(_has(node)), _size(node))):
        if not _has(node) <= seen:
            seen |= _has(node)
            yield node


@cache
def subjects() -> dict[tuple[str, str], list[Subject]]:
    """By domain and name of the operator, every one that cinfer has."""
    rows = defaultdict(list)
    for node in untrusted_nodes.right():
        rows[node.domain, node.op].append(node)
    found = {key: [_of(node) for node in _covering(nodes)] for key, nodes in rows.items()}
    for label, make in SCENES.items():
        builder, feeds = make()
        subject = Subject(label, builder, feeds)
        found.setdefault((subject.node.domain, subject.node.op), []).append(subject)
    return {key: found[key] for key in _operators()}
