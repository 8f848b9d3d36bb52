"""Images read between their pixels, as compositions of gathers and multiplications: GridSample,
RoiAlign, DeformConv. Gradients come from these, and engines without a kernel run them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import (
    WRITTEN_OUT,
    binary,
    cast,
    compare,
    concat,
    expand,
    gather,
    int_vector,
    reduce_sum,
    reshape,
    select,
    shape_of,
    slice_axes,
    squeeze,
    transpose,
    unary,
    unsqueeze,
)
from graphio.ops.base.shapes import dims_of
from graphio.support import errors

__all__ = ["deform_conv", "grid_sample", "positions", "roi_align", "size", "sized", "text", "times"]

Attributes = Mapping[str, Any]
#: a static size, or a vector of the one number
Size = int | Tensor
#: an int64 index along an axis, and the weight of the element there
Tap = tuple[Tensor, Tensor]


def text(attrs: Attributes, key: str, default: str) -> str:
    """A string attribute."""
    found = attrs.get(key, default)
    return found.decode() if isinstance(found, bytes) else str(found)


# ---- sizes, known or not ----


def size(x: Tensor, axis: int) -> Size:
    """x's size along an axis (0 or greater)."""
    dims = dims_of(x)
    known = None if dims is None else dims[axis]
    if known is not None:
        return known
    return slice_axes(shape_of(x), [axis], [axis + 1], [0])


def _vector(sizes: Sequence[Size]) -> Tensor:
    if all(isinstance(s, int) for s in sizes):
        return int_vector([s for s in sizes if isinstance(s, int)])
    return concat([int_vector([s]) if isinstance(s, int) else s for s in sizes], 0)


def _dims(sizes: Sequence[Size]) -> tuple[int | None, ...]:
    return tuple(s if isinstance(s, int) else None for s in sizes)


def times(*sizes: Size) -> Size:
    """The product of sizes."""
    known = math.prod(s for s in sizes if isinstance(s, int))
    result: Size = known
    for s in sizes:
        if not isinstance(s, int):
            result = s if result == 1 and isinstance(result, int) else _times(result, s)
    return result


def _times(a: Size, b: Size) -> Tensor:
    return binary("Mul", _vector([a]), _vector([b]))


def _number(value: Size, dtype: DType) -> Tensor:
    """A size as a scalar of dtype."""
    if isinstance(value, int):
        return scalar(value, dtype)
    return cast(squeeze(value, [0]), dtype)


def sized(x: Tensor, *sizes: Size) -> Tensor:
    """x in another shape."""
    return reshape(x, _vector(sizes), _dims(sizes))


def positions(count: Size, dtype: DType) -> Tensor:
    """0, 1, ... count - 1."""
    if isinstance(count, int) and count < WRITTEN_OUT:
        return constant(np.arange(count, dtype=dtype.base_dtype.as_numpy_dtype))
    limit = scalar(count, dtypes.int64) if isinstance(count, int) else squeeze(count, [0])
    zero, one = scalar(0, dtypes.int64), scalar(1, dtypes.int64)
    made = node(
        "Range", [zero, limit, one], dtypes.int64, (count if isinstance(count, int) else None,)
    )
    return cast(made, dtype)


# ---- reading between pixels ----


def _plus(x: Tensor, value: float) -> Tensor:
    return binary("Add", x, scalar(value, x.dtype))


def _scaled(x: Tensor, value: float) -> Tensor:
    return binary("Mul", x, scalar(value, x.dtype))


def _from(value: float, x: Tensor) -> Tensor:
    """value - x."""
    return binary("Sub", scalar(value, x.dtype), x)


def _both(a: Tensor, b: Tensor) -> Tensor:
    return compare("And", a, b)


def _inside(position: Tensor, count: Size) -> Tensor:
    """0 <= position < count."""
    least = compare("GreaterOrEqual", position, scalar(0, position.dtype))
    return _both(least, compare("Less", position, _number(count, position.dtype)))


def _kept(ok: Tensor, position: Tensor, weight: Tensor) -> Tap:
    """A tap whose weight is 0 outside the image."""
    nowhere = select(ok, position, scalar(0, position.dtype))
    return cast(nowhere, dtypes.int64), select(ok, weight, scalar(0, weight.dtype))


def _linear(at: Tensor, count: Size) -> list[Tap]:
    """The two pixels around each coordinate; pixels outside count as 0."""
    low = unary("Floor", at)
    part = binary("Sub", at, low)
    high = _plus(low, 1)
    return [
        _kept(_inside(low, count), low, _from(1, part)),
        _kept(_inside(high, count), high, part),
    ]


