"""ONNX's convolutions, channels first: x (n, c, spatial...), w (m, c / group, kernel...).

A convolution is one matrix multiplication over (channel, offset of the kernel) for every group; the
gradients, ConvTranspose and Col2Im add columns back offset by offset, so that each numpy call is a
large one. Any number of spatial axes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from graphio.runtime.kernels.window import check_channels
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

Ints = tuple[int, ...]
MOST = 1 << 30  # of a stride, dilation or pad, as in the C library
_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


@dataclass(frozen=True)
class Geometry:
    """Where windows lie along each spatial axis.

    Attributes:
        size, kernel, strides, dilations: by axis.
        before: padding before the first element.
        out: how many windows.
    """

    size: Ints
    kernel: Ints
    strides: Ints
    dilations: Ints
    before: Ints
    out: Ints

    @property
    def padded(self) -> Ints:
        """Sizes that hold every window and the complete image."""
        axes = zip(self.size, self.before, self.reach, strict=True)
        return tuple(max(b + s, r) for s, b, r in axes)

    @property
    def reach(self) -> Ints:
        """Where the last window ends."""
        axes = zip(self.out, self.strides, self.kernel, self.dilations, strict=True)
        return tuple(max(o - 1, 0) * s + (k - 1) * d + 1 for o, s, k, d in axes)

    def inside(self, leading: int) -> tuple[slice, ...]:
        """The image in its padding, after so many other axes."""
        spans = (slice(b, b + s) for b, s in zip(self.before, self.size, strict=True))
        return (slice(None),) * leading + tuple(spans)

    def columns(self, x: Array) -> Array:
        """(n, c, kernel..., out...): the windows of x (n, c, size...), without a copy if padding
        is none."""
        if self.padded != self.size:
            wide = np.zeros(x.shape[:2] + self.padded, x.dtype)
            wide[self.inside(2)] = x
            x = wide
        steps = x.strides[2:]
        taps = tuple(t * d for t, d in zip(steps, self.dilations, strict=True))
        moves = tuple(t * s for t, s in zip(steps, self.strides, strict=True))
        shape = x.shape[:2] + self.kernel + self.out
        return as_strided(x, shape, x.strides[:2] + taps + moves, writeable=False)

    def scatter(self, columns: Array) -> Any:
        """The image (n, c, size...) to which columns (n, c, kernel..., out...) add up."""
        image = np.zeros(columns.shape[:2] + self.padded, columns.dtype)
        for tap in itertools.product(*map(range, self.kernel)):
            image[(slice(None),) * 2 + self._tap(tap)] += columns[(slice(None),) * 2 + tap]
        return np.ascontiguousarray(image[self.inside(2)])

    def _tap(self, tap: Ints) -> tuple[slice, ...]:
        axes = zip(tap, self.dilations, self.strides, self.out, strict=True)
        return tuple(slice(t * d, t * d + max(o - 1, 0) * s + 1 if o else 0, s)
                     for t, d, s, o in axes)  # fmt: skip


class Rule:
    """The attributes of a convolution."""

    def __init__(self, call: Call) -> None:
        self.group = call.integer("group", 1)
        self.auto_pad = call.text("auto_pad", "NOTSET")
        self.strides = call.integers("strides")
        self.dilations = call.integers("dilations")
        self.pads = call.integers("pads")
        self.kernel_shape = call.integers("kernel_shape")
        if self.group < 1:
            raise _invalid(f"group is {self.group}, expected >= 1")
        if self.auto_pad not in _AUTO_PADS:
            raise _invalid(f"auto_pad is {self.auto_pad!r}, expected one of {_AUTO_PADS}")

    def axes(self, rank: int, kernel: Ints) -> tuple[Ints, Ints, Ints]:
        """strides, dilations and pads for so many spatial axes."""
        if self.kernel_shape is not None and tuple(self.kernel_shape) != kernel:
            raise _invalid(f"kernel_shape is {self.kernel_shape}, w has {list(kernel)}")
        if rank < 1 or min(kernel) < 1:
            raise _invalid(f"the kernel is {list(kernel)}, expected one axis or more, all >= 1")
        found = []
        for key, given, count, least in (
            ("strides", self.strides, rank, 1),
            ("dilations", self.dilations, rank, 1),
            ("pads", self.pads, 2 * rank, 0),
        ):
            values = [least] * count if given is None else given
            if len(values) != count or min(values) < least or max(values) > MOST:
                raise _invalid(f"{key} are {values}, expected {count}, all {least} to {MOST}")
            found.append(tuple(values))
        return found[0], found[1], found[2] if self.auto_pad == "NOTSET" else (0,) * (2 * rank)

    def split(self, total: int, upper: str) -> int:
        """The part of a padding that comes first."""
        small = max(total, 0) // 2
        return small if self.auto_pad == upper else max(total, 0) - small

    def geometry(self, size: Sequence[int], kernel: Sequence[int]) -> Geometry:
        """The windows of an image."""
        kernel = tuple(kernel)
        strides, dilations, pads = self.axes(len(size), kernel)
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        before, out = list(pads[: len(size)]), []
        for i, (n, r, s) in enumerate(zip(size, reach, strides, strict=True)):
            if self.auto_pad.startswith("SAME"):
                out.append(-(-n // s))
                before[i] = self.split((out[i] - 1) * s + r - n, "SAME_UPPER")
                continue
            slack = n + pads[i] + pads[len(size) + i] - r
            if slack < 0:
                raise _invalid(
                    f"a window of {r} does not fit into axis {i + 2} of size {n} with pads "
                    f"{pads[i]} and {pads[len(size) + i]}"
                )
            out.append(slack // s + 1)
        return Geometry(tuple(size), kernel, strides, dilations, tuple(before), tuple(out))

    def check(self, x: Sequence[int], w: Sequence[int]) -> None:
        """Refuses channels that do not match."""
        if len(x) < 3 or len(w) != len(x):
            raise _invalid(f"x has shape {list(x)} and w {list(w)}, expected one rank, 3 or more")
        check_channels(x[1], w[1], w[0], self.group)

    def windows(self, x: Sequence[int], w: Sequence[int], dy: Array | None = None) -> Geometry:
        """The windows for these shapes; those of dy if that is given, which may be fewer."""
        self.check(x, w)
        at = self.geometry(x[2:], w[2:])
        if dy is None:
            return at
        if (
            dy.ndim != len(x)
            or dy.shape[:2] != (x[0], w[0])
            or any(a > b for a, b in zip(dy.shape[2:], at.out, strict=True))
        ):
            raise _invalid(
                f"dy has shape {list(dy.shape)}, expected {[x[0], w[0], *at.out]} from x and w"
            )
        return Geometry(at.size, at.kernel, at.strides, at.dilations, at.before, dy.shape[2:])

    def transposed(self, x: Sequence[int], w: Sequence[int], extra: Any, shape: Any) -> Geometry:
        """The windows of ConvTranspose's result, for its x and w (c, m / group, kernel...)."""
        rank, kernel = len(x) - 2, tuple(w[2:])
        strides, dilations, pads = self.axes(rank, kernel)
        extra = [0] * rank if extra is None else extra
        if len(extra) != rank or any(
            e < 0 or e >= max(s, d) for e, s, d in zip(extra, strides, dilations, strict=True)
        ):
            raise _invalid(
                f"output_padding is {extra}, expected {rank} integers >= 0, less than the stride "
                "or the dilation"
            )
        if shape is not None:
            shape = shape[-rank:] if len(shape) == rank + 2 else shape
            if len(shape) != rank or min(shape) < 0:
                raise _invalid(f"output_shape is {shape}, expected {rank} integers >= 0")
        before, size = list(pads[:rank]), []
        for i, (n, k, s, d) in enumerate(zip(x[2:], kernel, strides, dilations, strict=True)):
            full = s * (n - 1) + extra[i] + (k - 1) * d + 1
            if shape is None and not self.auto_pad.startswith("SAME"):
                size.append(full - pads[i] - pads[rank + i])
            else:
                size.append(n * s if shape is None else shape[i])
                before[i] = self.split(full - size[i], "SAME_UPPER")
            if size[i] < 0 or n < 1:
                raise _invalid(f"axis {i + 2} of the result has size {size[i]}, expected >= 0")
        return Geometry(tuple(size), kernel, strides, dilations, tuple(before), tuple(x[2:]))


