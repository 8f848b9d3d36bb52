"""Sequences, grids and blocks: operators that move elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.ops.array import filling, joining, order, permuting, run_axis, run_blocks
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    NUMERIC,
    as_invalid_argument,
    describe,
    int_value,
    integers,
    ints,
    node,
    renamed,
    require,
    scalar,
    scope,
    static_ints,
    whole,
)
from graphio.ops.base.primitive import binary, cast, compare
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.checks import assertion, run_checks
from graphio.ops.nn.padding import channels_first
from graphio.support import api_guard, errors

__all__ = [
    "batch_to_space",
    "batch_to_space_nd",
    "depth_to_space",
    "meshgrid",
    "reverse_sequence",
    "roll",
    "sequence_mask",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
]

# ---- sequences ----


@api_guard.operator
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: Any = None,
    batch_axis: Any = None,
    name: str | None = None,
    seq_dim: Any = None,
    batch_dim: Any = None,
) -> Tensor:
    """Each sequence reversed up to its length; the elements after it stay.

    Args:
        input: tensor of rank 2 or more.
        seq_lengths: integer vector, one length a sequence.
        seq_axis: the axis that is reversed.
        batch_axis: the axis of the sequences; None: 0.
        name: of the operation.
        seq_dim: the old name of seq_axis.
        batch_dim: the old name of batch_axis.

    Raises:
        ValueError: an axis is out of range.
        InvalidArgumentError: both axes are the same; of the run, an axis of an input of unknown
            rank is out of range.
    """
    time = renamed("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    if time is None:
        raise ValueError("reverse_sequence: give seq_axis")
    with scope(name, "ReverseSequence") as at:
        x = convert_to_tensor(input, name="input")
        lengths = integers(seq_lengths, "ReverseSequence", "seq_lengths")
        what, dims = describe(at, "ReverseSequence"), dims_of(x)
        given = [
            int_value(time, "reverse_sequence", "seq_axis"),
            int_value(0 if batch is None else batch, "reverse_sequence", "batch_axis"),
        ]
        wide = cast(lengths, dtypes.int64)
        if dims is None:
            return _reversed_in_run(x, wide, given[0], given[1], at)
        reversed_axis, rows = (shapes.normalize_axis(a, len(dims), what) for a in given)
        if reversed_axis == rows:
            raise errors.InvalidArgumentError(
                message=f"batch_dim == seq_dim == {rows}: they must be different axes for {what}"
            )
        shapes.merge(dims_of(lengths), (dims[rows],), what)
        if {reversed_axis, rows} == {0, 1}:
            return _reverse(x, wide, reversed_axis, rows, at)
        # The operator wants both axes in front.
        order = [
            rows,
            reversed_axis,
            *(a for a in range(len(dims)) if a not in (rows, reversed_axis)),
        ]
        y = _reverse(primitive.transpose(x, order), wide, 1, 0, None)
        return primitive.transpose(y, [order.index(a) for a in range(len(dims))], at)


def _reversed_in_run(x: Tensor, lengths: Tensor, time: int, batch: int, name: str) -> Tensor:
    """reverse_sequence of an unknown rank: the run brings other axes than the first two there."""
    if {time, batch} == {0, 1}:
        return _reverse(x, lengths, time, batch, name)
    axes = run_axis.checked_axes(x, primitive.int_vector([batch, time]), "ReverseSequence", 2)
    front = run_checks.distinct(axes, "reverse_sequence names an axis twice:")
    others = order.setdiff1d(run_axis.numbers_of_axes(x), front).out
    perm = primitive.concat([front, others], 0)
    y = _reverse(permuting.transposed(x, perm, "in_front"), lengths, 1, 0, None)
    return permuting.transposed(y, order.invert_permutation(perm), name)


def _reverse(x: Tensor, lengths: Tensor, time: int, batch: int, name: str | None) -> Tensor:
    attrs: dict[str, Any] = {"time_axis": time, "batch_axis": batch}
    return node("ReverseSequence", [x, lengths], x.dtype, dims_of(x), name=name, **attrs)


@api_guard.operator
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Whether a position is before the end of its sequence.

    Args:
        lengths: numeric tensor; with maxlen, in whole numbers of its dtype.
        maxlen: number of positions, an integer; None: the largest of lengths.
        dtype: of the result; None: bool.
        name: of the operation.

    Returns:
        A tensor of lengths' shape followed by maxlen.

    Raises:
        ValueError: maxlen is not a scalar.
    """
    with scope(name, "SequenceMask") as at:
        ends = convert_to_tensor(lengths, name="lengths")
        require(ends, NUMERIC, "SequenceMask", "lengths")
        if maxlen is None:
            zero = primitive.cast(primitive.int_vector([0]), ends.dtype)
            all_ends = primitive.concat([primitive.reshape(ends, [-1]), zero], 0)
            known = constant_value(ends)
            if known is None:
                size = node("ReduceMax", [all_ends], ends.dtype, (), keepdims=0)
            else:
                size = scalar(max(0, known.max(initial=0)), ends.dtype)
        else:
            size = whole(maxlen, "SequenceMask", "maxlen")
            ends = cast(ends, size.dtype)
            if size.shape.ndims not in (0, None):
                raise ValueError(f"maxlen must be scalar for sequence_mask, got {size.shape}")
        positions = cast(filling.range(size), ends.dtype)
        inside = compare("Less", positions, primitive.unsqueeze(ends, [-1]))
        requested = dtypes.bool if dtype is None else dtypes.as_dtype(dtype).base_dtype
        if requested == dtypes.bool:
            return primitive.unary("Identity", inside, at)
        return cast(inside, requested, at)


