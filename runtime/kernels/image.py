"""Images: Resize, GridSample, regions of interest, depth and space; channels first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.schema import errors

_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
)
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_POLICIES = ("stretch", "not_larger", "not_smaller")
_MODES = ("nearest", "linear", "cubic")
_MOST = 1 << 31


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


def _one_of(call: Call, key: str, default: str, words: Sequence[str]) -> str:
    found = call.text(key, default)
    if found not in words:
        raise _invalid(f"{key} is {found!r}, expected one of {', '.join(words)}")
    return found


def typed(x: Any, dtype: Any) -> Array:
    """Doubles as another type: integers are cut towards 0 and kept in their range."""
    if np.dtype(dtype).kind == "f":
        return np.asarray(x).astype(dtype)
    limits = np.iinfo(dtype)
    inner = np.trunc(np.where(np.isnan(x), 0.0, x))
    low, high = inner <= float(limits.min), inner >= float(limits.max)
    safe = np.where(low | high, 0.0, inner).astype(dtype)
    return np.where(low, limits.min, np.where(high, limits.max, safe)).astype(dtype)


# ---- Resize ----


def cubic(x: Array, a: float) -> Any:
    """The cubic convolution kernel (Keys 1981)."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@dataclass(frozen=True)
class Table:
    """How one axis is resized: output i is the sum over t of weights[i, t] * x[index[i, t]];
    outside: which outputs lie outside of the image and are the extrapolation value."""

    index: Array
    weights: Array
    outside: Array


