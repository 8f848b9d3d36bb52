"""edit_distance, by Python: a model saved with it needs its function again to run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.emit import scope
from graphio.ops.base.host import host_call
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.sparse.host_parts import check_arrays
from graphio.ops.sparse.parts import as_sparse
from graphio.support import api_guard

__all__ = ["edit_distance"]

Array = np.ndarray[Any, Any]
Rows = dict[tuple[int, ...], list[Any]]


@api_guard.operator
def edit_distance(
    hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance"
) -> Tensor:
    """The number of insertions, deletions and substitutions (Levenshtein 1966).

    Args:
        hypothesis: SparseTensor (d0, ..., dn): a sequence for each of the first coordinates.
        truth: SparseTensor of the same rank and dtype.
        normalize: True divides by the length of truth; inf where that is 0 and hypothesis is not.
        name: of the operation.

    Returns:
        A float32 tensor (d0, ..., dn-1), the larger sizes of both.

    Raises:
        TypeError: an argument is not a SparseTensor, or the dtypes differ.
    """
    one, two = as_sparse(hypothesis, "Hypothesis"), as_sparse(truth, "Truth")
    if one.dtype != two.dtype:
        raise TypeError(
            f"edit_distance: hypothesis is {one.dtype.name}, truth is {two.dtype.name}; cast one"
        )

    def work(arrays: Sequence[Array]) -> list[Array]:
        return [_distances(arrays[:3], arrays[3:], normalize)]

    with scope(name, "edit_distance") as at:
        shape = TensorShape(_larger_sizes(dims_of(one.shape), dims_of(two.shape)))
        made = host_call(
            lambda session: work, [*one.parts(), *two.parts()], [(dtypes.float32, shape)],
            function="EditDistance", stateful=False, name=at, tf_type="EditDistance",
        )  # fmt: skip
        return made.outputs[0]


def _larger_sizes(one: Dims, two: Dims) -> Dims:
    """The larger ones of two shapes' sizes, as far as both are known, without the last."""
    if one is None or two is None:
        known = one or two
        return None if known is None else (None,) * (len(known) - 1)
    pairs = zip(one[:-1], two[:-1], strict=False)
    return tuple(None if a is None or b is None else max(a, b) for a, b in pairs)


def _rows(parts: Sequence[Array]) -> Rows:
    rows: Rows = {}
    for position, value in zip(parts[0].tolist(), parts[1].tolist(), strict=True):
        rows.setdefault(tuple(position[:-1]), []).append(value)
    return rows


def _distances(one: Sequence[Array], two: Sequence[Array], normalize: bool) -> Array:
    check_arrays(*one)
    check_arrays(*two)
    result = np.zeros(np.maximum(one[2][:-1], two[2][:-1]), np.float32)
    given, expected = _rows(one), _rows(two)
    for position in {*given, *expected}:
        a, b = given.get(position, []), expected.get(position, [])
        distance = float(_distance(a, b))
        if normalize and distance:
            distance = distance / len(b) if b else np.inf
        result[position] = distance
    return result


def _distance(a: list[Any], b: list[Any]) -> int:
    before = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        now = [i]
        for j, right in enumerate(b, 1):
            now.append(min(before[j] + 1, now[-1] + 1, before[j - 1] + (left != right)))
        before = now
    return before[-1]
