"""SparseConditionalAccumulator: gradients of some rows are added up until there are enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.math import elementwise
from graphio.queues import accumulators
from graphio.queues.building import builds_with

__all__ = ["SparseConditionalAccumulator"]

Array = np.ndarray[Any, Any]


class _Rows(NamedTuple):
    """A sum: the rows' indices, values, and of how many gradients each is the sum."""

    indices: Array
    values: Array
    counts: Array


class _SparseSums(accumulators.Sums):
    """A sparse accumulator as a session has it: gradients are indices, values and a shape, which
    is empty if it is unknown."""

    def _check(self, gradient: Sequence[Array]) -> None:
        indices, values, shape = gradient
        if indices.ndim != 1:
            self._refuse(f"Input indices should be vector but received shape: {indices.shape}")
        if not values.ndim:
            self._refuse("Values cannot be 0-dimensional.")
        if len(values) != len(indices):
            self._refuse(
                f"Input indices and values have {len(indices)} and {len(values)} rows, expected "
                "as many"
            )
        known = self._shape.as_list() if self._shape.ndims is not None else []
        if shape.size:
            self._check_sizes(known, shape.tolist(), "shape", 0)
        if known and known[0] is not None:
            for at in np.flatnonzero(indices >= known[0])[:1]:
                self._refuse(
                    f"Shape mismatch: index of slice {at} exceeded limits of shape; index is "
                    f"{indices[at]} exceeded {known[0]}"
                )
        self._check_sizes(known, values.shape, "values", 1)
        if self._sum is not None:
            rows = self._sum.values.shape
            if values.ndim != len(rows):
                self._refuse(f"Shape mismatch: expected values rank {len(rows)}, got {values.ndim}")
            self._check_sizes(rows, values.shape, "values", 1)

    def _check_sizes(
        self, known: Sequence[int | None], found: Sequence[int], what: str, start: int
    ) -> None:
        """Refuses sizes that do not begin with the known ones, from an axis on."""
        if len(found) < len(known):
            self._refuse(
                f"Shape mismatch: expected {what} rank at least {len(known)}, got {len(found)}"
            )
        for axis in range(start, len(known)):
            if known[axis] not in (None, found[axis]):
                self._refuse(
                    f"Shape mismatch: expected {what} dim {axis} to be {known[axis]}, got "
                    f"{found[axis]}"
                )

    def _added(self, gradient: Sequence[Array]) -> _Rows:
        new = _Rows(gradient[0].copy(), gradient[1].copy(), np.ones(len(gradient[0]), np.int64))
        if self._sum is None or not self._sum.indices.size:
            return new
        old: _Rows = self._sum
        if not new.indices.size:
            return old
        before, after = _merged(old.indices.tolist(), new.indices.tolist())
        indices = np.where(before >= 0, old.indices[before], new.indices[after])
        values = np.zeros((len(indices), *old.values.shape[1:]), old.values.dtype)
        counts = np.zeros(len(indices), np.int64)
        for part, at in ((old, before), (new, after)):
            values[at >= 0] += part.values[at[at >= 0]]
            counts[at >= 0] += part.counts[at[at >= 0]]
        return _Rows(indices, values, counts)

    def _results(self, found: _Rows, count: int) -> list[Array]:
        values = found.values
        if self._mean:
            counts = found.counts.astype(values.dtype)
            values = values / counts.reshape([-1, *[1] * (values.ndim - 1)])
        first = self._shape.as_list()[0] if self._shape.ndims else None
        shape = [-1 if first is None else first, *values.shape[1:]]
        return [found.indices, values, np.array(shape, np.int64)]


def _merged(old: list[int], new: list[int]) -> tuple[Array, Array]:
    """Two lists of indices as one, in order if both are: for each row its position in either list,
    -1 where that has it not."""
    before, after, i, j = [], [], 0, 0
    while i < len(old) or j < len(new):
        of_old = j == len(new) or (i < len(old) and old[i] <= new[j])
        of_new = i == len(old) or (j < len(new) and new[j] <= old[i])
        before.append(i if of_old else -1)
        after.append(j if of_new else -1)
        i, j = i + of_old, j + of_new
    return np.array(before), np.array(after)