@dataclass(frozen=True)
class Resizing:
    """The attributes of Resize."""

    mode: str
    coordinates: str
    nearest: str
    policy: str
    antialias: bool
    exclude: bool
    cubic_a: float
    extrapolation: float
    axes: tuple[int, ...] | None

    @classmethod
    def of(cls, call: Call) -> Resizing:
        """Reads and checks them."""
        axes = call.integers("axes")
        return cls(
            _one_of(call, "mode", "nearest", _MODES),
            _one_of(call, "coordinate_transformation_mode", "half_pixel", _COORDINATES),
            _one_of(call, "nearest_mode", "round_prefer_floor", _NEAREST),
            _one_of(call, "keep_aspect_ratio_policy", "stretch", _POLICIES),
            bool(call.integer("antialias", 0)),
            bool(call.integer("exclude_outside", 0)),
            call.number("cubic_coeff_a", -0.75),
            call.number("extrapolation_value", 0.0),
            None if axes is None else tuple(axes),
        )

    def sizes(
        self, shape: tuple[int, ...], scales: Array | None, sizes: Array | None, roi: Array | None
    ) -> list[tuple[int, int, float, float, float, float]]:
        """For each axis that may change: axis, size, scale, exact size, start and end of roi."""
        axes = tuple(range(len(shape))) if self.axes is None else self.axes
        if any(not -len(shape) <= a < len(shape) for a in axes):
            raise _invalid(f"axes {list(axes)} of an input of rank {len(shape)}")
        axes = tuple(a % len(shape) for a in axes)
        if len(set(axes)) != len(axes):
            raise _invalid(f"axes {list(axes)} name an axis twice")
        given = [v for v in (scales, sizes) if v is not None and v.size]
        if len(given) != 1 or given[0].shape != (len(axes),):
            raise _invalid(f"expected scales or sizes, {len(axes)} numbers, and not both")
        region = np.zeros(0) if roi is None else roi.astype(np.float64)
        crop = self.coordinates == "tf_crop_and_resize"
        if crop and region.shape != (2 * len(axes),):
            raise _invalid(f"roi has shape {list(region.shape)}, expected [{2 * len(axes)}]")
        found = []
        for i, (axis, (out, scale, exact)) in enumerate(
            zip(axes, self._scaled([shape[a] for a in axes], scales, sizes), strict=True)
        ):
            if not 0 <= out < _MOST or (out and not shape[axis]):
                raise _invalid(f"axis {axis} of size {shape[axis]} cannot be resized to {out}")
            ends = (region[i], region[i + len(axes)]) if crop else (0.0, 1.0)
            found.append((axis, out, scale, exact, float(ends[0]), float(ends[1])))
        return found

    def _scaled(
        self, old: list[int], scales: Array | None, sizes: Array | None
    ) -> list[tuple[int, float, float]]:
        if scales is not None and scales.size:
            result = []
            for size, scale in zip(old, scales, strict=True):
                exact = float(np.float32(size) * np.float32(scale))
                if not (scale > 0 and exact < _MOST):
                    raise _invalid(f"the scale {scale} of an axis of size {size}")
                result.append((math.floor(exact), float(np.float32(scale)), exact))
            return result
        assert sizes is not None
        wanted = [int(v) for v in sizes]
        ratios = [w / n if n else 1.0 for w, n in zip(wanted, old, strict=True)]
        if self.policy == "stretch" or not ratios:
            return [(w, r, float(w)) for w, r in zip(wanted, ratios, strict=True)]
        scale = min(ratios) if self.policy == "not_larger" else max(ratios)
        return [(math.floor(scale * n + 0.5), scale, scale * n) for n in old]

    def _origins(
        self, size: int, out: int, scale: float, exact: float, start: float, end: float
    ) -> Array:
        i = np.arange(out, dtype=np.float64)
        if self.coordinates == "align_corners":
            return i * 0 if exact == 1 else i * (size - 1) / (exact - 1)
        if self.coordinates == "asymmetric":
            return i / scale
        if self.coordinates == "tf_crop_and_resize":
            if exact == 1:
                return i * 0 + 0.5 * (start + end) * (size - 1)
            return start * (size - 1) + i * (end - start) * (size - 1) / (exact - 1)
        if self.coordinates == "pytorch_half_pixel" and exact == 1:
            return i * 0 - 0.5
        offset = 0.0
        if self.coordinates == "half_pixel_symmetric":
            offset = size / 2 * (1 - out / exact)
        return offset + (i + 0.5) / scale - 0.5

    def table(
        self, size: int, out: int, scale: float, exact: float, start: float, end: float
    ) -> Table | None:
        """The table of an axis, None where nothing changes."""
        crop = self.coordinates == "tf_crop_and_resize"
        if out == size and scale == 1.0 and (not crop or (start, end) == (0.0, 1.0)):
            return None
        x = self._origins(size, out, scale, exact, start, end)
        outside = ((x < 0) | (x > size - 1)) if crop else np.zeros(out, np.bool_)
        base = np.clip(np.ceil(x) - 1, -float(_MOST), float(_MOST))
        ratio = x - base
        base = base.astype(np.int64)
        if self.mode == "nearest":
            up = {
                "floor": ratio >= 1,
                "ceil": ratio > 0,
                "round_prefer_floor": ratio > 0.5,
                "round_prefer_ceil": ratio >= 0.5,
            }[self.nearest]
            index = np.clip(base + up, 0, max(size - 1, 0))[:, None]
            return Table(index, np.ones((out, 1)), outside)
        reach = 1 if self.mode == "linear" else 2
        narrow = min(scale, 1.0) if self.antialias else 1.0
        first = math.floor(-reach / narrow) + 1
        taps = np.arange(first, 2 - first)
        if len(taps) > 4 * max(size, 1) + 64:
            raise _invalid(f"the scale {scale} of an axis of size {size}")
        at = np.abs((taps - ratio[:, None]) * narrow)
        weights = np.maximum(1 - at, 0) if reach == 1 else cubic(at, self.cubic_a)
        index = base[:, None] + taps
        if self.exclude:
            weights = np.where((index < 0) | (index >= size), 0.0, weights)
        if self.exclude or self.antialias:
            weights = weights / weights.sum(1, keepdims=True)
        return Table(np.clip(index, 0, max(size - 1, 0)), weights, outside)


def _along(values: Array, rank: int, axis: int) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(rank)])


