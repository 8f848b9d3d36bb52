"""Joining, taking apart, repeating and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, registered, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.tensor_shape import Dimension
from graphio.ops.array import filling, run_axis
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import (
    cut,
    describe,
    int_value,
    integers,
    ints,
    is_symbolic,
    like,
    node,
    operation,
    scalar,
    scope,
    static_ints,
)
from graphio.ops.base.primitive import binary, cast, compare
from graphio.ops.base.shapes import Dims, dims_of, text_of
from graphio.ops.checks import assertion, run_checks
from graphio.ops.math import comparison
from graphio.support import api_guard, errors

__all__ = [
    "concat",
    "pad",
    "split",
    "stack",
    "tile",
    "unstack",
]

Gradients = Sequence[Any]


@api_guard.operator
def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """The tensors one after another along axis.

    Args:
        values: a list of tensors of one dtype, of the same shape off the axis.
        axis: an integer; negative counts from the end. Of one tensor alone any one.
        name: of the operation.

    Raises:
        ValueError: the shapes do not fit, the list is empty, or axis is out of range.
        TypeError: the dtypes differ.
    """
    parts = list(values) if isinstance(values, (list, tuple)) else [values]
    if not parts:
        raise ValueError("concat: expected a list of at least one tensor, got none")
    with scope(name, "concat") as at:
        tensors = _alike(parts, "ConcatV2")
        if len(tensors) == 1 and is_symbolic(axis):
            _check_axis(convert_to_tensor(axis, name="concat_dim"), at)
        if run_axis.is_open(axis):
            _check_no_scalars(tensors, at)
            result = run_axis.joined(tensors, axis, "ConcatV2", at)
            result.set_shape(_of_one_rank(tensors, at))
            return result
        number = int_value(axis, "concat", "axis")
        if len(tensors) == 1:
            return primitive.unary("Identity", tensors[0], at)
        _check_no_scalars(tensors, at)
        return primitive.concat(tensors, number, at)


def _of_one_rank(tensors: Sequence[Tensor], at: str) -> list[None] | None:
    """A shape of the rank of the tensors as far as it is known."""
    ranks = {t.shape.ndims for t in tensors} - {None}
    if len(ranks) > 1:
        raise ValueError(
            f"Ranks of all tensors must match for {describe(at, 'ConcatV2')} with input shapes: "
            f"{', '.join(text_of(t) for t in tensors)}."
        )
    rank = ranks.pop() if ranks else None
    return None if rank is None else [None] * rank


def _check_no_scalars(tensors: Sequence[Tensor], at: str) -> None:
    if any(t.shape.ndims == 0 for t in tensors):
        raise ValueError(
            f"Can't concatenate scalars (use tf.stack instead) for {describe(at, 'ConcatV2')} "
            f"with input shapes: {', '.join(text_of(t) for t in tensors)}."
        )


def _check_axis(axis: Tensor, at: str) -> None:
    """Checks the axis of one tensor alone, which no operator reads."""
    if not axis.dtype.base_dtype.is_integer or axis.shape.ndims not in (0, None):
        raise ValueError(
            f"concat: axis '{axis.name}' is {axis.dtype.name} of shape {axis.shape}, expected an "
            f"integer scalar for {describe(at, 'ConcatV2')}"
        )


def _alike(values: Sequence[Any], op: str) -> list[Tensor]:
    """All as tensors; the first tensor among them, else the first value, fixes the dtype."""
    leader = next((i for i, v in enumerate(values) if is_symbolic(v)), 0)
    first = convert_to_tensor(values[leader], name=f"values_{leader}")
    return [
        first if i == leader else like(v, first, op, (f"values[{leader}]", f"values[{i}]"))
        for i, v in enumerate(values)
    ]


def _is_part(value: Any) -> bool:
    """Whether the value fixes a dtype, which a list of numbers does not."""
    return is_symbolic(value) or (isinstance(value, np.ndarray) and value.ndim > 0)


@api_guard.operator
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        values: a list of tensors of one dtype and shape; one tensor is the list of its parts along
            its first axis if axis is 0, so itself.
        axis: the index of the new axis in the result; negative counts from the end.
        name: of the operation.

    Raises:
        ValueError: the shapes differ, the list is empty, or axis is out of range.
        TypeError: the dtypes differ.
    """
    if axis == 0 and is_symbolic(values):
        return convert_to_tensor(values, name=name)
    parts = [values] if is_symbolic(values) else list(values)
    parts = [part.value if isinstance(part, Dimension) else part for part in parts]
    if not parts:
        raise ValueError("stack: expected a list of at least one tensor, got none")
    with scope(name, "stack") as at:
        if axis == 0 and (isinstance(values, np.ndarray) or not any(map(_is_part, parts))):
            return convert_to_tensor(values if isinstance(values, np.ndarray) else parts, name=at)
        tensors = _alike(parts, "Pack")
        common: Dims = None
        for tensor in tensors:
            common = shapes.merge(common, dims_of(tensor), describe(at, "Pack"))
        axis_index = axis
        if common is not None:
            axis_index = shapes.normalize_axis(axis, len(common) + 1, describe(at, "Pack"))
        wide = [primitive.unsqueeze(t, [axis_index]) for t in tensors]
        dims = (
            None if common is None else (*common[:axis_index], len(tensors), *common[axis_index:])
        )
        return node("Concat", wide, wide[0].dtype, dims, name=at, tf_type="Pack", axis=axis_index)


