"""Convolution and pooling over windows of images, channels last.

Images are x (n, h, w, c), filters w (kh, kw, c / group, m). A convolution is one multiplication of
matrices over the windows; the work on windows goes offset by offset of the kernel, so that each
numpy call is a large one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from graphio.runtime.choosing import kept
from graphio.runtime.registry import Array, Call, kernel
from graphio.support import errors

Pair = tuple[int, int]
_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class Rule:
    """The attributes of a window operator; pads None: as auto_pad says."""

    strides: Pair
    dilations: Pair
    pads: tuple[int, int, int, int] | None
    auto_pad: str

    @classmethod
    def of(cls, call: Call) -> Rule:
        """Reads and checks them."""
        strides, dilations = _pair(call, "strides"), _pair(call, "dilations")
        auto_pad = call.text("auto_pad", "NOTSET")
        if auto_pad not in _AUTO_PADS:
            raise errors.InvalidArgumentError(
                message=f"auto_pad is {auto_pad!r}, expected one of {', '.join(_AUTO_PADS)}"
            )
        pads = call.integers("pads") or [0, 0, 0, 0]
        if len(pads) != 4 or min(pads) < 0:
            raise errors.InvalidArgumentError(message=f"pads are {pads}, expected four >= 0")
        top, left, bottom, right = pads
        explicit = (top, left, bottom, right) if auto_pad == "NOTSET" else None
        return cls(strides, dilations, explicit, auto_pad)


def _pair(call: Call, key: str) -> Pair:
    given = call.integers(key) or [1, 1]
    if len(given) != 2 or min(given) < 1:
        raise errors.InvalidArgumentError(message=f"{key} are {given}, expected two >= 1")
    return given[0], given[1]


@dataclass(frozen=True)
class Windows:
    """Where the windows of one image size lie.

    Attributes:
        size: height and width of the image.
        kernel, strides, dilations: of the windows.
        pads: top, left, bottom, right.
        out: how many windows there are, in both directions.
    """

    size: Pair
    kernel: Pair
    strides: Pair
    dilations: Pair
    pads: tuple[int, int, int, int]
    out: Pair

    @property
    def padded(self) -> Pair:
        """Height and width with the padding."""
        top, left, bottom, right = self.pads
        return self.size[0] + top + bottom, self.size[1] + left + right

    def pad(self, x: Array, value: Any) -> Array:
        """x with its padding."""
        top, left = self.pads[:2]
        if not any(self.pads):
            return x
        result = np.full((x.shape[0], *self.padded, x.shape[3]), value, x.dtype)
        result[:, top : top + self.size[0], left : left + self.size[1]] = x
        return result

    def crop(self, x: Array) -> Any:
        """A padded image without its padding."""
        top, left = self.pads[:2]
        return x[:, top : top + self.size[0], left : left + self.size[1]]

    def offsets(self) -> Iterator[tuple[int, int, tuple[slice, slice, slice]]]:
        """For each position in a window: row, column, and its slice of the padded image."""
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                yield i, j, (slice(None), self._taps_along(i, 0), self._taps_along(j, 1))

    def _taps_along(self, offset: int, side: int) -> slice:
        start = offset * self.dilations[side]
        last = start + (self.out[side] - 1) * self.strides[side]
        return slice(start, max(last + 1, start), self.strides[side])

    def view(self, padded: Array) -> Array:
        """(n, oh, ow, kh, kw, c): the windows of a padded image, without a copy."""
        n, _, _, c = padded.shape
        image, row, column, channel = padded.strides
        (sh, sw), (dh, dw) = self.strides, self.dilations
        return as_strided(
            padded,
            (n, *self.out, *self.kernel, c),
            (image, row * sh, column * sw, row * dh, column * dw, channel),
            writeable=False,
        )


@functools.lru_cache(maxsize=1024)
def windows(rule: Rule, size: Pair, kernel: Pair) -> Windows:
    """The windows of an image of that size."""
    if min(kernel) < 1:
        raise errors.InvalidArgumentError(
            message=f"the window is {kernel[0]} x {kernel[1]}, both must be 1 or more"
        )
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, rule.dilations, strict=True))
    if rule.pads is not None:
        pads = rule.pads
    else:
        (top, bottom), (left, right) = (
            _auto_pad(rule, n, r, s) for n, r, s in zip(size, reach, rule.strides, strict=True)
        )
        pads = (top, left, bottom, right)
    slack = [size[0] + pads[0] + pads[2] - reach[0], size[1] + pads[1] + pads[3] - reach[1]]
    if rule.pads is None and rule.auto_pad != "VALID":  # no window in an image without rows
        slack = [-s if n == 0 else r for n, r, s in zip(size, slack, rule.strides, strict=True)]
        fits = all(r >= 0 or n == 0 for n, r in zip(size, slack, strict=True))
    else:
        fits = min(slack) >= 0
    if not fits:
        raise errors.InvalidArgumentError(
            message=f"windows of {reach[0]} by {reach[1]} do not fit into an image of {size[0]} by "
            f"{size[1]} with pads {list(pads)}"
        )
    out = (slack[0] // rule.strides[0] + 1, slack[1] // rule.strides[1] + 1)
    return Windows(size, kernel, rule.strides, rule.dilations, pads, out)


def _auto_pad(rule: Rule, size: int, reach: int, stride: int) -> Pair:
    if rule.auto_pad == "VALID":
        return 0, 0
    total = max(0, (-(-size // stride) - 1) * stride + reach - size)
    small = total // 2
    return (small, total - small) if rule.auto_pad == "SAME_UPPER" else (total - small, small)


def _image(shape: Any, what: str) -> tuple[int, int, int, int]:
    if len(shape) != 4:
        raise errors.InvalidArgumentError(
            message=f"{what} has shape {list(shape)}, expected (n, h, w, c)"
        )
    n, h, w, c = shape
    return n, h, w, c


# ---- convolution ----


def check_channels(channels: int, each: int, outputs: int, group: int) -> None:
    """Refuses channels of x and of w (so many in each group) and outputs that do not match."""
    wrong = []
    if channels != each * group:
        groups = f" ({group} groups of {each})" if group > 1 else ""
        wrong.append(f"x has {channels} channels, w expects {each * group}{groups}")
    if outputs % group:
        wrong.append(f"w gives {outputs} outputs, which {group} groups cannot share")
    if wrong:
        raise errors.InvalidArgumentError(message="; ".join(wrong))


class _Convolution:
    """One Conv2D and its gradients."""

    def __init__(self, call: Call) -> None:
        self.rule = Rule.of(call)
        self.group = call.integer("group", 1)
        if self.group < 1:
            raise errors.InvalidArgumentError(message=f"group is {self.group}, expected >= 1")

    def windows(self, x: Any, w: Any) -> Windows:
        """The windows for an image and a filter of these shapes."""
        _, height, width, channels = _image(x, "x")
        if len(w) != 4:
            raise errors.InvalidArgumentError(
                message=f"w has shape {list(w)}, expected (kh, kw, c / group, m)"
            )
        check_channels(channels, w[2], w[3], self.group)
        return windows(self.rule, (height, width), (w[0], w[1]))

    def columns(self, x: Array, at: Windows) -> Any:
        """(group, n oh ow, kh kw c / group): each window as a row."""
        view = at.view(at.pad(x, 0))
        rows, each = x.shape[0] * at.out[0] * at.out[1], x.shape[3] // self.group
        depth = at.kernel[0] * at.kernel[1] * each
        if self.group == 1:
            return view.reshape(1, rows, depth)
        split = view.reshape(rows, *at.kernel, self.group, each)
        split = np.ascontiguousarray(split.transpose(3, 0, 1, 2, 4))
        return split.reshape(self.group, rows, depth)

    def filters(self, w: Array) -> Any:
        """(group, kh kw c / group, m / group)."""
        depth = w.shape[0] * w.shape[1] * w.shape[2]
        return w.reshape(depth, self.group, w.shape[3] // self.group).transpose(1, 0, 2)

    def grouped(self, y: Array) -> Any:
        """(group, n oh ow, m / group) of y (n, oh, ow, m)."""
        rows, m = y.shape[0] * y.shape[1] * y.shape[2], y.shape[3]
        return y.reshape(rows, self.group, m // self.group).transpose(1, 0, 2)

    def forward(self, x: Array, w: Array) -> Any:
        """y (n, oh, ow, m)."""
        at = self.windows(x.shape, w.shape)
        y = np.matmul(self.columns(x, at), self.filters(w))
        return _ungroup(y).reshape(x.shape[0], *at.out, w.shape[3])

    def grad_input(self, x_shape: Any, w: Array, dy: Array) -> Any:
        """dx of x's shape."""
        shape = tuple(x_shape.tolist())
        at = self.windows(shape, w.shape)
        self.check_dy(dy, shape, w.shape, at)
        columns = np.matmul(self.grouped(dy), self.filters(w).transpose(0, 2, 1))
        split = columns.reshape(self.group, *dy.shape[:3], *at.kernel, w.shape[2])
        dx = np.zeros((shape[0], *at.padded, self.group, shape[3] // self.group), w.dtype)
        for i, j, tap in at.offsets():
            dx[tap] += np.moveaxis(split[:, :, :, :, i, j], 0, 3)
        return at.crop(dx).reshape(shape)

    def grad_filter(self, x: Array, w_shape: Any, dy: Array) -> Any:
        """dw of w's shape."""
        shape = tuple(w_shape.tolist())
        at = self.windows(x.shape, shape)
        self.check_dy(dy, x.shape, shape, at)
        columns = self.columns(x, at).transpose(0, 2, 1)
        return _ungroup(np.matmul(columns, self.grouped(dy))).reshape(shape)

    def check_dy(self, dy: Array, x: Any, w: Any, at: Windows) -> None:
        """Refuses a gradient of another shape than the output's."""
        expected = (x[0], *at.out, w[3])
        if dy.shape != expected:
            raise errors.InvalidArgumentError(
                message=f"dy has shape {list(dy.shape)}, expected {list(expected)}"
            )


def _ungroup(y: Array) -> Any:
    """(rows, group * m) of (group, rows, m)."""
    groups, rows, each = y.shape
    return y[0] if groups == 1 else y.transpose(1, 0, 2).reshape(rows, groups * each)


# ---- pooling ----


class _Pooling:
    """The four operators of one kernel shape."""

    def __init__(self, call: Call) -> None:
        self.rule = Rule.of(call)
        kernel_shape = call.integers("kernel_shape") or []
        if len(kernel_shape) != 2 or min(kernel_shape) < 1:
            raise errors.InvalidArgumentError(
                message=f"kernel_shape is {kernel_shape}, expected two >= 1"
            )
        self.kernel = (kernel_shape[0], kernel_shape[1])

    def windows(self, shape: Any) -> Windows:
        """The windows for images of this shape."""
        _, height, width, _ = _image(shape, "x")
        return windows(self.rule, (height, width), self.kernel)

    def max(self, x: Array) -> Any:
        """The largest of each window."""
        at = self.windows(x.shape)
        padded = at.pad(x, _lowest(x.dtype))
        parts = [padded[tap] for _, _, tap in at.offsets()]
        y = functools.reduce(np.maximum, parts)
        return y + x.dtype.type(0)

    def max_grad(self, x: Array, dy: Array) -> Array:
        """dy goes to the first largest of each window."""
        at = self.windows(x.shape)
        self.check_dy(dy, x.shape, at)
        padded = at.pad(x, _lowest(x.dtype))
        taps = [tap for _, _, tap in at.offsets()]
        winner = _first_largest([padded[tap] for tap in taps])
        dx = np.zeros_like(padded)
        for k, tap in enumerate(taps):
            dx[tap] += kept(winner == k, dy)
        return np.ascontiguousarray(at.crop(dx))

    def average(self, x: Array) -> Any:
        """The mean of each window's elements that are not padding."""
        at = self.windows(x.shape)
        padded = at.pad(x, 0)
        total = functools.reduce(np.add, [padded[tap] for _, _, tap in at.offsets()])
        return np.asarray(total / _counts(at, x.dtype))

    def average_grad(self, x_shape: Any, dy: Array) -> Array:
        """Each element of a window gets its share of dy."""
        shape = tuple(x_shape.tolist())
        at = self.windows(shape)
        self.check_dy(dy, shape, at)
        share = dy / _counts(at, dy.dtype)
        dx = np.zeros((shape[0], *at.padded, shape[3]), dy.dtype)
        for _, _, tap in at.offsets():
            dx[tap] += share
        return np.ascontiguousarray(at.crop(dx))

    def check_dy(self, dy: Array, x: Any, at: Windows) -> None:
        """Refuses a gradient of another shape than the output's."""
        expected = (x[0], *at.out, x[3])
        if dy.shape != expected:
            raise errors.InvalidArgumentError(
                message=f"dy has shape {list(dy.shape)}, expected {list(expected)}"
            )


def _first_largest(parts: list[Array]) -> Array:
    """Which array has the largest element, at each position; the first of equals or of NaNs."""
    best, winner = parts[0], np.zeros(parts[0].shape, np.int32)
    for k, part in enumerate(parts[1:], 1):
        better = part > best
        better |= np.isnan(part) & ~np.isnan(best)
        best = np.maximum(best, part)
        np.maximum(winner, np.multiply(better, k, dtype=winner.dtype), out=winner)
    return winner


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@functools.lru_cache(maxsize=1024)
def _counts(at: Windows, dtype: np.dtype[Any]) -> Array:
    """(1, oh, ow, 1): how many elements of each window are not padding."""
    inside = at.pad(np.ones((1, *at.size, 1), dtype), 0)
    return functools.reduce(np.add, [inside[tap] for _, _, tap in at.offsets()])


def _register(op: str, types: str, method: Any) -> None:
    """A kernel that is a method of its node's _Convolution or _Pooling."""
    owner = _Pooling if "Pool" in op else _Convolution
    kernel(op, domain="graphio", types=types, fresh=True)(
        lambda call: functools.partial(method, owner(call))
    )


for _op, _types, _method in (
    ("MaxPool2D", "N", _Pooling.max),
    ("MaxPool2DGrad", "FF", _Pooling.max_grad),
    ("AveragePool2D", "F", _Pooling.average),
    ("AveragePool2DGrad", "IF", _Pooling.average_grad),
    ("Conv2D", "FF", _Convolution.forward),
    ("Conv2DGradInput", "IFF", _Convolution.grad_input),
    ("Conv2DGradFilter", "FIF", _Convolution.grad_filter),
):
    _register(_op, _types, _method)
