"""Images: Resize, GridSample, regions of interest, depth and space; channels first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

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
MOST_SAMPLES = 1 << 22  # of a bin of RoiAlign


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
        requested = [int(v) for v in sizes]
        ratios = [w / n if n else 1.0 for w, n in zip(requested, old, strict=True)]
        if self.policy == "stretch" or not ratios:
            return [(w, r, float(w)) for w, r in zip(requested, ratios, strict=True)]
        scale = min(ratios) if self.policy == "not_larger" else max(ratios)
        return [(math.floor(scale * n + 0.5), scale, scale * n) for n in old]

    def _coordinate(self, found: Array) -> Array:
        """With mode nearest the next float32, where they are close: a float32 scale of 2.2 is a
        little more, and 11 / 2.2 a little less than 5."""
        if self.mode != "nearest":
            return found
        return np.where(found < 2.0**22, found.astype(np.float32).astype(np.float64), found)

    def _origins(
        self, size: int, out: int, scale: float, exact: float, start: float, end: float
    ) -> Array:
        i = np.arange(out, dtype=np.float64)
        if out == 0:  # exact may be 0, too
            return i
        if self.coordinates == "align_corners":
            return i * 0 if exact == 1 else self._coordinate(i * (size - 1) / (exact - 1))
        if self.coordinates == "asymmetric":
            return self._coordinate(i / scale)
        if self.coordinates == "tf_crop_and_resize":
            if exact == 1:
                return i * 0 + 0.5 * (start + end) * (size - 1)
            return start * (size - 1) + i * (end - start) * (size - 1) / (exact - 1)
        if self.coordinates == "pytorch_half_pixel" and exact == 1:
            return i * 0.0
        offset = 0.0
        if self.coordinates == "half_pixel_symmetric":
            offset = size / 2 * (1 - out / exact)
        return self._coordinate(offset + (i + 0.5) / scale) - 0.5

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


@kernel("Resize", since=11, types="NAFI", fresh=True)
def _resize(call: Call) -> Function:
    rule = Resizing.of(call)

    def run(
        x: Array, roi: Array | None = None, scales: Array | None = None, sizes: Array | None = None
    ) -> Array:
        if x.dtype.kind not in "fiu":
            raise errors.UnimplementedError(message=f"Resize of {x.dtype.name}, expected numbers")
        y, exact = x, rule.mode == "nearest"
        outside = np.zeros((1,) * x.ndim, np.bool_)
        for axis, out, scale, exact_size, start, end in rule.sizes(x.shape, scales, sizes, roi):
            table = rule.table(x.shape[axis], out, scale, exact_size, start, end)
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


@kernel("ResizeGrad", domain="graphio", types="IFAGI", fresh=True)
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
        expected = list(shape)
        for axis, out, *_ in hows:
            expected[axis] = out
        if list(dy.shape) != expected:
            raise _invalid(f"dy has shape {list(dy.shape)}, expected {expected}")
        g = dy.astype(np.float64)
        tables = [
            (axis, rule.table(shape[axis], out, scale, exact, start, end))
            for axis, out, scale, exact, start, end in hows
        ]
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


def _four(x: Array) -> Any:
    if x.ndim != 4:
        raise _invalid(f"x has shape {list(x.shape)}, expected n, c, h, w")
    return x.shape


@kernel("DepthToSpace", since=11, types="A", fresh=True)
def _depth_to_space(call: Call) -> Function:
    b, mode = _block(call), _one_of(call, "mode", "DCR", ("DCR", "CRD"))

    def run(x: Array) -> Any:
        n, c, h, w = _four(x)
        if c % (b * b):
            raise _invalid(f"{c} channels are not a multiple of the block's {b * b}")
        d = c // (b * b)
        parts = (n, b, b, d, h, w) if mode == "DCR" else (n, d, b, b, h, w)
        order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
        return x.reshape(parts).transpose(order).reshape(n, d, h * b, w * b).copy()

    return run


@kernel("SpaceToDepth", since=1, types="A", fresh=True)
def _space_to_depth(call: Call) -> Function:
    b, mode = _block(call), _one_of(call, "mode", "DCR", ("DCR", "CRD"))

    def run(x: Array) -> Any:
        n, c, h, w = _four(x)
        if h % b or w % b:
            raise _invalid(f"an image of {h} x {w} does not divide into blocks of {b}")
        order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
        parts = x.reshape(n, c, h // b, b, w // b, b).transpose(order)
        return parts.reshape(n, c * b * b, h // b, w // b).copy()

    return run


# ---- NonMaxSuppression ----


def _corners(boxes: Array, center: bool) -> tuple[Array, Array]:
    a, b = boxes[:, :2], boxes[:, 2:]
    if center:
        half = b / np.float32(2)
        return a - half, a + half
    return np.minimum(a, b), np.maximum(a, b)


def _overlaps(low: Array, high: Array, box: int, others: Array) -> Any:
    """Intersection over union of a box with others, in float32."""
    side = np.minimum(high[box], high[others]) - np.maximum(low[box], low[others])
    both = np.where((side > 0).all(1), side[:, 0] * side[:, 1], np.float32(0))
    area = (high - low).prod(1)
    total = area[box] + area[others] - both
    good = (both > 0) & (area[box] > 0) & (area[others] > 0)
    return np.where(good, both / np.where(good, total, np.float32(1)), np.float32(0))


def _one(value: Array | None, what: str, default: float) -> float:
    if value is None:
        return default
    if value.size != 1:
        raise _invalid(f"{what} must be one number")
    return float(value.reshape(-1)[0])


@kernel("NonMaxSuppression", since=10, types="GGIGG", fresh=True)
def _non_max_suppression(call: Call) -> Function:
    center = bool(call.integer("center_point_box", 0))

    def chosen(boxes: Array, scores: Array, most: int, overlap: Any, least: Any) -> list[int]:
        low, high = _corners(boxes, center)
        left = np.argsort(-scores, kind="stable")
        left = left[~np.isnan(scores[left])]
        left = left if least is None else left[scores[left] > least]
        found: list[int] = []
        while len(left) and len(found) < most:
            found.append(int(left[0]))
            left = left[1:]
            left = left[~(_overlaps(low, high, found[-1], left) > overlap)]
        return found

    def run(
        boxes: Array,
        scores: Array,
        most: Array | None = None,
        overlap: Array | None = None,
        least: Array | None = None,
    ) -> Array:
        good = boxes.ndim == 3 and scores.ndim == 3 and boxes.shape[2] == 4
        if not good or (boxes.shape[0], boxes.shape[1]) != (scores.shape[0], scores.shape[2]):
            raise _invalid("expected float32 boxes (n, boxes, 4) and scores (n, classes, boxes)")
        limit = int(_one(most, "max_output_boxes_per_class", 0))
        ratio = np.float32(_one(overlap, "iou_threshold", 0.0))
        if not 0 <= ratio <= 1:
            raise _invalid(f"iou_threshold is {ratio}, expected 0 to 1")
        floor = None if least is None else np.float32(_one(least, "score_threshold", 0.0))
        rows = [
            (n, c, box)
            for n in range(scores.shape[0])
            for c in range(scores.shape[1])
            for box in chosen(boxes[n], scores[n, c], limit, ratio, floor)
        ]
        return np.array(rows, np.int64).reshape(-1, 3)

    return run


# ---- GridSample ----


@dataclass(frozen=True)
class Sampling:
    """The attributes of GridSample."""

    taps: int
    padding: str
    align: bool

    @classmethod
    def of(cls, call: Call) -> Sampling:
        """Reads and checks them."""
        mode = _one_of(call, "mode", "linear", ("linear", "nearest", "cubic"))
        padding = _one_of(call, "padding_mode", "zeros", ("zeros", "border", "reflection"))
        taps = {"nearest": 1, "linear": 2, "cubic": 4}[mode]
        return cls(taps, padding, bool(call.integer("align_corners", 0)))

    def check(self, x: Array, grid: Array) -> None:
        """Refuses shapes that do not fit."""
        axes = x.ndim - 2
        if not 1 <= axes <= 3 or grid.ndim != x.ndim or grid.shape[-1] != axes:
            raise _invalid(
                "expected x (n, c, 1 to 3 axes) and a grid (n, as many, their number), found "
                f"{list(x.shape)} and {list(grid.shape)}"
            )
        if grid.shape[0] != x.shape[0]:
            raise _invalid(f"x has {x.shape[0]} images, the grid {grid.shape[0]}")

    def _coordinate(self, i: Array, n: int) -> Array:
        if self.padding == "border":
            return np.clip(i, 0, n - 1) if n else i * 0 - 1
        if self.padding == "zeros" or not n:
            return np.where((i >= 0) & (i < n), i, -1)
        period = 2 * (n - 1) if self.align else 2 * n
        r = i % period if period else i * 0
        return np.where(r < n, r, (period if self.align else period - 1) - r)

    def axis(self, g: Array, n: int) -> tuple[list[Array], list[Any], list[Any]]:
        """Positions (-1: outside), weights, and slopes by the grid's numbers of each tap."""
        g = g.astype(np.float64)
        per = (n - 1) / 2 if self.align else n / 2
        x = (g + 1) / 2 * (n - 1) if self.align else ((g + 1) * n - 1) / 2
        x = np.clip(np.where(np.isnan(x), -1e9, x), -1e9, 1e9)
        base = np.rint(x) if self.taps == 1 else np.floor(x)
        part, first = x - base, -1 if self.taps == 4 else 0
        positions, weights, slopes = [], [], []
        for i in range(first, first + self.taps):
            positions.append(self._coordinate(base.astype(np.int64) + i, n))
            at = part - i
            if self.taps == 4:
                weights.append(cubic(at, -0.75))
                slopes.append(per * _cubic_slope(at))
            elif self.taps == 2:
                weights.append(part if i else 1 - part)
                slopes.append(part * 0 + (per if i else -per))
            else:
                weights.append(part * 0 + 1)
                slopes.append(part * 0)
        return positions, weights, slopes