@api_guard.operator
def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of value along axis, without that axis.

    Args:
        value: tensor of rank 1 or more.
        num: how many parts; None: from the static shape.
        axis: which axis; negative counts from the end.
        name: of the operations.

    Raises:
        ValueError: the size of the axis is not known and num is not given, or they differ.
    """
    with scope(name, "unstack") as at:
        x = convert_to_tensor(value, name="value")
        dims = dims_of(x)
        axis_index = shapes.normalize_axis(axis, None if dims is None else len(dims), "unstack")
        known = None if dims is None else dims[axis_index]
        count = known if num is None else num
        if count is None:
            raise ValueError(
                f"Cannot infer num from shape {x.shape}: size of axis {axis} is unknown; give num"
            )
        if known is not None and known != count:
            raise ValueError(f"unstack: num is {count}, but axis {axis} has size {known}")
        if count == 0:
            return []
        parts = split(x, count, axis_index, name="split")
        return [
            primitive.squeeze(p, [axis_index], at if i == count - 1 else f"part_{i}")
            for i, p in enumerate(parts)
        ]


@api_guard.operator
def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> list[Tensor]:
    """value cut along axis.

    Args:
        value: tensor of rank 1 or more.
        num_or_size_splits: how many equal parts, or the sizes of the parts (one may be -1).
        axis: which axis; negative counts from the end.
        num: how many parts the sizes make; needed if they are a tensor of unknown length.
        name: of the operation.

    Raises:
        ValueError: more than one size is -1, the parts do not make up the axis, or their number is
            not known.
    """
    with scope(name, "split") as at:
        x = convert_to_tensor(value, name="value")
        dims = dims_of(x)
        if run_axis.is_open(axis):
            cut = run_axis.Cut(x, axis, "Split")
            parts = split(cut.flat, num_or_size_splits, run_axis.AXIS, num)
            return [cut.restored(part) for part in parts]
        axis_index = int_value(axis, "split", "axis")
        axis_index = shapes.normalize_axis(axis_index, None if dims is None else len(dims), "split")
        whole = None if dims is None else dims[axis_index]
        sizes, target = _split_sizes(num_or_size_splits, whole, num, at)
        if target is not None and None in sizes:
            target = _with_the_rest(target, x, axis_index)
        outputs = [
            (x.dtype, None if dims is None else (*dims[:axis_index], s, *dims[axis_index + 1 :]))
            for s in sizes
        ]
        inputs = [x] if target is None else [x, target]
        made = operation("Split", inputs, outputs, name=at, attrs={"axis": axis_index})
        return list(made.outputs)


def _split_sizes(
    requested: Any, length: int | None, num: int | None, name: str
) -> tuple[list[int | None], Tensor | None]:
    """The static sizes of the parts, and the node's input that says them (None: equal parts)."""
    what = describe(name, "Split")
    if isinstance(requested, Dimension):
        if requested.value is None:
            raise ValueError(f"Cannot convert an unknown Dimension to a number of parts for {what}")
        requested = requested.value
    if isinstance(requested, (int, np.integer)):
        parts = int(requested)
        if parts < 1:
            raise ValueError(f"Number of ways to split should be > 0, but got {parts} for {what}")
        if length is None:
            return [None] * parts, None
        if length % parts:
            raise ValueError(
                f"Dimension size must be evenly divisible by {parts} but is {length} for {what}: "
                "the axis cannot be cut into equal parts"
            )
        return [length // parts] * parts, primitive.int_vector([length // parts] * parts, "split")
    sizes = static_ints(requested)
    if sizes is None:
        if num is None:
            raise ValueError(
                f"Cannot infer argument `num` from shape, the sizes are {requested!r} for {what}; "
                "give num"
            )
        return [None] * num, ints(requested, "Split", "size_splits")
    if num is not None and num != len(sizes):
        raise ValueError(f"split: num is {num}, but there are {len(sizes)} sizes for {what}")
    if sizes.count(-1) > 1:
        raise ValueError(f"split: sizes {sizes} have more than one -1 for {what}")
    if length is None or None in sizes:
        sizes = [None if s == -1 else s for s in sizes]
    elif -1 in sizes:
        rest = length - sum(s for s in sizes if s is not None and s != -1)
        sizes = [rest if s == -1 else s for s in sizes]
        requested = sizes
    if None not in sizes and length is not None:
        total = sum(s for s in sizes if s is not None)
        if total != length or any(s is not None and s < 0 for s in sizes):
            raise ValueError(
                f"split: sizes {sizes} make {total}, but the axis has size {length} for {what}"
            )
    return sizes, ints(requested, "Split", "size_splits")


def _with_the_rest(sizes: Tensor, x: Tensor, axis_index: int) -> Tensor:
    """Sizes of parts of x, with what the others leave of the axis in the place of a -1; with
    several of these as they are, so that the run fails."""
    known = constant_value(sizes)
    if known is not None and not np.any(known == -1):
        return sizes
    lacks = compare("Equal", sizes, primitive.int_vector([-1]))
    given = primitive.select(lacks, primitive.int_vector([0]), sizes)
    whole = primitive.gather(primitive.shape_of(x), primitive.int_vector([axis_index]), 0)
    rest = binary("Sub", whole, primitive.reduce_sum(given, [0], keepdims=True))
    count = primitive.reduce_sum(cast(lacks, dtypes.int64), [0], keepdims=True)
    alone = binary("And", lacks, compare("Equal", count, primitive.int_vector([1])))
    return primitive.select(alone, rest, sizes)


@api_guard.operator
def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """input repeated along each axis.

    Args:
        input: tensor of rank 1 or more.
        multiples: how often, one entry an axis.
        name: of the operation.

    Raises:
        ValueError: the number of multiples is not input's rank.
        InvalidArgumentError: the result has more elements than int64 counts.
    """
    with scope(name, "Tile") as at:
        x = convert_to_tensor(input, name="input")
        times = ints(cut(multiples), "Tile", "multiples")
        dims, counts = dims_of(x), primitive.static_vector(times)
        if dims is not None and counts is not None and len(dims) != len(counts):
            raise ValueError(
                f"Shape must be rank {len(counts)} but is rank {len(dims)} for "
                f"{describe(at, 'Tile')} with input shapes: {shapes.text(dims)}, "
                f"[{len(counts)}]; give one multiple an axis"
            )
        rank = next((len(known) for known in (dims, counts) if known is not None), None)
        result: Dims = None if rank is None else (None,) * rank
        if dims is not None and counts is not None:
            result = tuple(
                None if d is None or c is None else d * c for d, c in zip(dims, counts, strict=True)
            )
        shapes.check_countable(result, describe(at, "Tile"))
        return node("Tile", [x, times], x.dtype, result, name=at)


#: TensorFlow's padding modes in ONNX's words; SYMMETRIC has none and is composed
_PAD_MODES = {"CONSTANT": "constant", "REFLECT": "reflect"}


@api_guard.operator
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """tensor with more elements around it.

    Args:
        tensor: any.
        paddings: (rank, 2): how many before and after along each axis.
        mode: CONSTANT, REFLECT (mirrored, the border itself not repeated), or SYMMETRIC (mirrored
            with the border, up to once the size; of a known rank, or number of paddings).
        name: of the operation.
        constant_values: scalar that fills with CONSTANT.

    Raises:
        ValueError: mode is none of these, or paddings has another shape or is negative.
        InvalidArgumentError: paddings is more than is there to mirror; of the run, also if it is
            negative.
    """
    if not isinstance(mode, str):
        raise TypeError(f"pad: mode is {mode!r}, expected one of {', '.join(_PAD_MODES)}")
    if mode.upper() == "SYMMETRIC":
        return _mirrored(tensor, paddings, name)
    word = _PAD_MODES.get(mode.upper())
    if word is None:
        modes = ", ".join([*_PAD_MODES, "SYMMETRIC"])
        raise ValueError(f"pad: unknown mode {mode!r}; expected one of {modes}")
    with scope(name, "PadV2" if word == "constant" and _not_zero(constant_values) else "Pad") as at:
        x = convert_to_tensor(tensor, name="tensor")
        amounts = integers(paddings, "Pad", "paddings")
        given = dims_of(amounts)
        dims = dims_of(x)
        if given is not None and (len(given) != 2 or given[1] not in (2, None)):
            raise ValueError(
                f"pad: paddings has shape {shapes.text(given)}, expected (rank, 2) for "
                f"{describe(at, 'Pad')}"
            )
        if dims is not None and given is not None and given[0] not in (len(dims), None):
            raise ValueError(
                f"pad: paddings has {given[0]} rows, but the tensor has rank {len(dims)} for "
                f"{describe(at, 'Pad')}"
            )
        known = constant_value(amounts)
        parts = _known_paddings(paddings, amounts)
        if known is not None and np.any(known < 0):
            raise ValueError(f"Paddings must be non-negative: {known.tolist()} for {at}")
        checks = _reflected(x, amounts, known, at) if word == "reflect" else []
        result = _padded(dims, parts)
        if known is not None:
            flat = primitive.int_vector(known.T.reshape(-1), "pads")
        else:
            wide = run_checks.not_negative(
                cast(amounts, dtypes.int64), "Paddings must be non-negative"
            )
            flat = primitive.reshape(primitive.transpose(wide, [1, 0]), [-1])
        inputs = [x, flat]
        if word == "constant":
            if x.dtype in _ZEROS and not _not_zero(constant_values):
                constant_values = _ZEROS[x.dtype]
            filler = like(constant_values, x, "Pad", ("tensor", "constant_values"))
            if filler.shape.ndims not in (0, None):
                raise ValueError(
                    f"Shape must be rank 0 but is rank {filler.shape.ndims} for "
                    f"{describe(at, 'PadV2')}: constant_values fills with one number"
                )
            inputs.append(filler)
        with scopes.control_dependencies(checks):
            return node("Pad", inputs, x.dtype, result, name=at, mode=word)


def _known_paddings(given: Any, amounts: Tensor) -> list[int | None] | None:
    """The growth of each axis as far as it is known; None: the number of axes is unknown."""
    value = constant_value(amounts)
    if value is not None:
        return [int(n) for n in value.sum(axis=1)]
    if not isinstance(given, (list, tuple)):
        rows = amounts.shape.as_list()[0] if amounts.shape.ndims == 2 else None
        return None if rows is None else [None] * rows
    pairs = [static_ints(row) for row in given]
    return [
        sum(pair) if pair is not None and len(pair) == 2 and None not in pair else None  # type: ignore[arg-type]
        for pair in pairs
    ]


def _padded(dims: Dims, growth: list[int | None] | None) -> Dims:
    """The static shape of a tensor whose axes grow."""
    if growth is None or dims is None:
        known = dims if growth is None else growth
        return None if known is None else (None,) * len(known)
    return tuple(
        None if d is None or more is None else d + more
        for d, more in zip(dims, growth, strict=True)
    )


def _reflected(x: Tensor, amounts: Tensor, known: Any, at: str) -> list[Tensor]:
    """The checks that must run first, after which paddings are known to be less than the sizes."""
    if known is not None:
        sizes, unsure = dims_of(x) or (None,) * len(known), False
        for size, (before, after) in zip(sizes, known.tolist(), strict=True):
            most = max(before, after)
            unsure = unsure or (size is None and most > 0)
            if size is not None and most >= max(size, 1):
                raise errors.InvalidArgumentError(
                    message=f"paddings must be less than the dimension size: {before}, {after} not "
                    f"less than {size} for {describe(at, 'MirrorPad')}"
                )
        if not unsure:
            return []
    one = scalar(1, dtypes.int64)
    most = binary("Sub", binary("Max", primitive.shape_of(x), one), one)
    left = binary("Sub", primitive.unsqueeze(most, [1]), cast(amounts, dtypes.int64))
    return [run_checks.in_range(left, name="left_to_reflect")]


#: the zero of element types that are not numeric
_ZEROS: dict[dtypes.DType, Any] = {dtypes.string: b"", dtypes.bool: False}


def _mirrored(tensor: Any, paddings: Any, name: str | None) -> Tensor:
    """pad with SYMMETRIC, axis by axis."""
    with scope(name, "MirrorPad") as at:
        x = convert_to_tensor(tensor, name="tensor")
        amounts = convert_to_tensor(paddings, name="paddings")
        known, given = constant_value(amounts), dims_of(amounts)
        what, rank = describe(at, "MirrorPad"), x.shape.ndims
        if rank is None and given is not None and len(given) == 2 and given[0] is not None:
            rank = given[0]
            x = primitive.reshape_to(x, primitive.shape_of(x), (None,) * rank)
        dims = dims_of(x)
        if known is None and rank is not None:
            return _mirrored_in_run(x, amounts, rank, at)
        if known is None or dims is None or known.shape != (len(dims), 2) or (known < 0).any():
            raise ValueError(
                f"pad: SYMMETRIC needs paddings of shape (rank, 2), none negative, and a known "
                f"rank of tensor or number of paddings for {what}"
            )
        for axis, (before, after) in enumerate(known.tolist()):
            size = dims[axis]
            if size is not None and max(before, after) > size:
                raise errors.InvalidArgumentError(
                    message="paddings must be no greater than the dimension size: "
                    f"{before}, {after} greater than {size} for {what}"
                )
            parts = [x]
            if before:
                positions = primitive.int_vector(range(before - 1, -1, -1))
                parts.insert(0, primitive.gather(x, positions, axis))
            if after:
                # Counted from the end, so that an index beyond the axis is refused.
                tail = primitive.slice_axes(
                    x, [primitive.last], [-primitive.last - 1], [axis], [-1]
                )
                parts.append(primitive.gather(tail, primitive.int_vector(range(after)), axis))
            if len(parts) > 1:
                x = primitive.concat(parts, axis)
        return primitive.unary("Identity", x, at)


def _mirrored_in_run(x: Tensor, amounts: Tensor, rank: int, name: str) -> Tensor:
    """Mirror padding by amounts that only the run knows: gathers the mirrored indices."""
    pairs = primitive.reshape(cast(amounts, dtypes.int64), [rank, 2])
    pairs = run_checks.not_negative(pairs, "Paddings must be non-negative")
    sizes = primitive.unsqueeze(primitive.shape_of(x), [1])
    fits = primitive.all_of(comparison.less_equal(pairs, sizes))
    pairs = assertion.once(pairs, fits, "paddings must be no greater than the dimension size:")
    for axis in range(rank):
        size, (before, after) = sizes[axis, 0], (pairs[axis, 0], pairs[axis, 1])
        positions = filling.range(-before, size + after)
        positions = primitive.select(comparison.less(positions, 0), -1 - positions, positions)
        past = comparison.greater_equal(positions, size)
        positions = primitive.select(past, 2 * size - 1 - positions, positions)
        x = primitive.gather(x, positions, axis)
    return primitive.unary("Identity", x, name)


def _not_zero(value: Any) -> bool:
    return is_symbolic(value) or bool(np.any(np.asarray(value) != 0))


# ---- gradients ----


@gradient("Concat", takes_slices=True)
def _concat_gradient(op: Operation, dy: Tensor | IndexedSlices) -> Gradients:
    """The part of dy that is each input's."""
    axis = int(op.attrs["axis"])
    if len(op.inputs) == 1:
        return [dy]
    if isinstance(dy, IndexedSlices):
        axis = _axis_of_slices(op, axis)
    sizes = _sizes_along(op, axis)
    if isinstance(dy, IndexedSlices):
        if axis == 0:
            return _rows_of_parts(op, dy, sizes)
        dy = dy.to_tensor()
    target = primitive.concat(sizes, 0)
    outputs = [(x.dtype, dims_of(x)) for x in op.inputs]
    return list(operation("Split", [dy, target], outputs, attrs={"axis": axis}).outputs)


def _axis_of_slices(op: Operation, axis: int) -> int:
    """The axis counted from the front: the rows of slices are those of the first one."""
    dims = dims_of(op.inputs[0])
    if axis >= 0:
        return axis
    if dims is None:
        raise ValueError(
            f"Can only compute IndexedSlices gradient of '{op.name}' with the negative axis {axis} "
            "when the rank of its first value is statically known; use set_shape"
        )
    return axis + len(dims)


def _sizes_along(op: Operation, axis: int) -> list[Tensor]:
    """Vectors of one number: how much of the axis is each input's."""
    sizes = []
    for x in op.inputs:
        dims = dims_of(x)
        known = None if dims is None else dims[axis]
        sizes.append(
            primitive.int_vector([known])
            if known is not None
            else primitive.slice_axes(
                node("Shape", [x], dtypes.int64, (x.shape.ndims,)), [axis], [axis + 1 or 2**62], [0]
            )
        )
    return sizes


def _rows_of_parts(op: Operation, dy: IndexedSlices, sizes: Sequence[Tensor]) -> Gradients:
    """The slices of each input, whose rows follow each other: so that what no slice names stays
    untouched by optimizers."""
    positions, start = cast(dy.indices, dtypes.int64), scalar(0, dtypes.int64)
    found = []
    for x, size in zip(op.inputs, sizes, strict=True):
        end = binary("Add", start, primitive.squeeze(size, [0]))
        below, above = compare("Less", positions, end), compare("GreaterOrEqual", positions, start)
        mine = node("NonZero", [binary("And", above, below)], dtypes.int64, (1, None))
        mine = primitive.squeeze(mine, [0])
        rows = binary("Sub", primitive.gather(positions, mine, 0), start)
        values = primitive.gather(dy.values, mine, 0)
        found.append(IndexedSlices(values, rows, primitive.shape_of(x)))
        start = end
    return found


@gradient("Split")
def _split_gradient(op: Operation, *dys: Tensor | None) -> Gradients:
    """The parts joined; zeros where no gradient arrives."""
    parts = [
        filling.zeros_like(y) if dy is None else dy for y, dy in zip(op.outputs, dys, strict=True)
    ]
    joined = parts[0] if len(parts) == 1 else primitive.concat(parts, int(op.attrs.get("axis", 0)))
    return [joined, *[None] * (len(op.inputs) - 1)]


@gradient("Tile")
def _tile_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy summed over the copies: each axis becomes two, (copies, size)."""
    x, times = op.inputs
    rank = x.shape.ndims
    if rank is None:
        return [primitive.moved_back(op, dy), None]
    sizes = primitive.shape_of(x)
    pairs = primitive.concat([primitive.unsqueeze(times, [1]), primitive.unsqueeze(sizes, [1])], 1)
    split_up = primitive.reshape(dy, primitive.reshape(pairs, [-1]), (None,) * (2 * rank))
    summed = primitive.reduce_sum(split_up, list(range(0, 2 * rank, 2)), keepdims=False)
    return [primitive.reshape(summed, sizes, dims_of(x)), None]


@gradient("Pad")
def _pad_gradient(op: Operation, dy: Tensor) -> Gradients:
    """dy without the padding; what was copied into it is added to where it came from."""
    x, pads, value, axes = [*op.inputs, None, None][:4]
    rest: list[Tensor | None] = [None] * (len(op.inputs) - 1)
    mode = op.attrs.get("mode", "constant")
    if (mode.decode() if isinstance(mode, bytes) else mode) != "constant":
        others = [pads] if axes is None else [pads, None, axes]
        return [primitive.moved_back(op, dy, others), *rest]
    cut = _without_padding(op, dy, x, pads, axes)
    if value is not None:
        total = primitive.reduce_sum(dy, None, keepdims=False)
        kept = primitive.reduce_sum(cut, None, keepdims=False)
        rest[1] = primitive.reshape(
            primitive.binary("Sub", total, kept), primitive.shape_of(value), dims_of(value)
        )
    return [cut, *rest]


def _without_padding(
    op: Operation, dy: Tensor, x: Tensor, pads: Tensor, axes: Tensor | None
) -> Tensor:
    known = constant_value(pads)
    if known is None or axes is not None or (known < 0).any():
        inside = node("Neg", [pads], pads.dtype, dims_of(pads))
        zero = constant(np.asarray(0, dy.dtype.base_dtype.as_numpy_dtype))
        inputs = [dy, inside, zero] if axes is None else [dy, inside, zero, axes]
        attrs = {"mode": "constant"}
        outputs = [(dy.dtype, dims_of(x))]
        return operation("Pad", inputs, outputs, version=op.version, attrs=attrs).outputs[0]
    before, after = np.split(known, 2)
    ends = [-int(n) if n else primitive.last for n in after]
    return primitive.slice_axes(dy, [int(n) for n in before], ends, list(range(len(before))))


@registered.stack.register
def _stacked(tensors: Sequence[Tensor], name: str) -> Tensor:
    return stack(tensors, name=name)
