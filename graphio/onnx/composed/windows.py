"""Gradients of convolutions and pools over images whose sizes come only with the data: paddings are
counted in the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.primitive import (
    binary,
    cast,
    compare,
    concat,
    gather,
    int_vector,
    last,
    reduce_sum,
    reshape_to,
    shape_of,
    slice_axes,
    transpose,
    unary,
)
from graphio.ops.base.shapes import dims_of
from graphio.ops.image.sampling import Size, positions, size, sized, text, times

__all__ = [
    "average_pool_2d_grad",
    "average_pool_grad",
    "conv_2d_grad_filter",
    "conv_2d_grad_input",
    "conv_grad_input",
    "conv_grad_weight",
]

Attributes = Mapping[str, Any]
Given = Sequence[Tensor]


def conv_grad_input(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """ConvGradInput of x_shape, w, dy."""
    x_shape, w, dy = given
    rank = len(dims_of(dy) or ())
    sizes = _from_second(x_shape)
    begin, _ = _pads(sizes, _from_second(shape_of(w)), rank - 2, attrs)
    return [_fitted(_transposed(dy, w, rank, attrs), sizes, begin)]


def conv_grad_weight(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """ConvGradWeight of x, w_shape, dy: x with dy as filters, batch and channels changed."""
    x, w_shape, dy = given
    rank, group = len(dims_of(x) or dims_of(dy) or ()), int(attrs.get("group", 1))
    kernel = _from_second(w_shape)
    begin, end = _pads(_from_second(shape_of(x)), kernel, rank - 2, attrs)
    none = int_vector([0, 0])
    padded = node("Pad", [x, concat([none, begin, none, end], 0)], x.dtype, (None,) * rank)
    n, *space = (size(padded, a) for a in (0, *range(2, rank)))
    channels = size(x, 1)
    if isinstance(channels, int):
        depth: Size = channels // group
    else:
        depth = binary("Div", channels, int_vector([group]))
    transposed = transpose(sized(padded, n, group, depth, *space), [2, 1, 0, *range(3, rank + 1)])
    x_first = sized(transposed, depth, times(group, n), *space)
    changed = [1, 0, *range(2, rank)]
    whole = node(
        "Conv",
        [x_first, transpose(dy, changed)],
        x.dtype,
        (None,) * rank,
        strides=_each(attrs, "dilations", rank - 2),
        dilations=_each(attrs, "strides", rank - 2),
        group=group,
    )
    starts, axes = int_vector([0] * (rank - 2)), int_vector(range(2, rank))
    cut = node("Slice", [whole, starts, kernel, axes], x.dtype, (None,) * rank)
    return [transpose(cut, changed)]


def average_pool_grad(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """AveragePoolGrad of x_shape, dy."""
    x_shape, dy = given
    rank, kernel = len(dims_of(dy) or ()), list(attrs["kernel_shape"])
    sizes = _from_second(x_shape)
    begin, end = _pads(sizes, int_vector(kernel), rank - 2, attrs)
    if (divisor := text(attrs, "divisor", "window")) != "one":
        if divisor == "padded":
            least, most = unary("Neg", begin), binary("Add", sizes, end)
        else:
            least, most = int_vector([0] * len(kernel)), sizes
        for i in range(rank - 2):
            counts = _counts(dy, i, rank, [begin, least, most], attrs)
            dy = binary("Div", dy, cast(counts, dy.dtype))
    space = [size(dy, a) for a in range(2, rank)]
    alone = sized(dy, times(size(dy, 0), size(dy, 1)), 1, *space)
    ones = constant(np.ones((1, 1, *kernel), dy.dtype.base_dtype.as_numpy_dtype))
    made = _transposed(alone, ones, rank, {**attrs, "group": 1})
    return [reshape_to(_fitted(made, sizes, begin), x_shape, (None,) * rank)]


# ---- channels last ----

_FIRST, _LAST = [0, 3, 1, 2], [0, 2, 3, 1]
_FILTERS, _FILTERS_BACK = [3, 2, 0, 1], [2, 3, 1, 0]


def conv_2d_grad_input(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """Conv2DGradInput of x_shape, w (kh, kw, c, m), dy."""
    x_shape, w, dy = given
    transposed = [_ordered(x_shape, _FIRST), transpose(w, _FILTERS), transpose(dy, _FIRST)]
    return [_transposed_filters(conv_grad_input(transposed, attrs), _LAST)]


def conv_2d_grad_filter(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """Conv2DGradFilter of x, w_shape, dy."""
    x, w_shape, dy = given
    transposed = [transpose(x, _FIRST), _ordered(w_shape, _FILTERS), transpose(dy, _FIRST)]
    return [_transposed_filters(conv_grad_weight(transposed, attrs), _FILTERS_BACK)]


def average_pool_2d_grad(given: Given, attrs: Attributes) -> list[Tensor | None]:
    """AveragePool2DGrad of x_shape, dy."""
    x_shape, dy = given
    transposed = [_ordered(x_shape, _FIRST), transpose(dy, _FIRST)]
    return [_transposed_filters(average_pool_grad(transposed, attrs), _LAST)]


def _ordered(shape: Tensor, order: Sequence[int]) -> Tensor:
    return gather(shape, int_vector(order), 0)


def _transposed_filters(made: Sequence[Tensor | None], order: Sequence[int]) -> Tensor:
    (found,) = made
    assert found is not None
    return transpose(found, order)


# ---- shared ----


def _counts(dy: Tensor, i: int, rank: int, ends: Sequence[Tensor], attrs: Attributes) -> Tensor:
    """The number of taps of each window along axis i that count, to broadcast with dy; at least
    1."""
    begin, least, most = (slice_axes(v, [i], [i + 1], [0]) for v in ends)
    stride, gap = (_each(attrs, key, rank - 2)[i] for key in ("strides", "dilations"))
    out = size(dy, i + 2)
    steps = binary("Mul", positions(out, dtypes.int64), int_vector([stride]))
    taps = np.arange(attrs["kernel_shape"][i], dtype=np.int64) * gap
    at = binary("Add", sized(binary("Sub", steps, begin), out, 1), constant(taps))
    inside = compare("And", compare("GreaterOrEqual", at, least), compare("Less", at, most))
    found = reduce_sum(cast(inside, dtypes.int64), [1], keepdims=False)
    found = binary("Max", found, scalar(1, dtypes.int64))
    return sized(found, *[1] * (i + 2), out, *[1] * (rank - i - 3))


def _each(attrs: Attributes, key: str, count: int) -> list[int]:
    return list(attrs.get(key) or [1] * count)


def _from_second(shape: Tensor) -> Tensor:
    return slice_axes(shape, [2], [last], [0])


def _pads(sizes: Tensor, kernel: Tensor, count: int, attrs: Attributes) -> tuple[Tensor, Tensor]:
    """The padding before and after each spatial axis."""
    rule = text(attrs, "auto_pad", "NOTSET")
    if not rule.startswith("SAME"):
        given = attrs.get("pads") if rule == "NOTSET" else None
        pads = list(given or [0] * 2 * count)
        return int_vector(pads[:count]), int_vector(pads[count:])
    one, two, zero = (scalar(v, dtypes.int64) for v in (1, 2, 0))
    strides = int_vector(_each(attrs, "strides", count))
    gaps = int_vector(_each(attrs, "dilations", count))
    before = binary("Div", binary("Sub", sizes, one), strides)  # windows less one
    span = binary("Add", binary("Mul", before, strides), one)
    reach = binary("Mul", binary("Sub", kernel, one), gaps)
    total = binary("Max", binary("Sub", binary("Add", span, reach), sizes), zero)
    small = binary("Div", total, two)
    large = binary("Sub", total, small)
    return (small, large) if rule == "SAME_UPPER" else (large, small)


def _transposed(dy: Tensor, w: Tensor, rank: int, attrs: Attributes) -> Tensor:
    return node(
        "ConvTranspose",
        [dy, w],
        dy.dtype,
        (None,) * rank,
        strides=_each(attrs, "strides", rank - 2),
        dilations=_each(attrs, "dilations", rank - 2),
        group=int(attrs.get("group", 1)),
    )


def _fitted(x: Tensor, sizes: Tensor, begin: Tensor) -> Tensor:
    """The spatial sizes of x cut by begin before, and cut or filled with zeros after."""
    none = int_vector([0, 0])
    behind = binary("Sub", binary("Add", sizes, begin), _from_second(shape_of(x)))
    pads = concat([none, unary("Neg", begin), none, behind], 0)
    return node("Pad", [x, pads], x.dtype, (None,) * len(dims_of(x) or ()))
