"""Matrices in the last two axes whose leading axes broadcast."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.variable import Variable
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.complex import parts
from graphio.ops.linalg import matrices, solving
from graphio.ops.math import elementwise, reduction

__all__ = [
    "broadcast_all",
    "cholesky_solve",
    "operand",
    "real_part",
    "shape_vector",
    "solve",
    "triangular_solve",
    "twice_log_diagonal",
]


def operand(value: Any, name: str, dtype: Any = None) -> Any:
    """A tensor; a variable stays one, so that the operator follows its values."""
    return value if isinstance(value, Variable) else convert_to_tensor(value, dtype, name=name)


def shape_vector(shape: TensorShape) -> Tensor:
    """A known shape as an int32 vector."""
    return convert_to_tensor(np.array(shape.as_list(), np.int32))


def real_part(x: Any) -> Any:
    """The real part of complex numbers; others as they are."""
    return parts.real(x) if x.dtype.is_complex else x


def twice_log_diagonal(factor: Any) -> Any:
    """Twice the sums of the logarithms of triangles' diagonals: the logarithms of the
    determinants of the matrices whose Cholesky factors they are."""
    return 2.0 * reduction.reduce_sum(elementwise.log(matrices.matrix_diag_part(factor)), [-1])


def _lead(x: Any) -> Any:
    known = x.shape[:-2]
    return shape_vector(known) if known.is_fully_defined() else array.shape(x)[:-2]


def broadcast_all(tensors: Sequence[Any]) -> list[Any]:
    """Tensors of matrices with equal leading axes."""
    found = [convert_to_tensor(x) for x in tensors]
    known = [x.shape[:-2] for x in found]
    if all(lead.is_fully_defined() for lead in known):
        if all(lead.as_list() == known[0].as_list() for lead in known):
            return found
        lead: Any = shape_vector(functools.reduce(shaping.broadcast_static_shape, known))
    else:
        lead = functools.reduce(shaping.broadcast_dynamic_shape, [_lead(x) for x in found])
    return [array.broadcast_to(x, array.concat([lead, array.shape(x)[-2:]], 0)) for x in found]


def solve(matrix: Any, rhs: Any, adjoint: bool = False) -> Any:
    """x with matrix x = rhs."""
    matrix, rhs = broadcast_all([matrix, rhs])
    return solving.matrix_solve(matrix, rhs, adjoint=adjoint)


def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False) -> Any:
    """x with triangle x = rhs."""
    matrix, rhs = broadcast_all([matrix, rhs])
    return solving.matrix_triangular_solve(matrix, rhs, lower=lower, adjoint=adjoint)


def cholesky_solve(factor: Any, rhs: Any) -> Any:
    """x with (factor factor^H) x = rhs."""
    factor, rhs = broadcast_all([factor, rhs])
    return solving.cholesky_solve(factor, rhs)
