"""A model while it is being made: its nodes as plain objects, all else as a message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.schema import nodes
from graphio.schema.model_pb2 import Model
from graphio.schema.nodes import PlainGraph

__all__ = ["Draft"]

Array = np.ndarray[Any, Any]


@dataclass
class Draft:
    """A model that is not a message yet.

    Attributes:
        tables: everything but the graph.
        graph: the nodes.
        arrays: the data section.
    """

    tables: Model
    graph: PlainGraph
    arrays: list[Array]

    @classmethod
    def of(cls, model: Model, arrays: Iterable[Array]) -> Draft:
        """A copy of a model."""
        tables = Model()
        tables.CopyFrom(model)
        tables.ClearField("graph")
        return cls(tables, nodes.from_message(model.graph), list(arrays))

    def message(self) -> Model:
        """The model as a message, which the tables become."""
        nodes.fill_graph(self.tables.graph, self.graph)
        return self.tables

    def name_opsets(self) -> None:
        """Brings the list of newest versions up to date."""
        newest: dict[str, int] = {}
        forms = {node.form for graph in self.graph.all() for node in graph.nodes}
        for form in forms:
            newest[form.domain] = max(newest.get(form.domain, 1), form.version)
        del self.tables.opset[:]
        for domain in sorted(newest):
            self.tables.opset.add(domain=domain, version=newest[domain])
