"""Composite: what is made of several tensors and taken apart where tensors are expected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["Composite"]


class Composite:
    """Base of IndexedSlices and SparseTensor.

    A fetch, a feed, a branch and a loop variable may be one: they see its parts.

    Attributes:
        values: the part that holds the elements.
    """

    values: Any

    def parts(self) -> list[Any]:
        """The tensors that it is made of."""
        raise NotImplementedError

    def with_parts(self, parts: Sequence[Any]) -> Any:
        """One of the same kind made of other tensors, one a part."""
        raise NotImplementedError

    def with_values(self, values: Any) -> Any:
        """The same, with other values at the same positions."""
        return self.with_parts([values if p is self.values else p for p in self.parts()])

    def loop_shapes(self, given: Any = None) -> list[Any]:
        """The shapes that the parts keep as a loop variable; given: what a shape invariant says."""
        raise NotImplementedError

    def value_of(self, arrays: Sequence[Any]) -> Any:
        """The value that a session gives for it, from the numbers of its parts."""
        raise NotImplementedError
