"""Elements of a TensorArray that are kept each by itself, because their shapes may differ."""

from __future__ import annotations

from typing import Any, NamedTuple

from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.support import errors

__all__ = ["Cells"]


class Cells(NamedTuple):
    """The elements that were written, at indices that are known while the graph is built.

    Attributes:
        elements: by their indices.
        size: the number of elements of the array.
        dtype: of the elements.
    """

    elements: dict[int, Tensor]
    size: int
    dtype: DType

    @property
    def complete(self) -> bool:
        """Whether every element was written."""
        return len(self.elements) == self.size > 0

    def at(self, index: Any) -> Tensor | None:
        """The element at an index; None if the index is not known, or was not written."""
        position = constant_value(convert_to_tensor(index, name="index"))
        return None if position is None or position.ndim else self.elements.get(int(position))

    def with_one(self, index: Any, element: Tensor, dynamic: bool) -> Cells | None:
        """The cells with one more element; None if its index is unknown, taken or beyond the end.

        Args:
            index: of the element.
            element: what is written there.
            dynamic: whether the array is extended by elements beyond its end.
        """
        position = constant_value(convert_to_tensor(index, name="index"))
        if position is None or position.ndim or position < 0:
            return None
        at, size = int(position), max(self.size, int(position) + 1)
        if at in self.elements or (size > self.size and not dynamic):
            return None
        return Cells({**self.elements, at: array.identity(element)}, size, self.dtype)

    def replaced(self, index: Any, element: Tensor) -> Cells:
        """The cells with another element at an index that is known and was written."""
        position = constant_value(convert_to_tensor(index, name="index"))
        assert position is not None
        return self._replace(elements={**self.elements, int(position): element})

    def identity(self) -> Cells:
        """The same, after the control dependencies around."""
        return self._replace(elements={i: array.identity(t) for i, t in self.elements.items()})

    def stack(self) -> Tensor:
        """The elements as rows; those that were not written are zeros.

        Raises:
            InvalidArgumentError: their shapes differ.
        """
        blank = array.zeros_like(next(iter(self.elements.values())))
        rows = [self.elements.get(i, blank) for i in range(self.size)]
        try:
            made: Tensor = array.stack(rows)
        except ValueError as error:
            raise self._differ("stack", error) from None
        return made

    def concat(self) -> Tensor:
        """The elements one after the other along their first axis.

        Raises:
            InvalidArgumentError: one is a scalar, or other sizes than the first differ.
        """
        parts = [self.elements[i] for i in range(self.size)]
        scalars = [i for i, part in enumerate(parts) if part.shape.ndims == 0]
        if scalars:
            raise errors.InvalidArgumentError(
                message="TensorArray: concat joins elements of rank 1 or more, but the element at "
                f"index {scalars[0]} is a scalar"
            )
        try:
            made: Tensor = array.concat(parts, 0)
        except ValueError as error:
            raise self._differ("concat", error) from None
        return made

    def _differ(self, what: str, error: Exception) -> errors.InvalidArgumentError:
        shapes = ", ".join(f"{i}: {t.shape}" for i, t in sorted(self.elements.items()))
        return errors.InvalidArgumentError(
            message=f"TensorArray: {what} of elements of inconsistent shapes ({shapes}): {error}"
        )
