"""The sums of docs/numerics.md in numpy, bit by bit: an oracle for cinfer's float32 kernels.

Written from that page, not from the C source. Every function takes and returns float32 arrays;
loops run over the terms of a sum, arrays over its outputs, so the order is the page's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
F = np.float32


def fma(a: Any, b: Any, c: Any) -> Array:
    """a * b + c with one rounding, by an exact multiply and a sum rounded to odd in float64."""
    with np.errstate(all="ignore"):
        p = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        d = np.asarray(c, np.float64)
        s = np.asarray(p + d)
        d_part = s - p
        error = (p - (s - d_part)) + (d - d_part)
        inexact = (error != 0) & np.isfinite(s) & np.isfinite(error)
        bits = s.view(np.int64)
        odd = (bits - ((error < 0) != (s < 0))) | 1
        return np.asarray(np.where(inexact, odd, bits).view(np.float64).astype(F))


def add(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(a, F) + np.asarray(b, F), F)


def mul(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(a, F) * np.asarray(b, F), F)


def divide(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(a, F) / np.asarray(b, F), F)


# ---- orders of summation ----


def tree(lanes: Array) -> Array:
    """lanes (16, ...) -> (...)."""
    for half in (8, 4, 2, 1):
        lanes = add(lanes[:half], lanes[half : 2 * half])
    return np.asarray(lanes[0], F)


def block_length(k: int, n: int) -> int:
    length = -(-k // 4) if n <= 16 else -(-k // 2) if n <= 32 else k
    return min(256, max(16, length))


def lane_sum(term: Any, count: int, shape: tuple[int, ...]) -> Array:
    """16 or 64 lanes and the tree; term(lanes, k, n) adds the terms k .. k + n - 1 to n lanes."""
    many = count >= 256
    lanes = np.zeros((64 if many else 16, *shape), F)
    k = 0
    while many and k + 64 <= count:
        lanes = term(lanes, k, 64)
        k += 64
    for start in range(k, count, 16):
        lanes[:16] = term(lanes[:16], start, 16)
    if many:
        low, high = add(lanes[:16], lanes[16:32]), add(lanes[32:48], lanes[48:64])
        lanes = add(low, high)
    return tree(lanes)


def block_sum(step: Any, count: int, length: int, shape: tuple[int, ...]) -> Array:
    """Chains of step(accumulator, k) over blocks of `length`, added in order."""
    total: Array | None = None
    for start in range(0, count, length):
        chain = np.zeros(shape, F)
        for k in range(start, min(start + length, count)):
            chain = step(chain, k)
        total = chain if total is None else add(total, chain)
    return np.zeros(shape, F) if total is None else total


def padded(x: Array, start: int, number: int) -> Array:
    """x[start : start + number] along the first axis, +0 beyond its end."""
    part = x[start : start + number]
    missing = np.zeros((number - len(part), *x.shape[1:]), F)
    return np.concatenate([part, missing])


# ---- matrix multiplications ----


def matmul(a: Array, b: Array) -> Array:
    """a (m, k), b (k, n) -> (m, n)."""
    (m, k), n = a.shape, b.shape[1]
    if k > 0 and (n == 1 or (n < 8 and k >= 32 * n)):
        at, bk = np.ascontiguousarray(a.T)[:, :, None], b[:, None, :]  # (k, m, 1), (k, 1, n)

        def term(lanes: Array, first: int, number: int) -> Array:
            return fma(padded(at, first, number), padded(bk, first, number), lanes)

        return lane_sum(term, k, (m, n))
    return block_sum(lambda acc, i: fma(a[:, i : i + 1], b[i], acc), k, block_length(k, n), (m, n))


def gemm(a: Array, b: Array, c: Array | None, alpha: float = 1.0, beta: float = 1.0) -> Array:
    """alpha a b + beta c; turn a and b before the call."""
    y = matmul(a, b)
    if alpha != 1:
        y = mul(alpha, y)
    if c is None or beta == 0:
        return y
    return add(y, c) if beta == 1 else fma(beta, np.broadcast_to(c, y.shape), y)


# ---- convolution ----

Four = tuple[int, int, int, int]
Pair = tuple[int, int]


class Window:
    """taps (pixels of an image, kh * kw): indices in h * w, -1 in the padding."""

    def __init__(
        self, image: Pair, kernel: Pair, strides: Pair, pads: Four, dilations: Pair
    ) -> None:
        out, rows = [], []
        for i in range(2):
            span = (kernel[i] - 1) * dilations[i] + 1
            out.append((image[i] + pads[i] + pads[i + 2] - span) // strides[i] + 1)
            first = np.arange(out[i])[:, None] * strides[i] - pads[i]
            at = first + np.arange(kernel[i]) * dilations[i]
            rows.append(np.where((at >= 0) & (at < image[i]), at, -1))
        y, x = rows[0][:, None, :, None], rows[1][None, :, None, :]
        self.oh, self.ow = out
        positions = np.where((y < 0) | (x < 0), -1, y * image[1] + x)
        self.taps = positions.reshape(out[0] * out[1], kernel[0] * kernel[1])


def patches(x: Array, window: Window) -> Array:
    """x (n, h, w, c) -> (n * oh * ow, taps * c), +0 in the padding."""
    n, h, w, c = x.shape
    flat = np.concatenate([x.reshape(n, h * w, c), np.zeros((n, 1, c), F)], axis=1)
    return flat[:, window.taps].reshape(n * len(window.taps), -1)


def conv2d(
    x: Array,
    w: Array,
    strides: Pair = (1, 1),
    pads: Four = (0, 0, 0, 0),
    dilations: Pair = (1, 1),
    group: int = 1,
) -> Array:
    """x (n, h, w, c), w (kh, kw, c / group, m) -> (n, oh, ow, m)."""
    kh, kw, ic, m = w.shape
    window = Window(x.shape[1:3], (kh, kw), strides, pads, dilations)
    oc, parts = m // group, []
    for g in range(group):
        p = patches(x[..., g * ic : (g + 1) * ic], window)
        filters = w[..., g * oc : (g + 1) * oc].reshape(kh * kw * ic, oc)
        if group > 1 and ic == 1 and oc == 1:  # depthwise: one chain

            def step(acc: Array, k: int, p: Array = p, filters: Array = filters) -> Array:
                return fma(p[:, k : k + 1], filters[k], acc)

            parts.append(block_sum(step, kh * kw, kh * kw, (len(p), 1)))
        else:
            parts.append(matmul(p, filters))
    return np.concatenate(parts, axis=1).reshape(x.shape[0], window.oh, window.ow, m)


def conv(
    x: Array,
    w: Array,
    bias: Array,
    strides: Pair = (1, 1),
    pads: Four = (0, 0, 0, 0),
    dilations: Pair = (1, 1),
    group: int = 1,
) -> Array:
    """Channels first: x (n, c, h, w), w (m, c / group, kh, kw), bias (m) -> (n, m, oh, ow)."""
    n, m, ic = len(x), len(w), w.shape[1]
    window = Window(x.shape[2:], w.shape[2:], strides, pads, dilations)
    oc, positions, parts = m // group, len(window.taps), []
    for image in x:
        for g in range(group):
            own = image[g * ic : (g + 1) * ic].reshape(ic, -1)
            taps = np.concatenate([own, np.zeros((ic, 1), F)], axis=1)[:, window.taps]
            columns = np.ascontiguousarray(taps.transpose(0, 2, 1).reshape(-1, positions))
            filters = w[g * oc : (g + 1) * oc].reshape(oc, -1)
            if group > 1 and ic == 1 and oc == 1:  # depthwise: one chain

                def step(acc: Array, k: int, f: Array = filters, c: Array = columns) -> Array:
                    return fma(f[:, k : k + 1], c[k], acc)

                parts.append(block_sum(step, len(columns), len(columns), (1, positions)))
            else:
                parts.append(matmul(filters, columns))
    y = np.concatenate(parts).reshape(n, m, window.oh, window.ow)
    return add(y, bias[:, None, None])


def conv2d_grad_filter(
    x: Array, dy: Array, kernel: Pair, strides: Pair = (1, 1), pads: Four = (0, 0, 0, 0)
) -> Array:
    """The gradient of conv2d (one group, no dilation) by w (kh, kw, c, m)."""
    window = Window(x.shape[1:3], kernel, strides, pads, (1, 1))
    dw = matmul(np.ascontiguousarray(patches(x, window).T), dy.reshape(-1, dy.shape[3]))
    return dw.reshape(*kernel, x.shape[3], dy.shape[3])


def conv2d_grad_input(
    shape: Four, w: Array, dy: Array, strides: Pair = (1, 1), pads: Four = (0, 0, 0, 0)
) -> Array:
    """The gradient of conv2d (one group, no dilation) by x of `shape`."""
    n, h, width, c = shape
    kh, kw, _, m = w.shape
    window = Window((h, width), (kh, kw), strides, pads, (1, 1))
    columns = matmul(dy.reshape(-1, m), np.ascontiguousarray(w.reshape(-1, m).T))
    columns = columns.reshape(n, len(window.taps), kh * kw, c)
    dx = np.zeros((n, h * width, c), F)
    for pixel, taps in enumerate(window.taps):
        for tap, position in enumerate(taps):
            if position >= 0:
                dx[:, position] = add(dx[:, position], columns[:, pixel, tap])
    return dx.reshape(shape)


# ---- sums, softmax, layer normalisation ----


def last_sum(x: Array) -> Array:
    """Sum over the last axis: 16 or 64 lanes and the tree."""
    terms = np.ascontiguousarray(np.moveaxis(x, -1, 0))
    return lane_sum(lambda lanes, k, n: add(lanes, padded(terms, k, n)), x.shape[-1], x.shape[:-1])


def middle_sum(x: Array) -> Array:
    """x (outer, reduced, inner) with inner > 1 -> (outer, inner): blocks of chains."""
    outer, count, inner = x.shape
    return block_sum(
        lambda acc, k: add(acc, x[:, k]), count, block_length(count, inner), (outer, inner)
    )


def square_sum(x: Array) -> Array:
    """Sum of squares over the last axis: fma(d, d, lane)."""
    terms = np.ascontiguousarray(np.moveaxis(x, -1, 0))

    def term(lanes: Array, k: int, n: int) -> Array:
        d = padded(terms, k, n)
        return fma(d, d, lanes)

    return lane_sum(term, x.shape[-1], x.shape[:-1])


def softmax(x: Array) -> Array:
    """Over the last axis; the sum always has 16 lanes."""
    e = exp(add(x, -np.max(x, axis=-1, keepdims=True)))
    terms = np.moveaxis(e, -1, 0)
    lanes = np.zeros((16, *x.shape[:-1]), F)
    for k in range(0, x.shape[-1], 16):
        lanes = add(lanes, padded(terms, k, 16))
    return mul(e, divide(1, tree(lanes))[..., None])


# ---- elementary functions ----


def hexes(text: str) -> Sequence[float]:
    return [float.fromhex(word) for word in text.split()]


EXP = hexes("0x1.fffffcp-2 0x1.555488p-3 0x1.5558a2p-5 0x1.12406ep-7 0x1.6a6544p-10")
LOG = hexes(
    "0x1.555506p-2 -0x1.ffff76p-3 0x1.99d03ap-3 -0x1.558620p-3 0x1.1ed77cp-3 "
    "-0x1.f59fbep-4 0x1.1e609ap-3 -0x1.027d94p-3"
)
TANH = hexes(
    "-0x1.55553ep-2 0x1.110b50p-3 -0x1.b929cep-5 0x1.5d0b98p-6 -0x1.e5a2a2p-8 0x1.9f70f4p-10"
)
ERF = hexes(
    "0x1.06eba8p-3 -0x1.812742p-2 0x1.ce2deep-4 -0x1.b80d20p-6 "
    "0x1.54be8cp-8 -0x1.aa0546p-11 0x1.5c4fa6p-14"
)
ERFC = hexes(
    "0x1.9a518cp-13 0x1.20af66p+0 0x1.463c68p-1 0x1.a9b830p-4 "
    "-0x1.6c35f6p-6 0x1.8f01c4p-9 -0x1.9b3010p-13"
)
LOG2_HIGH, LOG2_LOW = F(0.693359375), F(-2.12194440e-4)


def horner(coefficients: Sequence[float], x: Array) -> Array:
    y = np.full_like(x, F(coefficients[-1]))
    for c in reversed(coefficients[:-1]):
        y = fma(y, x, F(c))
    return y


def clamp_above(limit: float, x: Array) -> Array:
    return np.where(F(limit) < x, F(limit), x)


def exp(x: Array) -> Array:
    x = clamp_above(89, np.asarray(x, F))
    x = np.where(F(-104) > x, F(-104), x)
    t = fma(x, F(float.fromhex("0x1.715476p+0")), F(1.5 * 2**23))
    n = add(t, F(-1.5 * 2**23))
    whole = t.view(np.int32) - np.int32(0x4B400000)
    r = fma(-n, LOG2_LOW, fma(-n, LOG2_HIGH, x))
    q = fma(horner(EXP, r), r, F(1))
    p = fma(q, r, F(1))
    half = np.where(np.isnan(x), 0, whole) >> 1
    rest = np.where(np.isnan(x), 0, whole) - half
    low, high = (((v + 127) << 23).astype(np.int32).view(F) for v in (half, rest))
    return mul(mul(p, low), high)


def log(x: Array) -> Array:
    x = np.asarray(x, F)
    tiny = x < F(2.0**-126)
    bits = np.where(tiny, mul(x, F(2**23)), x).astype(F).view(np.int32)
    exponent = (bits - np.int32(0x3F2AAAAB)) & np.int32(-0x800000)
    f = add((bits - exponent).view(F), -1)
    n = add((exponent >> 23).astype(F), np.where(tiny, F(-23), F(0)))
    square = mul(f, f)
    series = fma(mul(square, f), horner(LOG, f), mul(square, F(-0.5)))
    small = fma(n, LOG2_LOW, series)
    y = fma(n, LOG2_HIGH, add(f, small))
    y = np.where(np.isinf(x), x, y)
    y = np.where(x == 0, F(-np.inf), y)
    return np.where((x < 0) | np.isnan(x), F(np.nan), y).astype(F)


def tanh(x: Array) -> Array:
    x = np.asarray(x, F)
    size = np.abs(x)
    s = mul(size, size)
    near = fma(mul(size, s), horner(TANH, s), size)
    far = add(1, -divide(2, add(exp(mul(2, clamp_above(9.1, size))), 1)))
    return np.copysign(np.where(size > F(0.6), far, near), x)


def sigmoid(x: Array) -> Array:
    x = np.asarray(x, F)
    e = exp(-np.abs(x))
    return divide(np.where(x < 0, e, F(1)), add(1, e))


def erf(x: Array) -> Array:
    x = np.asarray(x, F)
    size = np.abs(x)
    near = fma(size, horner(ERF, mul(size, size)), size)
    far = add(1, -exp(-horner(ERFC, clamp_above(4, size))))
    return np.copysign(np.where(size > F(0.921875), far, near), x)
