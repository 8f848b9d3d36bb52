"""ONNX's convolutions, channels first, against loops over windows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray


def geometry(x: Any, w: Any, attrs: Any) -> tuple[list[int], list[int], list[int], list[int]]:
    """strides, dilations, padding before and number of windows, by axis."""
    rank = len(x) - 2
    strides = attrs.get("strides", [1] * rank)
    gaps = attrs.get("dilations", [1] * rank)
    pads = attrs.get("pads", [0] * (2 * rank))
    mode = attrs.get("auto_pad", "NOTSET")
    before, out = [], []
    for i in range(rank):
        reach = (w[2 + i] - 1) * gaps[i] + 1
        first, last = pads[i], pads[rank + i]
        if mode.startswith("SAME"):
            total = max((-(-x[2 + i] // strides[i]) - 1) * strides[i] + reach - x[2 + i], 0)
            first = (total + (mode == "SAME_LOWER")) // 2
            last = total - first
        before.append(first)
        out.append((x[2 + i] + first + last - reach) // strides[i] + 1)
    return strides, gaps, before, out


def visits(x: Any, w: Any, attrs: Any) -> Any:
    """(window, tap, position in the image) for each tap inside of it."""
    strides, gaps, before, out = geometry(x, w, attrs)
    for at in itertools.product(*map(range, out)):
        for tap in itertools.product(*map(range, w[2:])):
            position = tuple(
                a * s + t * d - b
                for a, s, t, d, b in zip(at, strides, tap, gaps, before, strict=True)
            )
            if all(0 <= p < n for p, n in zip(position, x[2:], strict=True)):
                yield (slice(None), *at), (slice(None), *tap), (slice(None), *position)


def conv(x: Array, w: Array, b: Array | None = None, **attrs: Any) -> Array:
    group = attrs.get("group", 1)
    y = np.zeros((len(x), len(w), *geometry(x.shape, w.shape, attrs)[3]), x.dtype)
    m, c = len(w) // group, w.shape[1]
    for at, tap, position in visits(x.shape, w.shape, attrs):
        for g in range(group):
            rows = w[g * m : (g + 1) * m][(slice(None), *tap)]
            for image in range(len(x)):
                y[image][at][g * m : (g + 1) * m] += rows @ x[image][position][g * c : (g + 1) * c]
    return y if b is None else y + b.reshape(-1, *[1] * (x.ndim - 2))


def transposed(x_shape: Any, w: Array, dy: Array, attrs: Any) -> Array:
    """The gradient of conv by x."""
    group = attrs.get("group", 1)
    dx = np.zeros(x_shape)
    m, c = len(w) // group, w.shape[1]
    for at, tap, position in visits(x_shape, w.shape, attrs):
        if any(a >= n for a, n in zip(at[1:], dy.shape[2:], strict=True)):
            continue
        for g in range(group):
            rows = w[g * m : (g + 1) * m][(slice(None), *tap)]
            for image in range(len(dy)):
                part = dy[image][at][g * m : (g + 1) * m]
                dx[image][position][g * c : (g + 1) * c] += rows.T @ part
    return dx


def weights(x: Array, w_shape: Any, dy: Array, attrs: Any) -> Array:
    """The gradient of conv by w."""
    group = attrs.get("group", 1)
    dw = np.zeros(w_shape)
    m, c = w_shape[0] // group, w_shape[1]
    for at, tap, position in visits(x.shape, w_shape, attrs):
        for g in range(group):
            for image in range(len(x)):
                part = dy[image][at][g * m : (g + 1) * m]
                channels = x[image][position][g * c : (g + 1) * c]
                dw[g * m : (g + 1) * m][(slice(None), *tap)] += np.outer(part, channels)
    return dw


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 9), (4, 3, 3), {"strides": [2], "pads": [2, 1]}),
    ((2, 2, 6, 5), (3, 2, 3, 2), {"pads": [1, 0, 2, 1], "dilations": [2, 1]}),
    ((1, 4, 5, 7), (6, 2, 2, 3), {"group": 2, "strides": [2, 3]}),
    ((2, 3, 6, 5), (3, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1], "strides": [1, 2]}),
    ((2, 3, 4, 5), (2, 3, 1, 1), {"kernel_shape": [1, 1]}),
    ((1, 2, 7, 6), (2, 2, 3, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 1]}),
    ((1, 2, 7, 6), (2, 2, 3, 4), {"auto_pad": "SAME_LOWER", "strides": [2, 1]}),
    ((1, 2, 5, 5), (2, 2, 3, 3), {"auto_pad": "VALID"}),
    ((1, 40, 3, 3), (3, 40, 3, 3), {"label": "one window"}),
    ((1, 40, 3, 5), (9, 40, 3, 3), {"label": "three windows"}),
    ((1, 33, 19, 17), (17, 33, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 2, 4, 3, 5), (4, 1, 2, 2, 3), {"group": 2, "pads": [0, 1, 1, 1, 0, 0]}),
    ((1, 1, 3, 3, 3, 3), (2, 1, 2, 2, 1, 2), {"strides": [1, 2, 1, 1]}),
    ((0, 2, 4, 4), (3, 2, 2, 2), {}),
    ((1, 0, 4, 4), (3, 0, 2, 2), {}),
    ((1, 2, 1, 1), (3, 2, 3, 3), {"pads": [3, 2, 1, 2]}),
]
for number, (x_dims, w_dims, given) in enumerate(SHAPES):
    attrs = {k: v for k, v in given.items() if k != "label"}
    name = f"{given.get('label', '')} {list(x_dims)} {list(w_dims)} {number}".strip()
    X, W, B = floats(*x_dims), floats(*w_dims, seed=1), floats(w_dims[0], seed=2)
    DY = floats(x_dims[0], w_dims[0], *geometry(x_dims, w_dims, attrs)[3], seed=3)
    settings: dict[str, Any] = {"types": FLOATS, "rtol": 2e-5, "atol": 5e-5, "label": name}
    case("Conv", [X, W, B], attrs, expect=lambda x, w, b, a=attrs: conv(x, w, b, **a), **settings)
    case(
        "ConvGradInput",
        [np.array(x_dims), W, DY],
        attrs,
        expect=lambda s, w, dy, a=attrs: transposed(s.tolist(), w, dy, a),
        domain="graphio",
        **settings,
    )
    case(
        "ConvGradWeight",
        [X, np.array(w_dims), DY],
        attrs,
        expect=lambda x, s, dy, a=attrs: weights(x, s.tolist(), dy, a),
        domain="graphio",
        **settings,
    )
case(
    "Conv",
    [floats(1, 2, 5), floats(3, 2, 2, seed=1)],
    expect=lambda x, w: conv(x, w),
    types=FLOATS,
    rtol=1e-5,
    atol=1e-6,
    label="no bias",
)
for image in ([2, 3, 5, 4], [1, 3, 5, 4]):
    dims = [image[0], 2, 2, 2]
    case(
        "ConvGradInput",
        [np.array(image), floats(2, 3, 2, 2, seed=1), floats(*dims, seed=2)],
        expect=lambda s, w, dy: transposed(s.tolist(), w, dy, {}),
        domain="graphio",
        types=FLOATS,
        rtol=1e-5,
        atol=1e-5,
        label=f"fewer windows {image[0]}",
    )

for x_dims, w_dims, size, attrs in (
    ((2, 2, 4), (2, 3, 3), [8], {"strides": [2], "pads": [1, 1], "output_padding": [1]}),
    ((1, 2, 3, 4), (2, 2, 3, 2), [6, 10], {"strides": [2, 3], "pads": [1, 0, 0, 1]}),
    ((1, 4, 3, 3), (4, 1, 2, 3), [5, 5], {"group": 2, "dilations": [2, 1]}),
    ((1, 2, 2, 3, 2), (2, 2, 2, 1, 2), [4, 3, 3], {"strides": [2, 1, 1]}),
    ((1, 1, 1, 1), (1, 1, 2, 2), [2, 2], {}),
    ((0, 1, 2, 2), (1, 3, 2, 2), [3, 3], {}),
):
    m = w_dims[1] * attrs.get("group", 1)
    case(
        "ConvTranspose",
        [floats(*x_dims), floats(*w_dims, seed=1), floats(m, seed=2)],
        attrs,
        expect=lambda x, w, b, a=attrs, s=size, m=m: (
            transposed((len(x), m, *s), w, x, {k: v for k, v in a.items() if k != "output_padding"})
            + b.reshape(-1, *[1] * (x.ndim - 2))
        ),
        types=FLOATS,
        rtol=1e-5,
        atol=1e-5,
        label=f"{list(x_dims)} {list(w_dims)}",
    )
case(
    "ConvTranspose",
    [floats(1, 1, 3), floats(1, 1, 2, seed=1), np.array([0.5])],
    {"strides": [2], "output_shape": [9]},
    expect=lambda x, w, b: transposed((1, 1, 9), w, x, {"strides": [2]}) + b,
    types=FLOATS,
    label="wider than the windows reach",
)


def sums(x: Array, w: Array, zx: int, zw: Any, **attrs: Any) -> Array:
    less = np.asarray(zw, np.int64).reshape(-1, *[1] * (w.ndim - 1))
    return conv(x.astype(np.int64) - zx, w.astype(np.int64) - less, **attrs)


for x_type, w_type, zero in (("uint8", "uint8", 130), ("uint8", "int8", 3), ("int8", "int8", -7)):
    low = {"uint8": (0, 256), "int8": (-128, 128)}
    QX = integers(2, 4, 6, 5, low=low[x_type][0], high=low[x_type][1], dtype=x_type)
    QW = integers(6, 2, 3, 2, low=low[w_type][0], high=low[w_type][1], dtype=w_type, seed=1)
    ROWS = np.arange(6).astype(w_type)
    attrs = {"group": 2, "pads": [1, 0, 1, 1], "strides": [1, 2]}
    case(
        "ConvInteger",
        [QX, QW, np.array(zero, x_type), ROWS],
        attrs,
        expect=[sums(QX, QW, zero, ROWS, **attrs).astype(np.int32)],
        label=f"{x_type} {w_type}",
    )
    case(
        "ConvInteger",
        [QX, QW],
        attrs,
        expect=[sums(QX, QW, 0, 0, **attrs).astype(np.int32)],
        label=f"{x_type} {w_type} no zero points",
    )
    SW = (np.arange(6) + 1).astype(np.float32) / 512
    BIAS = integers(6, low=-3000, high=3000, dtype="int32")
    TOTAL = sums(QX, QW, zero, ROWS, **attrs) + BIAS.reshape(-1, 1, 1)
    FACTOR = (np.float32(0.5) * SW / np.float32(0.75)).reshape(-1, 1, 1)
    SCALED = np.rint(TOTAL.astype(np.float32) * FACTOR) + zero
    case(
        "QLinearConv",
        [QX, np.float32(0.5), np.array(zero, x_type), QW, SW, ROWS, np.float32(0.75),
         np.array(zero, x_type), BIAS],
        attrs,
        expect=[np.clip(SCALED, *np.array(low[x_type]) - [0, 1]).astype(x_type)],
        label=f"{x_type} {w_type}",
    )  # fmt: skip


def col2im(x: Array, image: Any, block: Any, **attrs: Any) -> Array:
    shape = (len(x), x.shape[1] // int(np.prod(block)), *image)
    strides, _, _, out = geometry(shape, (1, 1, *block), attrs)
    columns = x.reshape(*shape[:2], *block, *out)
    y = np.zeros(shape)
    for at, tap, position in visits(shape, (1, 1, *block), attrs):
        y[(slice(None), *position)] += columns[(slice(None), slice(None), *tap[1:], *at[1:])]
    return y


for image, block, windows, attrs in (
    ([4, 5], [2, 3], 9, {}),
    ([4, 5], [2, 2], 10, {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}),
    ([6], [2], 3, {"strides": [2]}),
    ([3, 3, 4], [2, 1, 2], 18, {}),
):
    case(
        "Col2Im",
        [floats(2, 3 * int(np.prod(block)), windows), np.array(image), np.array(block)],
        attrs,
        expect=lambda x, i, b, a=attrs: col2im(x, i.tolist(), b.tolist(), **a),
        types=FLOATS,
        label=f"{image} {block}",
        rtol=1e-5,
        atol=1e-6,
    )


def deform(x: Array, w: Array, offset: Array, b: Array, mask: Array, **attrs: Any) -> Array:
    parts, group = attrs.pop("offset_group"), attrs.get("group", 1)
    strides, gaps, before, (oh, ow) = geometry(x.shape, w.shape, attrs)
    n, c, h, width = x.shape
    kh, kw = w.shape[2:]
    y = np.zeros((n, len(w), oh, ow)) + b.reshape(-1, 1, 1)
    for image, m, ci, i, j, p, q in itertools.product(
        range(n), range(len(w)), range(w.shape[1]), range(kh), range(kw), range(oh), range(ow)
    ):
        channel = m // (len(w) // group) * w.shape[1] + ci
        row = channel // (c // parts) * kh * kw + i * kw + j
        at_y = p * strides[0] + i * gaps[0] - before[0] + offset[image, 2 * row, p, q]
        at_x = q * strides[1] + j * gaps[1] - before[1] + offset[image, 2 * row + 1, p, q]
        value = 0.0
        for r, s in itertools.product(range(h), range(width)):
            value += max(0, 1 - abs(at_y - r)) * max(0, 1 - abs(at_x - s)) * x[image, channel, r, s]
        y[image, m, p, q] += w[m, ci, i, j] * value * mask[image, row, p, q]
    return y


DEFORM = {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": 2, "offset_group": 2}
case(
    "DeformConv",
    [floats(2, 4, 4, 4), floats(2, 2, 2, 2, seed=1), floats(2, 16, 3, 4, seed=2, low=-5, high=5),
     floats(2, seed=3), floats(2, 8, 3, 4, seed=4)],
    DEFORM,
    expect=lambda x, w, o, b, m: deform(x, w, o, b, m, **DEFORM),
    types=FLOATS,
    rtol=2e-5,
    atol=2e-5,
    label="groups",
)  # fmt: skip

# ---- refusals ----

X, W = floats(1, 2, 5, 5), floats(3, 2, 3, 3)
for label, inputs, attrs, words in (
    ("channels", [floats(1, 3, 5, 5), W], {}, ["Conv 'node'", "channels"]),
    ("group", [X, W], {"group": 0}, ["group"]),
    ("outputs", [floats(1, 4, 5, 5), floats(3, 2, 3, 3)], {"group": 2}, ["group"]),
    ("ranks", [X, floats(3, 2, 3)], {}, ["rank"]),
    ("no axis", [floats(1, 2), floats(3, 2)], {}, ["rank"]),
    ("window", [X, floats(3, 2, 6, 3)], {}, ["does not fit"]),
    ("stride", [X, W], {"strides": [1, 0]}, ["strides"]),
    ("strides", [X, W], {"strides": [1]}, ["strides"]),
    ("dilation", [X, W], {"dilations": [-1, 1]}, ["dilations"]),
    ("pads", [X, W], {"pads": [0, -1, 0, 0]}, ["pads"]),
    ("kernel_shape", [X, W], {"kernel_shape": [3, 2]}, ["kernel_shape"]),
    ("auto_pad", [X, W], {"auto_pad": "SAME"}, ["auto_pad"]),
    ("bias", [X, W, floats(2)], {}, ["bias"]),
):
    bad("Conv", inputs, attrs, error=INVALID, words=words, label=label)
T = floats(2, 3, 2, 2)
for label, inputs, attrs, words in (
    ("channels", [floats(1, 3, 4, 4), T], {}, ["group"]),
    ("output_padding", [X, T], {"output_padding": [1, 0]}, ["output_padding"]),
    ("output_shape", [X, T], {"output_shape": [7]}, ["output_shape"]),
    ("too much padding", [X, T], {"pads": [9, 9, 9, 9]}, ["axis 2"]),
):
    bad("ConvTranspose", inputs, attrs, error=INVALID, words=words, label=label)
for label, inputs, words in (
    ("dy", [np.array([1, 2, 5, 5]), W, floats(1, 3, 4, 3)], ["dy"]),
    ("outputs", [np.array([1, 2, 5, 5]), W, floats(1, 2, 3, 3)], ["dy"]),
):
    bad("ConvGradInput", inputs, error=INVALID, words=words, domain="graphio", label=label)
bad(
    "ConvInteger",
    [integers(1, 1, 3, low=0, high=9), integers(1, 1, 2, low=0, high=9)],
    error=errors.UnimplementedError,
    words=["int8 and uint8"],
    version=10,
    label="int64",
)
bad(
    "ConvInteger",
    [np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1, 2), np.uint8), np.zeros(2, np.uint8)],
    error=INVALID,
    words=["expected one"],
    label="zero points of x",
)
bad(
    "Col2Im",
    [floats(1, 5, 4), np.array([3, 3]), np.array([2, 2])],
    error=INVALID,
    words=["input"],
    label="rows",
)
bad(
    "DeformConv",
    [X, W, floats(1, 18, 2, 3)],
    error=INVALID,
    words=["offset"],
    label="offset",
)
bad(
    "DeformConv",
    [X, W, floats(1, 18, 3, 3)],
    {"offset_group": 3},
    error=INVALID,
    words=["offset_group"],
    label="offset_group",
)