def _corners(
    x: Tensor, images: Tensor, taps: Sequence[Sequence[Tap]]
) -> list[tuple[Tensor, Tensor]]:
    """For each combination of taps the pixels' values (points, c) and weights (points, 1).

    Args:
        x: (n, c, ...).
        images: the image of each point, int64, to broadcast with the indices.
        taps: for each spatial axis; indices and weights broadcast to one shape.
    """
    rank = len(taps) + 2
    order = [0, *range(2, rank), 1]
    sizes = [size(x, a) for a in range(2, rank)]
    rows = sized(transpose(x, order), times(size(x, 0), *sizes), size(x, 1))
    found = []
    for corner in itertools.product(*taps):
        at, weight = images, None
        for (position, share), many in zip(corner, sizes, strict=True):
            at = binary("Add", binary("Mul", at, _number(many, dtypes.int64)), position)
            weight = share if weight is None else binary("Mul", weight, share)
        assert weight is not None
        found.append((gather(rows, at, 0), unsqueeze(cast(weight, x.dtype), [-1])))
    return found


def _sum(terms: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    total: Tensor | None = None
    for value, weight in terms:
        term = binary("Mul", value, weight)
        total = term if total is None else binary("Add", total, term)
    assert total is not None
    return total


def _image_numbers(count: Size, axes: int) -> Tensor:
    """0 to count - 1 along the first of axes + 1 axes."""
    return sized(positions(count, dtypes.int64), count, *([1] * axes))


# ---- GridSample ----


def grid_sample(x: Tensor, grid: Tensor, attrs: Attributes) -> Tensor:
    """GridSample of x (n, c, ...) at grid (n, ..., axes)."""
    rank = len(dims_of(x) or dims_of(grid) or ())
    axes = rank - 2
    taps = []
    for i in range(axes):
        index = constant(np.asarray(axes - 1 - i, np.int64))
        taps.append(_grid_taps(gather(grid, index, axes + 1), size(x, i + 2), attrs))
    found = _sum(_corners(x, _image_numbers(size(x, 0), axes), taps))
    return transpose(found, [0, rank - 1, *range(1, rank - 1)])


def _grid_taps(g: Tensor, count: Size, attrs: Attributes) -> list[Tap]:
    many, align = _number(count, g.dtype), bool(attrs.get("align_corners", 0))
    if align:
        at = binary("Mul", _scaled(_plus(g, 1), 0.5), _plus(many, -1))
    else:
        at = _scaled(_plus(binary("Mul", _plus(g, 1), many), -1), 0.5)
    far = scalar(1e9, g.dtype)
    at = select(unary_bool("IsNaN", at), unary("Neg", far), at)
    at = node("Clip", [at, unary("Neg", far), far], at.dtype, dims_of(at))
    mode = text(attrs, "mode", "linear")
    base = unary("Round" if mode == "nearest" else "Floor", at)
    part = binary("Sub", at, base)
    if mode == "nearest":
        weights = {0: _plus(_scaled(part, 0), 1)}
    elif mode == "linear":
        weights = {0: _from(1, part), 1: part}
    else:
        weights = {
            -1: _cubic_far(_plus(part, 1)),
            0: _cubic_near(part),
            1: _cubic_near(_from(1, part)),
            2: _cubic_far(_from(2, part)),
        }
    first = cast(base, dtypes.int64)
    return [
        _placed(_plus(first, i), weight, count, text(attrs, "padding_mode", "zeros"), align)
        for i, weight in weights.items()
    ]


def unary_bool(op: str, x: Tensor) -> Tensor:
    """An elementwise operator that gives bools."""
    return node(op, [x], dtypes.bool, dims_of(x))


def _cubic_near(x: Tensor, a: float = -0.75) -> Tensor:
    inner = _plus(_scaled(x, a + 2), -(a + 3))
    return _plus(binary("Mul", binary("Mul", inner, x), x), 1)


def _cubic_far(x: Tensor, a: float = -0.75) -> Tensor:
    inner = _plus(binary("Mul", _plus(_scaled(x, a), -5 * a), x), 8 * a)
    return _plus(binary("Mul", inner, x), -4 * a)


def _placed(position: Tensor, weight: Tensor, count: Size, padding: str, align: bool) -> Tap:
    """An index outside the image by the rule of padding."""
    if padding == "zeros":
        return _kept(_inside(position, count), position, weight)
    many, zero = _number(count, dtypes.int64), scalar(0, dtypes.int64)
    if padding == "border":
        end = _plus(many, -1)
        return binary("Min", binary("Max", position, zero), end), weight
    period = _scaled(_plus(many, -1) if align else many, 2)
    period = binary("Max", period, scalar(1, dtypes.int64))
    inner = binary("Mod", position, period)
    back = binary("Sub", period if align else _plus(period, -1), inner)
    return select(compare("Less", inner, many), inner, back), weight


# ---- DeformConv ----


def deform_conv(
    x: Tensor, w: Tensor, offset: Tensor, b: Tensor | None, mask: Tensor | None, attrs: Attributes
) -> Tensor:
    """DeformConv of x (n, c, h, w) with w (m, c / group, kh, kw).

    Raises:
        UnimplementedError: w's shape is not known while the graph is built.
    """
    filters = dims_of(w)
    if filters is None or None in filters or len(filters) != 4:
        raise errors.UnimplementedError(
            message=f"the gradient of DeformConv needs the static shape of its weights '{w.name}' "
            f"(m, c / group, kh, kw), which is {filters}"
        )
    m, depth, kh, kw = (int(d or 0) for d in filters)
    group, parts = int(attrs.get("group", 1)), int(attrs.get("offset_group", 1))
    n, oh, ow = size(offset, 0), size(offset, 2), size(offset, 3)
    taps, channels, area = kh * kw, depth * group, times(oh, ow)
    images = times(n, parts)
    planes = sized(x, images, channels // parts, size(x, 2), size(x, 3))
    moved = sized(offset, images, taps, 2, oh, ow)
    axes = []
    for i, out in enumerate((oh, ow)):
        index = constant(np.asarray(i, np.int64))
        at = binary("Add", gather(moved, index, 2), _window_positions(i, (kh, kw), out, attrs, x))
        axes.append(_linear(at, size(x, i + 2)))
    values = _sum(_corners(planes, _image_numbers(images, 3), axes))
    if mask is not None:
        values = binary("Mul", values, sized(mask, images, taps, oh, ow, 1))
    columns = sized(transpose(values, [0, 4, 1, 2, 3]), n, group, depth * taps, area)
    rows = reshape(w, [group, m // group, depth * taps])
    dims = (_dims([n])[0], group, m // group, _dims([area])[0])
    y = sized(node("MatMul", [rows, columns], x.dtype, dims), n, m, oh, ow)
    return y if b is None else binary("Add", y, reshape(b, [m, 1, 1]))


def _window_positions(
    i: int, kernel: tuple[int, int], out: Size, attrs: Attributes, x: Tensor
) -> Tensor:
    """The positions of the taps along axis i without offsets, to broadcast with (taps, oh, ow)."""
    stride = (attrs.get("strides") or [1, 1])[i]
    gap = (attrs.get("dilations") or [1, 1])[i]
    before = (attrs.get("pads") or [0] * 4)[i]
    tap = np.indices(kernel)[i].reshape(-1, 1, 1) * gap - before
    starts = _scaled(positions(out, x.dtype), stride)
    windows = sized(starts, *((out, 1) if i == 0 else (1, out)))
    return binary("Add", constant(tap.astype(x.dtype.base_dtype.as_numpy_dtype)), windows)


# ---- RoiAlign ----


def roi_align(x: Tensor, rois: Tensor, batch: Tensor, attrs: Attributes) -> Tensor:
    """RoiAlign of x (n, c, h, w) for rois (r, 4) in the images that batch (r) names."""
    sides = [_roi_taps(x, rois, i, attrs) for i in (0, 1)]
    count = size(rois, 0)
    images = sized(cast(batch, dtypes.int64), count, *([1] * 4))
    corners = _corners(x, images, [taps for taps, _, _ in sides])
    (_, exists_y, many_y), (_, exists_x, many_x) = sides
    many = binary("Mul", many_y, many_x)  # samples of a bin, (r, 1, 1, 1, 1)
    if text(attrs, "mode", "avg") == "avg":
        summed = reduce_sum(_sum(corners), [2, 4], keepdims=False)
        some = binary("Max", cast(many, x.dtype), scalar(1, x.dtype))
        found = binary("Div", summed, sized(some, count, 1, 1, 1))
    else:
        exists = unsqueeze(_both(exists_y, exists_x), [-1])
        found = _largest(corners, exists, many, count, x)
    return transpose(found, [0, 3, 1, 2])


def _roi_taps(
    x: Tensor, rois: Tensor, i: int, attrs: Attributes
) -> tuple[list[Tap], Tensor, Tensor]:
    """Along axis i, where bins and their samples are axes 1 and 2 or 3 and 4 of 5: the taps,
    whether each sample exists, and how many of a bin do, (r, 1, 1, 1, 1)."""
    half = text(attrs, "coordinate_transformation_mode", "half_pixel") == "half_pixel"
    out = int(attrs.get("output_width" if i else "output_height", 1))
    ratio = int(attrs.get("sampling_ratio", 0))
    most: Size
    scale = float(attrs.get("spatial_scale", 1.0))
    box = _plus(_scaled(rois, scale), -0.5 if half else 0.0)
    low, high = (sized(slice_axes(box, [k], [k + 1], [1]), size(rois, 0), 1, 1, 1, 1)
                 for k in (1 - i, 3 - i))  # fmt: skip
    length = binary("Sub", high, low)
    if not half:
        length = binary("Max", length, scalar(1, length.dtype))
    step = _scaled(length, 1 / out)
    if ratio:
        each = [size(rois, 0), 1, 1, 1, 1]
        many, most = expand(scalar(ratio, dtypes.int64), _vector(each), _dims(each)), ratio
    else:
        limited = binary("Min", unary("Ceil", step), scalar(65536, step.dtype))
        many = cast(binary("Max", limited, scalar(0, step.dtype)), dtypes.int64)
        top = node("ReduceMax", [many], dtypes.int64, (), keepdims=0)
        most = reshape(binary("Max", top, scalar(1, dtypes.int64)), [1])
    bins = sized(positions(out, step.dtype), *[1] * (1 + 2 * i), out, *[1] * (3 - 2 * i))
    samples = sized(positions(most, step.dtype), *[1] * (2 + 2 * i), most, *[1] * (2 - 2 * i))
    exists = compare("Less", cast(samples, dtypes.int64), many)
    divisor = binary("Max", cast(many, step.dtype), scalar(1, step.dtype))
    within = binary("Div", binary("Mul", _plus(samples, 0.5), step), divisor)
    at = binary("Add", low, binary("Add", binary("Mul", bins, step), within))
    return _roi_neighbours(at, exists, size(x, i + 2)), exists, many


def _roi_neighbours(at: Tensor, exists: Tensor, count: Size) -> list[Tap]:
    """The pixels around each sample; up to one pixel outside counts as the border."""
    zero, end = scalar(0, at.dtype), _plus(_number(count, at.dtype), -1)
    least = compare("GreaterOrEqual", at, scalar(-1, at.dtype))
    ok = _both(exists, _both(least, compare("LessOrEqual", at, _number(count, at.dtype))))
    inner = binary("Max", select(ok, at, zero), zero)
    low = binary("Min", unary("Floor", inner), end)
    high = binary("Min", _plus(low, 1), end)
    part = select(compare("Less", low, end), binary("Sub", inner, low), zero)
    return [_kept(ok, low, _from(1, part)), _kept(ok, high, part)]


def _largest(
    corners: Sequence[tuple[Tensor, Tensor]], exists: Tensor, many: Tensor, count: Size, x: Tensor
) -> Tensor:
    """The first largest weighted corner of each bin's samples, (r, oh, ow, c)."""
    terms = [unsqueeze(binary("Mul", value, weight), [-2]) for value, weight in corners]
    joined = concat(terms, 5)  # (r, oh, ty, ow, tx, 4, c)
    lowest = np.finfo(x.dtype.base_dtype.as_numpy_dtype).min
    present = unsqueeze(exists, [-2])
    joined = select(present, joined, scalar(lowest, x.dtype))
    ordered = transpose(joined, [0, 1, 3, 6, 2, 4, 5])
    sizes = [size(ordered, a) for a in range(7)]
    flat = sized(ordered, *sizes[:4], times(*sizes[4:]))
    best = node("ArgMax", [flat], dtypes.int64, (*_dims(sizes[:4]), 1), axis=4, keepdims=1)
    picked = node("GatherElements", [flat, best], x.dtype, dims_of(best), axis=4)
    some = compare("Greater", sized(many, count, 1, 1, 1), scalar(0, dtypes.int64))
    chosen = sized(picked, *sizes[:4])
    return select(some, chosen, scalar(0, x.dtype))
