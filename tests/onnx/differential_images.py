"""One row for each operator of windows and images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from differential_maker import (
    FLOATS,
    Call,
    Maker,
    positive_scale,
    row,
)


@dataclass(frozen=True)
class Window:
    """Attributes of a window over spatial axes."""

    sizes: list[int]
    kernel: list[int]
    attrs: dict[str, Any]


def window(m: Maker, most: int = 3, *, dilated: bool = True, auto: bool = True) -> Window:
    """Sizes of an image and a kernel that fits into it at least once."""
    axes = m.int(1, most)
    kernel = [m.int(1, 3) for _ in range(axes)]
    dilations = [m.int(1, 2) if dilated else 1 for _ in range(axes)]
    sizes = [(k - 1) * d + 1 + m.int(0, 5 - axes) for k, d in zip(kernel, dilations, strict=True)]
    attrs: dict[str, Any] = {"strides": [m.int(1, 3) for _ in range(axes)]}
    if dilated:
        attrs["dilations"] = dilations
    how = m.pick(["explicit", "none", "SAME_UPPER", "SAME_LOWER", "VALID"]) if auto else "explicit"
    if how == "explicit":
        attrs["pads"] = [m.int(0, kernel[i % axes] - 1) for i in range(2 * axes)]
    elif how != "none":
        attrs["auto_pad"] = how
        if how != "VALID" and dilated:
            attrs["dilations"] = [1] * axes
    return Window(sizes, kernel, attrs)


@row("Conv")
def _conv(m: Maker, op: str) -> Call:
    w, group, ins = window(m), m.pick([1, 2, 3]), m.int(1, 3)
    outs = m.pick([1, 2, 5])
    x = m.fresh(m.pick(FLOATS), [m.int(0, 2) or 1, group * ins, *w.sizes], True)
    inputs = [x, m.like(x, [group * outs, ins, *w.kernel], True)]
    inputs += [m.like(x, [group * outs], True)] if m.bool() else []
    return Call(op, inputs, {**w.attrs, "group": group}, sums=True)


@row("ConvTranspose")
def _conv_transpose(m: Maker, op: str) -> Call:
    w, group, ins = window(m, 2, auto=False), m.pick([1, 2, 3]), m.int(1, 3)
    attrs = dict(w.attrs)
    if m.bool():
        attrs["output_padding"] = [m.int(0, s - 1) for s in attrs["strides"]]
    x = m.fresh(m.pick(FLOATS), [m.int(1, 2), group * ins, *w.sizes], True)
    outs = m.int(1, 3)
    inputs = [x, m.like(x, [group * ins, outs, *w.kernel], True)]
    inputs += [m.like(x, [group * outs], True)] if m.bool() else []
    return Call(op, inputs, {**attrs, "group": group}, sums=True)


@row("ConvInteger")
def _conv_integer(m: Maker, op: str) -> Call:
    w = window(m, 2, auto=False)
    x = m.fresh("uint8", [m.int(1, 2), m.int(1, 3), *w.sizes])
    kernel = m.fresh(m.pick(["uint8", "int8"]), [m.int(1, 3), m[x].shape[1], *w.kernel])
    zeros = [m.add(m.int(0, 9), m[n].dtype) for n in (x, kernel)]
    return Call(op, [x, kernel, *zeros[: m.int(0, 2)]], w.attrs)


@row("MaxPool", "AveragePool", "LpPool")
def _pool(m: Maker, op: str) -> Call:
    w = window(m)
    types = (*FLOATS, "int8", "uint8") if op == "MaxPool" else FLOATS
    x = m.fresh(m.pick(types), [m.int(1, 2), m.int(1, 3), *w.sizes], op != "MaxPool")
    attrs: dict[str, Any] = {**w.attrs, "kernel_shape": w.kernel}
    if "auto_pad" not in attrs:
        attrs["ceil_mode"] = m.int(0, 1)
    if op == "AveragePool":
        attrs["count_include_pad"] = m.int(0, 1)
    if op == "LpPool":
        attrs["p"] = m.int(1, 3)
    outputs = 2 if op == "MaxPool" and "auto_pad" not in attrs and m.bool() else 1
    return Call(op, [x], attrs, outputs, sums=op != "MaxPool", loose=8)


@row("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(3, 4), least=1, tame=op != "GlobalMaxPool")
    attrs = {"p": m.int(1, 3)} if op == "GlobalLpPool" else {}
    return Call(op, [x], attrs, sums=op != "GlobalMaxPool", loose=8)


@row("Col2Im")
def _col2im(m: Maker, op: str) -> Call:
    size, kernel, stride = [m.int(3, 5) for _ in "hw"], [m.int(1, 3) for _ in "hw"], m.int(1, 2)
    count = int(np.prod([(s - k) // stride + 1 for s, k in zip(size, kernel, strict=True)]))
    shape = [m.int(1, 2), m.int(1, 2) * int(np.prod(kernel)), count]
    x = m.fresh(m.pick(("float32", "float64")), shape, True)
    return Call(op, [x, m.ints(*size), m.ints(*kernel)], {"strides": [stride] * 2}, sums=True)


@row("Resize")
def _resize(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float32", "uint8", "int32"), rank=(3, 4), least=1, tame=True)
    rank = m[x].ndim
    mode = m.pick(["nearest", "linear", "cubic"]) if rank == 4 else m.pick(["nearest", "linear"])
    attrs: dict[str, Any] = {"mode": mode}
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    attrs["coordinate_transformation_mode"] = m.pick(modes)
    if mode == "nearest":
        modes = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        attrs["nearest_mode"] = m.pick(modes)
    if mode == "cubic":
        attrs["cubic_coeff_a"], attrs["exclude_outside"] = m.pick([-0.75, -0.5]), m.int(0, 1)
    if m.bool():
        sizes = [*m[x].shape[:2], *(m.int(1, 7) for _ in range(rank - 2))]
        return Call(op, [x, "", "", m.ints(*sizes)], attrs, sums=True, loose=50, off_by=1)
    scales = [1.0, 1.0, *(m.pick([1.0, 2.0, 0.5, 1.5]) for _ in range(rank - 2))]
    scales = [1.0 if n == 1 and s < 1 else s for n, s in zip(m[x].shape, scales, strict=True)]
    return Call(op, [x, "", m.add(scales, "float32")], attrs, sums=True, loose=50, off_by=1)


@row("GridSample")
def _grid_sample(m: Maker, op: str) -> Call:
    sizes = [m.int(1, 4) for _ in range(m.pick([2, 2, 3]))]
    x = m.fresh(m.pick(["float32", "float64"]), [m.int(1, 2), m.int(1, 3), *sizes], True)
    samples = [m.int(1, 4) for _ in sizes]
    grid = m.add(np.tanh(m.array(m[x].dtype.name, [m[x].shape[0], *samples, len(sizes)], True)))
    attrs = {
        "mode": m.pick(
            ["linear", "nearest", "cubic"] if len(sizes) == 2 else ["linear", "nearest"]
        ),
        "padding_mode": m.pick(["zeros", "border", "reflection"]),
        "align_corners": m.int(0, 1),
    }
    return Call(op, [x, grid], attrs, sums=True, loose=50)


@row("RoiAlign")
def _roi_align(m: Maker, op: str) -> Call:
    x = m.fresh("float32", [m.int(1, 2), m.int(1, 3), m.int(2, 5), m.int(2, 5)], True)
    count = m.int(0, 3)
    corners = np.abs(m.array("float32", [count, 2], True))
    more = np.abs(m.array("float32", [count, 2], True)) + np.float32(0.5)
    boxes = m.add(np.concatenate([corners, corners + more], 1))
    images = m.add(m.indices(m[x].shape[0], [count], negative=False))
    attrs = {
        "mode": m.pick(["avg", "max"]),
        "output_height": m.int(1, 3),
        "output_width": m.int(1, 3),
        "sampling_ratio": m.int(0, 2),
        "coordinate_transformation_mode": m.pick(["half_pixel", "output_half_pixel"]),
    }
    return Call(op, [x, boxes, images], attrs, sums=True, loose=50)


@row("NonMaxSuppression")
def _non_max_suppression(m: Maker, op: str) -> Call:
    batch, count, classes = m.int(1, 2), m.int(1, 6), m.int(1, 3)
    boxes = m.fresh("float32", [batch, count, 4], True)
    scores = m.fresh("float32", [batch, classes, count], True)
    limits = [m.add(v, "float32") for v in (m.pick([0.5, 0.0, 0.3]), m.pick([0.0, -1.0, 0.5]))]
    inputs = [boxes, scores, m.add(m.int(0, 4), "int64"), *limits[: m.int(0, 2)]]
    return Call(op, inputs, {"center_point_box": m.int(0, 1)})


@row("MaxUnpool")
def _max_unpool(m: Maker, op: str) -> Call:
    sizes = [m.int(1, 3) for _ in range(m.int(1, 2))]
    x = m.fresh("float32", [1, m.int(1, 2), *sizes], True)
    total = m[x].size * 2 ** len(sizes)
    positions = np.random.RandomState(m.int(0, 99)).permutation(total)[: m[x].size]
    indices = m.add(positions.reshape(m[x].shape).astype(np.int64))
    ends = [2] * len(sizes)
    return Call(op, [x, indices], {"kernel_shape": ends, "strides": ends})


@row("QLinearConv")
def _qlinear_conv(m: Maker, op: str) -> Call:
    w, outs = window(m, 2, auto=False), m.int(1, 3)
    x = m.fresh("uint8", [m.int(1, 2), m.int(1, 3), *w.sizes])
    kernel = m.fresh(m.pick(["uint8", "int8"]), [outs, m[x].shape[1], *w.kernel])
    kind = m[kernel].dtype.name
    each = [outs] if kind == "int8" and m.bool() else []
    zeros = [m.fresh("uint8", []), m.add(np.zeros(each, kind)), m.fresh("uint8", [])]
    scales = [positive_scale(m, []), positive_scale(m, each), positive_scale(m, [])]
    inputs = [x, scales[0], zeros[0], kernel, scales[1], zeros[1], scales[2], zeros[2]]
    inputs += [m.fresh("int32", [outs], True)] if m.bool() else []
    return Call(op, inputs, w.attrs, off_by=1)


@row("DeformConv")
def _deform_conv(m: Maker, op: str) -> Call:
    w, ins, outs = window(m, 2, auto=False), m.int(1, 2), m.int(1, 3)
    if len(w.sizes) != 2:
        return _conv(m, "Conv")
    x = m.fresh("float32", [1, ins, *w.sizes], True)
    pads, k = w.attrs["pads"], w.kernel
    out = [
        (w.sizes[i] + pads[i] + pads[i + 2] - (k[i] - 1) * w.attrs["dilations"][i] - 1)
        // w.attrs["strides"][i]
        + 1
        for i in range(2)
    ]
    offsets = m.like(x, [1, 2 * k[0] * k[1], *out], True)
    return Call(op, [x, m.like(x, [outs, ins, *k], True), offsets], w.attrs, sums=True, loose=50)