def _cubic_slope(x: Array, a: float = -0.75) -> Any:
    s, x = np.where(x < 0, -1.0, 1.0), np.abs(x)
    near = (3 * (a + 2) * x - 2 * (a + 3)) * x
    far = (3 * a * x - 10 * a) * x + 8 * a
    return s * np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _sampled(x: Array, grid: Array, rule: Sampling) -> Any:
    """For each combination of taps: elements (n, positions), whether they exist, weight, slopes."""
    axes = x.ndim - 2
    flat = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), axes)
    parts = [rule.axis(flat[..., axes - 1 - i], x.shape[i + 2]) for i in range(axes)]
    for tap in np.ndindex(*(rule.taps,) * axes):
        at = np.zeros(flat.shape[:2], np.int64)
        ok = np.ones(flat.shape[:2], np.bool_)
        weight: Any = np.ones(flat.shape[:2])
        slopes: list[Any] = [np.ones(flat.shape[:2])] * axes
        for i, t in enumerate(tap):
            position, w, s = (p[t] for p in parts[i])
            ok = ok & (position >= 0)
            at = at * x.shape[i + 2] + np.maximum(position, 0)
            weight = weight * w
            slopes = [v * (s if i == j else w) for j, v in enumerate(slopes)]
        yield at[:, None], ok[:, None], weight[:, None], slopes


