"""Sparse tensors, which nodes have as indices, values and shape."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row
from graphio.tensorflow_files.operators.text import sparse

__all__ = ["ROWS"]


def _given(c: Call, first: int = 0) -> Any:
    """The SparseTensor of three inputs."""
    return tf.SparseTensor(c[first], c[first + 1], c[first + 2])


def _add(c: Call) -> Any:
    return sparse(tf.sparse_add(_given(c), _given(c, 3), c.known(6)))


def _concat(c: Call) -> Any:
    count = c.integer("N")
    parts = [tf.SparseTensor(c[i], c[count + i], c[2 * count + i]) for i in range(count)]
    return sparse(tf.sparse_concat(c.integer("concat_dim"), parts, name=c.name))


def _dense_result(function: str, c: Call) -> Any:
    """SparseDenseCwise*: the dense tensor is broadcast to the shape of the sparse one."""
    shape = c[2]
    dense = tf.broadcast_to(c[3], shape)
    values = getattr(tf, function)(c[1], tf.gather_nd(dense, c[0]), name=c.name)
    return values


def _fill_empty_rows(c: Call) -> Any:
    """Its last output says where each given element went."""
    made, empty = tf.sparse_fill_empty_rows(_given(c), c[3])
    positions = tf.range(tf.size(c[1], out_type=tf.int64))
    marked = tf.SparseTensor(c[0], positions + 1, c[2])
    filled, _ = tf.sparse_fill_empty_rows(marked, tf.constant(0, tf.int64))
    where = tf.squeeze(tf.where(filled.values > 0), 1)
    order = tf.gather(filled.values, where) - 1
    back = tf.scatter_nd(tf.expand_dims(order, 1), where, [tf.size(order, out_type=tf.int64)])
    return [made.indices, made.values, empty, back]


def _reduced(function: str, is_sparse: bool, c: Call) -> Any:
    axes = c.constant(3).reshape(-1).tolist()
    made = getattr(tf, function)(_given(c), axes, c.flag("keep_dims"))
    return sparse(made) if is_sparse else tf.identity(made, name=c.name)


def _reorder(c: Call) -> Any:
    return sparse(tf.sparse_reorder(_given(c), name=c.name))[:2]


def _reshape(c: Call) -> Any:
    values = tf.zeros([tf.shape(c[0])[0]])
    made = tf.sparse_reshape(tf.SparseTensor(c[0], values, c[1]), c[2], name=c.name)
    return [made.indices, made.dense_shape]


def _slice(c: Call) -> Any:
    return sparse(tf.sparse_slice(_given(c), c[3], c[4], name=c.name))


def _split(c: Call) -> Any:
    whole = tf.SparseTensor(c[1], c[2], c[3])
    parts = tf.sparse_split(sp_input=whole, num_split=c.integer("num_split"),
                            axis=int(c.constant(0)))  # fmt: skip
    return [list(sparse(part))[k] for k in range(3) for part in parts]


def _combined(function: str, c: Call) -> Any:
    made = getattr(tf, function)(_given(c), _given(c, 3), name=c.name)
    return [made.indices, made.values]


def _to_dense(c: Call) -> Any:
    check = c.flag("validate_indices", True)
    return tf.sparse_to_dense(c[0], c[1], c[2], c[3], check, name=c.name)


def _multiplied(c: Call) -> Any:
    adjoint_a, adjoint_b = c.flag("adjoint_a"), c.flag("adjoint_b")
    return tf.sparse_tensor_dense_matmul(_given(c), c[3], adjoint_a, adjoint_b, name=c.name)


def _edit_distance(c: Call) -> Any:
    normal = c.flag("normalize", True)
    return tf.edit_distance(_given(c), _given(c, 3), normal, name=c.name)


def _segments(function: str, c: Call) -> Any:
    count = c[3] if len(c) > 3 else None
    return getattr(tf, function)(c[0], c[1], c[2], name=c.name, num_segments=count)


_SEGMENTS = {
    "SparseSegmentMean": "sparse_segment_mean",
    "SparseSegmentSqrtN": "sparse_segment_sqrt_n",
    "SparseSegmentSum": "sparse_segment_sum",
}

ROWS: dict[str, Row] = {
    "EditDistance": _edit_distance,
    "SparseAdd": _add,
    "SparseConcat": _concat,
    "SparseDenseCwiseAdd": partial(_dense_result, "add"),
    "SparseDenseCwiseDiv": partial(_dense_result, "divide"),
    "SparseDenseCwiseMul": partial(_dense_result, "multiply"),
    "SparseFillEmptyRows": _fill_empty_rows,
    "SparseReduceMax": partial(_reduced, "sparse_reduce_max", False),
    "SparseReduceMaxSparse": partial(_reduced, "sparse_reduce_max_sparse", True),
    "SparseReduceSum": partial(_reduced, "sparse_reduce_sum", False),
    "SparseReduceSumSparse": partial(_reduced, "sparse_reduce_sum_sparse", True),
    "SparseReorder": _reorder,
    "SparseReshape": _reshape,
    "SparseSlice": _slice,
    "SparseSoftmax": lambda c: tf.identity(tf.sparse_softmax(_given(c)).values, name=c.name),
    "SparseSparseMaximum": partial(_combined, "sparse_maximum"),
    "SparseSparseMinimum": partial(_combined, "sparse_minimum"),
    "SparseSplit": _split,
    "SparseTensorDenseAdd": lambda c: tf.identity(tf.sparse_add(_given(c), c[3]), name=c.name),
    "SparseTensorDenseMatMul": _multiplied,
    "SparseToDense": _to_dense,
    **{op: partial(_segments, name) for op, name in _SEGMENTS.items()},
    **{f"{op}WithNumSegments": partial(_segments, name) for op, name in _SEGMENTS.items()},
}
