"""Rows chosen and combined: segments of sparse choices, embeddings of sparse ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.save_slice_info import parts_of
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.variable import Variable
from graphio.ops.array import index, scattering
from graphio.ops.array.index_gradients import with_each_row_once
from graphio.ops.base import primitive
from graphio.ops.base.emit import FLOATING, NUMERIC, describe, node, require, scalar, scope, whole
from graphio.ops.base.primitive import binary, cast, compare, select
from graphio.ops.base.shapes import dims_of
from graphio.ops.base.signatures import SparseSegments
from graphio.ops.checks import run_checks
from graphio.ops.math import elementwise
from graphio.ops.nn import statistics
from graphio.ops.sparse import parts
from graphio.ops.sparse.arranging import sparse_fill_empty_rows, sparse_reshape, sparse_retain
from graphio.ops.sparse.parts import picked
from graphio.support import api_guard

__all__ = [
    "embedding_lookup_sparse",
    "safe_embedding_lookup_sparse",
    "sparse_segment_mean",
    "sparse_segment_sqrt_n",
    "sparse_segment_sum",
]

# ---- segments ----

_COMBINED: dict[str, Callable[..., Tensor]] = {
    "sum": index.unsorted_segment_sum,
    "mean": scattering.unsorted_segment_mean,
    "sqrtn": scattering.unsorted_segment_sqrt_n,
}


def _segments_in_all(ids: Tensor) -> Tensor:
    """One more than the largest id, 0 if there is none."""
    floor = primitive.concat([ids, primitive.int_vector([-1])], 0)
    largest = node("ReduceMax", [floor], dtypes.int64, (), keepdims=0)
    return binary("Add", largest, scalar(1, dtypes.int64))


def _segment_builder(function: str, tf_type: str, how: str, summary: str) -> SparseSegments:
    @api_guard.operator
    def build(
        data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
    ) -> Tensor:
        default = tf_type if num_segments is None else f"{tf_type}WithNumSegments"
        with scope(name, default) as at:
            x = convert_to_tensor(data, name="data")
            require(x, NUMERIC if how == "sum" else FLOATING, tf_type, "data")
            if x.shape.ndims == 0:
                raise ValueError(
                    f"Shape must be at least rank 1 but is rank 0 for {describe(at, tf_type)}: data"
                )
            rows = whole(indices, tf_type, "indices")
            ids = run_checks.ascending(whole(segment_ids, tf_type, "segment_ids"))
            rows = run_checks.not_negative(rows, "indices are out of range: they must be >= 0")
            ids = run_checks.not_negative(ids, "segment ids must be >= 0")
            if num_segments is None:
                count = _segments_in_all(ids)
            else:
                count = whole(num_segments, tf_type, "num_segments")
                ids = run_checks.below(ids, count, "segment ids must be < num_segments")
            return _COMBINED[how](picked(x, rows, tf_type), ids, count, name=at)

    build.__name__ = build.__qualname__ = function
    build.__doc__ = (
        f"{summary} of the rows that each segment chooses.\n\n    Args:\n        data: tensor "
        "(rows, ...) of numbers.\n        indices: integer vector (n): which rows are read.\n     "
        "   segment_ids: integer vector (n), ascending: the segment of each row read.\n        "
        "name: of the operation.\n        num_segments: integer scalar above all ids; None: one "
        "more than the last id.\n\n    Returns:\n        A tensor (segments, ...), 0 where a "
        "segment has no row.\n\n    Raises:\n        ValueError: data is a scalar.\n        "
        "InvalidArgumentError: in a run: an index or an id is out of range, or ids descend.\n    "
    )
    return build


sparse_segment_sum = _segment_builder("sparse_segment_sum", "SparseSegmentSum", "sum", "The sum")
sparse_segment_mean = _segment_builder(
    "sparse_segment_mean", "SparseSegmentMean", "mean", "The mean"
)
sparse_segment_sqrt_n = _segment_builder(
    "sparse_segment_sqrt_n", "SparseSegmentSqrtN", "sqrtn",
    "The sum, divided by the root of their number,",
)  # fmt: skip


# ---- embeddings ----


@api_guard.operator
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """The embeddings of each row's ids, combined.

    Args:
        params: tensor or variable (rows, ...), or a list of them; see tf.nn.embedding_lookup.
        sp_ids: SparseTensor (n, any) of integers, its indices in ascending order.
        sp_weights: SparseTensor of the same indices; None: all weights are 1.
        partition_strategy: mod or div: how several params share the rows.
        name: name scope of the operations.
        combiner: sum, mean or sqrtn: the weighted sum, that divided by the sum of the weights, or
            by the root of the sum of their squares. None: mean.
        max_norm: None, or the largest norm that an embedding may have; longer ones are scaled.

    Returns:
        A tensor (n, ...), n the number of the last row that has an id, and one. The IndexedSlices
        of its gradient by params have each row once.

    Raises:
        TypeError: sp_ids or sp_weights is not a SparseTensor.
        ValueError: combiner is none of the three.
    """
    how = "mean" if combiner is None else combiner
    if how not in _COMBINED:
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None and not isinstance(sp_weights, SparseTensor):
        raise TypeError("sp_weights must be either None or SparseTensor")
    with scope(name, "embedding_lookup_sparse") as at:
        column = primitive.slice_axes(sp_ids.indices, [0], [1], [1])
        segments = primitive.squeeze(column, [1])
        rows = statistics.embedding_lookup(
            params, sp_ids.values, partition_strategy, max_norm=max_norm
        )
        with_each_row_once(rows)
        count = _segments_in_all(segments)
        if sp_weights is None:
            return _COMBINED[how](rows, segments, count, name=at)
        return _weighted(rows, sp_weights, segments, count, how, at)


def _weighted(
    rows: Tensor, sp_weights: SparseTensor, segments: Tensor, count: Tensor, how: str, at: str
) -> Tensor:
    weights = sp_weights.values
    if weights.dtype != rows.dtype:
        weights = cast(weights, rows.dtype)
    rank = rows.shape.ndims or 2
    axes = list(range(1, rank))
    total = index.unsorted_segment_sum(
        binary("Mul", rows, primitive.unsqueeze(weights, axes)), segments, count
    )
    if how == "sum":
        return primitive.unary("Identity", total, at)
    if how == "mean":
        divisor = index.unsorted_segment_sum(weights, segments, count)
    else:
        squares = index.unsorted_segment_sum(elementwise.square(weights), segments, count)
        divisor = primitive.unary("Sqrt", squares)
    return binary("Div", total, primitive.unsqueeze(divisor, axes), at)


@api_guard.operator
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """embedding_lookup_sparse that bears ids below 0, weights of 0 or less, and rows without ids.

    Args:
        embedding_weights: tensor or variable (rows, ...), or a list of them.
        sparse_ids: SparseTensor (d0, ..., dn) of integers; those below 0 are left out.
        sparse_weights: SparseTensor of the same indices, of embedding_weights' dtype; ids of
            weights of 0 or less are left out, but for the combiner sum. None: all are 1.
        combiner: sum, mean or sqrtn.
        default_id: whose embedding rows without ids have; None: zeros.
        name: name scope of the operations.
        partition_strategy: mod or div: how several embedding_weights share the rows.
        max_norm: None, or the largest norm that an embedding may have.

    Returns:
        A tensor (d0, ..., dn-1, ...).

    Raises:
        ValueError: embedding_weights is empty or of another dtype than sparse_weights, or combiner
            is none of the three.
    """
    if embedding_weights is None or (isinstance(embedding_weights, (list, tuple))
                                     and not embedding_weights):  # fmt: skip
        raise ValueError(f"Missing embedding_weights {embedding_weights!r}.")
    if sparse_weights is not None:
        embedding_weights = [
            w if isinstance(w, Variable) and w.dtype == sparse_weights.dtype
            else convert_to_tensor(w, sparse_weights.dtype)
            for w in parts_of(embedding_weights)
        ]  # fmt: skip
    with scope(name, "embedding_lookup") as at:
        shape = sparse_ids.dense_shape
        lead = primitive.slice_axes(shape, [0], [-1], [0])
        flat = primitive.concat(
            [primitive.unsqueeze(parts.total_size(lead), [0]),
             primitive.slice_axes(shape, [-1], [primitive.last], [0])], 0)  # fmt: skip
        ids = sparse_reshape(sparse_ids, flat)
        weights = None if sparse_weights is None else SparseTensor(
            ids.indices, sparse_weights.values, ids.dense_shape)  # fmt: skip
        ids, weights = _without_invalid(ids, weights, combiner)
        full, empty = sparse_fill_empty_rows(ids, 0 if default_id is None else default_id)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        found = embedding_lookup_sparse(
            embedding_weights, full, weights, partition_strategy, combiner=combiner,
            max_norm=max_norm)  # fmt: skip
        rest = found.shape.ndims or 2
        if default_id is None:
            wide = primitive.unsqueeze(empty, list(range(1, rest)))
            found = select(wide, scalar(0, found.dtype), found)
        tail = primitive.slice_axes(primitive.shape_of(found), [1], [primitive.last], [0])
        result = primitive.concat([lead, tail], 0)
        known, dims = primitive.static_vector(lead), dims_of(found)
        static = None if known is None or dims is None else (*known, *dims[1:])
        return primitive.reshape_to(found, result, static, at)


def _without_invalid(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str
) -> tuple[SparseTensor, SparseTensor | None]:
    """ids and weights without ids below 0 and, where weights divide, weights that are not above."""
    valid = compare("GreaterOrEqual", ids.values, scalar(0, ids.dtype))
    if weights is None:
        return sparse_retain(ids, valid), None
    if combiner != "sum":
        above = compare("Greater", weights.values, scalar(0, weights.dtype))
        valid = node("And", [valid, above], dtypes.bool, dims_of(valid))
    return sparse_retain(ids, valid), sparse_retain(weights, valid)