@api_guard.operator
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Elements moved along axes; what leaves at the end enters at the beginning.

    Args:
        input: tensor of rank 1 or more.
        shift: integer, or one for each axis; negative: towards the beginning.
        axis: an axis, or a list or tensor of them; their number must be known.
        name: of the operation.

    Raises:
        InvalidArgumentError: an axis is out of range, or shift is a matrix.
        ValueError: there are not as many shifts as axes, or input is a scalar.
    """
    with scope(name, "Roll") as at:
        x = convert_to_tensor(input, name="input")
        what, dims = describe(at, "Roll"), dims_of(x)
        if dims == ():
            raise ValueError(f"roll: input is a scalar, expected rank 1 or more for {what}")
        moves = whole(shift, "Roll", "shift")
        axes = _axes_to_roll(axis, dims_of(moves), what)
        with as_invalid_argument():
            axes = [
                a if isinstance(a, Tensor) else shapes.normalize_axis(a, x.shape.ndims, what)
                for a in axes
            ]
        steps = _one_each(moves, len(axes), what)
        for i, a in enumerate(axes):
            step = primitive.slice_axes(steps, [i], [i + 1], [0])
            if dims is None or isinstance(a, Tensor):
                move = functools.partial(_rolled, step=step, axis=run_axis.AXIS)
                x = run_axis.along_same(x, a, "Roll", None, move)
            else:
                x = _rolled(x, step, a)
        return primitive.unary("Identity", x, at)


def _axes_to_roll(axis: Any, shifts: Dims, what: str) -> list[int | Tensor]:
    """The axes as numbers, or as tensors (1) where one of them is not known. shifts: the shape of
    the shifts, which says how many there are where that of axis does not."""
    listed = static_ints(axis)
    if listed is not None and None not in listed:
        return [a for a in listed if a is not None]
    open_axes = ints(axis, "Roll", "axis")
    counts = [None if dims is None else (*dims, 1)[0] for dims in (dims_of(open_axes), shifts)]
    count = counts[1] if counts[0] is None else counts[0]
    if count is None:
        raise ValueError(f"roll: the number of axes must be known for {what}; use set_shape")
    open_axes = primitive.reshape(open_axes, [count])
    return [primitive.slice_axes(open_axes, [i], [i + 1], [0]) for i in range(count)]


def _one_each(steps: Tensor, count: int, what: str) -> Tensor:
    """A vector of one shift for each axis."""
    rank = steps.shape.ndims
    if rank not in (None, 0, 1):
        raise errors.InvalidArgumentError(
            message=f"roll: shift has shape {steps.shape}, expected a scalar or a vector"
        )
    if rank is None:
        flat = compare("Less", filling.rank(steps), scalar(2, dtypes.int32))
        steps = assertion.once(steps, flat, "roll: shift must be a scalar or a vector:")
    elif rank == 1:
        shapes.merge(dims_of(steps), (count,), what)
    elif count != 1:
        shapes.merge((1,), (count,), what)
    return primitive.reshape(steps, [count])


def _rolled(x: Tensor, step: Tensor, axis: int) -> Tensor:
    size = primitive.slice_axes(primitive.shape_of(x), [axis], [axis + 1], [0])
    positions = filling.range(primitive.squeeze(size, [0]))
    moved = binary("Sub", positions, step)
    # An axis of size 0 has no elements; a remainder by 0 is undefined.
    divisor = binary("Max", size, primitive.int_vector([1]))
    wrapped = node("Mod", [moved, divisor], dtypes.int64, dims_of(moved), fmod=0)
    return primitive.gather(x, wrapped, axis)


@api_guard.operator
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = None) -> list[Tensor]:
    """The coordinates of a grid's points, one tensor for each axis.

    Args:
        args: vectors, the coordinates along the axes.
        indexing: xy: the first two axes of the results are exchanged; ij: they are not.
        name: name scope of the operations.

    Returns:
        As many tensors as vectors, all of the grid's shape.

    Raises:
        ValueError: indexing is neither.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with scope(name, "meshgrid"):
        flat = [
            primitive.reshape(convert_to_tensor(v, name=f"x_{i}"), [-1]) for i, v in enumerate(args)
        ]
        order = list(range(len(flat)))
        if indexing == "xy" and len(flat) > 1:
            order[:2] = [1, 0]
        if not flat:
            return []
        sizes = [primitive.shape_of(flat[i]) for i in order]
        target = primitive.concat(sizes, 0)
        dims = tuple((dims_of(flat[i]) or (None,))[0] for i in order)
        positions = [order.index(i) for i in range(len(flat))]
        return [
            primitive.expand(
                primitive.unsqueeze(x, [a for a in range(len(flat)) if a != position]), target, dims
            )
            for x, position in zip(flat, positions, strict=True)
        ]


