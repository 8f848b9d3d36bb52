"""Matrix multiplications."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import filling
from graphio.ops.array import surface as array
from graphio.ops.array.permuting import as_matrix
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    NUMERIC,
    describe,
    int_value,
    ints,
    is_symbolic,
    like,
    node,
    operands,
    or_reflected,
    require,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import unbroadcast
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import assertion, run_checks
from graphio.ops.complex import parts
from graphio.ops.linalg.operator_arguments import takes_operators
from graphio.ops.math import comparison
from graphio.support import api_guard

__all__ = ["matmul", "matrix_transpose", "tensordot"]

Gradients = Sequence["Tensor | None"]


@api_guard.operator
@takes_operators
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix multiplication a b; leading axes are batches and broadcast.

    Args:
        a: numeric tensor (..., n, k).
        b: tensor (..., k, m) of the same dtype; or one is bfloat16 and the other float32, and the
            result is float32.
        transpose_a: a is given as (..., k, n).
        transpose_b: b is given as (..., m, k).
        adjoint_a: as transpose_a, and of complex numbers the conjugates.
        adjoint_b: as transpose_b.
        a_is_sparse: whether many elements of a are 0; it changes nothing.
        b_is_sparse: the same of b.
        name: of the operation.

    Returns:
        A tensor (..., n, m).

    Raises:
        TypeError: the dtypes differ, or are int8, which no kernel multiplies.
        ValueError: the inner sizes differ, a rank is below 2, or transpose and adjoint are both
            requested.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("matmul: only one of transpose and adjoint can be True")
    with scope(name, "MatMul") as at:
        a, b = _of_one_dtype(a, b)
        x, y = operands(a, b, "MatMul", ("a", "b"))
        require(x, NUMERIC, "MatMul", "a")
        if x.dtype.base_dtype == dtypes.int8:
            raise TypeError(
                "Value passed to parameter 'a' has DataType int8 not in list of allowed values: "
                f"floats, int32, int64, uint32, uint64 for {describe(at, 'MatMul')}; cast it"
            )
        for tensor in (x, y):
            if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
                raise ValueError(
                    f"Shape must be at least rank 2 but is rank {tensor.shape.ndims} for "
                    f"{describe(at, 'MatMul')} with input shapes: {shapes.text_of(x)}, "
                    f"{shapes.text_of(y)}; give a matrix, say by expand_dims."
                )
        x, y = (run_checks.matrices(tensor, "MatMul") for tensor in (x, y))
        if transpose_a or adjoint_a:
            x = matrix_transpose(x, conjugate=adjoint_a)
        if transpose_b or adjoint_b:
            y = matrix_transpose(y, conjugate=adjoint_b)
        return _multiplied(x, y, at)


def _of_one_dtype(a: Any, b: Any) -> tuple[Any, Any]:
    """Operands of a matrix multiplication: bfloat16 with float32 becomes float32."""
    kinds = {x.dtype for x in (a, b) if isinstance(x, Tensor)}
    if kinds != {dtypes.bfloat16, dtypes.float32}:
        return a, b
    return primitive.cast(a, dtypes.float32), primitive.cast(b, dtypes.float32)


def _multiplied(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    dims = shapes.matmul(dims_of(x), dims_of(y), describe(name or "MatMul", "MatMul"))
    tf_type = None if x.shape.ndims == y.shape.ndims == 2 else "BatchMatMulV2"
    return node("MatMul", [x, y], x.dtype, dims, name=name, tf_type=tf_type)


@api_guard.operator
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """a with its last two axes exchanged.

    Args:
        a: matrices, of rank 2 or more.
        name: of the operation.
        conjugate: True takes the conjugates, too.

    Raises:
        ValueError: a's rank is below 2.
    """
    with scope(name, "matrix_transpose") as at:
        x = convert_to_tensor(a, name="a")
        x = parts.conj(x) if conjugate else x
        rank = x.shape.ndims
        if rank is None:
            return _transposed_at_the_end(x, at)
        if rank < 2:
            raise ValueError(
                f"matrix_transpose: '{x.name}' has shape {shapes.text_of(x)}, expected a rank of "
                "2 or more"
            )
        return primitive.transpose(x, [*range(rank - 2), rank - 1, rank - 2], at)


def _transposed_at_the_end(x: Tensor, name: str) -> Tensor:
    """matrix_transpose of a tensor of unknown rank: by way of (matrices, rows, columns)."""
    sizes = primitive.shape_of(x)
    before = primitive.slice_axes(sizes, [0], [-2], [0])
    rows, columns = (
        primitive.slice_axes(sizes, [i], [j], [0]) for i, j in ((-2, -1), (-1, primitive.last))
    )
    count = node("ReduceProd", [before], dtypes.int64, (1,), keepdims=1)
    flat = primitive.reshape(x, primitive.concat([count, rows, columns], 0), (None, None, None))
    transposed = primitive.transpose(flat, [0, 2, 1])
    return primitive.reshape_to(
        transposed, primitive.concat([before, columns, rows], 0), None, name
    )


@api_guard.operator
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The contraction of a and b over given axes.

    Args:
        a: numeric tensor.
        b: tensor of the same dtype.
        axes: n: the last n axes of a with the first n of b; or a pair of axes or axis lists, which
            may be tensors, or one tensor of two rows.
        name: of the operation.

    Returns:
        The other axes of a, then those of b.

    Raises:
        ValueError: the axes do not pair.
        IndexError: an axis is out of range.
        InvalidArgumentError: of the run, an axis is out of range or the axes do not pair.
    """
    with scope(name, "Tensordot") as at:
        x = convert_to_tensor(a, name="a")
        y = like(b, x, "Tensordot", ("a", "b"))
        known = constant_value(axes) if isinstance(axes, Tensor) else None
        if known is not None and known.ndim:
            axes = known.tolist()
        if x.shape.ndims is None or y.shape.ndims is None or _are_open(axes):
            return _tensordot_in_run(x, y, axes, at)
        of_x, of_y = _contracted(axes, x.shape.ndims, y.shape.ndims)
        free_x = [i for i in range(x.shape.ndims) if i not in of_x]
        free_y = [i for i in range(y.shape.ndims) if i not in of_y]
        left = _as_matrix(primitive.transpose(x, free_x + of_x), len(free_x))
        right = _as_matrix(primitive.transpose(y, of_y + free_y), len(of_y))
        multiplied = _multiplied(left, right)
        sizes = [*_sizes(x, free_x), *_sizes(y, free_y)]
        return array.reshape(multiplied, sizes, name=at)


