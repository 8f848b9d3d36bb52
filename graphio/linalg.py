"""tf.linalg: matrices."""

from __future__ import annotations

from graphio.ops.arithmetic import cross, einsum
from graphio.ops.clip import global_norm, norm
from graphio.ops.filling import diag as tensor_diag
from graphio.ops.filling import eye
from graphio.ops.linear import matmul, matrix_transpose, tensordot
from graphio.ops.linear import matrix_transpose as transpose
from graphio.ops.matrices import diag_part as tensor_diag_part
from graphio.ops.matrices import matrix_band_part as band_part
from graphio.ops.matrices import matrix_determinant as det
from graphio.ops.matrices import matrix_diag as diag
from graphio.ops.matrices import matrix_diag_part as diag_part
from graphio.ops.matrices import matrix_set_diag as set_diag
from graphio.ops.matrices import trace
from graphio.ops.nn import l2_normalize

__all__ = [
    "band_part",
    "cross",
    "det",
    "diag",
    "diag_part",
    "einsum",
    "eye",
    "global_norm",
    "l2_normalize",
    "matmul",
    "matrix_transpose",
    "norm",
    "set_diag",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
]