# ---- blocks ----


def _images(input: Any, tf_type: str, at: str) -> tuple[Tensor, tuple[int | None, ...]]:
    x = convert_to_tensor(input, name="input")
    dims = dims_of(x)
    if dims is not None and len(dims) != 4:
        raise ValueError(
            f"Shape must be rank 4 but is rank {len(dims)} for {describe(at, tf_type)} with "
            f"input shapes: {shapes.text(dims)}."
        )
    return x, dims or (None,) * 4


def _part(size: int | None, divisor: int, what: str) -> int | None:
    if size is not None and size % divisor:
        raise ValueError(
            f"Dimension size must be evenly divisible by {divisor} but is {size} for {what}"
        )
    return None if size is None else size // divisor


def _times(size: int | None, factor: int) -> int | None:
    return None if size is None else size * factor


def _rearranged(op: str, input: Any, block_size: int, name: str | None, data_format: str) -> Tensor:
    if block_size < 2:
        raise ValueError(f"{op}: block_size is {block_size}, expected at least 2")
    first = channels_first(data_format, op)
    with scope(name, op) as at:
        x, dims = _images(input, op, at)
        what, b = describe(at, op), block_size
        if not first:
            x, dims = primitive.transpose(x, [0, 3, 1, 2]), (dims[0], dims[3], dims[1], dims[2])
        n, c, h, w = dims
        result: Dims
        if op == "DepthToSpace":
            result = (n, _part(c, b * b, what), _times(h, b), _times(w, b))
        else:
            result = (n, _times(c, b * b), _part(h, b, what), _part(w, b, what))
        y = node(op, [x], x.dtype, result, name=at if first else None, blocksize=b)
        return y if first else primitive.transpose(y, [0, 2, 3, 1], at)