@kernel("GridSample", since=20, types="FH", fresh=True)
def _grid_sample(call: Call) -> Function:
    rule = Sampling.of(call)

    def run(x: Array, grid: Array) -> Array:
        rule.check(x, grid)
        shape = (*x.shape[:2], *grid.shape[1:-1])
        total = np.zeros((*x.shape[:2], math.prod(shape[2:])))
        flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:])).astype(np.float64)
        for at, ok, weight, _ in _sampled(x, grid, rule):
            if flat.shape[2]:
                taken = np.take_along_axis(flat, np.where(ok, at, 0), 2)
                total += np.where(ok, weight * taken, 0.0)
        return total.reshape(shape).astype(x.dtype)

    return run


@kernel("GridSampleGrad", domain="graphio", types="FHF", fresh=True)
def _grid_sample_grad(call: Call) -> Function:
    rule = Sampling.of(call)

    def run(x: Array, grid: Array, dy: Array) -> tuple[Array, Array]:
        rule.check(x, grid)
        n, c, axes = x.shape[0], x.shape[1], x.ndim - 2
        if dy.shape != (n, c, *grid.shape[1:-1]):
            raise _invalid(f"dy has shape {list(dy.shape)}, expected the result's")
        area, positions = math.prod(x.shape[2:]), math.prod(grid.shape[1:-1])
        flat = x.reshape(n, c, area).astype(np.float64)
        g = dy.reshape(n, c, positions).astype(np.float64)
        dx, dgrid = np.zeros((n, c, area)), np.zeros((n, positions, axes))
        rows = np.arange(n)[:, None, None], np.arange(c)[None, :, None]
        for at, ok, weight, slopes in _sampled(x, grid, rule) if area else ():
            at = np.broadcast_to(np.where(ok, at, 0), g.shape)
            np.add.at(dx, (*rows, at), np.where(ok, weight * g, 0.0))
            value = np.where(ok, np.take_along_axis(flat, at, 2) * g, 0.0).sum(1)
            for i, slope in enumerate(slopes):
                dgrid[..., axes - 1 - i] += slope * value
        return dx.reshape(x.shape).astype(x.dtype), dgrid.reshape(grid.shape).astype(grid.dtype)

    return run


