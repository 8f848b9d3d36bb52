"""Random sparse tensors as arrays, and what they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


class Sparse:
    """Indices, values and shape; dense() sums values of equal indices."""

    def __init__(self, shape: Any, positions: Any, values: Any) -> None:
        self.shape = tuple(shape)
        self.values = np.asarray(values, np.float64)
        self.positions = np.asarray(positions, np.int64).reshape(len(self.values), len(self.shape))

    @property
    def fed(self) -> tuple[Any, Any, Any]:
        """The value for a sparse placeholder."""
        return self.positions, self.values, np.asarray(self.shape, np.int64)

    def dense(self) -> np.ndarray:
        if not self.shape:
            return np.asarray(self.values.sum())
        result = np.zeros(self.shape)
        np.add.at(result, tuple(self.positions.T), self.values)
        return result

    def stored(self) -> np.ndarray:
        """Where an element is stored."""
        mask = np.zeros(self.shape, bool)
        mask[tuple(self.positions.T)] = True
        return mask


def dense_of(value: Any) -> np.ndarray:
    """The dense value of a SparseTensorValue."""
    return Sparse(value.dense_shape, value.indices, value.values).dense()


def is_ordered(value: Any) -> bool:
    """Whether the indices of a SparseTensorValue ascend strictly."""
    rows = [tuple(row) for row in value.indices.tolist()]
    return all(a < b for a, b in zip(rows, rows[1:], strict=False))


@st.composite
def sparse(draw: Any, rank: int | None = None, ordered: bool = False) -> Sparse:
    """Distinct indices in any order, values that are whole numbers and not 0."""
    ranks = st.integers(1, 3) if rank is None else st.just(rank)
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=(n := draw(ranks)), max_size=n)))
    chosen = draw(st.lists(st.integers(0, int(np.prod(shape)) - 1), max_size=6, unique=True))
    numbers = sorted(chosen) if ordered else chosen
    positions = np.stack(np.unravel_index(np.asarray(numbers, np.int64), shape), 1)
    values = draw(
        st.lists(st.sampled_from([-3, -2, -1, 1, 2, 3]), min_size=len(chosen), max_size=len(chosen))
    )
    return Sparse(shape, positions, values)