@api_guard.operator
def space_to_depth(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """Blocks of an image as channels: (n, h, w, c) to (n, h / b, w / b, c * b * b).

    Args:
        input: tensor (n, h, w, c), or (n, c, h, w) with NCHW.
        block_size: b, at least 2.
        name: of the operation.
        data_format: NHWC or NCHW.

    Raises:
        ValueError: h or w is not a multiple of b.
    """
    return _rearranged("SpaceToDepth", input, block_size, name, data_format)


@api_guard.operator
def depth_to_space(
    input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
) -> Tensor:
    """The inverse of space_to_depth: (n, h, w, c * b * b) to (n, h * b, w * b, c).

    Raises:
        ValueError: the channels are not a multiple of b * b.
    """
    return _rearranged("DepthToSpace", input, block_size, name, data_format)


def _blocks(
    x: Tensor, block_shape: Any, borders: Any, label: str, op: str
) -> tuple[list[int], list[list[int]]] | None:
    """Block sizes and what is before and after along each axis; None: only the run knows them, or
    the rank."""
    sizes = static_ints(block_shape)
    values = constant_value(convert_to_tensor(borders, name=label))
    if x.shape.ndims is None or sizes is None or None in sizes or values is None:
        return None
    blocks = [s for s in sizes if s is not None]
    ends = [[int(v) for v in pair] for pair in values.reshape(-1, 2)]
    if len(ends) != len(blocks) or min(blocks, default=1) < 1 or min(map(min, ends), default=0) < 0:
        raise ValueError(
            f"{op}: block_shape {blocks} and {label} {ends} must be positive and of one length"
        )
    return blocks, ends


def _sizes(x: Tensor, parts: Sequence[tuple[int, int, int]]) -> Tensor:
    """A shape whose entries are size[axis] * times // by, or `times` alone for axis -1."""
    rows = []
    for axis, times, by in parts:
        if axis < 0:
            rows.append(primitive.int_vector([times]))
            continue
        size = primitive.slice_axes(primitive.shape_of(x), [axis], [axis + 1], [0])
        if times != 1:
            size = binary("Mul", size, primitive.int_vector([times]))
        rows.append(size if by == 1 else binary("Div", size, primitive.int_vector([by])))
    return primitive.concat(rows, 0)


@api_guard.operator
def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """The positions inside of blocks as batches: (n, s, ...) to (n * prod(b), s / b, ...).

    Args:
        input: tensor (n, s1, ..., sm, ...).
        block_shape: m integers; m must be known while the graph is built.
        paddings: (m, 2): zeros before and after.
        name: of the operation.

    Raises:
        ValueError: a padded size is not a multiple of its block's; where only the run knows it, an
            InvalidArgumentError of the run.
    """
    op = "SpaceToBatchND"
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        known = _blocks(x, block_shape, paddings, "paddings", op)
        if known is None:
            return run_blocks.to_batches(x, block_shape, paddings, op, at)
        blocks, ends = known
        rank, m = x.shape.ndims, len(blocks)
        if rank is None or rank < m + 1:
            raise ValueError(f"{op}: input has shape {shapes.text_of(x)}, expected rank > {m}")
        x = joining.pad(x, [[0, 0], *ends, *[[0, 0]] * (rank - m - 1)])
        dims = dims_of(x)
        assert dims is not None
        what = describe(at, op)
        small = [_part(d, b, what) for d, b in zip(dims[1:], blocks, strict=False)]
        parts = [(0, 1, 1)]
        for i, b in enumerate(blocks):
            parts += [(i + 1, 1, b), (-1, b, 1)]
        parts += [(a, 1, 1) for a in range(m + 1, rank)]
        split = primitive.reshape(x, _sizes(x, parts))
        inner = [2 * i + 2 for i in range(m)]
        outer = [2 * i + 1 for i in range(m)]
        moved = primitive.transpose(split, [*inner, 0, *outer, *range(2 * m + 1, rank + m)])
        whole = shapes.num_elements(tuple(blocks)) or 0
        shape = [(0, whole, 1), *((i + 1, 1, b) for i, b in enumerate(blocks)),
                 *((a, 1, 1) for a in range(m + 1, rank))]  # fmt: skip
        result = (_times(dims[0], whole), *small, *dims[m + 1 :])
        return primitive.reshape_to(moved, _sizes(x, shape), result, at)


@api_guard.operator
def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of space_to_batch_nd, then crops are cut off.

    Args:
        input: tensor (n * prod(b), s1, ..., sm, ...).
        block_shape: m integers; m must be known while the graph is built.
        crops: (m, 2): how many elements are cut off before and after.
        name: of the operation.

    Raises:
        ValueError: the batch is not a multiple of prod(b), or crops take more than there is; where
            only the run knows it, an InvalidArgumentError of the run.
    """
    op = "BatchToSpaceND"
    with scope(name, op) as at:
        x = convert_to_tensor(input, name="input")
        known = _blocks(x, block_shape, crops, "crops", op)
        if known is None:
            return run_blocks.from_batches(x, block_shape, crops, op, at)
        blocks, ends = known
        rank, m = x.shape.ndims, len(blocks)
        if rank is None or rank < m + 1:
            raise ValueError(f"{op}: input has shape {shapes.text_of(x)}, expected rank > {m}")
        dims = dims_of(x)
        assert dims is not None
        whole = shapes.num_elements(tuple(blocks)) or 0
        n = _part(dims[0], whole, describe(at, op))
        parts = [*((-1, b, 1) for b in blocks), (0, 1, whole), *((a, 1, 1) for a in range(1, rank))]
        split = primitive.reshape(x, _sizes(x, parts))
        pairs = [p for i in range(m) for p in (m + 1 + i, i)]
        moved = primitive.transpose(split, [m, *pairs, *range(2 * m + 1, rank + m)])
        shape = [(0, 1, whole), *((i + 1, b, 1) for i, b in enumerate(blocks)),
                 *((a, 1, 1) for a in range(m + 1, rank))]  # fmt: skip
        large = [_times(d, b) for d, b in zip(dims[1:], blocks, strict=False)]
        joined = primitive.reshape_to(moved, _sizes(x, shape), (n, *large, *dims[m + 1 :]))
        for d, (before, after) in zip(large, ends, strict=True):
            if d is not None and before + after > d:
                raise ValueError(
                    f"{describe(at, op)}: crops [{before}, {after}] take more than the {d} "
                    "elements along their axis"
                )
        starts = [before for before, _ in ends]
        stops = [-after if after else primitive.last for _, after in ends]
        return primitive.slice_axes(joined, starts, stops, list(range(1, m + 1)), name=at)


@api_guard.operator
def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """space_to_batch_nd over height and width with square blocks.

    block_shape: the newer name of block_size.
    """
    result = space_to_batch_nd(
        input, _block_sizes(block_size, block_shape), paddings, name=name or "SpaceToBatch"
    )
    result.set_shape(result.shape.with_rank(4))
    return result


@api_guard.operator
def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """batch_to_space_nd over height and width with square blocks; block_shape as
    space_to_batch's."""
    result = batch_to_space_nd(
        input, _block_sizes(block_size, block_shape), crops, name=name or "BatchToSpace"
    )
    result.set_shape(result.shape.with_rank(4))
    return result


def _block_sizes(size: int | None, shape: Any) -> Any:
    """The two sizes of a block."""
    if (size is None) == (shape is None):
        raise ValueError("expected one of block_size and block_shape")
    return [size if shape is None else shape] * 2
