"""Gradients of convolutions and pools in operators of the standard.

With x (n, c, h, w), filters (m, c / group, kh, kw) and dy (n, m, oh, ow): the gradient by x is the
transposed convolution of dy, the gradient by the filters is the convolution of x with dy in which
batch and channels change places and strides and dilations too. Paddings are counted from static
sizes, so height and width must be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.onnx.attributes import message_value
from graphio.schema import errors
from graphio.schema.model_pb2 import Node

if TYPE_CHECKING:
    from graphio.onnx.emitting import Emitter

__all__ = [
    "average_pool_grad",
    "conv_grad_filter",
    "conv_grad_input",
    "max_pool_grad",
]


@dataclass
class _Window:
    """The window of a node and the static sizes around it, spatial axes only."""

    size: list[int]
    output: list[int]
    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    begin: list[int]
    end: list[int]

    @property
    def pads(self) -> list[int]:
        return [*self.begin, *self.end]

    def reach(self, i: int) -> int:
        """How many elements a window spans along axis i."""
        return (self.kernel[i] - 1) * self.dilations[i] + 1


def _attribute(node: Node, key: str, default: Any) -> Any:
    for attribute in node.attr:
        if attribute.key == key:
            return message_value(attribute.value)
    return default


def _spatial(emit: Emitter, node: Node, value: str, axes: slice) -> list[int]:
    dims = emit.dims(value)
    known = None if dims is None else dims[axes]
    if known is None or any(d is None for d in known):
        raise errors.UnimplementedError(
            message=f"{node.op} '{node.name}': its ONNX form needs the static height and width of "
            f"'{value}'; give the placeholder a shape that says them"
        )
    return [d for d in known if d is not None]


def _window(node: Node, size: list[int], kernel: list[int]) -> _Window:
    rank = len(size)
    strides = _attribute(node, "strides", None) or [1] * rank
    dilations = _attribute(node, "dilations", None) or [1] * rank
    pads = _attribute(node, "pads", None) or [0] * 2 * rank
    rule = _attribute(node, "auto_pad", "NOTSET")
    made = _Window(size, [], kernel, strides, dilations, pads[:rank], pads[rank:])
    for i in range(rank):
        if rule == "VALID":
            made.begin[i] = made.end[i] = 0
        elif rule.startswith("SAME"):
            steps = -(-size[i] // strides[i])
            total = max((steps - 1) * strides[i] + made.reach(i) - size[i], 0)
            small = total // 2
            first = small if rule == "SAME_UPPER" else total - small
            made.begin[i], made.end[i] = first, total - first
        whole = size[i] + made.begin[i] + made.end[i] - made.reach(i)
        made.output.append(whole // strides[i] + 1)
    return made


def _to_channels_first(emit: Emitter, value: str, base: str) -> str:
    return emit.add("Transpose", [value], base, perm=[0, 3, 1, 2])


def _to_channels_last(emit: Emitter, value: str, output: str) -> None:
    emit.rename_last(emit.add("Transpose", [value], output, perm=[0, 2, 3, 1]), output)


def conv_grad_input(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Conv2DGradInput: a transposed convolution, padded to x's size."""
    size = _spatial(emit, node, node.name, slice(1, 3))
    kernel = _spatial(emit, node, node.input[1], slice(0, 2))
    window = _window(node, size, kernel)
    filters = emit.add("Transpose", [inputs[1]], f"{node.name}/filters", perm=[3, 2, 0, 1])
    dy = _to_channels_first(emit, inputs[2], f"{node.name}/dy")
    dx = transposed(emit, dy, filters, window, _attribute(node, "group", 1), node.name)
    _to_channels_last(emit, dx, outputs[0])


def transposed(emit: Emitter, dy: str, filters: str, window: _Window, group: int, base: str) -> str:
    """The transposed convolution of dy, of the size that the window's input has."""
    missing = [
        window.size[i] + window.begin[i] + window.end[i]
        - ((window.output[i] - 1) * window.strides[i] + window.reach(i))
        for i in range(len(window.size))
    ]  # fmt: skip
    return emit.add(
        "ConvTranspose",
        [dy, filters],
        f"{base}/dx",
        strides=window.strides,
        dilations=window.dilations,
        pads=window.pads,
        output_padding=missing,
        group=group,
    )


