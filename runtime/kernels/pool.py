"""ONNX's pooling over any number of axes, channels first: x (n, c, d1, ..., dn).

The work goes tap by tap of the window over slices of the padded image. The channels-last pools are
operators of domain graphio in kernels/window.py.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_LIMIT = 1 << 31
_AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


def require_types(x: Array, kinds: str, what: str) -> None:
    """Refuses a dtype whose name is not among `kinds`."""
    if x.dtype.name not in kinds.split():
        raise errors.UnimplementedError(message=f"{what} of {x.dtype.name}, it exists for {kinds}")


@dataclass(frozen=True)
class Rule:
    """The attributes that say where windows lie; empty tuples where they are absent."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str
    ceil: bool

    @classmethod
    def of(cls, call: Call) -> Rule:
        """Reads and checks them."""
        lists = {}
        for key, least in (("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("pads", 0)):
            lists[key] = tuple(call.integers(key) or ())
            if any(not least <= v < _LIMIT for v in lists[key]):
                raise _invalid(f"{key} are {list(lists[key])}, expected {least} or more")
        size = len(lists["kernel_shape"])
        if not size:
            raise _invalid("attribute kernel_shape is absent")
        for key, expected in (("strides", size), ("dilations", size), ("pads", 2 * size)):
            if lists[key] and len(lists[key]) != expected:
                raise _invalid(f"{key} are {list(lists[key])}, expected {expected} numbers")
        auto = call.text("auto_pad", "NOTSET")
        if auto not in _AUTO_PADS:
            raise _invalid(f"auto_pad is {auto!r}, expected one of {', '.join(_AUTO_PADS)}")
        ones = (1,) * size
        return cls(
            lists["kernel_shape"],
            lists["strides"] or ones,
            lists["dilations"] or ones,
            (lists["pads"] if auto == "NOTSET" else ()) or (0,) * (2 * size),
            auto,
            bool(call.integer("ceil_mode", 0)),
        )

    def axis(self, i: int, size: int) -> tuple[int, int, int]:
        """Windows and padding before and after along an axis."""
        n, head, tail = len(self.kernel), self.pads[i], self.pads[i + len(self.kernel)]
        step, extent = self.strides[i], (self.kernel[i] - 1) * self.dilations[i] + 1
        if self.auto_pad.startswith("SAME"):
            out = -(-size // step)
            total = max(0, (out - 1) * step + extent - size)
            head = (total + 1) // 2 if self.auto_pad == "SAME_LOWER" else total // 2
            return out, head, total - head
        slack = size + head + tail - extent
        if slack < (1 - step if self.ceil else 0) or n < 1:  # a part of one window may do
            raise _invalid(
                f"a window of {extent} does not fit axis {i + 2} of size {size} padded by "
                f"{head} and {tail}"
            )
        out = (-(-slack // step) if self.ceil else slack // step) + 1
        if self.ceil and (out - 1) * step >= size + head:
            out -= 1
        return out, head, tail

    def geometry(self, spatial: tuple[int, ...]) -> Geometry:
        """The windows of an image."""
        if len(spatial) != len(self.kernel):
            raise _invalid(
                f"x has {len(spatial)} axes after n and c, kernel_shape has {len(self.kernel)}"
            )
        axes = [self.axis(i, size) for i, size in enumerate(spatial)]
        out, head, tail = (tuple(v) for v in zip(*axes, strict=True))
        return Geometry(self, spatial, out, head, tail)


@dataclass(frozen=True)
class Geometry:
    """Where the windows of one image size lie: how many, and the padding before and after."""

    rule: Rule
    spatial: tuple[int, ...]
    out: tuple[int, ...]
    head: tuple[int, ...]
    tail: tuple[int, ...]

    def padded(self, x: Any, value: Any) -> Array:
        """x with padding, also for windows that end after it."""
        sizes = [
            max(size + h, (o - 1) * s + (k - 1) * d + 1 + (s - 1))
            for size, h, o, s, k, d in zip(
                self.spatial,
                self.head,
                self.out,
                self.rule.strides,
                self.rule.kernel,
                self.rule.dilations,
                strict=True,
            )
        ]
        result = np.full((*x.shape[: -len(sizes)], *sizes), value, x.dtype)
        result[self.inside()] = x
        return result

    def inside(self) -> tuple[Any, ...]:
        """The image in its padding."""
        return (
            ...,
            *(slice(h, h + n) for h, n in zip(self.head, self.spatial, strict=True)),
        )

    def taps(self) -> Iterator[tuple[Any, ...]]:
        """For each position in the window its slice of the padded image, row-major."""
        for at in itertools.product(*(range(k) for k in self.rule.kernel)):
            yield (
                ...,
                *(
                    slice(t * d, t * d + o * s, s)
                    for t, d, o, s in zip(
                        at, self.rule.dilations, self.out, self.rule.strides, strict=True
                    )
                ),
            )

    def counts(self, padding: bool) -> Array:
        """How many elements each window has, with or without those of the padding."""
        total = np.ones((), np.float64)
        for i, size in enumerate(self.spatial):
            start = np.arange(self.out[i]) * self.rule.strides[i] - self.head[i]
            taps = start[:, None] + np.arange(self.rule.kernel[i]) * self.rule.dilations[i]
            ok = taps < size + (self.tail[i] if padding else 0)
            if not padding:
                ok &= taps >= 0
            total = np.multiply.outer(total, ok.sum(1).astype(np.float64))
        return total


def _image(x: Array, least: int = 3) -> None:
    if x.ndim < least:
        raise _invalid(f"x has shape {list(x.shape)}, expected n, c and {least - 2} or more axes")


def _max_values(x: Array, geometry: Geometry) -> Array:
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = geometry.padded(x, low)
    result = np.full((*x.shape[:2], *geometry.out), low, x.dtype)
    for tap in geometry.taps():
        np.maximum(result, wide[tap], out=result)
    return result


def _max_indices(x: Array, geometry: Geometry, column_major: bool) -> tuple[Array, Array]:
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = geometry.padded(x, low)
    area = math.prod(geometry.spatial)
    order = np.arange(area)
    flat = (
        order.reshape(geometry.spatial[::-1]).T if column_major else order.reshape(geometry.spatial)
    )
    numbers = geometry.padded(flat, -1)
    result = np.full((*x.shape[:2], *geometry.out), low, x.dtype)
    where = np.full(result.shape, -1, np.int64)
    for tap in geometry.taps():
        value, number = wide[tap], numbers[tap]
        better = (value > result) | (where < 0)
        if x.dtype.kind == "f":
            better |= np.isnan(value) & ~np.isnan(result)
        better &= number >= 0
        np.copyto(result, value, where=better)
        np.copyto(where, np.broadcast_to(number, where.shape), where=better)
    planes = np.arange(x.shape[0] * x.shape[1]).reshape((*x.shape[:2], *(1,) * len(geometry.out)))
    return result, np.where(where < 0, where, where + planes * area)


@kernel("MaxPool", since=8, types="N", fresh=True)
def _max_pool(call: Call) -> Function:
    rule = Rule.of(call)
    column_major = bool(call.integer("storage_order", 0))
    indices = len(call.outputs) > 1

    def run(x: Array) -> Any:
        require_types(x, "float32 float64 int8 uint8", "pooling")
        _image(x)
        geometry = rule.geometry(x.shape[2:])
        return _max_indices(x, geometry, column_major) if indices else _max_values(x, geometry)

    return run


def _sums(x: Array, geometry: Geometry) -> Array:
    wide = geometry.padded(x.astype(np.float64), 0)
    result = np.zeros((*x.shape[:2], *geometry.out))
    for tap in geometry.taps():
        result += wide[tap]
    return result


@kernel("AveragePool", since=7, types="F", fresh=True)
def _average_pool(call: Call) -> Function:
    rule = Rule.of(call)
    padding = bool(call.integer("count_include_pad", 0))

    def run(x: Array) -> Array:
        _image(x)
        geometry = rule.geometry(x.shape[2:])
        return np.asarray(_sums(x, geometry) / geometry.counts(padding)).astype(x.dtype)

    return run


@kernel("AveragePoolGrad", domain="graphio", types="IF", fresh=True)
def _average_pool_grad(call: Call) -> Function:
    rule = Rule.of(call)
    divisor = call.text("divisor", "window")
    if divisor not in ("window", "padded", "one"):
        raise _invalid(f"divisor is {divisor!r}, expected window, padded or one")

    def run(x_shape: Array, dy: Array) -> Any:
        require_types(dy, "float32 float64", "pooling")
        shape = tuple(int(v) for v in x_shape.reshape(-1))
        if len(shape) < 3 or min(shape) < 0:
            raise _invalid(f"x_shape is {list(shape)}, expected n, c and 1 or more axes")
        geometry = rule.geometry(shape[2:])
        if dy.shape != (*shape[:2], *geometry.out):
            raise _invalid(
                f"dy has shape {list(dy.shape)}, expected {[*shape[:2], *geometry.out]} from the "
                "image and the window"
            )
        count = 1.0 if divisor == "one" else geometry.counts(divisor == "padded")
        share = dy / count
        wide = geometry.padded(np.zeros(shape), 0)
        for tap in geometry.taps():
            wide[tap] += share
        return wide[geometry.inside()].astype(dy.dtype)

    return run


def _power(call: Call) -> int:
    p = call.integer("p", 2)
    if not 1 <= p < _LIMIT:
        raise _invalid(f"attribute p is {p}, expected 1 or more")
    return p


def _powers(x: Array, p: int) -> Any:
    wide = np.abs(x.astype(np.float64))
    return wide if p == 1 else wide**p


def _root(s: Any, p: int) -> Any:
    return s if p == 1 else np.sqrt(s) if p == 2 else s ** (1.0 / p)


@kernel("LpPool", since=2, types="F", fresh=True)
def _lp_pool(call: Call) -> Function:
    rule, p = Rule.of(call), _power(call)

    def run(x: Array) -> Array:
        _image(x)
        sums = _sums(_powers(x, p), rule.geometry(x.shape[2:]))
        return np.asarray(_root(sums, p)).astype(x.dtype)

    return run


def _register_global(op: str, since: int, compute: Any) -> None:
    @kernel(op, since=since, types="F", fresh=True)
    def make(call: Call) -> Function:
        p = _power(call) if op == "GlobalLpPool" else 1

        def run(x: Array) -> Array:
            _image(x, 2)
            axes = tuple(range(2, x.ndim))
            return np.asarray(compute(x, axes, p)).astype(x.dtype)

        return run


def _global_average(x: Array, axes: tuple[int, ...], p: int) -> Any:
    total = np.add.reduce(x.astype(np.float64), axes, keepdims=True)
    return total / float(math.prod(x.shape[2:]))


def _global_lp(x: Array, axes: tuple[int, ...], p: int) -> Any:
    return _root(np.add.reduce(_powers(x, p), axes, keepdims=True), p)


def _global_max(x: Array, axes: tuple[int, ...], p: int) -> Any:
    return np.maximum.reduce(x, axes, keepdims=True, initial=-np.inf)


_register_global("GlobalAveragePool", 1, _global_average)
_register_global("GlobalLpPool", 2, _global_lp)
_register_global("GlobalMaxPool", 1, _global_max)


@kernel("MaxUnpool", since=9, types="FLL", fresh=True)
def _max_unpool(call: Call) -> Function:
    rule = Rule.of(call)

    def run(x: Array, indices: Array, output_shape: Array | None = None) -> Array:
        size = len(rule.kernel)
        if x.ndim != size + 2 or indices.shape != x.shape:
            raise _invalid(
                f"x has shape {list(x.shape)} and indices {list(indices.shape)}, expected twice "
                f"n, c and {size} axes"
            )
        spatial = tuple(
            (n - 1) * rule.strides[i] + rule.kernel[i] - rule.pads[i] - rule.pads[i + size]
            for i, n in enumerate(x.shape[2:])
        )
        shape = (*x.shape[:2], *spatial)
        if min(spatial) < 0:
            raise _invalid(f"the output's shape {list(shape)} has a negative size")
        total = math.prod(shape)
        if ((indices < 0) | (indices >= total)).any():
            raise _invalid(f"an index is outside [0, {total}), the output's elements")
        flat = np.zeros(total, x.dtype)
        flat[indices.reshape(-1)] = x.reshape(-1)
        result = flat.reshape(shape)
        if output_shape is None:
            return result
        expected = tuple(int(v) for v in output_shape)
        if len(expected) != x.ndim or any(w < n for w, n in zip(expected, shape, strict=True)):
            raise _invalid(f"output_shape is {list(expected)}, expected {list(shape)} or larger")
        wide = np.zeros(expected, x.dtype)
        wide[tuple(slice(0, n) for n in shape)] = result
        return wide

    return run
