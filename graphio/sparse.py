"""tf.sparse: SparseTensors and what is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.sparse_tensor import sparse_placeholder as placeholder
from graphio.ops.nn.embedding import sparse_segment_mean as segment_mean
from graphio.ops.nn.embedding import sparse_segment_sqrt_n as segment_sqrt_n
from graphio.ops.nn.embedding import sparse_segment_sum as segment_sum
from graphio.ops.sparse.arranging import sparse_concat as concat
from graphio.ops.sparse.arranging import sparse_expand_dims as expand_dims
from graphio.ops.sparse.arranging import sparse_fill_empty_rows as fill_empty_rows
from graphio.ops.sparse.arranging import sparse_merge as merge
from graphio.ops.sparse.arranging import sparse_reorder as reorder
from graphio.ops.sparse.arranging import sparse_reset_shape as reset_shape
from graphio.ops.sparse.arranging import sparse_reshape as reshape
from graphio.ops.sparse.arranging import sparse_retain as retain
from graphio.ops.sparse.arranging import sparse_slice as slice
from graphio.ops.sparse.arranging import sparse_split as split
from graphio.ops.sparse.arranging import sparse_transpose as transpose
from graphio.ops.sparse.conversion import from_dense
from graphio.ops.sparse.conversion import sparse_eye as eye
from graphio.ops.sparse.conversion import sparse_mask as mask
from graphio.ops.sparse.conversion import sparse_tensor_dense_matmul as matmul
from graphio.ops.sparse.conversion import sparse_tensor_dense_matmul as sparse_dense_matmul
from graphio.ops.sparse.conversion import sparse_tensor_to_dense as to_dense
from graphio.ops.sparse.conversion import sparse_to_indicator as to_indicator
from graphio.ops.sparse.crossing import sparse_cross as cross
from graphio.ops.sparse.crossing import sparse_cross_hashed as cross_hashed
from graphio.ops.sparse.math import sparse_add as add
from graphio.ops.sparse.math import sparse_maximum as maximum
from graphio.ops.sparse.math import sparse_minimum as minimum
from graphio.ops.sparse.math import sparse_reduce_max as reduce_max
from graphio.ops.sparse.math import sparse_reduce_max_sparse as reduce_max_sparse
from graphio.ops.sparse.math import sparse_reduce_sum as reduce_sum
from graphio.ops.sparse.math import sparse_reduce_sum_sparse as reduce_sum_sparse
from graphio.ops.sparse.math import sparse_softmax as softmax
from graphio.queues.sparse_accumulators import SparseConditionalAccumulator

__all__ = [
    "SparseConditionalAccumulator",
    "SparseTensor",
    "add",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