class _Taken(NamedTuple):
    """Outputs of the operation that takes a gradient."""

    indices: Tensor
    values: Tensor
    shape: Tensor


class SparseConditionalAccumulator(accumulators.ConditionalAccumulatorBase):
    """Adds gradients of some rows up; who takes their mean waits until there are enough. A row's
    mean is of the gradients that have it.

    Args:
        dtype: of a gradient, a number's.
        shape: of one; None: any.
        shared_name: accumulators of one name are one in a session; None: it is separate.
        name: of the operation.
        reduction_type: "MEAN" or "SUM".

    Raises:
        ValueError: another reduction_type.

    Example:
        >>> sums = tf.SparseConditionalAccumulator(tf.float32, shape=[None, 1])
        >>> add = [sums.apply_grad([0, 2], [[1.0], [3.0]]), sums.apply_grad([2], [[9.0]])]
        >>> mean = sums.take_indexed_slices_grad(2)
        >>> with tf.Session() as session:
        ...     session.run(add)
        ...     print(*session.run([mean.indices, tf.reshape(mean.values, [-1])]))
        [0 2] [1. 6.]
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str | None = "sparse_conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        made = accumulators.accumulator(
            _SparseSums, "SparseConditionalAccumulator", dtype, shape, shared_name,
            name or "SparseConditionalAccumulator", reduction_type,
        )  # fmt: skip
        super().__init__(dtype, shape, made)

    def _type(self, action: str) -> str:
        return f"{'Sparse' if 'Gradient' in action else ''}Accumulator{action}"

    def apply_indexed_slices_grad(
        self, grad: IndexedSlices, local_step: Any = 0, name: str | None = None
    ) -> Operation:
        """As apply_grad, of an IndexedSlices."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    @builds_with("accumulator_ref")
    def apply_grad(
        self,
        grad_indices: Any,
        grad_values: Any,
        grad_shape: Any = None,
        local_step: Any = 0,
        name: str | None = None,
    ) -> Operation:
        """An operation that adds a gradient, unless its step is before the accumulator's.

        Args:
            grad_indices: (n) integers: the rows, in order and each once; others are added in the
                order in which they come, as TensorFlow does. Without any, the gradient counts.
            grad_values: (n, ...) of the dtype: the rows' values.
            grad_shape: the gradient's shape, integers; None: not known.
            local_step: integer scalar.
            name: of the operation.

        Raises:
            InvalidArgumentError: of the run: indices, values and shapes do not fit.
        """
        indices = elementwise.cast(grad_indices, dtypes.int64)
        values = convert_to_tensor(grad_values, self._dtype)
        shape = elementwise.cast([] if grad_shape is None else grad_shape, dtypes.int64)
        return self._applied(local_step, [indices, values, shape], name)

    @builds_with("accumulator_ref")
    def take_grad(self, num_required: Any, name: str | None = None) -> _Taken:
        """The mean, or sum, of the gradients since it was taken last, once there are enough; the
        step goes up by one.

        Args:
            num_required: how many, int32 scalar.
            name: of the operation.

        Returns:
            indices (n) int64, values (n, ...) and shape int64, whose first size is -1 where the
            accumulator's is not known.

        Raises:
            InvalidArgumentError: of the run: num_required is less than 1.
        """
        unknown = TensorShape(None)
        outputs = [(dtypes.int64, unknown), (self._dtype, unknown), (dtypes.int64, unknown)]
        return _Taken(*self._taken(num_required, outputs, name).outputs)

    def take_indexed_slices_grad(self, num_required: Any, name: str | None = None) -> IndexedSlices:
        """As take_grad, as an IndexedSlices."""
        indices, values, shape = self.take_grad(num_required, name)
        return IndexedSlices(values, indices, shape)
