"""Chooses the weights that a file stores as packed tiles, which cinfer reads without a copy. The
graph and every value stay. Weights that might be read in another layout stay row-major."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from graphio.model.rewrite.work import Array, Shared, Work, attributes, uses
from graphio.schema import fused
from graphio.schema.draft import Draft
from graphio.schema.model_pb2 import Model
from graphio.schema.nodes import PlainNode
from graphio.schema.packed_weights import TILE_WIDTH

__all__ = ["with_packed_weights"]

_LEAST = 1 << 16  # bytes: less is brought into order in no time
#: outputs of the last tile for which cinfer's tiles are as wide as those of the file
_CONV_TAILS, _MATMUL_TAILS = (0, 16), (0, 4, 8, 16)
_BLOCK = 256  # terms that cinfer adds in one go: some forms of convolutions have no more
_LONG = 400  # pixels from which on 1 x 1 windows read their weights row-major


def with_packed_weights(model: Model, arrays: Sequence[Array]) -> dict[int, int]:
    """Chooses the arrays of a model to write as packed tiles.

    They are large float32 constants of the root graph that are read only by convolutions and matrix
    multiplications, as their weights.

    Args:
        model: as it will be written.
        arrays: its data section.

    Returns:
        Index to axis, 0 or the last, as container.pack takes them.
    """
    large = {i for i, array in enumerate(arrays) if _is_large(array)}
    if not large:
        return {}
    draft = Draft.of(model, arrays)
    counts = uses(draft)
    work = Work(draft.graph, Shared(draft))
    found = {}
    for node in draft.graph.nodes:
        i = work.index_of(node.name)
        if i in large and counts[i] == 1 and node.name not in work.shared.pinned:
            axis = _common_axis(work, node.name, arrays[i].shape)
            if axis is not None:
                found[i] = axis
    return found


def _is_large(array: Array) -> bool:
    return array.dtype == np.float32 and array.ndim > 1 and array.nbytes >= _LEAST


def _common_axis(work: Work, value: str, shape: Sequence[int]) -> int | None:
    """The axis along which all readers of a value take packed tiles, None if there is none."""
    readers = [work.nodes[name] for name in work.readers.get(value, {})]
    axes = {_axis(work, node, value, shape) for node in readers}
    return axes.pop() if len(axes) == 1 else None


def _axis(work: Work, node: PlainNode, value: str, shape: Sequence[int]) -> int | None:
    """The axis along which a node takes packed tiles of its weights, None if it takes none."""
    ours = node.domain == "graphio"
    op = (fused.linear_of(node.op) or node.op) if ours else "" if node.domain else node.op
    if op not in _AXES or [i for i, read in enumerate(node.input) if read == value] != [1]:
        return None
    return _AXES[op](work, node, shape)


def _of_conv(work: Work, node: PlainNode, shape: Sequence[int]) -> int | None:
    """Of (outputs, channels, ...): with two axes of windows at most outputs are lanes."""
    if not 2 < len(shape) < 5 or attributes(node).get("group", 1) != 1:
        return None
    if shape[0] % TILE_WIDTH not in _CONV_TAILS:
        return None
    shallow = prod(shape[1:]) <= _BLOCK
    return None if shallow and (shape[-1] == 3 or _is_long(work, node, shape)) else 0


def _of_conv2d(work: Work, node: PlainNode, shape: Sequence[int]) -> int | None:
    """Of (rows, columns, channels, outputs), channels last: outputs are always lanes."""
    whole = len(shape) == 4 and attributes(node).get("group", 1) == 1
    return 3 if whole and shape[-1] % TILE_WIDTH in _CONV_TAILS else None


def _is_long(work: Work, node: PlainNode, shape: Sequence[int]) -> bool:
    """Whether the windows are the pixels as they are, and many."""
    attrs = attributes(node)
    moved = {*shape[2:], *attrs.get("strides", ())} != {1} or any(attrs.get("pads", ()))
    pixels = (work.shape(node.name) or ())[2:]
    known = all(isinstance(size, int) for size in pixels)
    return not moved and known and len(pixels) > 0 and prod(pixels) >= _LONG


def _of_gemm(work: Work, node: PlainNode, shape: Sequence[int]) -> int | None:
    return _of_operand(shape, 0 if attributes(node).get("transB", 0) else 1)


def _of_matmul(work: Work, node: PlainNode, shape: Sequence[int]) -> int | None:
    return _of_operand(shape, 1)


def _of_operand(shape: Sequence[int], axis: int) -> int | None:
    """Of a matrix: the columns of the result are lanes, unless there are so few of them that each
    is a dot product."""
    if len(shape) != 2:
        return None
    columns, terms = shape[axis], shape[1 - axis]
    dots = columns == 1 or (columns < 8 and terms >= 32 * columns)
    return None if dots or columns % TILE_WIDTH not in _MATMUL_TAILS else axis


_AXES: Mapping[str, Callable[[Work, PlainNode, Sequence[int]], int | None]] = {
    "Conv": _of_conv,
    "Conv2D": _of_conv2d,
    "Gemm": _of_gemm,
    "MatMul": _of_matmul,
}
