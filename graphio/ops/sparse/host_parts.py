"""The check of a SparseTensor's arrays in operations that Python computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.support import errors

__all__ = ["check_arrays"]

Array = np.ndarray[Any, Any]


def check_arrays(indices: Array, values: Array, shape: Array) -> None:
    """Refuses arrays that cannot be those of a SparseTensor, or have rows beyond its shape.

    Args:
        indices: (n, rank).
        values: (n).
        shape: (rank). Columns, the numbers of the last axis, need not be in it.

    Raises:
        InvalidArgumentError: a rank or a size is another, or an index is out of bounds.
    """
    for name, array, word, rank in (
        ("indices", indices, "matrix", 2), ("values", values, "vector", 1),
        ("shape", shape, "vector", 1),
    ):  # fmt: skip
        if array.ndim != rank:
            _refuse(f"Input {name} should be a {word} but received shape {list(array.shape)}")
    if indices.shape != (values.size, shape.size):
        _refuse(
            f"Input indices have shape {list(indices.shape)}, expected for {values.size} values "
            f"of a tensor of rank {shape.size}: {[values.size, shape.size]}"
        )
    rows = indices[:, :-1]
    outside = np.flatnonzero(((rows < 0) | (rows >= shape[:-1])).any(1))
    if outside.size:
        found = outside[0]
        _refuse(
            f"indices[{found}] = {indices[found].tolist()} is out of bounds: need 0 <= index < "
            f"{shape.tolist()}"
        )


def _refuse(message: str) -> None:
    raise errors.InvalidArgumentError(message=message)
