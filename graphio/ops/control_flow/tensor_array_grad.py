"""The result of TensorArray.grad: an array of gradients, in which written values add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphio.framework import api_boundary, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import never
from graphio.ops.math import elementwise

if TYPE_CHECKING:
    from graphio.ops.control_flow.tensor_array import TensorArray

__all__ = ["TensorArrayGradient"]


class TensorArrayGradient:
    """The gradients of the elements of a TensorArray, of one source.

    There is one such object for each source, and writing changes it: what is read sees all writes
    that were made before. So it belongs to the graph that the TensorArray belongs to, and is not a
    loop variable; tf.gradients goes through loops.

    Args:
        of: the array whose gradients these are.
    """

    def __init__(self, of: TensorArray) -> None:
        self._sums: TensorArray = type(of)(
            of.dtype, of.size(), of.dynamic_size, clear_after_read=False, infer_shape=False,
            element_shape=of.element_shape,
        )  # fmt: skip

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._sums.dtype

    @property
    def flow(self) -> Tensor:
        """A tensor that waits for all writes."""
        return self._sums.flow

    @property
    def handle(self) -> Tensor:
        """The same as flow: there are no handles."""
        return self.flow

    @property
    def op(self) -> Operation:
        """The operation of the last write."""
        return self._sums.op

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements: int32 scalar."""
        return self._sums.size(name)

    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The sum of what was written at an index, an int scalar."""
        return self._sums.read(index, name)

    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The sums at indices (k), int, stacked to (k, element...)."""
        return self._sums.gather(indices, name)

    def stack(self, name: str | None = None) -> Tensor:
        """All sums, stacked to (n, element...)."""
        return self._sums.stack(name)

    def concat(self, name: str | None = None) -> Tensor:
        """All sums (k, rest...), joined along their first axis."""
        return self._sums.concat(name)

    @api_boundary.rolling_back_operator
    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArrayGradient:
        """Adds to the element at an index, an int scalar.

        Raises:
            InvalidArgumentError: another dtype; by the run: another shape than what was written
                there before, or an index beyond the end.
        """
        tensor = self._sums.as_element(value)
        before = self._sums.cell(index)
        with scopes.operation_scope(name, "TensorArrayWrite"):
            if before is not None:
                self._sums = self._sums.with_cell(index, _added(before, tensor, index))
            elif self._sums.takes_cell(index):
                self._sums = self._sums.write(index, tensor)
            else:
                positions = array.reshape(convert_to_tensor(index), [1])
                self._sums = self._sums.with_added(positions, array.expand_dims(tensor, 0))
        return self

    @api_boundary.rolling_back_operator
    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArrayGradient:
        """Adds the rows of value (k, element...) to the elements at indices (k), int.

        Raises:
            InvalidArgumentError: as write.
        """
        with scopes.operation_scope(name, "TensorArrayScatter"):
            self._sums = self._sums.with_added(indices, self._sums.as_element(value))
        return self

    @api_boundary.rolling_back_operator
    def unstack(self, value: Any, name: str | None = None) -> TensorArrayGradient:
        """Adds the rows of value (n, element...) to the first n elements."""
        rows = self._sums.as_element(value)
        return self.scatter(array.range(array.shape(rows)[0]), rows, name)


def _added(before: Tensor, value: Tensor, index: Any) -> Tensor:
    if not before.shape.is_compatible_with(value.shape):
        shown = convert_to_tensor(index).name if isinstance(index, Tensor) else index
        words = (
            f"TensorArray: could not add to the gradient at index {shown}, whose shape is "
            f"{before.shape}, a value of shape {value.shape}"
        )
        return never(before, words)
    return elementwise.add(before, value)