def _are_open(axes: Any) -> bool:
    """Whether an axis is not known while the graph is built."""
    found = [static_ints(s) for s in (axes if isinstance(axes, (list, tuple)) else [axes])]
    return any(side is None or None in side for side in found)


def _tensordot_in_run(x: Tensor, y: Tensor, axes: Any, name: str) -> Tensor:
    """tensordot where only the run knows the axes or a rank."""
    pair: list[Any]
    if is_symbolic(axes):
        pair = array.unstack(_two_rows(convert_to_tensor(axes, name="axes")), 2)
    elif isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError(f"tensordot: axes is {axes!r}, expected a number or two lists of axes")
        pair = list(axes)
    else:
        count = int_value(axes, "tensordot", "axes")
        if count < 0:
            raise ValueError(f"tensordot: axes is {count}, expected 0 or more")
        pair = [list(range(-count, 0)), list(range(count))]
    left, rows = as_matrix(x, ints(pair[0], "Tensordot", "axes"), "Tensordot")
    right, columns = as_matrix(y, ints(pair[1], "Tensordot", "axes"), "Tensordot", own_first=True)
    return primitive.reshape_to(
        _multiplied(left, right), primitive.concat([rows, columns], 0), None, name
    )


def _two_rows(axes: Tensor) -> Tensor:
    if axes.shape.ndims == 2:
        return axes
    holds = comparison.equal(filling.rank(axes), 2)
    return assertion.once(axes, holds, "tensordot: axes of a run must be two rows of axes:")


def _contracted(axes: Any, rank_x: int, rank_y: int) -> tuple[list[int], list[int]]:
    if not isinstance(axes, (list, tuple)):
        n = int_value(axes, "tensordot", "axes")
        if not 0 <= n <= min(rank_x, rank_y):
            raise ValueError(f"tensordot: axes is {n}, but the ranks are {rank_x} and {rank_y}")
        return list(range(rank_x - n, rank_x)), list(range(n))
    pair = [static_ints(side) for side in axes]
    if len(pair) != 2 or any(side is None or None in side for side in pair):
        raise ValueError(f"tensordot: axes is {axes!r}, expected a number or two lists of axes")
    of_x, of_y = (
        _axes_within([i for i in side or [] if i is not None], rank)
        for side, rank in zip(pair, (rank_x, rank_y), strict=True)
    )
    if len(of_x) != len(of_y):
        raise ValueError(f"tensordot: {len(of_x)} axes of a but {len(of_y)} of b; they must pair")
    return of_x, of_y


