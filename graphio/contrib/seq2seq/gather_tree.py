"""Following the parents of beams back to the first step."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import batch_gather
from graphio.ops.control_flow.functional import scan
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

__all__ = ["gather_tree"]


@api_guard.operator
def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> Any:
    """The sequences of beams, from the ids of each step and the beams that they came from.

    Args:
        step_ids: int32 (time, batch, beams).
        parent_ids: int32 (time, batch, beams): each beam's number in the step before.
        max_sequence_lengths: int32 (batch): the last step of the beams, plus one.
        end_token: int32 scalar, which a sequence has after its first end_token, and after its
            length.
        name: of the operations.

    Returns:
        int32 (time, batch, beams).
    """
    with scopes.name_scope(name, "GatherTree"):
        ids, parents, lengths, end = (
            convert_to_tensor(x, dtypes.int32)
            for x in (step_ids, parent_ids, max_sequence_lengths, end_token)
        )
        steps, first = array.shape(ids)[0], array.zeros_like(ids[0])
        own = first + array.range(array.shape(ids)[2])
        ends = array.fill(array.shape(first), end)
        lengths = array.expand_dims(elementwise.minimum(lengths, steps), 1)

        def back(after: Any, now: Any) -> Any:
            _, beams = after
            step_ids, step_parents, time = now
            inside = comparison.logical_and(
                comparison.less(time, lengths), comparison.equal(own, own)
            )
            chosen = array.where(inside, batch_gather(step_ids, beams), ends)
            return chosen, array.where(inside, batch_gather(step_parents, beams), beams)

        elems = (ids, parents, array.range(steps))
        found, _ = scan(back, elems, initializer=(first, own), reverse=True)
        is_end = elementwise.cast(comparison.equal(found, end), dtypes.int32)
        before = reduction.cumsum(is_end, axis=0, exclusive=True)
        made = array.where(comparison.greater(before, 0), array.zeros_like(found) + end, found)
        made.set_shape(ids.shape)
        return made
