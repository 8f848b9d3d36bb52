"""Operators that move, make and choose elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS", "SAME"]

SAME = {
    "BatchToSpaceND": "batch_to_space_nd", "BroadcastTo": "broadcast_to",
    "Cholesky": "cholesky",
    "EnsureShape": "identity", "Fill": "fill", "GatherNd": "gather_nd",
    "InvertPermutation": "invert_permutation", "LinSpace": "linspace",
    "MatrixDeterminant": "matrix_determinant", "MatrixDiag": "linalg.diag",
    "MatrixDiagPart": "linalg.diag_part", "OnesLike": "ones_like", "Rank": "rank",
    "ReverseV2": "reverse", "Roll": "roll", "ScatterNd": "scatter_nd",
    "SegmentMax": "segment_max", "SegmentMean": "segment_mean", "SegmentMin": "segment_min",
    "SegmentProd": "segment_prod", "SegmentSum": "segment_sum",
    "SpaceToBatchND": "space_to_batch_nd", "TensorScatterAdd": "tensor_scatter_add",
    "TensorScatterUpdate": "tensor_scatter_update", "Tile": "tile",
    "UnsortedSegmentMax": "unsorted_segment_max", "UnsortedSegmentMin": "unsorted_segment_min",
    "UnsortedSegmentSum": "unsorted_segment_sum", "ZerosLike": "zeros_like",
}  # fmt: skip


def _split(c: Call) -> Any:
    return tf.split(c[1], c.integer("num_split"), int(c.constant(0)), name=c.name)


def _split_v(c: Call) -> Any:
    count = c.integer("num_split")
    return tf.split(c[0], c.known(1), int(c.constant(2)), num=count, name=c.name)


def _strided_slice(c: Call) -> Any:
    masks = {
        f"{kind}_mask": c.integer(f"{kind}_mask", 0)
        for kind in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    return tf.strided_slice(c[0], c.known(1), c.known(2), c.known(3), **masks, name=c.name)


def _gather(c: Call) -> Any:
    axis = int(c.constant(2)) if len(c) > 2 else 0
    return tf.gather(c[0], c[1], axis=axis, batch_dims=c.integer("batch_dims", 0), name=c.name)


def _where(c: Call) -> Any:
    """SelectV2 broadcasts its three inputs, Select does not."""
    condition, x, y = c.tensors
    shape = tf.broadcast_dynamic_shape(
        tf.broadcast_dynamic_shape(tf.shape(condition), tf.shape(x)), tf.shape(y)
    )
    alike = condition.shape.as_list() if condition.shape.is_fully_defined() else None
    if all(t.shape.is_fully_defined() and t.shape.as_list() == alike for t in (x, y)):
        return tf.where(condition, x, y, name=c.name)
    condition, x, y = (tf.broadcast_to(t, shape) for t in (condition, x, y))
    return tf.where(condition, x, y, name=c.name)


def _squeeze(c: Call) -> Any:
    return tf.squeeze(c[0], c.integers("squeeze_dims") or None, name=c.name)


def _one_hot(c: Call) -> Any:
    return tf.one_hot(c[0], c.known(1), c[2], c[3], c.integer("axis", -1), c[2].dtype, name=c.name)


def _pad(c: Call) -> Any:
    value = c[2] if len(c) > 2 else 0
    return tf.pad(c[0], c.known(1), constant_values=value, name=c.name)


def _mirror_pad(c: Call) -> Any:
    return tf.pad(c[0], c.known(1), c.text("mode"), name=c.name)


def _top_k(c: Call) -> Any:
    k = c.known(1) if len(c) > 1 else c.integer("k")
    return list(tf.nn.top_k(c[0], k, c.flag("sorted", True), name=c.name))


def _reshape(c: Call) -> Any:
    return tf.reshape(c[0], c.known(1), name=c.name)


def _shape_n(c: Call) -> Any:
    return list(tf.shape_n(c.tensors, out_type=c.dtype("out_type", tf.int32), name=c.name))


ROWS: dict[str, Row] = {
    "BroadcastArgs": lambda c: tf.identity(tf.broadcast_dynamic_shape(c[0], c[1]), name=c.name),
    "Bitcast": lambda c: tf.bitcast(c[0], c.dtype("type"), name=c.name),
    "CheckNumerics": lambda c: tf.check_numerics(c[0], c.text("message"), name=c.name),
    "Concat": lambda c: tf.concat(c.tensors[1:], int(c.constant(0)), name=c.name),
    "ConcatV2": lambda c: tf.concat(c.tensors[:-1], int(c.constant(-1)), name=c.name),
    "DepthToSpace": lambda c: tf.depth_to_space(
        c[0], c.integer("block_size"), c.name, c.text("data_format", "NHWC")
    ),
    "Empty": lambda c: tf.zeros(c.known(0), c.dtype("dtype"), name=c.name),
    "ExpandDims": lambda c: tf.expand_dims(c[0], int(c.constant(1)), name=c.name),
    "Gather": _gather,
    "GatherV2": _gather,
    "IdentityN": lambda c: list(tf.identity_n(c.tensors, name=c.name)),
    "MatrixBandPart": lambda c: tf.matrix_band_part(c[0], c.known(1), c.known(2), name=c.name),
    "MatrixInverse": lambda c: tf.linalg.inv(c[0], c.flag("adjoint"), name=c.name),
    "MirrorPad": _mirror_pad,
    "OneHot": _one_hot,
    "Pack": lambda c: tf.stack(c.tensors, c.integer("axis", 0), name=c.name),
    "Pad": _pad,
    "PadV2": _pad,
    "ParallelConcat": lambda c: tf.concat(c.tensors, 0, name=c.name),
    "PlaceholderWithDefault": lambda c: tf.placeholder_with_default(
        c[0], c.shape("shape"), name=c.name
    ),
    "PreventGradient": lambda c: tf.stop_gradient(c[0], name=c.name),
    "Range": lambda c: tf.range(c[0], c[1], c[2], name=c.name),
    "Reshape": _reshape,
    "ReverseSequence": lambda c: tf.reverse_sequence(
        c[0], c[1], c.integer("seq_dim"), c.integer("batch_dim", 0), name=c.name
    ),
    "Select": lambda c: tf.where(c[0], c[1], c[2], name=c.name),
    "SelectV2": _where,
    "Shape": lambda c: tf.shape(c[0], out_type=c.dtype("out_type", tf.int32), name=c.name),
    "ShapeN": _shape_n,
    "Size": lambda c: tf.size(c[0], out_type=c.dtype("out_type", tf.int32), name=c.name),
    "Slice": lambda c: tf.slice(c[0], c.known(1), c.known(2), name=c.name),
    "Snapshot": lambda c: tf.identity(c[0], name=c.name),
    "SpaceToDepth": lambda c: tf.space_to_depth(
        c[0], c.integer("block_size"), c.name, c.text("data_format", "NHWC")
    ),
    "Split": _split,
    "SplitV": _split_v,
    "Squeeze": _squeeze,
    "StopGradient": lambda c: tf.stop_gradient(c[0], name=c.name),
    "StridedSlice": _strided_slice,
    "TopK": _top_k,
    "TopKV2": _top_k,
    "Transpose": lambda c: tf.transpose(c[0], c.known(1), name=c.name),
    "Unique": lambda c: list(tf.unique(c[0], c.dtype("out_idx", tf.int32), name=c.name)),
    "Unpack": lambda c: tf.unstack(c[0], c.integer("num"), c.integer("axis", 0), name=c.name),
    "Where": lambda c: tf.where(c[0], name=c.name),
    **{
        op: partial(lambda function, c: function(c[0], name=c.name), tf.identity)
        for op in ("DeepCopy", "_Retval")
    },
}