def _axes_within(axes: list[int], rank: int) -> list[int]:
    if any(not -rank <= axis < rank for axis in axes):
        raise IndexError(
            f"tensordot: axes {axes} are out of range for a tensor of rank {rank}; expected axes "
            f"in [{-rank}, {rank})"
        )
    return shapes.normalize_axes(axes, rank, "tensordot")


def _as_matrix(x: Tensor, rows: int) -> Tensor:
    """x as a matrix, whose rows are the elements of the first `rows` axes."""
    dims = dims_of(x)
    assert dims is not None
    left, right = dims[:rows], dims[rows:]
    if None not in right:
        return _folded(x, left, prod(d for d in right if d is not None), last=True)
    if None not in left:
        return _folded(x, right, prod(d for d in left if d is not None), last=False)
    sizes = primitive.shape_of(x)
    first = array.reshape(_product_of_sizes(sizes, 0, rows), [1])
    second = array.reshape(_product_of_sizes(sizes, rows, len(dims)), [1])
    return primitive.reshape(x, primitive.concat([first, second], 0), (None, None))


def _folded(x: Tensor, open_part: Sequence[int | None], size: int, last: bool) -> Tensor:
    known = shapes.num_elements(tuple(open_part))
    other = -1 if known is None else known
    return primitive.reshape(x, [other, size] if last else [size, other])


def _product_of_sizes(sizes: Tensor, start: int, end: int) -> Tensor:
    part = primitive.slice_axes(sizes, [start], [end], [0])
    return node("ReduceProd", [part], sizes.dtype, (), keepdims=0)


def _sizes(x: Tensor, axes: Sequence[int]) -> list[Any]:
    dims = dims_of(x)
    assert dims is not None
    if all(dims[i] is not None for i in axes):
        return [dims[i] for i in axes]
    full = primitive.shape_of(x)
    return [
        primitive.squeeze(primitive.slice_axes(full, [i], [i + 1], [0]), [0])
        if dims[i] is None
        else dims[i]
        for i in axes
    ]


@gradient("MatMul")
def _matmul_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy b^T, a^T dy, each summed over batches that were repeated."""
    a, b = op.inputs
    if a.shape.ndims == 1 or b.shape.ndims == 1:
        return by_parts(op, [dy], _with_vectors)
    da = _multiplied(dy, _transposed(b))
    db = _multiplied(_transposed(a), dy)
    return [unbroadcast(da, a, b, fixed=2), unbroadcast(db, b, a, fixed=2)]


def _with_vectors(a: Tensor, b: Tensor) -> Tensor:
    """A multiplication by a vector: a row on the left, a column on the right."""
    row, column = a.shape.ndims == 1, b.shape.ndims == 1
    left = primitive.unsqueeze(a, [0]) if row else a
    right = primitive.unsqueeze(b, [1]) if column else b
    multiplied = _multiplied(left, right)
    rank = multiplied.shape.ndims or 2
    axes = [rank - 2] * row + [rank - 1] * column
    return primitive.squeeze(multiplied, axes)


@gradient("Gemm")
def _gemm_gradient(op: Operation, dy: Tensor) -> Gradients:
    """The gradient of alpha a' b' + beta c."""

    def parts(a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        left = primitive.transpose(a, [1, 0]) if op.attrs.get("transA") else a
        right = primitive.transpose(b, [1, 0]) if op.attrs.get("transB") else b
        result = _scaled(_multiplied(left, right), float(op.attrs.get("alpha", 1.0)))
        if c is None:
            return result
        return primitive.binary("Add", result, _scaled(c, float(op.attrs.get("beta", 1.0))))

    return by_parts(op, [dy], parts)


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1.0 else primitive.binary("Mul", x, scalar(factor, x.dtype))


def _transposed(x: Tensor) -> Tensor:
    """x transposed; the transpose of a transpose is what it was made of."""
    rank = x.shape.ndims
    if x.op.op == "Transpose" and rank is not None:
        perm = [*range(rank - 2), rank - 1, rank - 2]
        if list(x.op.attrs.get("perm", [])) == perm and x.op.inputs[0].graph is x.graph:
            before: Tensor = x.op.inputs[0]
            return before
    if rank is None:
        return node("Einsum", [x], x.dtype, None, equation="...ij->...ji")
    return matrix_transpose(x)


def _install() -> None:
    def forward(x: Tensor, y: Any) -> Tensor:
        with scope(None, "matmul") as at:
            return matmul(x, y, name=at)

    def reflected(y: Tensor, x: Any) -> Tensor:
        with scope(None, "matmul") as at:
            return matmul(like(x, y, "MatMul", ("b", "a")), y, name=at)

    Tensor.overload("__matmul__", or_reflected("matmul", forward))
    Tensor.overload("__rmatmul__", reflected)


_install()