# ---- RoiAlign ----


@dataclass(frozen=True)
class Regions:
    """The attributes of RoiAlign."""

    maximum: bool
    half: bool
    out: tuple[int, int]
    ratio: int
    scale: float

    @classmethod
    def of(cls, call: Call) -> Regions:
        """Reads and checks them."""
        words = ("half_pixel", "output_half_pixel")
        half = _one_of(call, "coordinate_transformation_mode", "half_pixel", words)
        out = call.integer("output_height", 1), call.integer("output_width", 1)
        ratio = call.integer("sampling_ratio", 0)
        if min(out) < 1 or max(out) >= 1 << 24 or not 0 <= ratio < 1 << 16:
            raise _invalid(
                f"output_height {out[0]}, output_width {out[1]} or sampling_ratio {ratio} is out "
                "of range"
            )
        maximum = _one_of(call, "mode", "avg", ("avg", "max")) == "max"
        return cls(maximum, half == "half_pixel", out, ratio, call.number("spatial_scale", 1.0))

    def check(self, x: Array, rois: Array, batch: Array) -> None:
        """Refuses shapes and indices that do not fit."""
        if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or batch.shape != rois.shape[:1]:
            raise _invalid("expected x (n, c, h, w), rois (r, 4) and integer batch_indices (r)")
        wrong = (batch < 0) | (batch >= x.shape[0])
        if wrong.any():
            raise _invalid(f"batch index {batch[wrong][0]} is outside [0, {x.shape[0]})")
        for roi in rois:
            (_, _, rows), (_, _, columns) = self.sides(roi)
            if rows * columns > MOST_SAMPLES:
                raise _invalid(
                    f"region {roi.tolist()} takes {rows} x {columns} samples for a bin, the limit "
                    "is 2^22"
                )

    def sides(self, roi: Array) -> list[tuple[float, float, int]]:
        """The start of a region, the size of a bin and its samples, along the rows and columns."""
        box = roi.astype(np.float64) * self.scale - (0.5 if self.half else 0.0)
        found = []
        for i, out in enumerate(self.out):
            start, length = float(box[1 - i]), float(box[3 - i] - box[1 - i])
            if not self.half and not length > 1.0:  # NaN too
                length = 1.0
            step = length / out
            taps = math.ceil(min(step, 65536.0)) if step > 0.0 else 0
            found.append((start, step, self.ratio or taps))
        return found

    def samples(self, roi: Array, size: tuple[int, int]) -> tuple[Array, Array]:
        """Elements (4, bins, samples) of an image and their weights, 0 outside."""
        sides = []
        for (start, step, taps), n, out in zip(self.sides(roi), size, self.out, strict=True):
            at = np.arange(out)[:, None] * step + (np.arange(taps) + 0.5) * step / max(taps, 1)
            sides.append(_neighbours(start + at, n))
        (y, wy), (x, wx) = sides
        shape = (4, self.out[0] * self.out[1], -1 if wy.size and wx.size else 0)
        at = y[:, None, :, None, :, None] * size[1] + x[None, :, None, :, None, :]
        weights = wy[:, None, :, None, :, None] * wx[None, :, None, :, None, :]
        return at.reshape(shape), weights.reshape(shape)