def conv_grad_filter(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """Conv2DGradFilter: x with dy as filters, batch and channels changed."""
    size = _spatial(emit, node, node.input[0], slice(1, 3))
    kernel = _spatial(emit, node, node.name, slice(0, 2))
    window = _window(node, size, kernel)
    group = _attribute(node, "group", 1)
    x = _grouped(emit, node, inputs[0], group, size)
    dy = emit.add("Transpose", [inputs[2]], f"{node.name}/dy", perm=[3, 0, 1, 2])
    whole = emit.add(
        "Conv",
        [x, dy],
        f"{node.name}/whole",
        strides=window.dilations,
        dilations=window.strides,
        pads=window.pads,
        group=group,
    )
    cut = emit.add(
        "Slice",
        [
            whole,
            emit.constant([0, 0], np.int64, f"{node.name}/starts"),
            emit.constant(kernel, np.int64, f"{node.name}/ends"),
            emit.constant([2, 3], np.int64, f"{node.name}/axes"),
        ],
        f"{node.name}/cut",
    )
    turned = emit.add("Transpose", [cut], f"{node.name}/dw", perm=[2, 3, 0, 1])
    emit.rename_last(turned, outputs[0])


def _grouped(emit: Emitter, node: Node, x: str, group: int, size: Sequence[int]) -> str:
    """x (n, h, w, group * c) as (c, group * n, h, w)."""
    if group == 1:
        return emit.add("Transpose", [x], f"{node.name}/x", perm=[3, 0, 1, 2])
    split = emit.constant([0, 0, 0, group, -1], np.int64, f"{node.name}/split")
    parts = emit.add("Reshape", [x, split], f"{node.name}/parts")
    first = emit.add("Transpose", [parts], f"{node.name}/first", perm=[4, 3, 0, 1, 2])
    joined = emit.constant([0, -1, *size], np.int64, f"{node.name}/joined")
    return emit.add("Reshape", [first, joined], f"{node.name}/x")


def max_pool_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """MaxPool2DGrad: dy added at the places that MaxPool's second output names."""
    x = _to_channels_first(emit, inputs[0], f"{node.name}/x")
    dy = _to_channels_first(emit, inputs[1], f"{node.name}/dy")
    attrs = {a.key: message_value(a.value) for a in node.attr}
    at = emit.add("MaxPool", [x], f"{node.name}/max", second=True, **attrs)
    line = emit.constant([-1], np.int64, f"{node.name}/line")
    shape = emit.add("Shape", [x], f"{node.name}/shape")
    count = emit.add("Reshape", [emit.add("Size", [x], f"{node.name}/size"), line],
                     f"{node.name}/count")  # fmt: skip
    zeros = emit.add("ConstantOfShape", [count], f"{node.name}/zeros")
    typed = emit.add("CastLike", [zeros, dy], f"{node.name}/typed")
    flat = emit.add("Reshape", [dy, line], f"{node.name}/flat")
    places = emit.add("Reshape", [at, line], f"{node.name}/places")
    added = emit.add(
        "ScatterElements", [typed, places, flat], f"{node.name}/added", axis=0, reduction="add"
    )
    _to_channels_last(emit, emit.add("Reshape", [added, shape], f"{node.name}/dx"), outputs[0])


def average_pool_grad(emit: Emitter, node: Node, inputs: list[str], outputs: list[str]) -> None:
    """AveragePool2DGrad: dy over the number of elements of its window, spread over the window."""
    size = _spatial(emit, node, node.name, slice(1, 3))
    channels = _spatial(emit, node, node.name, slice(3, 4))[0]
    window = _window(node, size, _attribute(node, "kernel_shape", []))
    counts = [
        [
            min(o * window.strides[i] - window.begin[i] + window.kernel[i], size[i])
            - max(o * window.strides[i] - window.begin[i], 0)
            for o in range(window.output[i])
        ]
        for i in range(2)
    ]
    dy = _to_channels_first(emit, inputs[1], f"{node.name}/dy")
    number = emit.constant(np.outer(counts[0], counts[1]), np.float64, f"{node.name}/counts")
    typed = emit.add("CastLike", [number, dy], f"{node.name}/number")
    share = emit.add("Div", [dy, typed], f"{node.name}/share")
    ones = np.ones((channels, 1, *window.kernel))
    filters = emit.constant(ones, np.float64, f"{node.name}/ones")
    like = emit.add("CastLike", [filters, dy], f"{node.name}/filters")
    _to_channels_last(emit, transposed(emit, share, like, window, channels, node.name), outputs[0])
