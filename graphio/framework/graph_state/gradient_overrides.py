"""Gradients by name that new operations of a graph get in Graph.gradient_override_map."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.operation import Operation
from graphio.framework.undo import Table

__all__ = ["GRADIENT_NAMES", "GradientOverrides"]

#: the name of an operation's gradient, if a context gave it one
GRADIENT_NAMES: Attachment[Table[Operation, str]] = attachments.table("gradient_names")


class GradientOverrides:
    """The open contexts of a root graph.

    Attributes:
        by_type: by TensorFlow's type the name of the gradient of new operations.
    """

    __slots__ = ("by_type",)

    def __init__(self) -> None:
        self.by_type: Mapping[str, str] = {}

    @contextlib.contextmanager
    def mapped(self, op_type_map: Any) -> Iterator[None]:
        """A context with more types; see Graph.gradient_override_map.

        Raises:
            TypeError: it is not a dictionary of strings.
        """
        if not isinstance(op_type_map, Mapping) or not all(
            isinstance(word, str) for pair in op_type_map.items() for word in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before = self.by_type
        self.by_type = {**before, **op_type_map}
        try:
            yield
        finally:
            self.by_type = before

    def record(self, made: Operation) -> None:
        """Notes the gradient's name of a new operation, if its type has one."""
        name = self.by_type.get(made.type)
        if name is not None:
            GRADIENT_NAMES.of(made.graph)[made] = name