def _neighbours(v: Array, n: int) -> tuple[Array, Array]:
    """The two elements around each coordinate and their weights, (2, ...)."""
    inside = (v >= -1) & (v <= n)
    v = np.where(inside, v, 0)
    low = np.minimum(np.maximum(v, 0).astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    part = np.where(low >= n - 1, 0.0, np.maximum(v, 0) - low)
    weights = np.stack([1 - part, part]) * inside
    return np.stack([low, high]), weights


@kernel("RoiAlign", since=16, types="FFI", fresh=True)
def _roi_align(call: Call) -> Function:
    rule = Regions.of(call)

    def run(x: Array, rois: Array, batch: Array) -> Array:
        rule.check(x, rois, batch)
        y = np.zeros((len(rois), x.shape[1], rule.out[0] * rule.out[1]))
        for r, roi in enumerate(rois) if x.size else ():
            at, weights = rule.samples(roi, (x.shape[2], x.shape[3]))
            flat = x[batch[r]].reshape(x.shape[1], -1).astype(np.float64)
            if at.shape[2]:
                terms = flat[:, at] * weights
                y[r] = terms.max((1, 3)) if rule.maximum else terms.sum((1, 3)) / at.shape[2]
        return y.reshape(len(rois), x.shape[1], *rule.out).astype(x.dtype)

    return run


@kernel("RoiAlignGrad", domain="graphio", types="FFIF", fresh=True)
def _roi_align_grad(call: Call) -> Function:
    rule = Regions.of(call)

    def run(x: Array, rois: Array, batch: Array, dy: Array) -> Any:
        rule.check(x, rois, batch)
        if dy.shape != (len(rois), x.shape[1], *rule.out):
            raise _invalid(f"dy has shape {list(dy.shape)}, expected the result's")
        dx = np.zeros((*x.shape[:2], x.shape[2] * x.shape[3]))
        for r, roi in enumerate(rois) if x.size else ():
            at, weights = rule.samples(roi, (x.shape[2], x.shape[3]))
            if not at.shape[2]:
                continue
            g = dy[r].reshape(x.shape[1], 1, -1, 1).astype(np.float64)
            shares = weights * g / at.shape[2]
            if rule.maximum:
                flat = x[batch[r]].reshape(x.shape[1], -1).astype(np.float64)
                terms = (flat[:, at] * weights).transpose(0, 2, 3, 1)
                best = terms.reshape(*terms.shape[:2], -1).argmax(2)
                chosen = np.arange(terms[0, 0].size) == best[..., None]
                shares = weights * g * chosen.reshape(terms.shape).transpose(0, 3, 1, 2)
            for c in range(x.shape[1]):
                np.add.at(dx[batch[r], c], at, shares[c])
        return dx.reshape(x.shape).astype(x.dtype)

    return run


# ---- MaxRoiPool ----


def _bins(low: float, high: float, out: int, n: int) -> list[tuple[int, int]]:
    """Where the bins of a region lie along an axis, whose ends are rounded half away from 0."""
    ends = [math.floor(abs(v) + 0.5) * (1 if v >= 0 else -1) for v in (low, high)]
    step = max(ends[1] - ends[0] + 1, 1) / out
    return [
        (
            min(max(math.floor(i * step) + ends[0], 0), n),
            min(max(math.ceil((i + 1) * step) + ends[0], 0), n),
        )
        for i in range(out)
    ]


@kernel("MaxRoiPool", since=1, types="FF", fresh=True)
def _max_roi_pool(call: Call) -> Function:
    shape, scale = call.integers("pooled_shape") or [], call.number("spatial_scale", 1.0)
    if len(shape) != 2 or min(shape) < 1 or max(shape) >= 1 << 24:
        raise _invalid(f"pooled_shape is {shape}, expected height and width")

    def run(x: Array, rois: Array) -> Array:
        if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
            raise _invalid("expected x (n, c, h, w) and rois (r, 5)")
        y = np.zeros((len(rois), x.shape[1], *shape), x.dtype)
        for r, roi in enumerate(rois.astype(np.float64)):
            if not (0 <= roi[0] < x.shape[0] and (np.abs(roi[1:] * scale) < 1e9).all()):
                raise _invalid(f"region {r} is {roi.tolist()}: its image or corners do not exist")
            left, top, right, bottom = (float(v) * scale for v in roi[1:])
            for i, (y0, y1) in enumerate(_bins(top, bottom, shape[0], x.shape[2])):
                for j, (x0, x1) in enumerate(_bins(left, right, shape[1], x.shape[3])):
                    if y0 < y1 and x0 < x1:
                        y[r, :, i, j] = x[int(roi[0]), :, y0:y1, x0:x1].max((1, 2))
        return y

    return run
