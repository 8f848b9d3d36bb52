"""Weights in the order in which kernels read them: packed tiles, as in schema/README.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["LARGEST", "TILE_WIDTH", "Packing", "order", "restore"]

TILE_WIDTH = 32  # of tiles that are written: two vectors of the widest instruction set
LARGEST = 4096  # width that a file may have

Array = np.ndarray[Any, Any]


class Packing(NamedTuple):
    """The packed tiles of a tensor in its file.

    Attributes:
        dims: its shape there.
        width: of a tile: so many indices of the axis side by side.
        axis: 0 or the last.
    """

    dims: tuple[int, ...]
    width: int
    axis: int


def order(array: Array, width: int, axis: int) -> Array:
    """The elements of an array in packed tiles.

    Args:
        array: of rank 2 or more.
        width: of a tile.
        axis: that is cut into tiles, 0 or the last; negative ones count from the end.

    Returns:
        (n,), contiguous: the n elements of the array, each once.

    Raises:
        ValueError: another rank, width or axis.
    """
    elements = np.empty(array.size, array.dtype)
    for here, there in _pairs(_matrix(array, array.shape, width, axis), elements, width):
        there[...] = here
    return elements


def restore(elements: Array, dims: Sequence[int], width: int, axis: int) -> Array:
    """The array whose elements order gave.

    Args:
        elements: contiguous, as many as dims have.
        dims: the array's shape.
        width, axis: as order.

    Returns:
        dims, row-major.

    Raises:
        ValueError: another rank, width or axis.
    """
    array = np.empty(tuple(dims), elements.dtype)
    for here, there in _pairs(_matrix(array, dims, width, axis), elements.reshape(-1), width):
        here[...] = there
    return array


def _matrix(array: Array, dims: Sequence[int], width: int, axis: int) -> Array:
    """The indices along the axis by all others: (rows, columns), of a contiguous array a view."""
    rank = len(dims)
    if rank < 2 or axis not in (0, rank - 1, -1, -rank) or width < 1:
        raise ValueError(
            f"tiles of {width} along axis {axis} of {list(dims)}, expected 1 or more, along the "
            "first or the last axis of two or more"
        )
    if axis in (0, -rank):
        return array.reshape(dims[0], math.prod(dims[1:]))
    transposed: Array = array.reshape(math.prod(dims[:-1]), dims[-1]).T
    return transposed


def _pairs(matrix: Array, elements: Array, width: int) -> Iterator[tuple[Array, Array]]:
    """Views of the matrix and of its elements in tiles, which have the same shape: of all complete
    tiles (tile, column, row), of the last one (column, row)."""
    rows, columns = matrix.shape
    if not matrix.size:
        return  # numpy refuses shapes of nothing whose other sizes multiply to too much
    tiles, full = rows // width, rows // width * width
    whole = matrix[:full].reshape(tiles, width, columns)
    yield whole.transpose(0, 2, 1), elements[: full * columns].reshape(tiles, columns, width)
    yield matrix[full:].T, elements[full * columns :].reshape(columns, rows - full)
