"""Windows of images taken apart: patches, and dilation and erosion of greyscale images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base import primitive
from graphio.ops.base.emit import describe, scope
from graphio.ops.base.shapes import dims_of, text
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["dilation2d", "erosion2d", "extract_image_patches"]


def _middle(value: Any, label: str, at: str) -> tuple[int, int]:
    """The two numbers in the middle of [1, rows, columns, 1]."""
    if value is None or len(value) != 4 or value[0] != 1 or value[3] != 1:
        raise ValueError(f"{label} is {value!r}, expected [1, rows, columns, 1] for {at[:-1]}")
    return int(value[1]), int(value[2])


def _padding(x: Tensor, axis: int, extent: int, stride: int) -> list[Any]:
    """Before and after an axis, as SAME says."""
    size = x.shape[axis].value
    if stride == 1:
        total = extent - 1
    elif size is None:
        open_size = array.shape(x)[axis]
        return _halves(elementwise.maximum(_missing(open_size, extent, stride), 0))
    else:
        total = max(_missing(size, extent, stride), 0)
    return _halves(total)


def _missing(size: Any, extent: int, stride: int) -> Any:
    """The overhang of the last window beyond the axis, if the first begins with it."""
    return (-(-size // stride) - 1) * stride + extent - size


def _halves(total: Any) -> list[Any]:
    return [total // 2, total - total // 2]


def _taps(
    x: Tensor, kernel: tuple[int, int], strides: tuple[int, int], rates: tuple[int, int],
    padding: str, fill: float, at: str,
) -> list[Tensor]:  # fmt: skip
    """For each element of the window, row by row, its values in all windows: (n, oh, ow, c)."""
    x = primitive.of_rank(x, 4)
    dims = dims_of(x)
    if dims is None or len(dims) != 4:
        raise ValueError(
            f"Shape must be rank 4, got {text(dims)} for {describe(at, at[:-1] or 'window')}"
        )
    extents = [(k - 1) * r + 1 for k, r in zip(kernel, rates, strict=True)]
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding is {padding!r}, expected SAME or VALID for {at[:-1]}")
    if padding == "SAME":
        around = [
            _padding(x, axis, extent, stride)
            for axis, extent, stride in zip((1, 2), extents, strides, strict=True)
        ]
        x = array.pad(x, [[0, 0], *around, [0, 0]], constant_values=fill)
    taps = []
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            ranges = []
            for position, rate, extent, stride in zip(
                (row, column), rates, extents, strides, strict=True
            ):
                start, left = position * rate, extent - 1 - position * rate
                ranges.append(slice(start, -left if left else None, stride))
            taps.append(x[:, ranges[0], ranges[1], :])
    return taps


@api_guard.operator
def extract_image_patches(
    images: Any,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """The elements in each window of images, as one vector.

    Args:
        images: tensor (n, h, w, c).
        ksizes: [1, rows, columns, 1], the window; sizes is its newer name.
        strides: [1, rows, columns, 1], from one window to the next.
        rates: [1, rows, columns, 1], from one pixel of a window to the next.
        padding: SAME or VALID.
        name: of the operation.
        sizes: see ksizes.

    Returns:
        A tensor (n, oh, ow, rows * columns * c).

    Raises:
        ValueError: an argument is not of this form.
    """
    with scope(name, "ExtractImagePatches") as at:
        x = convert_to_tensor(images, name="images")
        if x.shape.ndims is None:
            x = primitive.reshape_to(x, primitive.shape_of(x), (None,) * 4)
        kernel = _middle(ksizes if sizes is None else sizes, "ksizes", at)
        steps, spread = _middle(strides, "strides", at), _middle(rates, "rates", at)
        taps = _taps(x, kernel, steps, spread, str(padding), 0, at)
        return array.concat(taps, 3, name=at)


@api_guard.operator
def extract_patches(
    images: Any,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """As extract_image_patches."""
    return extract_image_patches(images, sizes, strides, rates, padding, name)


@api_guard.operator
def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The largest of pixel + filter in each window.

    Args:
        input: tensor (n, h, w, c).
        filter: tensor (rows, columns, c) of the same dtype; filters is its newer name.
        strides: [1, rows, columns, 1].
        rates: [1, rows, columns, 1]; dilations is its newer name.
        padding: SAME or VALID; elements outside are never the largest.
        name: of the operation.
        filters: see filter.
        dilations: see rates.

    Returns:
        A tensor (n, oh, ow, c).

    Raises:
        ValueError: an argument is not of this form.
    """
    with scope(name, "Dilation2D") as at:
        x = convert_to_tensor(input, name="input")
        weights = convert_to_tensor(filter if filters is None else filters, x.dtype, name="filter")
        form = dims_of(weights)
        if form is None or len(form) != 3 or form[0] is None or form[1] is None:
            raise ValueError(f"filter has shape {text(form)}, expected (rows, columns, c)")
        spread = _middle(rates if dilations is None else dilations, "rates", at)
        lowest = x.dtype.min
        taps = _taps(
            x, (form[0], form[1]), _middle(strides, "strides", at), spread, str(padding), lowest, at
        )
        flat = array.unstack(array.reshape(weights, [form[0] * form[1], -1]))
        found = taps[0] + flat[0]
        for tap, weight in zip(taps[1:], flat[1:], strict=True):
            found = elementwise.maximum(found, tap + weight)
        return array.identity(found, name=at)


@api_guard.operator
def erosion2d(
    value: Any,
    kernel: Any,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The minimum of pixel - kernel in each window, the kernel taken backwards; see dilation2d."""
    with scope(name, "erosion2d") as at:
        flipped = index.reverse(convert_to_tensor(kernel, name="kernel"), [0, 1])
        lower = elementwise.negative(convert_to_tensor(value, name="value"))
        return elementwise.negative(dilation2d(lower, flipped, strides, rates, padding), name=at)