def _matmul(columns: Array, w: Array, group: int, out: Ints) -> Any:
    """(n, m, out...) of columns (n, c, kernel..., out...)."""
    n, m = columns.shape[0], w.shape[0]
    depth, area = math.prod(w.shape[1:]), math.prod(out)
    rows = columns.reshape(n, group, depth, area)
    # A BLAS rounds equal rows unequally by their position in its tiles; doubles hide that.
    wide = np.matmul(w.reshape(group, m // group, depth), rows, dtype=np.float64)
    return wide.astype(w.dtype, copy=False).reshape(n, m, *out)


def _with_bias(y: Array, b: Array | None) -> Any:
    if b is None:
        return y
    if b.shape != (y.shape[1],):
        raise _invalid(f"the bias has shape {list(b.shape)}, expected [{y.shape[1]}]")
    y += b.reshape(-1, *(1,) * (y.ndim - 2))
    return y


def convolve(rule: Rule, x: Array, w: Array) -> Any:
    """y (n, m, out...)."""
    at = rule.windows(x.shape, w.shape)
    return _matmul(at.columns(x), w, rule.group, at.out)


def _spread(group: int, at: Geometry, w: Array, dy: Array) -> Any:
    """The image that dy (n, m, out...) gives through w (m, c / group, kernel...)."""
    n, m = dy.shape[:2]
    depth, area = math.prod(w.shape[1:]), math.prod(dy.shape[2:])
    w_transposed = w.reshape(group, m // group, depth).swapaxes(1, 2)
    columns = np.matmul(w_transposed, dy.reshape(n, group, m // group, area))
    return at.scatter(columns.reshape(n, group * w.shape[1], *w.shape[2:], *dy.shape[2:]))


@kernel("Conv", since=11, types="FFF", fresh=True)
def _conv(call: Call) -> Function:
    rule = Rule(call)
    return lambda x, w, b=None: _with_bias(convolve(rule, x, w), b)


@kernel("ConvGradInput", domain="graphio", types="IFF", fresh=True)
def _conv_grad_input(call: Call) -> Function:
    rule = Rule(call)

    def run(x_shape: Array, w: Array, dy: Array) -> Any:
        at = rule.windows(x_shape.tolist(), w.shape, dy)
        return _spread(rule.group, at, w, dy)

    return run


@kernel("ConvGradWeight", domain="graphio", types="FIF", fresh=True)
def _conv_grad_weight(call: Call) -> Function:
    rule = Rule(call)

    def run(x: Array, w_shape: Array, dy: Array) -> Any:
        shape = w_shape.tolist()
        at = rule.windows(x.shape, shape, dy)
        n, m, group = dy.shape[0], dy.shape[1], rule.group
        depth, area = math.prod(shape[1:]), math.prod(at.out)
        columns = at.columns(x).reshape(n, group, depth, area)
        parts = np.matmul(dy.reshape(n, group, m // group, area), columns.swapaxes(2, 3))
        return np.add.reduce(parts, 0).reshape(shape)

    return run


@kernel("ConvTranspose", since=11, types="FFF", fresh=True)
def _conv_transpose(call: Call) -> Function:
    rule = Rule(call)
    extra, shape = call.integers("output_padding"), call.integers("output_shape")

    def run(x: Array, w: Array, b: Array | None = None) -> Any:
        if x.ndim < 3 or w.ndim != x.ndim or w.shape[0] != x.shape[1] or w.shape[0] % rule.group:
            raise _invalid(
                f"x has shape {list(x.shape)} and w {list(w.shape)}, expected (n, c, ...) and "
                f"(c, m / group, ...) in {rule.group} groups"
            )
        at = rule.transposed(x.shape, w.shape, extra, shape)
        return _with_bias(_spread(rule.group, at, w, x), b)

    return run


# ---- integers ----


def _byte(x: Array, what: str) -> None:
    if x.dtype.itemsize != 1 or x.dtype.kind not in "iu":
        raise errors.UnimplementedError(
            message=f"{what} has type {x.dtype}, there is a kernel for int8 and uint8"
        )


def _centred(x: Array, zero: Array | None, axis: int | None, what: str) -> Array:
    """x less its zero point: a scalar, or one for each of the first axis."""
    _byte(x, what)
    wide = x.astype(np.float64)
    if zero is None:
        return wide
    _byte(zero, f"the zero point of {what}")
    _one_or_rows(zero, x, axis, f"the zero point of {what}")
    return wide - zero.astype(np.float64).reshape(-1, *(1,) * (x.ndim - 1))


def _one_or_rows(v: Array, x: Array, axis: int | None, what: str) -> None:
    if v.size == 1 and v.ndim < 2:
        return
    if axis is None or v.shape != (x.shape[axis],):
        raise _invalid(f"{what} has shape {list(v.shape)}, expected one number"
                       + ("" if axis is None else f" or {x.shape[axis]}"))  # fmt: skip


def _sums(rule: Rule, x: Array, w: Array, zero_x: Array | None, zero_w: Array | None) -> Any:
    """Sums of bytes multiplied by bytes, exact in float64, wrapped to int32."""
    y = convolve(rule, _centred(x, zero_x, None, "x"), _centred(w, zero_w, 0, "w"))
    return y.astype(np.int64).astype(np.int32)


@kernel("ConvInteger", since=10, types="NMNM", fresh=True)
def _conv_integer(call: Call) -> Function:
    rule = Rule(call)
    return lambda x, w, zx=None, zw=None: _sums(rule, x, w, zx, zw)


@kernel("QLinearConv", since=10, types="NGNMGMGKD", fresh=True)
def _qlinear_conv(call: Call) -> Function:
    rule = Rule(call)

    def run(
        x: Array, sx: Array, zx: Array, w: Array, sw: Array, zw: Array, sy: Array, zy: Array,
        b: Array | None = None,
    ) -> Any:  # fmt: skip
        for scale, axis, what in ((sx, None, "x_scale"), (sw, 0, "w_scale"), (sy, None, "y_scale")):
            _one_or_rows(scale, w, axis, what)
        _one_or_rows(zy, w, None, "y_zero_point")
        _byte(zy, "y_zero_point")
        total = _with_bias(_sums(rule, x, w, zx, zw), b)
        factor = (sx.reshape(-1) * sw.reshape(-1)) / sy.reshape(-1)
        scaled = np.rint(total.astype(np.float32) * factor.reshape(-1, *(1,) * (x.ndim - 2)))
        limits = np.iinfo(zy.dtype)
        with np.errstate(invalid="ignore"):
            shifted = np.nan_to_num(scaled + zy.reshape(-1)[0].astype(np.float32))
        return np.clip(shifted, limits.min, limits.max).astype(zy.dtype)

    return run


# ---- Col2Im ----


@kernel("Col2Im", since=18, types="FII", fresh=True)
def _col2im(call: Call) -> Function:
    rule = Rule(call)

    def run(columns: Array, image: Array, block: Array) -> Any:
        size, kernel_shape = image.reshape(-1).tolist(), block.reshape(-1).tolist()
        if columns.ndim != 3 or len(size) != len(kernel_shape) or min(size, default=0) < 0:
            raise _invalid(
                f"the input has shape {list(columns.shape)}, image_shape is {size} and "
                f"block_shape {kernel_shape}; expected (n, c * blocks, windows) and equal lengths"
            )
        at = rule.geometry(size, kernel_shape)
        n, rows, count = columns.shape
        if rows % math.prod(kernel_shape) or count != math.prod(at.out):
            raise _invalid(
                f"the input has shape {list(columns.shape)}, expected rows that "
                f"{math.prod(kernel_shape)} divides and {math.prod(at.out)} windows"
            )
        return at.scatter(columns.reshape(n, -1 if n * rows * count else
                          rows // math.prod(kernel_shape), *kernel_shape, *at.out))  # fmt: skip

    return run


# ---- DeformConv ----


def _sampled(x: Array, y_at: Array, x_at: Array) -> Any:
    """Bilinear samples of x (n, g, c, h, w) at coordinates (n, g, 1, ...); 0 outside."""
    h, w = x.shape[3:]
    top, left = np.floor(y_at), np.floor(x_at)
    flat = x.reshape(*x.shape[:3], h * w)
    total: Any = 0
    for i, j in itertools.product((0, 1), (0, 1)):
        row, column = top + i, left + j
        inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
        share = (1 - np.abs(y_at - row)) * (1 - np.abs(x_at - column))
        offset = np.where(inside, row * w + column, 0).astype(np.int64)
        index = offset.reshape(*offset.shape[:2], 1, -1)
        index = np.broadcast_to(index, (*x.shape[:3], index.shape[3]))
        values = np.take_along_axis(flat, index, 3).reshape(*x.shape[:3], *offset.shape[3:])
        total = total + np.where(inside, share, 0).astype(x.dtype) * values
    return total


@kernel("DeformConv", since=19, types="FFFFF", fresh=True)
def _deform_conv(call: Call) -> Function:
    rule, parts = Rule(call), call.integer("offset_group", 1)

    def run(
        x: Array, w: Array, offset: Array, b: Array | None = None, mask: Array | None = None
    ) -> Any:
        if x.ndim != 4:
            raise errors.UnimplementedError(
                message=f"DeformConv of rank {x.ndim}, there is a kernel for (n, c, h, w)"
            )
        at = rule.windows(x.shape, w.shape)
        n, c = x.shape[:2]
        taps = math.prod(at.kernel)
        if parts < 1 or c % parts:
            raise _invalid(f"offset_group is {parts}, it must divide {c} channels")
        for v, many, what in ((offset, 2, "offset"), (mask, 1, "mask")):
            expected = (n, parts * many * taps, *at.out)
            if v is not None and v.shape != expected:
                raise _invalid(f"{what} has shape {list(v.shape)}, expected {list(expected)}")
        moved = offset.reshape(n, parts, 1, *at.kernel, 2, *at.out)
        y_at = moved[:, :, :, :, :, 0] + _base(at, 0, x.dtype)
        x_at = moved[:, :, :, :, :, 1] + _base(at, 1, x.dtype)
        images = x.reshape(n, parts, c // parts, *x.shape[2:])
        if not images.size:
            columns = np.zeros((n, c, *at.kernel, *at.out), x.dtype)
        else:
            columns = _sampled(images, y_at, x_at)
            if mask is not None:
                columns = columns * mask.reshape(n, parts, 1, *at.kernel, *at.out)
        return _with_bias(_matmul(columns, w, rule.group, at.out), b)

    return run


@functools.lru_cache(maxsize=256)
def _base(at: Geometry, axis: int, dtype: np.dtype[Any]) -> Array:
    """Where the taps lie along an axis without offsets, to broadcast with (kh, kw, oh, ow)."""
    tap = np.arange(at.kernel[axis]) * at.dilations[axis]
    window = np.arange(at.out[axis]) * at.strides[axis] - at.before[axis]
    shape = [1, 1, 1, 1]
    shape[axis], shape[2 + axis] = len(tap), len(window)
    return (tap[:, None] + window[None, :]).reshape(shape).astype(dtype)