@kernel("Resize", since=11, types="NAFL", fresh=True)
def _resize(call: Call) -> Function:
    rule = Resizing.of(call)

    def run(
        x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None
    ) -> Array:
        if x.dtype.kind not in "fiu":
            raise errors.UnimplementedError(message=f"Resize of {x.dtype.name}, expected numbers")
        y, exact = x, rule.mode == "nearest"
        outside = np.zeros((1,) * x.ndim, np.bool_)
        for axis, *how in rule.sizes(x.shape, scales, sizes, roi):
            table = rule.table(x.shape[axis], *how)
            if table is None:
                continue
            outside = outside | _along(table.outside, x.ndim, axis)
            if exact:
                y = y.take(table.index[:, 0], axis)
                continue
            y = y.astype(np.float64)
            shape = [table.index.shape[0] if a == axis else n for a, n in enumerate(y.shape)]
            total = np.zeros(shape)
            for t in range(table.index.shape[1]):
                total += y.take(table.index[:, t], axis) * _along(table.weights[:, t], x.ndim, axis)
            y = total
        if outside.any():
            y = np.where(outside, typed(np.float64(rule.extrapolation), x.dtype), y)
        return y.copy() if y.dtype == x.dtype else typed(y, x.dtype)

    return run


@kernel("ResizeGrad", domain="graphio", types="IFAML", fresh=True)
def _resize_grad(call: Call) -> Function:
    rule = Resizing.of(call)

    def run(
        x_shape: Array,
        dy: Array,
        roi: Array | None = None,
        scales: Array | None = None,
        sizes: Array | None = None,
    ) -> Array:
        if dy.dtype.name not in ("float32", "float64"):
            raise errors.UnimplementedError(message=f"ResizeGrad of {dy.dtype.name}")
        shape = tuple(int(v) for v in x_shape.reshape(-1))
        if min(shape, default=0) < 0:
            raise _invalid(f"x_shape {list(shape)} has a negative size")
        hows = rule.sizes(shape, scales, sizes, roi)
        wanted = list(shape)
        for axis, out, *_ in hows:
            wanted[axis] = out
        if list(dy.shape) != wanted:
            raise _invalid(f"dy has shape {list(dy.shape)}, expected {wanted}")
        g = dy.astype(np.float64)
        tables = [(axis, rule.table(shape[axis], *how)) for axis, *how in hows]
        for axis, table in tables:
            if table is not None and table.outside.any():
                g = np.where(_along(table.outside, g.ndim, axis), 0.0, g)
        for axis, table in reversed(tables):
            if table is None:
                continue
            moved = np.moveaxis(g, axis, 0)
            total = np.zeros((shape[axis], *moved.shape[1:]))
            for t in range(table.index.shape[1]):
                np.add.at(total, table.index[:, t], moved * _along(table.weights[:, t], g.ndim, 0))
            g = np.moveaxis(total, 0, axis)
        return np.ascontiguousarray(g).astype(dy.dtype)

    return run


# ---- depth and space ----


def _block(call: Call) -> int:
    size = call.integer("blocksize", 0)
    if not 1 <= size < _MOST:
        raise _invalid(f"blocksize is {size}, expected 1 or more")
    return size


def _four(x: Array) -> tuple[int, ...]:
    if x.ndim != 4:
        raise _invalid(f"x has shape {list(x.shape)}, expected n, c, h, w")
    return x.shape


@kernel("DepthToSpace", since=11, types="A", fresh=True)
def _depth_to_space(call: Call) -> Function:
    b, mode = _block(call), _one_of(call, "mode", "DCR", ("DCR", "CRD"))

    def run(x: Array) -> Array:
        n, c, h, w = _four(x)
        if c % (b * b):
            raise _invalid(f"{c} channels are no multiple of the block's {b * b}")
        d = c // (b * b)
        parts = (n, b, b, d, h, w) if mode == "DCR" else (n, d, b, b, h, w)
        order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
        return x.reshape(parts).transpose(order).reshape(n, d, h * b, w * b).copy()

    return run


@kernel("SpaceToDepth", since=1, types="A", fresh=True)
def _space_to_depth(call: Call) -> Function:
    b, mode = _block(call), _one_of(call, "mode", "DCR", ("DCR", "CRD"))

    def run(x: Array) -> Array:
        n, c, h, w = _four(x)
        if h % b or w % b:
            raise _invalid(f"an image of {h} x {w} does not divide into blocks of {b}")
        order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        parts = x.reshape(n, c, h // b, b, w // b, b).transpose(order)
        return parts.reshape(n, c * b * b, h // b, w // b).copy()

    return run
