"""Softmax, losses, convolution, pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray


def softmax(x: Array, axis: int = -1) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


X = floats(3, 4, 5, low=-5, high=5)
for axis in (-1, 0, 1):
    case(
        "Softmax",
        [X],
        {"axis": axis},
        expect=lambda x, a=axis: softmax(x, a),
        types=FLOATS,
        atol=1e-7,
        label=f"axis {axis}",
    )
    case(
        "LogSoftmax",
        [X],
        {"axis": axis},
        expect=lambda x, a=axis: np.log(softmax(x, a)),
        types=FLOATS,
        atol=1e-6,
        label=f"axis {axis}",
    )
case(
    "Softmax",
    [np.array([[1000.0, 1000.0], [-1000.0, 0.0]])],
    {"axis": 1},
    expect=softmax,
    types=FLOATS,
    label="large",
)
case("Softmax", [floats(3, 0)], {"axis": 1}, expect=lambda x: x, types=FLOATS, label="empty")
bad(
    "Softmax",
    [floats(2, 3)],
    {"axis": 2},
    error=INVALID,
    words=["Softmax 'node'", "axis 2"],
    label="axis",
)

Y = np.array([1.0, 0.0, -1.0, 2.0, np.nan])
case(
    "ReluGrad",
    [Y, floats(5)],
    domain="graphio",
    expect=lambda y, dy: np.where(y > 0, dy, 0),
    types=FLOATS,
)

LOGITS, LABELS = floats(6, 10, low=-5, high=5), softmax(floats(6, 10, seed=1))
CLASSES = integers(6, low=0, high=10)


def cross_entropy(logits: Array, labels: Array) -> tuple[Array, Array]:
    p = softmax(logits)
    return -(labels * np.log(p)).sum(axis=1), p - labels


case(
    "SoftmaxCrossEntropy",
    [LOGITS, LABELS],
    domain="graphio",
    expect=cross_entropy,
    types=FLOATS,
    atol=1e-6,
)
for kind in ("int32", "int64"):
    case(
        "SparseSoftmaxCrossEntropy",
        [LOGITS, CLASSES.astype(kind)],
        domain="graphio",
        types=FLOATS,
        atol=1e-6,
        label=kind,
        expect=lambda x, c: cross_entropy(x, np.eye(10)[c]),
    )
bad(
    "SoftmaxCrossEntropy",
    [LOGITS, LABELS[:5]],
    domain="graphio",
    outputs=2,
    error=INVALID,
    words=["SoftmaxCrossEntropy 'node'"],
    label="shapes",
)
for label, wrong in (("above", 10), ("negative", -1)):
    bad(
        "SparseSoftmaxCrossEntropy",
        [LOGITS, np.full(6, wrong)],
        domain="graphio",
        outputs=2,
        error=INVALID,
        words=["SparseSoftmaxCrossEntropy 'node'", f"label {wrong} of row 0", "[0, 10)"],
        label=label,
    )

# ---- windows ----

RULES: dict[str, dict[str, Any]] = {
    "valid": {"auto_pad": "VALID"},
    "same": {"auto_pad": "SAME_UPPER"},
    "same, by 2": {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    "pads": {"auto_pad": "NOTSET", "pads": [1, 0, 2, 1], "strides": [1, 2]},
}
DILATED = {"auto_pad": "VALID", "dilations": [2, 1], "strides": [1, 1]}


def layout(rule: dict[str, Any], size: int, kernel: int, side: int) -> tuple[int, int, int]:
    """Padding before, padding after, number of windows; by the definition."""
    stride = rule.get("strides", [1, 1])[side]
    reach = (kernel - 1) * rule.get("dilations", [1, 1])[side] + 1
    if rule["auto_pad"] == "SAME_UPPER":
        count = -(-size // stride)
        total = max(0, (count - 1) * stride + reach - size)
        return total // 2, total - total // 2, count
    pads = rule.get("pads", [0, 0, 0, 0])
    before, after = pads[side], pads[side + 2]
    return before, after, (size + before + after - reach) // stride + 1


def taps(
    rule: dict[str, Any], shape: tuple[int, ...], kernel: tuple[int, int]
) -> list[tuple[int, ...]]:
    """(row out, column out, i, j, row in, column in) of each pair outside the padding."""
    found = []
    top, _, rows = layout(rule, shape[1], kernel[0], 0)
    left, _, columns = layout(rule, shape[2], kernel[1], 1)
    (sh, sw), (dh, dw) = rule.get("strides", [1, 1]), rule.get("dilations", [1, 1])
    for p in range(rows):
        for q in range(columns):
            for i in range(kernel[0]):
                for j in range(kernel[1]):
                    r, s = p * sh + i * dh - top, q * sw + j * dw - left
                    if 0 <= r < shape[1] and 0 <= s < shape[2]:
                        found.append((p, q, i, j, r, s))
    return found


def out_shape(
    rule: dict[str, Any], shape: tuple[int, ...], kernel: tuple[int, int]
) -> tuple[int, int]:
    return layout(rule, shape[1], kernel[0], 0)[2], layout(rule, shape[2], kernel[1], 1)[2]


def convolution(rule: dict[str, Any], group: int) -> tuple[Callable[..., Array], ...]:
    """Conv2D and its two gradients, one multiplication at a time."""

    def blocks(c: int, m: int) -> list[tuple[slice, slice]]:
        return [(slice(g * c, (g + 1) * c), slice(g * m, (g + 1) * m)) for g in range(group)]

    def forward(x: Array, w: Array) -> Array:
        y = np.zeros((x.shape[0], *out_shape(rule, x.shape, w.shape[:2]), w.shape[3]))
        for p, q, i, j, r, s in taps(rule, x.shape, w.shape[:2]):
            for cs, ms in blocks(w.shape[2], w.shape[3] // group):
                y[:, p, q, ms] += x[:, r, s, cs] @ w[i, j, :, ms]
        return y

    def grad_input(x_shape: Array, w: Array, dy: Array) -> Array:
        dx = np.zeros(tuple(x_shape))
        for p, q, i, j, r, s in taps(rule, dx.shape, w.shape[:2]):
            for cs, ms in blocks(w.shape[2], w.shape[3] // group):
                dx[:, r, s, cs] += dy[:, p, q, ms] @ w[i, j, :, ms].T
        return dx

    def grad_filter(x: Array, w_shape: Array, dy: Array) -> Array:
        dw = np.zeros(tuple(w_shape))
        for p, q, i, j, r, s in taps(rule, x.shape, dw.shape[:2]):
            for cs, ms in blocks(dw.shape[2], dw.shape[3] // group):
                dw[i, j, :, ms] += x[:, r, s, cs].T @ dy[:, p, q, ms]
        return dw

    return forward, grad_input, grad_filter


def add_convolution(label: str, rule: dict[str, Any], c: int, m: int, group: int = 1) -> None:
    attrs = {"strides": [1, 1], "pads": [0, 0, 0, 0], "dilations": [1, 1], **rule, "group": group}
    x, w = floats(2, 6, 7, c), floats(3, 2, c // group, m, seed=1)
    forward, grad_input, grad_filter = convolution(rule, group)
    dy = floats(*forward(x, w).shape, seed=2)
    shape, filter_shape = np.array(x.shape), np.array(w.shape)
    for op, inputs, expect in (
        ("Conv2D", [x, w], forward),
        ("Conv2DGradInput", [shape, w, dy], grad_input),
        ("Conv2DGradFilter", [x, filter_shape, dy], grad_filter),
    ):
        case(
            op,
            inputs,
            attrs,
            domain="graphio",
            expect=expect,
            types=FLOATS,
            rtol=1e-5,
            atol=2e-5,
            label=label,
        )


for name, rule in {**RULES, "dilated": DILATED}.items():
    add_convolution(name, rule, 3, 4)
add_convolution("groups", RULES["same"], 4, 6, group=2)
add_convolution("depthwise", RULES["pads"], 3, 3, group=3)
add_convolution("wide", RULES["same"], 16, 33)
SAME = {
    "strides": [1, 1],
    "pads": [0, 0, 0, 0],
    "dilations": [1, 1],
    "group": 1,
    "auto_pad": "SAME_UPPER",
}
IMAGE = floats(2, 6, 7, 3)
bad(
    "Conv2D",
    [IMAGE, floats(3, 3, 4, 5)],
    SAME,
    domain="graphio",
    error=INVALID,
    words=["Conv2D 'node'", "x has 3 channels, w expects 4", "[2,6,7,3]"],
    label="channels",
)
bad(
    "Conv2D",
    [IMAGE[0], floats(3, 3, 3, 5)],
    SAME,
    domain="graphio",
    error=INVALID,
    words=["Conv2D 'node'"],
    label="rank",
)
bad(
    "Conv2D",
    [IMAGE, floats(9, 3, 3, 5)],
    {**SAME, "auto_pad": "VALID"},
    domain="graphio",
    error=INVALID,
    words=["Conv2D 'node'"],
    label="too large",
)


def pooling(rule: dict[str, Any], kernel: tuple[int, int]) -> tuple[Callable[..., Array], ...]:
    """The four pooling operators, one window at a time."""

    def each(shape: tuple[int, ...]) -> dict[tuple[int, int], list[tuple[int, int]]]:
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for p, q, _, _, r, s in taps(rule, shape, kernel):
            found.setdefault((p, q), []).append((r, s))
        return found

    def gather(x: Array, reduce: Callable[..., Array]) -> Array:
        y = np.zeros((x.shape[0], *out_shape(rule, x.shape, kernel), x.shape[3]))
        for (p, q), positions in each(x.shape).items():
            y[:, p, q] = reduce(np.stack([x[:, r, s] for r, s in positions]), axis=0)
        return y

    def max_grad(x: Array, dy: Array) -> Array:
        dx = np.zeros(x.shape)
        for (p, q), positions in each(x.shape).items():
            first = np.argmax(np.stack([x[:, r, s] for r, s in positions]), axis=0)
            for k, (r, s) in enumerate(positions):
                dx[:, r, s] += np.where(first == k, dy[:, p, q], 0)
        return dx

    def average_grad(x_shape: Array, dy: Array) -> Array:
        dx = np.zeros(tuple(x_shape))
        for (p, q), positions in each(dx.shape).items():
            for r, s in positions:
                dx[:, r, s] += dy[:, p, q] / len(positions)
        return dx

    return lambda x: gather(x, np.max), max_grad, lambda x: gather(x, np.mean), average_grad


def add_pooling(label: str, rule: dict[str, Any], x: Array, kernel: tuple[int, int]) -> None:
    attrs = {"strides": [1, 1], "pads": [0, 0, 0, 0], **rule, "kernel_shape": list(kernel)}
    largest, max_grad, average, average_grad = pooling(rule, kernel)
    dy = floats(*largest(x).shape, seed=2)
    for op, inputs, expect in (
        ("MaxPool2D", [x], largest),
        ("MaxPool2DGrad", [x, dy], max_grad),
        ("AveragePool2D", [x], average),
        ("AveragePool2DGrad", [np.array(x.shape), dy], average_grad),
    ):
        case(
            op,
            inputs,
            attrs,
            domain="graphio",
            expect=expect,
            types=FLOATS,
            rtol=1e-5,
            atol=2e-6,
            label=label,
        )


for name, rule in RULES.items():
    add_pooling(name, rule, IMAGE, (3, 2))
add_pooling("2 by 2", {"auto_pad": "VALID", "strides": [2, 2]}, floats(2, 8, 8, 5), (2, 2))
add_pooling("ties", {"auto_pad": "VALID", "strides": [1, 1]}, np.floor(floats(2, 4, 4, 3)), (2, 2))
HOLE = IMAGE.copy()
HOLE[0, 2, 3, 1] = np.nan
case(
    "MaxPool2D",
    [HOLE],
    {"kernel_shape": [3, 2], "strides": [1, 1], "pads": [0] * 4, "auto_pad": "SAME_UPPER"},
    domain="graphio",
    expect=pooling(RULES["same"], (3, 2))[0],
    types=FLOATS,
    label="NaN stays",
    body=False,  # ONNX leaves it open
)
bad(
    "MaxPool2D",
    [floats(2, 3)],
    {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [0] * 4, "auto_pad": "VALID"},
    domain="graphio",
    error=INVALID,
    words=["MaxPool2D 'node'"],
    label="rank",
)
