"""tf.strings.unsorted_segment_join, by Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import cut, describe, scope, static_ints, whole
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.strings.python_strings import as_bytes, as_text, call
from graphio.support import api_guard, errors

__all__ = ["unsorted_segment_join"]

Array = np.ndarray[Any, Any]


@api_guard.operator
def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """Strings joined segment by segment, in their order.

    Args:
        inputs: string tensor.
        segment_ids: integer tensor, the segment of each string or part of inputs: its shape is the
            first sizes of that of inputs.
        num_segments: how many segments there are; empty ones are "".
        separator: put between the strings.
        name: of the operation.

    Returns:
        A string tensor (segments, the sizes of inputs that segment_ids has not).

    Raises:
        ValueError: the shapes do not fit.
        InvalidArgumentError: of the run, a segment is not in [0, num_segments).
    """
    with scope(name, "UnsortedSegmentJoin") as at:
        x = as_text(inputs, "inputs")
        ids = whole(segment_ids, "UnsortedSegmentJoin", "segment_ids")
        count = whole(cut(num_segments), "UnsortedSegmentJoin", "num_segments")
        dims, lead = dims_of(x), dims_of(ids)
        result: Dims = None
        if dims is not None and lead is not None:
            what = describe(at, "UnsortedSegmentJoin")
            if len(lead) > len(dims):
                raise ValueError(
                    f"segment_ids has shape {shapes.text(lead)}, expected the first sizes of "
                    f"{shapes.text(dims)} for {what}"
                )
            shapes.merge(lead, dims[: len(lead)], what)
            known = static_ints(num_segments)
            result = (known[0] if known else None, *dims[len(lead) :])
        options = {"separator": as_bytes(separator)}
        outputs = [(dtypes.string, result)]
        made = call("UnsortedSegmentJoin", _joined, [x, ids, count], outputs, at, **options)
        return made.outputs[0]


def _joined(string_values: Array, ids: Array, count: Array, separator: bytes) -> Sequence[Array]:
    """Work of unsorted_segment_join."""
    if string_values.shape[: ids.ndim] != ids.shape:
        raise errors.InvalidArgumentError(
            message=f"segment_ids has shape {list(ids.shape)}, expected the first sizes of "
            f"{list(string_values.shape)}"
        )
    segments = int(count)
    wrong = ids[(ids < 0) | (ids >= segments)]
    if wrong.size:
        raise errors.InvalidArgumentError(
            message=f"segment_ids: {wrong[0]} is not in [0, {segments})"
        )
    rest = string_values.shape[ids.ndim :]
    rows = string_values.reshape(ids.size, math.prod(rest))
    positions: list[list[int]] = [[] for _ in range(segments)]
    for row, segment in enumerate(ids.reshape(-1).tolist()):
        positions[segment].append(row)
    made = np.empty((segments, rows.shape[1]), object)
    for segment, chosen in enumerate(positions):
        for column in range(rows.shape[1]):
            made[segment, column] = separator.join(rows[chosen, column].tolist())
    return [made.reshape(segments, *rest)]
